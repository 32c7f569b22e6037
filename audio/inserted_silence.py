"""Records where silence was inserted into the microphone audio because no audio arrived."""

from collections import deque
from dataclasses import dataclass

from audio.units import Samples

MAX_RUNS = 256
"""Maximum number of runs of contiguous silence kept. Only recent positions are queried; older runs are kept as a
sum."""


@dataclass(slots=True)
class _Run:
    start: int
    samples: int
    before: int  # silence inserted before this run


class InsertedSilence:
    """The runs of inserted silence, in order. Bounded; not thread-safe."""

    def __init__(self) -> None:
        self._runs: deque[_Run] = deque(maxlen=MAX_RUNS)

    def add(self, start: Samples, samples: int) -> None:
        """Adds `samples` of silence that begin at `start`, never before the end of the previous addition."""
        last = self._runs[-1] if self._runs else None
        if last is not None and last.start + last.samples == start:
            last.samples += samples
        else:
            self._runs.append(_Run(start, samples, last.before + last.samples if last is not None else 0))

    def before(self, position: Samples) -> Samples:
        """Returns how much silence was inserted before `position`.

        For a position before the oldest run kept, returns the sum before that run.
        """
        for run in reversed(self._runs):
            if run.start < position:
                return Samples(run.before + min(run.samples, position - run.start))
        return Samples(self._runs[0].before if self._runs else 0)
