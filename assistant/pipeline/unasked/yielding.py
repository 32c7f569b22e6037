"""Knows which sound and turns a satellite in another room answers instead of this conversation. No I/O, no clock.

state     event                                      next state
hearing   the conversation yields                    yielding
yielding  what the user was saying is cleared        deaf; a turn whose transcript is awaited is dropped with it
deaf      `YIELDED_S` of sound have passed           hearing
deaf      the wake word is heard again               hearing, and the awaited turn is kept: its user goes on
any       the awaited turn commits, or is discarded  the same; it is dropped, as if it had not been heard
"""

from collections.abc import Callable
from dataclasses import dataclass

from assistant.turns.effects import CommitTurn
from audio.units import Samples, samples_of_s

YIELDED_S = 1.0
"""Time in seconds after a conversation has yielded in which sound is not heard. Its satellite goes on sending until it
knows; its network may stall for as long (`audio.arrivals.STALL_S`)."""


@dataclass(frozen=True, slots=True)
class CommittedSpeech:
    """Speech of the user that is about to be answered.

    Attributes:
        words: Its words as they were recognized.
        normalize: Converts written to spoken text.
        began_s: Loop time of its onset.
        ended_s: Loop time of its last sample.
        level_dbfs: Its mean level.
    """

    words: str
    normalize: Callable[[str], str]
    began_s: float
    ended_s: float
    level_dbfs: float

    @property
    def text(self) -> str:
        """Its words as they are spoken: numbers in words. Takes milliseconds."""
        return self.normalize(self.words)


def answer_all(_speech: CommittedSpeech) -> bool:
    """Has all speech answered here: no other satellite hears it."""
    return True


@dataclass(slots=True)
class Yielding:
    """The sound and turns that one conversation leaves to a satellite in another room. Not thread-safe.

    Attributes:
        count: How often it has yielded.
        dropped: A turn that is answered elsewhere, whose commit is not carried out; None: there is none.
    """

    count: int = 0
    dropped: CommitTurn | None = None
    _clears: bool = False
    _turn: int | None = None
    _deaf_until: Samples = Samples(0)

    def begin(self) -> None:
        """Notes that the conversation yields. What the user was saying is cleared next."""
        self.count += 1
        self._clears = True

    def cleared(self, position: Samples, awaited: int | None) -> None:
        """Notes that it was cleared. `awaited`: the turn whose transcript is still awaited."""
        self._clears, self._turn = False, awaited
        self._deaf_until = Samples(position + samples_of_s(YIELDED_S))

    def hear_again(self) -> None:
        """The wake word was said again: everything is heard from now on."""
        self._deaf_until, self._turn = Samples(0), None

    def is_deaf(self, position: Samples) -> bool:
        """Returns whether the frame that ends here is not heard."""
        return position <= self._deaf_until

    def takes(self, turn: int) -> bool:
        """Returns whether this turn is answered elsewhere. Call it once, at the end of the turn."""
        taken, self._turn = self._clears or turn == self._turn, None if turn == self._turn else self._turn
        return taken
