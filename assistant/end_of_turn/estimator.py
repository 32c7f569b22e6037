"""Estimates whether the turn is over, and derives the silence timeout from the estimate. Pure.

The probability depends on prosody, the interim transcript and the length of the silence. The weights are fitted
(`python -m bench.end_of_turn.evaluation fit`, docs/lab/turn-taking.md) and stored in weights.json.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from math import exp, log, nan
from typing import Protocol

from assistant.end_of_turn.boosted_trees import BoostedTrees, trees_of
from assistant.end_of_turn.dictation.dictation_rules import NOTHING, OPEN_ENDED, Dictation
from assistant.end_of_turn.priors import PAUSE_FROM_MS, USUAL_EXCESS_MS, SpeakerPauseStats, answer_shift
from assistant.end_of_turn.questions import Expected
from assistant.end_of_turn.text_features import text_features
from audio.end_of_turn.prosody_features import Prosody
from audio.stt import Punctuation

_WEIGHTS = "weights.json"
_KNOWN_SENTENCE_SHIFT = 1.0  # added to the logit
_COMPLETE_SHIFT = 4.0  # added when a dictated value has all its parts, and no model has a weight for that
_MIN_PROBABILITY = 1e-4  # bound on probabilities before the logit
_MAX_LOGIT = 8.0  # bound on the logit of an estimate

_VALUES: frozenset[Expected] = frozenset(
    {"a phone number", "a card number", "a code", "a number", "a spelling", "an address", "an e-mail address", "a list"}
)
_INCOMPLETE_SHIFT = -3.0  # added when such a value was asked for and lacks a part: it goes on, whatever the sound says

_GROUP_SHARE = 0.46  # share of `dictating_ms` that is the floor in a value that may go on: most pauses in it end before
_GROUP_EXCESS_MS = 560.0  # mean excess of the pauses in such a value
_GROUP_MARGIN = 0.3  # added to the threshold in such a value
_ANNOUNCED_FACTOR = 2.0  # who says "let me think" pauses longer than between two groups of digits
_SURELY_INCOMPLETE = frozenset(
    {"announcement", "phone number", "card number", "e-mail address", "date", "time", "list"}
)
"""Values whose missing part the rules know surely, so that an incomplete one goes on whatever the sound says."""

_ONE_NUMBER = Dictation("digits", "unknown")
_FINISHED_NUMBER = 1.5
"""Evidence logit from which digits that nothing announced are one number. These values were chosen on *train*, see
docs/lab/turn-taking.md, "The profile auto"."""

SURE = 0.8
"""Evidence logit from which a turn surely sounds finished (a probability of 0.69)."""

UNFINISHED = -2.0
"""Evidence logit below which a turn sounds unfinished (a probability of 0.12).

