"""Declares the voice Piper. Imports nothing heavy: its settings and voices are read at every start."""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from audio.engines.settings import OnnxSettings
from audio.engines.voice import ANY_LANGUAGE, VoiceEngine, VoiceFigures, VoiceRequest
from audio.tts import Voice
from audio.tts.piper.catalogue import MODELS, VOICE_OF_LANGUAGE
from declarations.settings import KeyInfo


@dataclass(frozen=True, slots=True)
class PiperSettings(OnnxSettings):
    """Voices of Piper."""

    speaker: Annotated[
        int,
        KeyInfo("Number of the speaker, for voices with several.", low=0, high=10000, formerly="tts.speaker"),
    ] = 0


def make(request: VoiceRequest) -> Voice:
    """Returns the voice of a model. Raises EngineLoadError."""
    from audio.tts.piper.voice import DEFAULT_PROVIDER, PiperTts  # noqa: PLC0415 - on use: it takes 200 ms

    assert isinstance(request.settings, PiperSettings)
    assert request.model is not None, "each voice is a model"
    return PiperTts(
        request.model,
        language=request.language,
        speaker=(request.is_configured and request.settings.speaker) or None,
        speed=request.speed,
        target_dbfs=request.volume_dbfs,
        provider=request.provider or DEFAULT_PROVIDER,
        threads=request.threads,
        pronunciations=request.pronunciations,
        lateness=request.lateness,
    )


def label_of(voice: str) -> str:
    """Describes a voice by its name, region and quality: "Joe (US, medium)"."""
    place, name, quality = voice.split("-", 2)
    return f"{name.replace('_', ' ').title()} ({place.partition('_')[2]}, {quality.replace('_', ' ')})"


ENGINE = VoiceEngine(
    name="piper",
    make=make,
    about="neural, one model per voice",
    settings=PiperSettings,
    ranks=MappingProxyType({ANY_LANGUAGE: 50}),
    models=MODELS,
    default_voices=VOICE_OF_LANGUAGE,
    label_of=label_of,
    name_pattern=re.compile("[a-z]{2,3}_[A-Z]{2}-"),
    packages=MappingProxyType({"piper-tts": "piper", "onnxruntime": "onnxruntime"}),
    most_threads=2,  # on two cores, two threads wait for each other where other work runs (docs/lab/tts.md)
    thread="Piper",
    figures=VoiceFigures(dnsmos=3.29, word_errors=0.028, processor_s=0.13, first_sound_ms=55),
)
