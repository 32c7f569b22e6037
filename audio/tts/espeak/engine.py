"""Declares the voice espeak-ng. Imports nothing heavy: its declaration is read at every start."""

from types import MappingProxyType

from audio.engines.voice import ANY_LANGUAGE, VoiceEngine, VoiceFigures, VoiceInfo, VoiceRequest
from audio.tts import Voice

NAME = "espeak-ng"

WORDS_PER_MINUTE = 170
"""Pace at normal speed. The library's own pace of 175 is slightly too fast for an answer."""


def make(request: VoiceRequest) -> Voice:
    """Returns the voice of a language or a name."""
    from audio.tts.espeak.voice import EspeakVoice  # noqa: PLC0415 - on use: it takes 100 ms

    return EspeakVoice(
        language=request.language,
        voice=request.voice or None,
        words_per_minute=round(WORDS_PER_MINUTE * request.speed),
        target_dbfs=request.volume_dbfs,
        pronunciations=request.pronunciations,
    )


ENGINE = VoiceEngine(
    name=NAME,
    make=make,
    about="robotic, about 140 languages and dialects",
    ranks=MappingProxyType({ANY_LANGUAGE: 0}),
    voices=(VoiceInfo(NAME, "", f"{NAME} (part of the program, sounds like a robot)"),),
    last_resort=True,
    packages=MappingProxyType({"espeakng-loader": "espeakng_loader"}),
    thread=NAME,
    figures=VoiceFigures(dnsmos=2.66, word_errors=0.171, processor_s=0.003, first_sound_ms=4),
)
