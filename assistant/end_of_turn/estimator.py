"""Is the turn over? From the sound and the words so far and the length of the silence, a probability; from it, a wait.

Pure. The weights are fitted (`python -m bench.turn_end fit`, docs/turn-taking.md) and lie in weights.json.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from math import exp, isnan, log
from typing import Protocol

from assistant.end_of_turn.priors import PAUSE_FROM_MS, Expected, SpeakerPauseStats, answer_shift
from assistant.end_of_turn.text_features import text_shape
from audio.end_of_turn.prosody_features import Prosody
from audio.stt import Punctuation

_WEIGHTS = "weights.json"
_MOST_DEVIATIONS = 3.0
_KNOWN_SENTENCE_SHIFT = 1.0
_LEAST = 1e-4
_MOST_LOGIT = 8.0


@dataclass(frozen=True, slots=True)
class EndOfTurnEvidence:
    """What is known at a moment of a silence.

    Attributes:
        silence_ms: How long it has lasted, from the end of speech as the detector dates it.
        prosody: Of the sound; None where nobody listened.
        text: The words of the whole turn, asked for at the start of this silence and kept while it lasts (decoders
            add words to silence); None where they were not asked for, "" where none were understood.
        closure: What the recognizer expects behind these words; None where it does not tell.
        known_sentence: Whether the words are, whole, a sentence that a skill understands.
        smart: Smart Turn's probability, of this silence or of an earlier moment in it; None without it.
        habits: Of the speaker, in this conversation.
        expected: What the assistant's last words asked for.
    """

    silence_ms: float
    prosody: Prosody | None = None
    text: str | None = None
    closure: Punctuation | None = None
    known_sentence: bool = False
    smart: float | None = None
    habits: SpeakerPauseStats = field(default_factory=SpeakerPauseStats)
    expected: Expected = "anything"


@dataclass(frozen=True, slots=True)
class EndOfTurnEstimate:
    """How likely the turn is over.

    Attributes:
        probability: 0..1; ends and pauses count as equally frequent at a silence of 200 ms.
        silence_ms: Of the evidence.
        pause_excess_ms: How much longer the speaker's pauses last, in the mean, the longer they have lasted already;
            above 0.
        sources: What it rests on, for the trace.
        pausing: In how many of their turns the speaker pauses, 0..1; see PauseHabits.
    """

    probability: float
    silence_ms: float
    pause_excess_ms: float
    sources: str
    pausing: float = 0.0

    @property
    def logit(self) -> float:
        """Of the probability, within ±8."""
        return _logit(self.probability)

    @property
    def evidence_logit(self) -> float:
        """The same without what the length of the silence adds: how finished the turn sounds."""
        return self.logit - (self.silence_ms - PAUSE_FROM_MS) / self.pause_excess_ms


class EndOfTurnEstimator(Protocol):
    """Whatever judges whether a turn is over."""

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        """Judge a moment. Does not block, never raises."""
        ...


@dataclass(frozen=True, slots=True)
class LinearModel:
    """A logistic regression on standardized features; all of shape (n,)."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def logit(self, features: Mapping[str, float]) -> float:
        """Of one moment. A feature further than three deviations from its mean counts as three; NaN says nothing."""
        total = self.bias
        for name, mean, deviation, weight in zip(self.names, self.mean, self.deviation, self.weights, strict=True):
            scaled = (features[name] - mean) / deviation
            if isnan(scaled):
                continue
            total += weight * min(max(scaled, -_MOST_DEVIATIONS), _MOST_DEVIATIONS)
        return total


@dataclass(frozen=True, slots=True)
class FusedEstimator:
    """The estimator of this project: the fitted model of whatever sources there are, and the stated shifts.

    Attributes:
        models: By the names of their sources, joined with "+": sound, text, closure, smart.
        reference_ms: The silence at which the models are calibrated.
    """

    models: Mapping[str, LinearModel]
    reference_ms: float

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        """Judge a moment."""
        sources, features = _features(evidence)
        excess_ms = evidence.habits.excess_ms
        logit = self.models[sources].logit(features) if sources else 0.0
        logit += (
            evidence.habits.shift + evidence.habits.turn_shift + answer_shift(evidence.expected, evidence.text or "")
        )
        if evidence.known_sentence:
            logit += _KNOWN_SENTENCE_SHIFT
        # Pauses end at a steady rate, ends do not: with every mean excess that passes, the odds grow e-fold.
        logit += (evidence.silence_ms - self.reference_ms) / excess_ms
        probability = 1 / (1 + exp(-_clipped(logit)))
        return EndOfTurnEstimate(probability, evidence.silence_ms, excess_ms, sources, evidence.habits.pausing)


