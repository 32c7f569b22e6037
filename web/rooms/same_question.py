"""Recognizes one question that satellites in several rooms have heard without a wake word. Pure: no clock, no I/O.

Two turns are the same question if they sound at the same time and have nearly the same words. The first to be committed
is answered, and nothing waits for the others. A louder one takes over while nothing was heard or done of that answer.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from web.rooms.wake_contest import LOUDER_DB, SatelliteId

SAME_TIME = 0.5
"""Share of the time of both turns that they have in common, from which they may be one. Their onsets and ends differ by
some 100 ms: the far microphone loses soft beginnings, and the networks differ."""

SAME_WORDS = 0.75
"""Similarity of the letters, 0 to 1, from which the words are the same. The far microphone costs some words."""

KEPT_S = 10.0
"""Time in seconds for which a turn is remembered: longer than the transcript of another satellite takes."""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn that a satellite is about to answer.

    Attributes:
        satellite: Who has heard it.
        words: What was said.
        began_s: Loop time of the onset.
        ended_s: Loop time of the last speech.
        level_dbfs: Its mean level.
    """

    satellite: SatelliteId
    words: str
    began_s: float
    ended_s: float
    level_dbfs: float

    def is_same_as(self, other: "SpokenTurn") -> bool:
        """Returns whether both are one question, which two satellites have heard."""
        common_s = min(self.ended_s, other.ended_s) - max(self.began_s, other.began_s)
        whole_s = max(self.ended_s, other.ended_s) - min(self.began_s, other.began_s)
        if self.satellite == other.satellite or common_s <= 0 or common_s < SAME_TIME * whole_s:
            return False
        return SequenceMatcher(None, _letters(self.words), _letters(other.words)).ratio() >= SAME_WORDS


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


def _letters(words: str) -> str:
    return " ".join("".join(char if char.isalnum() else " " for char in words.casefold()).split())
