"""Delays the start of a reply while the user may be resuming. No I/O, no clock.

The VAD takes one to three frames to confirm an onset. Without the guard, a reply could start over the first syllable of
a user who resumes in these frames. docs/lab/turn-taking.md, "Resume guard", has its cost.
"""

from dataclasses import dataclass

from assistant.turns.settings import TurnSettings
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult


@dataclass(slots=True)
class ResumeGuard:
    """Watches the silences of one turn, from the end-of-turn decision to the end of the reply's first second.

    Attributes:
        holds: As of the last frame, the reply should wait.
    """

    holds: bool = False
    _since: Samples | None = None
    _last: Samples = Samples(0)

    def add_frame(self, position: Samples, vad: VadResult, settings: TurnSettings) -> None:
        """Takes the VAD result of the next frame, which sets `holds`. A gap in the frames restarts the measurement."""
        if not vad.possible_onset or position - self._last > FRAME_SAMPLES:
            self._since = None
        if vad.possible_onset and self._since is None:
            self._since = position
        self._last = position
        max_wait = samples_of_ms(settings.end.max_resume_wait_ms)
        self.holds = self._since is not None and position - self._since < max_wait
