"""Computes shifts of the EOT estimate from the speaker's pauses and from the assistant's last question. Pure.

The strengths are chosen by hand and small. They cannot be fitted: the recordings are single turns without context.
"""

from dataclasses import dataclass, replace
from math import log

from assistant.end_of_turn.completeness import is_short_answer, words_of
from assistant.end_of_turn.questions import Expected

PAUSE_FROM_MS = 200.0
"""Shortest silence in ms inside a turn that counts as a pause."""

PAUSE_UP_TO_MS = 3000.0
"""Longest silence in ms that counts as a pause. After a longer silence the user has noticed that no reply comes."""

USUAL_PAUSES_PER_TURN = 1.0
USUAL_EXCESS_MS = 340.0
"""Prior means: pauses for each turn, and the time in ms by which a pause exceeds PAUSE_FROM_MS. The second is fitted on
natural pauses: each second of silence adds 2.9 to the logit (`python -m bench.end_of_turn.evaluation shifts`)."""

_PRIOR_WEIGHT = 5.0  # weight of the prior means, as a number of turns or pauses
_PRIOR_PAUSING = 0.2  # prior share of turns with a pause
_PRIOR_PAUSING_WEIGHT = 2.0  # its weight, as a number of turns
_RECENT_TURNS = 12  # turns that count for `pausing`
_MAX_PAUSES = 50
_MAX_SHIFT = 1.0  # bound on the shift of the logit from the pause rate
_PAUSED_IN_TURN_MS = 300.0  # shortest pause that marks a turn
_PAUSED_IN_TURN_SHIFT = -1.0
_LONG_PAUSE_MS = 500.0  # shortest pause after which the rest of the turn gets the ceiling for users who pause often
_SHORT_ANSWER_SHIFT = 1.5
_PHRASE_SHIFT = 0.5
_PHRASE_WORDS = 4
_PHRASES: frozenset[Expected] = frozenset({"a phrase", "a name", "a date", "a time"})


@dataclass(frozen=True, slots=True)
class SpeakerPauseStats:
    """The pauses of one speaker inside turns of this conversation. Immutable: changes return a new value.

    Attributes:
        pauses_ms: The last fifty pauses, each PAUSE_FROM_MS or more.
        pauses: The number of all pauses.
        turns: The number of committed turns.
        paused: Whether the current turn has a pause of 300 ms or more, or one that was mistaken for its end.
        long_pause: Whether the current turn has a pause of 500 ms or more.
        cut: Whether a pause of the current turn was mistaken for its end.
        recent: For each of the last twelve turns, whether it had a pause.
        before: The value before the current turn was reopened. It is restored if the speech is discarded.
    """

    pauses_ms: tuple[float, ...] = ()
    pauses: int = 0
    turns: int = 0
    paused: bool = False
    long_pause: bool = False
    cut: bool = False
    recent: tuple[bool, ...] = ()
    before: "SpeakerPauseStats | None" = None

    def with_pause(self, pause_ms: float) -> "SpeakerPauseStats":
        """Returns the value after a pause inside a turn. One shorter than PAUSE_FROM_MS changes nothing."""
        if pause_ms < PAUSE_FROM_MS:
            return self
        return replace(
            self,
            pauses_ms=(*self.pauses_ms, pause_ms)[-_MAX_PAUSES:],
            pauses=self.pauses + 1,
            paused=self.paused or pause_ms >= _PAUSED_IN_TURN_MS,
            long_pause=self.long_pause or pause_ms >= _LONG_PAUSE_MS,
        )

    def with_turn(self) -> "SpeakerPauseStats":
        """Returns the value after a turn was committed."""
        recent = (*self.recent, self.paused)[-_RECENT_TURNS:]
        return replace(
            self, turns=self.turns + 1, paused=False, long_pause=False, cut=False, recent=recent, before=None
        )

    def without_turn(self) -> "SpeakerPauseStats":
        """Returns the value after a turn was discarded."""
        return self.before or replace(self, paused=False, long_pause=False, cut=False)

    def with_return(self, pause_ms: float) -> "SpeakerPauseStats":
        """Returns the value after the speaker continued a committed turn that a silence of this length had ended."""
        paused, turns = self.recent[-1:] == (True,), max(self.turns - 1, 0)
        reopened = replace(self, turns=turns, paused=paused, recent=self.recent[:-1], before=self.before or self)
        if not PAUSE_FROM_MS <= pause_ms <= PAUSE_UP_TO_MS:
            return reopened
        return replace(reopened.with_pause(pause_ms), paused=True, cut=True)

    @property
    def excess_ms(self) -> float:
        """The mean time in ms by which the speaker's pauses exceed PAUSE_FROM_MS, shrunk towards the prior mean."""
        total = sum(pause - PAUSE_FROM_MS for pause in self.pauses_ms)
        return (_PRIOR_WEIGHT * USUAL_EXCESS_MS + total) / (_PRIOR_WEIGHT + len(self.pauses_ms))

    @property
    def shift(self) -> float:
        """The shift of the logit, within ±1. Positive if the speaker pauses less often than the prior mean."""
        rate = (_PRIOR_WEIGHT * USUAL_PAUSES_PER_TURN + self.pauses) / (_PRIOR_WEIGHT + self.turns)
        return min(max(-log(rate / USUAL_PAUSES_PER_TURN), -_MAX_SHIFT), _MAX_SHIFT)

    @property
    def pausing(self) -> float:
        """The share of the last twelve turns in which the speaker paused, 0..1, shrunk towards the prior.

        The prior has little weight, since speakers differ more than the turns of one speaker. The current turn counts
        only if one of its pauses was mistaken for its end.
        """
        turns = (*self.recent, True) if self.cut else self.recent
        return (_PRIOR_PAUSING_WEIGHT * _PRIOR_PAUSING + sum(turns)) / (_PRIOR_PAUSING_WEIGHT + len(turns))

    @property
    def turn_shift(self) -> float:
        """The shift of the logit for a turn that has a pause already, since another pause is then likely.

        In 89 recordings outside the fitting set, 32 of the first silences of 300 ms or more were pauses, and 45 of the
        77 later ones: a difference of 0.9 in the logit.
        """
        return _PAUSED_IN_TURN_SHIFT if self.paused else 0.0


def answer_shift(expected: Expected, text: str) -> float:
    """Returns the shift of the logit for this transcript, given the kind of answer that was asked for."""
    words = words_of(text)
    if expected == "anything" or not words:
        return 0.0
    if is_short_answer(words):
        return _SHORT_ANSWER_SHIFT
    # "The kitchen." is not a sentence, but a complete answer to "Which room?".
    return _PHRASE_SHIFT if expected in _PHRASES and len(words) <= _PHRASE_WORDS else 0.0
