"""Computes shifts of the EOT estimate from the speaker's pauses and from the assistant's last question. Pure.

The number of pauses in a turn is Poisson-distributed with a rate that each speaker has. The rate has a Gamma prior, so
the posterior mean is a ratio of two counts. Its logarithm is the shift: a speaker with twice as many pauses has half
the odds of an end at each silence. `python -m bench.turns.speakers` measures it (docs/lab/turn-taking.md).
"""

from dataclasses import dataclass, field, replace
from math import log

from assistant.end_of_turn.completeness import is_short_answer, words_of
from assistant.end_of_turn.questions import Expected

PAUSE_FROM_MS = 200.0
"""Shortest silence in ms inside a turn that counts as a pause."""

PAUSE_UP_TO_MS = 3000.0
"""Longest silence in ms that counts as a pause. After a longer silence the user has noticed that no reply comes."""

USUAL_EXCESS_MS = 340.0
"""Mean time in ms by which a pause exceeds PAUSE_FROM_MS. Fitted on natural pauses: each second of silence adds 2.9 to
the logit (`python -m bench.end_of_turn.evaluation shifts`). It is the same for all speakers, because a mean that was
learned for each one cut more pauses at the same delay."""

_PRIOR_TURNS = 2.0
"""Weight of the prior rate of one pause a turn: shape and rate of the Gamma distribution. The share of pauses cut at
the same delay is best at 1.5 and within 0.3 % from 1 to 3; the likelihood is best at 3."""

_FADE = 0.95
"""Factor on the counts of earlier turns with each turn, so that about the last twenty count. A speaker's habit changes
with what they say; the share of pauses cut is the same from 0.95 to 1."""

HALF_LIFE_DAYS = 30.0
"""Age in days at which kept counts have half their weight, about ten turns: speaker, room or topic may be another by
then. Not fitted, since no corpus has a speaker at two times a month apart."""

MAX_TURNS = 20.0
"""Most turns that kept counts stand for: _FADE leaves no more."""

_MAX_PAUSES_PER_TURN = 50.0  # kept counts with more pauses are damaged
_MAX_SHIFT = 2.0  # bound on the shift of the logit
_PRIOR_PAUSING = 0.2  # prior share of turns with a pause
_PRIOR_PAUSING_WEIGHT = 2.0  # its weight, as a number of turns
_RECENT_TURNS = 12  # turns that count for `pausing`
_PAUSED_IN_TURN_MS = 300.0  # shortest pause that marks a turn
_LONG_PAUSE_MS = 500.0  # shortest pause after which the rest of the turn gets the ceiling for users who pause often
_SHORT_ANSWER_SHIFT = 1.5
_PHRASE_SHIFT = 0.5
_PHRASE_WORDS = 4
_PHRASES: frozenset[Expected] = frozenset({"a phrase", "a name", "a date", "a time"})


@dataclass(frozen=True, slots=True)
class PauseCounts:
    """The counts of a speaker's pauses and turns that are kept from one conversation to the next."""

    pauses: float = 0.0
    turns: float = 0.0

    @property
    def is_plausible(self) -> bool:
        """Whether conversations can have produced the counts."""
        return 0 <= self.turns <= 2 * MAX_TURNS and 0 <= self.pauses <= _MAX_PAUSES_PER_TURN * MAX_TURNS

    def after(self, age_s: float) -> "PauseCounts":
        """Returns the counts faded by their age. `turns` is at most MAX_TURNS, at the same rate."""
        fade = 0.5 ** (max(age_s, 0.0) / (HALF_LIFE_DAYS * 86400))
        fade = min(fade, MAX_TURNS / self.turns) if self.turns else fade
        return PauseCounts(fade * self.pauses, fade * self.turns)