Of turns without a pause, 2 % end below it, so the ceiling determines the 95th percentile of their response latency. Of
the pauses in free speech, half are below it (docs/lab/turn-taking.md).
"""


@dataclass(frozen=True, slots=True)
class EndOfTurnEvidence:
    """Evidence for the end of a turn at one moment of a silence.

    Attributes:
        silence_ms: The length of the silence, from the end of speech that the VAD reports.
        prosody: The prosodic features; None if they were not computed.
        text: The transcript of the whole turn, requested at the start of this silence. It stays the same during the
            silence, since decoders add words to silence. None if it was not requested, "" if it has no words.
        punctuation: The punctuation that the recognizer expects after these words; None if its decode did not reach
            their end, or the recognizer reports none: the median of the fit stands in.
        known_sentence: Whether the text is a complete sentence that a skill understands.
        smart_turn: The Smart Turn probability, from this silence; None without the model.
        pause_stats: The pauses of the speaker in this conversation.
        expected: The kind of answer that the assistant's last words asked for.
        dictation: What the speaker dictates, and whether it is complete.
    """

    silence_ms: float
    prosody: Prosody | None = None
    text: str | None = None
    punctuation: Punctuation | None = None
    known_sentence: bool = False
    smart_turn: float | None = None
    pause_stats: SpeakerPauseStats = field(default_factory=SpeakerPauseStats)
    expected: Expected = "anything"
    dictation: Dictation = NOTHING


@dataclass(frozen=True, slots=True)
class EndOfTurnEstimate:
    """An estimate of whether the turn is over.

    Attributes:
        probability: The EOT probability, 0..1. Ends and pauses are taken as equally frequent at 200 ms of silence.
        silence_ms: The length of the silence.
        pause_excess_ms: The mean time by which pauses exceed `PAUSE_FROM_MS`; above 0. Traces before the excess was
            the same for all speakers have others.
        sources: The names of the sources used, for the trace.
        pausing: The share of turns in which the speaker pauses, 0..1; see `SpeakerPauseStats`.
        dictation: What the speaker dictates, and whether it is complete.
        speaker_shift: The part of the logit that is due to the speaker's pauses.
    """

    probability: float
    silence_ms: float
    pause_excess_ms: float
    sources: str
    pausing: float = 0.0
    dictation: Dictation = NOTHING
    speaker_shift: float = 0.0

    @property
    def logit(self) -> float:
        """The logit of the probability. The estimator limits it to ±8."""
        return _logit(self.probability)

    @property
    def evidence_logit(self) -> float:
        """The logit without the contribution of the silence: how finished the turn sounds."""
        return self.logit - (self.silence_ms - PAUSE_FROM_MS) / self.pause_excess_ms

    @property
    def sounds_unfinished(self) -> bool:
        """Whether the turn sounds unfinished. That the speaker seldom pauses does not count."""
        return self.evidence_logit - max(self.speaker_shift, 0.0) < UNFINISHED


class EndOfTurnEstimator(Protocol):
    """Interface of models that estimate whether a turn is over."""

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        """Estimates whether the turn is over. Does not block and never raises."""
        ...


@dataclass(frozen=True, slots=True)
class FusedEstimator:
    """Combines the fitted model for the available sources with the fixed shifts.

    Attributes:
        models: The models, keyed by the names of their sources joined with "+": sound, text and closure, smart.
        reference_ms: The length of silence for which the models are calibrated.
    """

    models: Mapping[str, BoostedTrees]
    reference_ms: float

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        """Estimates whether the turn is over."""
        sources, features = _features(evidence)
        logit = self.models[sources].logit(features) if sources else 0.0
        speaker_shift = evidence.pause_stats.shift
        logit += speaker_shift + answer_shift(evidence.expected, evidence.text or "")
        if evidence.known_sentence:
            logit += _KNOWN_SENTENCE_SHIFT
        if evidence.dictation.state == "complete" and not evidence.text:
            logit += _COMPLETE_SHIFT
        if evidence.dictation.state == "incomplete" and evidence.expected in _VALUES:
            logit += _INCOMPLETE_SHIFT
        # Pauses end at a constant rate. With each mean excess of silence, the odds of an end grow by a factor of e.
        logit += (evidence.silence_ms - self.reference_ms) / USUAL_EXCESS_MS
        probability = 1 / (1 + exp(-_clipped(logit)))
        pausing = pausing_of(evidence.pause_stats)
        return EndOfTurnEstimate(
            probability, evidence.silence_ms, USUAL_EXCESS_MS, sources, pausing, evidence.dictation, speaker_shift
        )


@dataclass(frozen=True, slots=True)
class EndOfTurnProfile:
    """Maps the EOT probability to the silence timeout. The field names are part of the trace format.

    Attributes:
        floor_ms: The shortest timeout.
        ceiling_ms: The longest timeout of a turn that does not sound unfinished, for a speaker who rarely pauses.
        unfinished_ms: The timeout of a turn that sounds unfinished.
        threshold: The logit at which the turn is over.
        pausing_ms: The ceiling for a speaker who pauses in every second turn. If it is not above `ceiling_ms`, the
            ceiling is the same for all speakers.
        dictating_ms: The timeout in a dictated value that is incomplete, and the ceiling in one that may go on. If it
            is not above the others, dictation changes nothing.
        sure_floor_ms: The shortest timeout of a turn that surely sounds finished. 0: the same as `floor_ms`.
    """

    floor_ms: float
    ceiling_ms: float
    unfinished_ms: float
    threshold: float
    pausing_ms: float = 0.0
    dictating_ms: float = 0.0
    sure_floor_ms: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.floor_ms <= self.ceiling_ms <= self.unfinished_ms:
            raise ValueError(
                f"the floor is {self.floor_ms:g} ms, the ceiling {self.ceiling_ms:g}, that of an unfinished turn "
                f"{self.unfinished_ms:g}: each must be at least the one before it, and the floor more than 0"
            )
        if self.pausing_ms > self.unfinished_ms:
            raise ValueError(
                f"the ceiling for who pauses often is {self.pausing_ms:g} ms, that of an unfinished turn "
                f"{self.unfinished_ms:g}: it may not be more"
            )

    def ceiling_for(self, pausing: float) -> float:
        """Returns the longest timeout in ms for a speaker who pauses in this share of turns."""
        known = min(max((pausing - SELDOM) / (OFTEN - SELDOM), 0.0), 1.0)
        return self.ceiling_ms + known * max(self.pausing_ms - self.ceiling_ms, 0.0)


EAGER = EndOfTurnProfile(floor_ms=160, ceiling_ms=400, unfinished_ms=400, threshold=0.3, dictating_ms=800)
BALANCED = EndOfTurnProfile(
    floor_ms=220,
    ceiling_ms=440,
    unfinished_ms=800,
    threshold=1.0,
    pausing_ms=760,
    dictating_ms=1250,
    sure_floor_ms=180,
)
PATIENT = EndOfTurnProfile(
    floor_ms=400, ceiling_ms=820, unfinished_ms=2000, threshold=2.0, pausing_ms=1600, dictating_ms=2400
)
AUTO = replace(BALANCED, threshold=0.5, ceiling_ms=600, unfinished_ms=1300, pausing_ms=1300, dictating_ms=1300)
"""The profiles; docs/performance.md gives the latency of each. Eager and balanced meet the target of 500 ms for turns
that sound finished; auto waits up to 600 ms for those whose end is unsure. Balanced and auto exceed it for turns that
sound unfinished, for speakers who pause, and in dictation. Patient is for people who think while they speak."""

SELDOM, OFTEN = 0.25, 0.5
"""Shares of turns with a pause. Up to SELDOM the ceiling is `ceiling_ms`, from OFTEN on it is `pausing_ms`; in between
it is interpolated."""


def pausing_of(stats: SpeakerPauseStats) -> float:
    """Returns the share of turns in which the speaker pauses; OFTEN at least if this turn has a long pause."""
    return max(stats.pausing, OFTEN) if stats.long_pause else stats.pausing


def silence_timeout_ms(estimate: EndOfTurnEstimate, profile: EndOfTurnProfile) -> float:
    """Returns the silence timeout in ms from the end of speech, for this estimate.

    Pauses end at a constant rate, so the odds of an end grow by a factor of e with each mean excess of silence. The
    turn is over when the odds reach the threshold. The timeout lies between the floor and the speaker's ceiling, unless
    the turn sounds unfinished, or the speaker dictates. It falls with the probability.
    """
    dictation = estimate.dictation
    if dictation.state == "incomplete" and dictation.kind in _SURELY_INCOMPLETE and profile.dictating_ms:
        announced = _ANNOUNCED_FACTOR if dictation.kind == "announcement" else 1.0
        return max(profile.unfinished_ms, announced * profile.dictating_ms)
    goes_on = profile.dictating_ms > 0 and dictation.kind in OPEN_ENDED and dictation.state != "complete"
    if dictation == _ONE_NUMBER and estimate.evidence_logit >= _FINISHED_NUMBER:
        goes_on = False  # nothing announced the digits
    longest_ms = profile.dictating_ms if goes_on else 0.0
    is_sure = profile.sure_floor_ms > 0 and estimate.evidence_logit >= SURE
    floor_ms = max(profile.sure_floor_ms if is_sure else profile.floor_ms, _GROUP_SHARE * longest_ms)
    if estimate.sounds_unfinished:
        return max(profile.unfinished_ms, longest_ms)
    excess_ms = _GROUP_EXCESS_MS if goes_on else estimate.pause_excess_ms
    threshold = profile.threshold + (_GROUP_MARGIN if goes_on else 0.0)
    wanted_ms = PAUSE_FROM_MS + excess_ms * (threshold - estimate.evidence_logit)
    return min(max(wanted_ms, floor_ms), max(profile.ceiling_for(estimate.pausing), longest_ms))


@cache
def fitted_turn_end() -> FusedEstimator:
    """Returns the estimator with the shipped weights. They are read once."""
    return turn_end_of(json.loads((resources.files("assistant.end_of_turn") / _WEIGHTS).read_text(encoding="utf-8")))


def turn_end_of(weights: Mapping[str, object]) -> FusedEstimator:
    """Builds the estimator from the content of a weights file. Raises KeyError, TypeError, ValueError if malformed."""
    models, reference_ms = weights["models"], weights["reference_ms"]
    if not isinstance(models, dict) or not isinstance(reference_ms, int | float):
        raise TypeError("the weights hold no models: python -m bench.end_of_turn.evaluation fit writes them")
    return FusedEstimator({name: trees_of(model) for name, model in models.items()}, float(reference_ms))


def _features(evidence: EndOfTurnEvidence) -> tuple[str, dict[str, float]]:
    sources, features = [], dict[str, float]()
    if evidence.prosody is not None:
        sources.append("sound")
        features |= evidence.prosody.named()
    if evidence.text:
        sources += ["text", "closure"]
        features |= text_features(evidence.text)
        features |= punctuation_features(evidence.punctuation)
        features |= evidence.dictation.features()
    if evidence.smart_turn is not None:
        sources.append("smart")
        features["smart_logit"] = _logit(evidence.smart_turn)
    return "+".join(sources), features


def punctuation_features(punctuation: Punctuation | None) -> dict[str, float]:
    """Returns the punctuation probabilities as logits, by feature name; NaN if there are none."""
    if punctuation is None:
        return {"closes": nan, "goes_on": nan}
    return {"closes": _logit(punctuation.sentence_end), "goes_on": _logit(punctuation.continuation)}


def _logit(probability: float) -> float:
    bounded = min(max(probability, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    return log(bounded / (1 - bounded))


def _clipped(logit: float) -> float:
    return min(max(logit, -_MAX_LOGIT), _MAX_LOGIT)
