"""How much of a reply is gathered before it is played: nothing, until the network has shown that it falters. Pure.

The page does the same, with the same figures (web/static/sound/player.js).
"""

from dataclasses import dataclass

from audio.units import ReplySamples, reply_samples_of_ms

FIRST_MS = 60.0
"""Gathered after the loudspeaker ran dry in the midst of a reply for the first time: three pieces of 20 ms."""

MOST_MS = 480.0

GATHER_LIMIT_S = 1.5
"""A reply whose next sound takes that long is not held back for a cushion as well: what is there is played."""


@dataclass(slots=True)
class JitterBuffer:
    """Of one conversation: it grows where a reply stops in its midst, and shrinks with every one that came through.

    Attributes:
        underruns: How often the loudspeaker ran dry in the midst of a reply.
    """

    underruns: int = 0
    _ms: float = 0.0
    _whole: bool = True  # the reply at hand has not stopped yet

    @property
    def samples(self) -> ReplySamples:
        """What has to be there before a reply begins, or goes on."""
        return reply_samples_of_ms(self._ms)

    def begin(self) -> None:
        """A reply."""
        self._whole = True

    def ran_dry(self) -> None:
        """The loudspeaker had played everything of it that had come, and more was still to come."""
        self.underruns += 1
        self._whole = False
        self._ms = min(MOST_MS, 2 * self._ms or FIRST_MS)

    def over(self) -> None:
        """It was played to its end."""
        if self._whole:
            self._ms = 0.0 if self._ms <= FIRST_MS else self._ms / 2
