"""Says where the configured engines compute, for ONNX Runtime."""

import os
from collections.abc import Mapping

from assistant.config.settings import Settings
from assistant.support.paths import HomeError, data_folder
from audio.engines.settings import OnnxSettings
from audio.errors import EngineLoadError
from audio.execution_provider import Provider, ProviderRequest

ENGINE_FOLDER = "tensorrt"
"""Folder in the program's data folder with the engines that TensorRT has built for this GPU."""


def voice_provider(settings: Settings, engine: str, environ: Mapping[str, str] = os.environ) -> ProviderRequest | None:
    """Returns where a voice computes; None if its engine does not choose. Raises EngineLoadError without a folder."""
    section = settings.engines.of("tts", engine)
    if not isinstance(section, OnnxSettings):
        return None
    return _request(f"tts.{engine}.provider", section.provider, environ, fp16=section.fp16)


def turn_provider(settings: Settings, environ: Mapping[str, str] = os.environ) -> ProviderRequest:
    """Returns where Smart Turn computes. Raises EngineLoadError if TensorRT's folder is not known."""
    return _request("turn.provider", settings.turn.provider, environ)


def _request(key: str, provider: Provider, environ: Mapping[str, str], *, fp16: bool = False) -> ProviderRequest:
    if provider != "tensorrt":
        return ProviderRequest(key, provider, fp16)
    try:
        return ProviderRequest(key, provider, fp16, data_folder(environ) / ENGINE_FOLDER)
    except HomeError as error:
        raise EngineLoadError(str(error)) from error
