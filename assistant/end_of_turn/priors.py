"""What shifts an estimate before anything is heard: a speaker's own pauses, and what the assistant just asked. Pure.

Nothing here is fitted: the recordings are of single turns that answer nothing. The strengths are stated, and small.
"""

import re
from dataclasses import dataclass, replace
from math import log
from typing import Literal

from assistant.end_of_turn.completeness import is_short_answer, words_of

Expected = Literal["anything", "yes or no", "a phrase"]
"""What kind of answer the assistant's last words ask for."""

PAUSE_FROM_MS = 200.0
"""A silence inside a turn counts as a pause from here on."""

PAUSE_UP_TO_MS = 3000.0
"""And up to here: who speaks again later has waited for an answer that did not come."""

USUAL_PAUSES_PER_TURN = 1.0
USUAL_EXCESS_MS = 650.0
"""How much longer than PAUSE_FROM_MS a pause lasts in the mean: 30 in free speech 664 ms, 372 in reading 538."""

_WEIGHT = 5.0  # turns' and pauses' worth of belief in the usual, before anything is known of the speaker
_USUALLY_PAUSING = 0.2
_PAUSING_WEIGHT = 2.0
_RECENT_TURNS = 12
_MOST_PAUSES = 50
_MOST_SHIFT = 1.0
_PAUSED_IN_TURN_MS = 300.0
_PAUSED_IN_TURN_SHIFT = -1.0
_SHORT_ANSWER_SHIFT = 1.5
_PHRASE_SHIFT = 0.5
_PHRASE_WORDS = 4

_QUESTION = re.compile(r"[^.!?…]*\?\W*$")
_YES_NO = frozenset(
    "is are was were am do does did has have had can could will would shall should may might anything something"
    " isn't aren't don't doesn't didn't won't wouldn't shouldn't can't couldn't ready right okay ok want sure"
    " really".split()
)
_WORDS_BEFORE = frozenset("so and or but okay ok well then great sure please".split())


@dataclass(frozen=True, slots=True)
class SpeakerPauseStats:
    """The pauses one speaker made inside turns of this conversation. A value: every change makes a new one.

    Attributes:
        pauses_ms: The last fifty, each PAUSE_FROM_MS or more.
        pauses: How many in all.
        turns: How many turns were committed.
        paused: Whether there was one of 300 ms or more in the turn at hand, or one that was taken for its end.
        cut: Whether one of those was taken for its end.
        recent: Whether there was a pause in each of the last dozen turns.
        before: What was known before the turn at hand was opened again; what comes to nothing has opened none.
    """

    pauses_ms: tuple[float, ...] = ()
    pauses: int = 0
    turns: int = 0
    paused: bool = False
    cut: bool = False
    recent: tuple[bool, ...] = ()
    before: "SpeakerPauseStats | None" = None

    def with_pause(self, pause_ms: float) -> "SpeakerPauseStats":
        """After a silence in which the speaker kept the turn; a shorter one than PAUSE_FROM_MS changes nothing."""
        if pause_ms < PAUSE_FROM_MS:
            return self
        return replace(
            self,
            pauses_ms=(*self.pauses_ms, pause_ms)[-_MOST_PAUSES:],
            pauses=self.pauses + 1,
            paused=self.paused or pause_ms >= _PAUSED_IN_TURN_MS,
        )

    def with_turn(self) -> "SpeakerPauseStats":
        """After a turn was committed."""
        recent = (*self.recent, self.paused)[-_RECENT_TURNS:]
        return replace(self, turns=self.turns + 1, paused=False, cut=False, recent=recent, before=None)

    def without_turn(self) -> "SpeakerPauseStats":
        """After one came to nothing."""
        return self.before or replace(self, paused=False, cut=False)

    def with_return(self, pause_ms: float) -> "SpeakerPauseStats":
        """After the speaker went on with a turn that was committed, which a silence of this length had ended."""
        paused, turns = self.recent[-1:] == (True,), max(self.turns - 1, 0)
        reopened = replace(self, turns=turns, paused=paused, recent=self.recent[:-1], before=self.before or self)
        if not PAUSE_FROM_MS <= pause_ms <= PAUSE_UP_TO_MS:
            return reopened
        return replace(reopened.with_pause(pause_ms), paused=True, cut=True)

    @property
    def excess_ms(self) -> float:
        """How much longer than PAUSE_FROM_MS this speaker's pauses last in the mean, drawn towards the usual."""
        total = sum(pause - PAUSE_FROM_MS for pause in self.pauses_ms)
        return (_WEIGHT * USUAL_EXCESS_MS + total) / (_WEIGHT + len(self.pauses_ms))

    @property
    def shift(self) -> float:
        """To be added to the logit: positive for who pauses less often than is usual; within ±1."""
        rate = (_WEIGHT * USUAL_PAUSES_PER_TURN + self.pauses) / (_WEIGHT + self.turns)
        return min(max(-log(rate / USUAL_PAUSES_PER_TURN), -_MOST_SHIFT), _MOST_SHIFT)

    @property
    def pausing(self) -> float:
        """In what share of their turns this speaker pauses, 0..1: of the last dozen, drawn towards the usual.

        People differ more than the turns of one of them, so that little is believed of the usual. The turn at hand
        counts once a pause was taken for its end; who paused in it and was not cut into is answered as ever, this time.
        """
        turns = (*self.recent, True) if self.cut else self.recent
        return (_PAUSING_WEIGHT * _USUALLY_PAUSING + sum(turns)) / (_PAUSING_WEIGHT + len(turns))

    @property
    def turn_shift(self) -> float:
        """To be added to the logit, for who paused in this turn already pauses in it again.

        In 89 recordings that nothing was fitted on, 32 of the first silences of 300 ms or more were pauses and 45 of
        the 77 later ones: a difference of 0.9 in the logit.
        """
        return _PAUSED_IN_TURN_SHIFT if self.paused else 0.0


def expected_answer(assistant_said: str) -> Expected:
    """What the assistant's last sentence asks for: "Shall I?" yes or no, "Which room?" a phrase. English."""
    found = _QUESTION.search(assistant_said.strip())
    words = words_of(found.group()) if found else []
    while words and words[0] in _WORDS_BEFORE:
        words = words[1:]
    if not found:
        return "anything"
    return "yes or no" if words and words[0] in _YES_NO else "a phrase"


def answer_shift(expected: Expected, text: str) -> float:
    """To be added to the logit for what was said, given what was asked."""
    words = words_of(text)
    if expected == "anything" or not words:
        return 0.0
    if is_short_answer(words):
        return _SHORT_ANSWER_SHIFT
    # "The kitchen." is no sentence, but the whole answer to "Which room?".
    return _PHRASE_SHIFT if expected == "a phrase" and len(words) <= _PHRASE_WORDS else 0.0
