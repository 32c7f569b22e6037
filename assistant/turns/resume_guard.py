"""The last look before an answer is heard: does somebody go on? Pure.

A detector takes one to three frames to be sure of a voice. Whoever goes on in just these was answered in their first
syllable. So nothing is begun on a frame that may be one; what that costs an end of speech is in docs/turn-taking.md.
"""

from dataclasses import dataclass

from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

LOOK_MS = 140.0
"""A voice is known for one after so long: what may be one for longer is a room that is not silent."""


@dataclass(slots=True)
class ResumeGuard:
    """At the silences of one turn, from when an answer is due until it is heard.

    Attributes:
        holds: As of the newest frame, the answer had better wait.
    """

    holds: bool = False
    _since: Samples | None = None
    _last: Samples = Samples(0)

    def at(self, at: Samples, voicing: VadResult) -> bool:
        """Take the next frame; see `holds`. Where frames were left out, it is another silence, or another wait."""
        if not voicing.possible_onset or at - self._last > FRAME_SAMPLES:
            self._since = None
        if voicing.possible_onset and self._since is None:
            self._since = at
        self._last = at
        self.holds = self._since is not None and at - self._since < samples_of_ms(LOOK_MS)
        return self.holds
