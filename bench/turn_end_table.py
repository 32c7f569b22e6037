"""Converts moments to numbers: features and their signs, weights of moments, and the sets."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np

from assistant.end_of_turn.estimator import punctuation_features
from assistant.end_of_turn.text_features import text_shape
from audio.stt import Punctuation
from bench.turn_end_fit import Floats
from bench.turn_end_moments import Moment
from bench.turn_end_words import StoredTranscript

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
        "text": {"completeness": 1, "end_log10": 1, "filler": -1, "dangling": -1, "preposition": -1},
        "closure": {"closes": 1, "goes_on": -1},
        "smart": {"smart_logit": 1},
    }
)
"""Allowed sign of each feature. Without it the fit would flip signs: there are only about thirty speakers who pause."""

SOURCES = ("sound", "text", "smart", "sound+text", "sound+smart", "text+smart", "sound+text+smart")

CLOSURE_SOURCES = ("text+closure", "sound+text+closure", "text+closure+smart", "sound+text+closure+smart")
"""Models for recognizers that report expected punctuation."""

SOURCES_WITH_CLOSURE = (
    "sound",
    "text",
    "text+closure",
    "smart",
    "sound+text+closure",
    "sound+smart",
    "text+closure+smart",
    "sound+text+closure+smart",
)
"""Combinations shown for such a recognizer, all sources last."""

_NEUTRAL = Punctuation(sentence_end=0.5, continuation=0.1)
"""Punctuation if the recognizer reports none (2 of 100: decoding looped). The program then judges without it."""

_MIN_PROBABILITY = 1e-4


def collection(moment: Moment) -> str:
    """Returns the collection of a moment. Class balance is kept within each, so that recognizing it gains nothing."""
    if moment.kind == "read":
        return "read"
    return "orders" if moment.source == "Picovoice/speech-to-intent-benchmark" else "other"


SETS: Mapping[str, Callable[[Moment], bool]] = MappingProxyType(
    {
        "spoken, real pauses": lambda m: m.kind != "read" and not m.made and m.label != "gap",
        "spoken, real and added pauses": lambda m: (
            m.kind != "read" and m.label != "gap" and not (m.made and m.label == "end")
        ),
        "read aloud, real pauses": lambda m: m.kind == "read" and not m.made and m.label != "gap",
        "everything, real pauses": lambda m: not m.made and m.label != "gap",
    }
)


@cache
def _text_features(text: str) -> Mapping[str, float]:
    return text_shape(text).named()


def names_of(sources: str) -> tuple[str, ...]:
    """Returns the features of "sound+text", in order."""
    return tuple(name for source in sources.split("+") for name in SIGNS[source])


def signs_of(sources: str) -> Floats:
    """Returns their signs, shape (n,)."""
    return np.array([float(sign) for source in sources.split("+") for sign in SIGNS[source].values()])


def features_of(moments: Sequence[Moment], sources: str) -> Floats:
    """Returns the features, shape (moments, features)."""
    names = names_of(sources)
    rows = np.zeros((len(moments), len(names)))
    for row, moment in zip(rows, moments, strict=True):
        smart = min(max(0.5 if moment.smart is None else moment.smart, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
        told = StoredTranscript(moment.text, moment.low_confidence, moment.ends, moment.goes_on)
        known = {**moment.prosody, **_text_features(moment.text), "smart_logit": np.log(smart / (1 - smart))}
        known |= punctuation_features(told.punctuation or _NEUTRAL)
        row[:] = [known[name] for name in names]
    return rows


def importance_of(moments: Sequence[Moment]) -> Floats:
    """Returns weights that balance ends and pauses in every collection at every length, shape (m,)."""
    groups = [(collection(moment), moment.at_ms, moment.label == "end") for moment in moments]
    sizes = Counter(groups)
    both = Counter(group[:2] for group in groups)
    return np.array([np.sqrt(both[group[:2]]) / sizes[group] for group in groups])
