"""Converts moments to numbers: features and their signs, weights of moments, and the sets."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np

from assistant.end_of_turn.dictation.dictation_rules import NOTHING, Dictation, DictationRules
from assistant.end_of_turn.estimator import punctuation_features
from assistant.end_of_turn.questions import NO_QUESTION
from assistant.end_of_turn.text_features import text_features
from bench.end_of_turn.fit import Floats
from bench.end_of_turn.manifest import FIELD_GROUPS
from bench.end_of_turn.moments import Moment
from bench.end_of_turn.words import StoredTranscript

SIGNS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        # A turn ends low, soft, with a long last syllable; an "um" is steady in pitch, level and spectrum.
        "sound": {
            "pitch_end_st": -1,
            "pitch_rank": -1,
            "level_end_db": -1,
            "peak_db": -1,
            "lengthening": 1,
            "change_end_db": 1,
            "rate_hz": 1,
        },
        "text": {"completeness": 1, "end_log10": 1} | {"value_complete": 1, "value_incomplete": -1, "value_unknown": 0},
        "closure": {"closes": 1, "goes_on": -1},
        "smart": {"smart_logit": 1},
    }
)
"""Allowed sign of the influence of each feature; 0: both. Without it the fit would flip signs: there are only about
thirty speakers who pause."""

SHIPPED_SOURCES = (
    "sound",
    "text+closure",
    "smart",
    "sound+text+closure",
    "sound+smart",
    "text+closure+smart",
    "sound+text+closure+smart",
)
"""Combinations that have a model in the weights file, all sources last."""

EVALUATED_SOURCES = ("text", *SHIPPED_SOURCES)
"""Also the words without the expected punctuation, for comparison."""

SHOWN_SOURCES = ("sound", "text+closure", "sound+text+closure", "smart", "sound+text+closure+smart")
"""Combinations to draw: each source alone, words and sound, and all."""

GIVEN_WEIGHT = 0.25
"""Weight of a pause before a word that the speaker was asked to use, in fits and in shares of pauses."""

_MIN_PROBABILITY = 1e-4

_RULES = DictationRules()


def collection(moment: Moment) -> str:
    """Returns the collection of a moment. Class balance is kept within each, so that recognizing it gains nothing."""
    if moment.kind == "read":
        return "read"
    if moment.group in FIELD_GROUPS:
        return "telephone" if moment.group in ("telephone sentence", "single word") else moment.group
    return "orders" if moment.source == "Picovoice/speech-to-intent-benchmark" else "other"


SETS: Mapping[str, Callable[[Moment], bool]] = MappingProxyType(
    {
        "spoken, real pauses": lambda m: m.kind != "read" and not m.made and m.label != "gap",
        "spoken, real and added pauses": lambda m: (
            m.kind != "read" and m.label != "gap" and not (m.made and m.label == "end")
        ),
        "read aloud, real pauses": lambda m: m.kind == "read" and not m.made and m.label != "gap",
        "everything, real pauses": lambda m: not m.made and m.label != "gap",
        "dictation": lambda m: m.group == "dictation" and m.label != "gap",
        "telephone sentences": lambda m: m.group == "telephone sentence" and m.label != "gap",
    }
)


@cache
def _text_features(text: str) -> Mapping[str, float]:
    return text_features(text)


def names_of(sources: str) -> tuple[str, ...]:
    """Returns the features of "sound+text", in order."""
    return tuple(name for source in sources.split("+") for name in SIGNS[source])


def signs_of(sources: str) -> Floats:
    """Returns their signs, shape (n,)."""
    return np.array([float(sign) for source in sources.split("+") for sign in SIGNS[source].values()])


def dictations_of(moments: Sequence[Moment]) -> dict[tuple[int, int], Dictation]:
    """Returns what is dictated in each silence, by turn and number. Nothing was asked for before."""
    result: dict[tuple[int, int], Dictation] = {}
    for moment in moments:
        silence = moment.turn, moment.number
        if silence not in result:
            earlier = result.get((moment.turn, moment.number - 1), NOTHING)
            result[silence] = _RULES.dictation_of(moment.text, NO_QUESTION, earlier)
    return result


def features_of(moments: Sequence[Moment], sources: str) -> Floats:
    """Returns the features, shape (moments, features)."""
    names = names_of(sources)
    rows, dictations = np.zeros((len(moments), len(names))), dictations_of(moments)
    for row, moment in zip(rows, moments, strict=True):
        smart = min(max(0.5 if moment.smart is None else moment.smart, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
        told = StoredTranscript(moment.text, moment.low_confidence, moment.ends, moment.goes_on)
        known = {**moment.prosody, **_text_features(moment.text), "smart_logit": np.log(smart / (1 - smart))}
        known |= dictations[moment.turn, moment.number].features()
        known |= punctuation_features(told.punctuation)
        row[:] = [known[name] for name in names]
    return rows


def importance_of(moments: Sequence[Moment]) -> Floats:
    """Returns weights that balance ends and pauses in every collection at every length, shape (m,).

    A pause before a word that the speaker was asked to use counts GIVEN_WEIGHT: its prosody is untypical.
    """
    groups = [(collection(moment), moment.at_ms, moment.label == "end") for moment in moments]
    weights = [GIVEN_WEIGHT if moment.given else 1.0 for moment in moments]
    sizes: defaultdict[tuple[str, int, bool], float] = defaultdict(float)
    both: defaultdict[tuple[str, int], float] = defaultdict(float)
    for group, weight in zip(groups, weights, strict=True):
        sizes[group] += weight
        both[group[:2]] += weight
    return np.array([w * np.sqrt(both[g[:2]]) / sizes[g] for g, w in zip(groups, weights, strict=True)])
