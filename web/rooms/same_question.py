"""Recognizes one question that satellites in several rooms have heard without a wake word. Pure: no clock, no I/O.

Two turns are the same question if they sound at the same time and one has no words that the other has not. The first to
be committed is answered, and nothing waits for the others. A louder one takes over while nothing was heard or done of
that answer.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from web.rooms.wake_contest import LOUDER_DB, SatelliteId

SAME_TIME = 0.7
"""Share of the time of both turns that they have in common, from which they may be one. The far microphone loses soft
beginnings and ends."""

SAME_ONSET_S = 0.4
"""Largest difference of their onsets, in seconds: a soft first word, and the difference of the networks."""

SAME_WORDS = 2 / 3
"""Share of its words that the far microphone must have kept. It may not have another word: "on" and "off", two numbers
or two names are two orders. Two answers to one question are a smaller fault than an order that is not carried out."""

KEPT_S = 10.0
"""Time in seconds for which a turn is remembered: longer than the transcript of another satellite takes."""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn that a satellite is about to answer.

    Attributes:
        satellite: Who has heard it.
        text: What was said.
        began_s: Loop time of the onset.
        ended_s: Loop time of the last speech.
        level_dbfs: Its mean level.
    """

    satellite: SatelliteId
    text: str
    began_s: float
    ended_s: float
    level_dbfs: float

    def is_same_as(self, other: "SpokenTurn") -> bool:
        """Returns whether both are one question, which two satellites have heard."""
        common_s = min(self.ended_s, other.ended_s) - max(self.began_s, other.began_s)
        whole_s = max(self.ended_s, other.ended_s) - min(self.began_s, other.began_s)
        if self.satellite == other.satellite or common_s <= 0 or common_s < SAME_TIME * whole_s:
            return False
        return abs(self.began_s - other.began_s) <= SAME_ONSET_S and _are_same(_words(self.text), _words(other.text))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a turn is answered.

    Attributes:
        result: "answers": it is answered. "yields": another satellite answers it. "takes over": it is answered, and the
            reply of the other satellite ends.
        other: The other satellite; None if there is none.
    """

    result: Literal["answers", "yields", "takes over"]
    other: SatelliteId | None = None


@dataclass(slots=True)
class SameQuestions:
    """The last turns of one user that were answered.

    Attributes:
        may_take_over: Returns whether a satellite has neither sounded nor done anything for its answer yet.
    """

    may_take_over: Callable[[SatelliteId], bool]
    _answered: deque[SpokenTurn] = field(default_factory=deque)

    def judge(self, turn: SpokenTurn, now_s: float) -> Verdict:
        """Decides on a turn that is about to be committed."""
        while self._answered and now_s - self._answered[0].ended_s > KEPT_S:
            self._answered.popleft()
        same = next((answered for answered in self._answered if answered.is_same_as(turn)), None)
        if same is None:
            self._answered.append(turn)
            return Verdict("answers")
        if turn.level_dbfs < same.level_dbfs + LOUDER_DB or not self.may_take_over(same.satellite):
            return Verdict("yields", same.satellite)
        self._answered.remove(same)
        self._answered.append(turn)
        return Verdict("takes over", same.satellite)


def _words(text: str) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in text.casefold()).split()


def _are_same(words: list[str], others: list[str]) -> bool:
    """Returns whether these are the same words, of which one side may lack some. Compounds may be written apart."""
    shorter, longer = sorted((words, others), key=len)
    if "".join(shorter) == "".join(longer):
        return bool(words)
    rest = iter(longer)
    return len(shorter) >= SAME_WORDS * len(longer) and all(word in rest for word in shorter)