@dataclass(frozen=True, slots=True)
class SpeakerPauseStats:
    """The pauses of one speaker inside turns. Immutable: changes return a new value.

    Attributes:
        pauses: The number of pauses of PAUSE_FROM_MS or more; those of earlier turns count less.
        turns: The number of committed turns, likewise.
        paused: Whether the current turn has a pause of 300 ms or more, or one that was mistaken for its end.
        long_pause: Whether the current turn has a pause of 500 ms or more.
        cut: Whether a pause of the current turn was mistaken for its end.
        recent: For each of the last twelve turns, whether it had a pause.
        last: The value before the last turn was committed. It is restored if the speaker continues that turn.
        before: The value before the current turn was reopened. It is restored if the speech is discarded.
        earlier_pauses: `pauses` at the beginning of the current turn, to which a discarded turn returns.
    """

    pauses: float = 0.0
    turns: float = 0.0
    paused: bool = False
    long_pause: bool = False
    cut: bool = False
    recent: tuple[bool, ...] = ()
    last: "SpeakerPauseStats | None" = field(default=None, compare=False, repr=False)
    before: "SpeakerPauseStats | None" = None
    earlier_pauses: float = 0.0

    def with_pause(self, pause_ms: float) -> "SpeakerPauseStats":
        """Returns the value after a pause inside a turn. One shorter than PAUSE_FROM_MS changes nothing."""
        if pause_ms < PAUSE_FROM_MS:
            return self
        return replace(
            self,
            pauses=self.pauses + 1,
            paused=self.paused or pause_ms >= _PAUSED_IN_TURN_MS,
            long_pause=self.long_pause or pause_ms >= _LONG_PAUSE_MS,
        )

    def with_turn(self) -> "SpeakerPauseStats":
        """Returns the value after a turn was committed."""
        return SpeakerPauseStats(
            pauses=_FADE * self.pauses,
            turns=_FADE * (self.turns + 1),
            recent=(*self.recent, self.paused)[-_RECENT_TURNS:],
            last=replace(self, last=None, before=None),
            earlier_pauses=_FADE * self.pauses,
        )

    def without_turn(self) -> "SpeakerPauseStats":
        """Returns the value after a turn was discarded."""
        return self.before or replace(self, pauses=self.earlier_pauses, paused=False, long_pause=False, cut=False)

    def with_return(self, pause_ms: float) -> "SpeakerPauseStats":
        """Returns the value after the speaker continued a committed turn that a silence of this length had ended."""
        reopened = replace(self.last or self, cut=False, before=self.before or self)
        if not PAUSE_FROM_MS <= pause_ms <= PAUSE_UP_TO_MS:
            return reopened
        return replace(reopened.with_pause(pause_ms), paused=True, cut=True)

    @property
    def counts(self) -> PauseCounts:
        """The counts that may be kept for the speaker's next conversation."""
        return PauseCounts(self.pauses, self.turns)

    def with_counts(self, counts: PauseCounts) -> "SpeakerPauseStats":
        """Returns the value with the counts of the speaker's earlier conversations added."""
        return replace(
            self,
            pauses=self.pauses + counts.pauses,
            turns=self.turns + counts.turns,
            earlier_pauses=self.earlier_pauses + counts.pauses,
            last=None if self.last is None else self.last.with_counts(counts),
            before=None if self.before is None else self.before.with_counts(counts),
        )

    @property
    def shift(self) -> float:
        """The shift of the logit, within ±2. Negative if the speaker pauses more often than the prior rate.

        The pauses of the current turn count, since another pause is then likely.
        """
        rate = (_PRIOR_TURNS + self.pauses) / (_PRIOR_TURNS + self.turns)
        return min(max(-log(rate), -_MAX_SHIFT), _MAX_SHIFT)

    @property
    def pausing(self) -> float:
        """The share of the last twelve turns in which the speaker paused, 0..1, shrunk towards the prior.

        The prior has little weight, since speakers differ more than the turns of one speaker. The current turn counts
        only if one of its pauses was mistaken for its end.
        """
        turns = (*self.recent, True) if self.cut else self.recent
        return (_PRIOR_PAUSING_WEIGHT * _PRIOR_PAUSING + sum(turns)) / (_PRIOR_PAUSING_WEIGHT + len(turns))


def answer_shift(expected: Expected, text: str) -> float:
    """Returns the shift of the logit for this transcript, given the kind of answer that was asked for."""
    words = words_of(text)
    if expected == "anything" or not words:
        return 0.0
    if is_short_answer(words):
        return _SHORT_ANSWER_SHIFT
    # "The kitchen." is not a sentence, but a complete answer to "Which room?".
    return _PHRASE_SHIFT if expected in _PHRASES and len(words) <= _PHRASE_WORDS else 0.0
