"""Declares the recognizer faster-whisper. Imports nothing heavy: its declaration is read at every start."""

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING

from audio.engines.recognizer import (
    ClusterRecognizer,
    GatewayRequest,
    MeasuredModels,
    RecognizerEngine,
    RecognizerRequest,
    RecognizerThresholds,
    ReplicaModel,
)
from audio.engines.voice import ANY_LANGUAGE
from audio.stt import SharedRecognizer
from audio.stt.whisper.catalogue import MODELS
from audio.stt.whisper.section import NAME, WhisperSection

if TYPE_CHECKING:
    from audio.stt.whisper.model import WhisperSettings
    from audio.units import Pcm

THRESHOLDS = RecognizerThresholds(
    settle_ms=160.0,  # its first answer may come from a decode that began before the end was detected (docs/lab/stt.md)
    words_after_ms=200.0,
    first_word_until_ms=300.0,
)

WAIT_SHARES = MappingProxyType({"full": 0.9, "adaptive": 0.65, "dynamic": 0.4})
"""Longest wait for a running decode, as a part of a decode: it can be aborted only behind its encoder, which takes this
part (docs/lab/stt.md, "What a turn waits for")."""


def settings_of(request: RecognizerRequest) -> "WhisperSettings":
    """Returns the settings of the model of a request."""
    from audio.stt.whisper.model import WhisperSettings  # noqa: PLC0415 - on use: it imports numpy

    section = request.settings
    assert isinstance(section, WhisperSection)
    assert request.model is not None, "it has no decoder without a model"
    return WhisperSettings(
        request.model,
        language=request.language,
        device=section.device,
        compute_type=section.compute_type,
        cpu_threads=request.threads,
        spare_worker=request.spare_threads,
        encoder_window=section.encoder_window,
        hot_words=request.hot_words,
        name=request.model_name,
    )


def make(request: RecognizerRequest) -> SharedRecognizer:
    """Returns a model that all conversations share; each has its own recognizer."""
    from audio.stt.whisper.shared_model import SharedWhisper  # noqa: PLC0415 - on use, as above

    return SharedWhisper(settings_of(request), request.lateness)


def decoder(request: RecognizerRequest) -> "Callable[[Pcm], object]":
    """Loads a model and returns its decode of a segment. Both block. Raises EngineLoadError."""
    from audio.stt.whisper.model import LoadedWhisper  # noqa: PLC0415 - on use, as above

    settings = settings_of(request)
    model = LoadedWhisper(settings)
    return lambda pcm: model.decode(pcm, settings.spoken, retry=False)


def wait_share(section: object) -> float:
    """Returns the part of `WAIT_SHARES` for these settings."""
    assert isinstance(section, WhisperSection)
    return WAIT_SHARES[section.encoder_window]


def gateway(request: GatewayRequest) -> SharedRecognizer:
    """Returns the model on a cluster, which the conversations of a gateway share."""
    from audio.stt.whisper.cluster.gateway import ClusterWhisper  # noqa: PLC0415 - on use, as above

    return ClusterWhisper(request)


def replica(request: RecognizerRequest) -> ReplicaModel:
    """Loads a model in a replica. Blocks. Raises EngineLoadError."""
    from audio.stt.whisper.cluster.replica import ReplicaWhisper  # noqa: PLC0415 - on use, as above

    return ReplicaWhisper(settings_of(request))


ENGINE = RecognizerEngine(
    name=NAME,
    make=make,
    about="Whisper on CTranslate2, about 90 languages",
    settings=WhisperSection,
    ranks=MappingProxyType({ANY_LANGUAGE: 50}),
    models=MODELS,
    # in other languages than English, tiny has too many errors
    default_models=MappingProxyType({"en": "tiny.en", ANY_LANGUAGE: "base"}),
    measured=MeasuredModels(
        decoder=decoder,
        wait_share=wait_share,
        weights="model.bin",
        library="ctranslate2",
        # docs/lab/stt.md, "The model of a line"
        equals=MappingProxyType({"wide": MappingProxyType({"base": "tiny.en"})}),
    ),
    cluster=ClusterRecognizer(gateway, replica),
    thresholds=THRESHOLDS,
    has_probabilities=True,
    packages=MappingProxyType({"faster-whisper": "faster_whisper", "ctranslate2": "ctranslate2"}),
    most_threads=4,
    thread=NAME,
)
