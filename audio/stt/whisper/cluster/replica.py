"""A Whisper model in a replica, which decodes for gateways. Blocking."""

from collections.abc import Callable
from typing import cast

import numpy as np

from audio.cluster.wire import received_pcm
from audio.stt.whisper.cluster.wire import sent_decode
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.stt.whisper.section import NAME
from audio.units import MIC_RATE_HZ


class ReplicaWhisper:
    """Implements `ReplicaModel`."""

    def __init__(self, settings: WhisperSettings) -> None:
        """Loads the model. Raises EngineLoadError."""
        self._settings = settings
        self._model = model = LoadedWhisper(settings)
        threads = "1 thread" if settings.cpu_threads == 1 else f"{settings.cpu_threads} threads"
        on = "CUDA" if model.device == "cuda" else f"CPU, {threads}"
        self.detail = f"{NAME} {settings.called}, {model.compute_type} on {on}"
        self.device, self.compute_type, self.multilingual = model.device, model.compute_type, model.multilingual

    def trial(self) -> object:
        """See `ReplicaModel`."""
        return self._model.decode(np.zeros(MIC_RATE_HZ, np.int16), self._settings.spoken, retry=False)

    def answer(self, is_wanted: Callable[[], bool], question: str, *arguments: object) -> object:
        """See `ReplicaModel`. Each question is a method of `ClusterWhisperModel`, with its arguments."""
        sound, *others = arguments
        pcm = received_pcm(cast("bytes", sound))
        match question, others:
            case "decode", [str() | None as language, bool(retry), bool(with_tokens), str(prompt), *more]:
                decoded = self._model.decode(
                    pcm,
                    language,
                    retry=retry,
                    is_wanted=is_wanted,
                    with_tokens=with_tokens,
                    prompt=prompt,
                    thorough=bool(more),
                )
                return None if decoded is None else sent_decode(decoded)
            case "first_word", [str(language)]:
                return sent_decode(self._model.first_word(pcm, language))
            case "detect_language", []:
                return self._model.language_of(pcm)
        raise ValueError(f"unknown question: {question}")
