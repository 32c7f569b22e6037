"""Adds what is known at a moment besides the sound: the speaker's pauses so far, as the program counts them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp

from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnProfile, pausing_of, silence_timeout_ms
from assistant.end_of_turn.priors import PAUSE_FROM_MS, USUAL_EXCESS_MS, SpeakerPauseStats
from bench.end_of_turn.curve import Wait
from bench.end_of_turn.fit import Floats
from bench.end_of_turn.moments import Moment

Key = tuple[int, int, int]

_MAX_LOGIT = 8.0


@dataclass(frozen=True, slots=True)
class Known:
    """Evidence at one moment.

    Attributes:
        logit: Logit from the sound, at the silence for which the models are calibrated.
        habits: Pause statistics of the speaker.
    """

    logit: float = 0.0
    habits: SpeakerPauseStats = field(default_factory=SpeakerPauseStats)


def key_of(moment: Moment) -> Key:
    """Returns turn, silence and length of a moment."""
    return moment.turn, moment.number, moment.at_ms


def keyed(moments: Sequence[Moment], logits: Floats) -> dict[Key, float]:
    """Returns the logits by moment."""
    return {key_of(moment): float(logit) for moment, logit in zip(moments, logits, strict=True)}


def within_turns(moments: Sequence[Moment], logits: Mapping[Key, float]) -> dict[Key, Known]:
    """Returns logit and pause statistics of each moment, from earlier pauses of the same turn only."""
    pauses: dict[int, dict[int, float]] = {}
    for moment in moments:
        if moment.label != "end":
            pauses.setdefault(moment.turn, {})[moment.number] = moment.lasts_ms
    result = {}
    for moment in moments:
        habits = SpeakerPauseStats()
        for number, lasts_ms in pauses.get(moment.turn, {}).items():
            if number < moment.number:
                habits = habits.with_pause(lasts_ms)
        result[key_of(moment)] = Known(logits[key_of(moment)], habits)
    return result


def estimate_of(moment: Moment, known: Known) -> EndOfTurnEstimate:
    """Returns the program's estimate. Complete commands and answers to questions are not known here."""
    habits = known.habits
    logit = known.logit + habits.shift + (moment.known_ms - PAUSE_FROM_MS) / USUAL_EXCESS_MS
    bounded = min(max(logit, -_MAX_LOGIT), _MAX_LOGIT)
    return EndOfTurnEstimate(
        1 / (1 + exp(-bounded)), moment.known_ms, USUAL_EXCESS_MS, "", pausing_of(habits), speaker_shift=habits.shift
    )


def waits(known: Mapping[Key, Known], profile: EndOfTurnProfile) -> Wait:
    """Returns the silence timeout for each moment's estimate."""
    return lambda moment: silence_timeout_ms(estimate_of(moment, known.get(key_of(moment), Known())), profile)