@dataclass(frozen=True, slots=True)
class EndOfTurnProfile:
    """How long to wait for more.

    Attributes:
        floor_ms: The shortest silence that ends a turn, however finished it sounds.
        ceiling_ms: The longest that is waited for in a turn that may be over, of who seldom pauses.
        unfinished_ms: The silence that ends a turn that sounds unfinished.
        threshold: The logit of the probability at which waiting longer costs more than it saves.
        pausing_ms: The ceiling for who pauses in every other turn; not above the other one: the same for all.
    """

    floor_ms: float
    ceiling_ms: float
    unfinished_ms: float
    threshold: float
    pausing_ms: float = 0.0

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
        """For a speaker who pauses in this share of their turns, in ms."""
        known = min(max((pausing - SELDOM) / (OFTEN - SELDOM), 0.0), 1.0)
        return self.ceiling_ms + known * max(self.pausing_ms - self.ceiling_ms, 0.0)


EAGER = EndOfTurnProfile(floor_ms=160, ceiling_ms=400, unfinished_ms=400, threshold=0.3)
BALANCED = EndOfTurnProfile(floor_ms=220, ceiling_ms=440, unfinished_ms=800, threshold=1.0, pausing_ms=760)
PATIENT = EndOfTurnProfile(floor_ms=400, ceiling_ms=820, unfinished_ms=2000, threshold=1.6, pausing_ms=1600)
"""What each costs is in docs/turn-taking.md. Eager and balanced keep the promise of 500 ms; balanced lets go of it
where a turn sounds unfinished, and for who pauses often; patient is for people who think while they speak."""

SELDOM, OFTEN = 0.25, 0.5
"""Shares of a speaker's turns with a pause: up to the first they are promised the same as everybody, from the second
on they are waited for as who pauses."""

UNFINISHED = -2.0
"""Evidence below which a turn sounds unfinished (a probability of 0.12). Of the turns that nobody paused in, 2 in 100
end so, so that the 95th percentile of their answers is the ceiling's; of the pauses in free speech half sound so
(docs/turn-taking.md)."""


def hangover_ms(estimate: EndOfTurnEstimate, patience: EndOfTurnProfile) -> float:
    """The silence that ends the turn, in ms from the end of speech, if nothing new is learned until then.

    While pauses end at a steady rate, the odds of an end grow e-fold with every mean excess of a pause; the turn is
    over when they reach the threshold. Never below the floor or above the speaker's ceiling, but where a turn sounds
    unfinished; falls with the probability.
    """
    if estimate.evidence_logit < UNFINISHED:
        return patience.unfinished_ms
    wanted_ms = estimate.silence_ms + estimate.pause_excess_ms * (patience.threshold - estimate.logit)
    return min(max(wanted_ms, patience.floor_ms), patience.ceiling_for(estimate.pausing))


@cache
def fitted_turn_end() -> FusedEstimator:
    """The estimator with the weights that ship with the program; read once."""
    return turn_end_of(json.loads((resources.files("assistant.end_of_turn") / _WEIGHTS).read_text(encoding="utf-8")))


def turn_end_of(weights: Mapping[str, object]) -> FusedEstimator:
    """The estimator of a weights file's content. Raises KeyError, TypeError, ValueError for anything else."""
    models, reference_ms = weights["models"], weights["reference_ms"]
    if not isinstance(models, dict) or not isinstance(reference_ms, int | float):
        raise TypeError("the weights hold no models: python -m bench.turn_end fit writes them")
    return FusedEstimator({name: _model(found) for name, found in models.items()}, float(reference_ms))


def _model(found: Mapping[str, list[str] | list[float] | float]) -> LinearModel:
    names, bias = found["names"], found["bias"]
    rows = [found[name] for name in ("mean", "deviation", "weights")]
    if not isinstance(names, list) or not isinstance(bias, int | float):
        raise TypeError("a model of the weights has no names or no bias: python -m bench.turn_end fit writes them")
    mean, deviation, weights = (tuple(map(float, row)) for row in rows if isinstance(row, list))
    return LinearModel(tuple(map(str, names)), mean, deviation, weights, float(bias))


def _features(evidence: EndOfTurnEvidence) -> tuple[str, dict[str, float]]:
    sources, features = [], dict[str, float]()
    if evidence.prosody is not None:
        sources.append("sound")
        features |= evidence.prosody.named()
    if evidence.text is not None:
        sources.append("text")
        features |= text_shape(evidence.text).named()
    if evidence.text and evidence.closure is not None:
        sources.append("closure")
        features |= closure_features(evidence.closure)
    if evidence.smart is not None:
        sources.append("smart")
        features["smart_logit"] = _logit(evidence.smart)
    return "+".join(sources), features


def closure_features(closure: Punctuation) -> dict[str, float]:
    """By name, as logits."""
    return {"closes": _logit(closure.sentence_end), "goes_on": _logit(closure.continuation)}


def _logit(probability: float) -> float:
    bounded = min(max(probability, _LEAST), 1 - _LEAST)
    return log(bounded / (1 - bounded))


def _clipped(logit: float) -> float:
    return min(max(logit, -_MOST_LOGIT), _MOST_LOGIT)
