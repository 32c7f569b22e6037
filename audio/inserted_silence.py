"""Where silence was put into a microphone's line, since no sound came: what lies elsewhere on it somebody captured."""

from collections import deque
from dataclasses import dataclass

from audio.units import Samples

MOST_RUNS = 256
"""Of silence without a gap. Only the latest positions are asked about: the older runs are one sum."""


@dataclass(slots=True)
class _Run:
    start: int
    samples: int
    before: int  # put in before it


class InsertedSilence:
    """Runs of silence, in the order of the line. Bounded; not thread-safe."""

    def __init__(self) -> None:
        self._runs: deque[_Run] = deque(maxlen=MOST_RUNS)

    def add(self, start: Samples, samples: int) -> None:
        """Silence of so many samples begins at `start`, never before the end of what was added last."""
        last = self._runs[-1] if self._runs else None
        if last is not None and last.start + last.samples == start:
            last.samples += samples
        else:
            self._runs.append(_Run(start, samples, last.before + last.samples if last is not None else 0))

    def before(self, position: Samples) -> Samples:
        """How much of the line before `position` is such silence.

        Before the oldest run that is kept: as much as before that run.
        """
        for run in reversed(self._runs):
            if run.start < position:
                return Samples(run.before + min(run.samples, position - run.start))
        return Samples(self._runs[0].before if self._runs else 0)
