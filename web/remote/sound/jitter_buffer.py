"""Decides how much of a reply to buffer before playback: nothing until the network has shown jitter. No I/O, no clock.

The page does the same with the same numbers (web/static/audio/player.js).
"""

from dataclasses import dataclass

from audio.units import ReplySamples, reply_samples_of_ms

FIRST_MS = 60.0
"""Buffer after the first underrun: three pieces of 20 ms."""

MAX_MS = 480.0
"""Largest buffer."""

GATHER_LIMIT_S = 1.5
"""Longest wait for the buffer to fill. Then the audio that is there is played."""


@dataclass(slots=True)
class JitterBuffer:
    """The buffer size of one conversation. Doubles with each underrun and halves with each reply without one.

    Attributes:
        underruns: How often the loudspeaker ran out of audio within a reply.
    """

    underruns: int = 0
    _ms: float = 0.0
    _whole: bool = True  # the current reply had no underrun yet

    @property
    def samples(self) -> ReplySamples:
        """Samples to buffer before a reply starts or continues."""
        return reply_samples_of_ms(self._ms)

    def begin(self) -> None:
        """Starts a reply."""
        self._whole = True

    def ran_dry(self) -> None:
        """Counts an underrun: the loudspeaker had no more audio, and more was still to come."""
        self.underruns += 1
        self._whole = False
        self._ms = min(MAX_MS, 2 * self._ms or FIRST_MS)

    def over(self) -> None:
        """Ends a reply that was played completely."""
        if self._whole:
            self._ms = 0.0 if self._ms <= FIRST_MS else self._ms / 2
