"""Declares the voice Pico. Imports nothing heavy: its declaration is read at every start."""

from types import MappingProxyType

from audio.engines.voice import VoiceEngine, VoiceFigures, VoiceInfo, VoiceRequest
from audio.tts import Voice

_PREFIX = "pico-"

_REGIONS = MappingProxyType({"de": "DE", "en": "US", "es": "ES", "fr": "FR", "it": "IT"})


def make(request: VoiceRequest) -> Voice:
    """Returns the voice of a language or a name. Raises EngineLoadError for one of another language."""
    from audio.tts.pico.voice import PicoTts  # noqa: PLC0415 - on use: it takes 100 ms

    return PicoTts(
        language=request.language,
        voice=ENGINE.voice_for(request.language, request.voice).name.removeprefix(_PREFIX),
        speed=request.speed,
        target_dbfs=request.volume_dbfs,
        lateness=request.lateness,
    )


def _voice(language: str, region: str) -> VoiceInfo:
    return VoiceInfo(f"{_PREFIX}{language}-{region}", language, f"Pico ({region})")


ENGINE = VoiceEngine(
    name="pico",
    make=make,
    about="small and clear, in a process of its own; German, English, Spanish, French, Italian",
    ranks=MappingProxyType(dict.fromkeys(_REGIONS, 20)),  # behind neural voices, before espeak-ng
    voices=(*(_voice(*region) for region in _REGIONS.items()), _voice("en", "GB")),
    default_voices=MappingProxyType(
        {language: _voice(language, region).name for language, region in _REGIONS.items()}
        | {"en-GB": _voice("en", "GB").name}
    ),
    packages=MappingProxyType({"py-nanotts": "py_nanotts", "onnxruntime": "onnxruntime"}),
    thread="Pico",
    on_cluster=False,
    figures=VoiceFigures(dnsmos=None, word_errors=0.05, processor_s=0.0044, first_sound_ms=10),
)
