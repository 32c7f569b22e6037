"""Declares the voice Hibari. Imports nothing heavy: its declaration is read at every start."""

from types import MappingProxyType

from audio.engines.voice import VoiceEngine, VoiceFigures, VoiceInfo, VoiceRequest
from audio.tts import Voice


def make(request: VoiceRequest) -> Voice:
    """Returns the voice. Raises EngineLoadError for another language or voice."""
    from audio.tts.hibari.voice import HibariTts  # noqa: PLC0415 - on use: it takes 100 ms

    ENGINE.voice_for(request.language, request.voice)
    return HibariTts(
        speed=request.speed,
        target_dbfs=request.volume_dbfs,
        pronunciations=request.pronunciations,
        lateness=request.lateness,
    )


ENGINE = VoiceEngine(
    name="hibari",
    make=make,
    about="neural, small, American English",
    ranks=MappingProxyType({"en": 90}),
    default_voices=MappingProxyType({"en": "heart"}),
    voices=(VoiceInfo("heart", "en", "Heart (US)"),),
    packages=MappingProxyType({"hibari-tts": "hibari", "onnxruntime": "onnxruntime"}),
    thread="Hibari",
    figures=VoiceFigures(dnsmos=3.19, word_errors=0.009, processor_s=0.013, first_sound_ms=20),
)
