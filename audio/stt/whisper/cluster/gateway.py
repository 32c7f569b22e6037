"""The part of Whisper on a cluster that stays in a gateway.

The scheduler of the gateway decides what is decoded and when, as for a model in the same process. Only the decodes
themselves run on the cluster.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audio.cluster import ClusterConnection, ReplicaInfo
from audio.cluster.answers import REPEAT_AFTER_S, ask_replica, result_of
from audio.cluster.wire import sent_pcm
from audio.engines.recognizer import GatewayRequest
from audio.errors import ReplicaLostError
from audio.languages.conversation_language import ConversationLanguage
from audio.stt.whisper.cluster.wire import received_decode
from audio.stt.whisper.model import Decoded, WhisperSettings
from audio.stt.whisper.section import NAME
from audio.stt.whisper.segment_decoder import SegmentDecoder
from audio.stt.whisper.shared_model import SharedWhisper
from audio.units import Pcm

log = logging.getLogger(__name__)


class ClusterWhisperModel:
    """A Whisper model on the cluster. Implements `SegmentDecoder`: every method blocks.

    A decode whose replica ends is repeated by another replica, until its deadline.
    """

    def __init__(self, connection: ClusterConnection, info: ReplicaInfo, *, workers: int, timeout_s: float) -> None:
        """Creates it. `timeout_s`: longest wait for a decode, in seconds."""
        self.device = info.device
        self.compute_type = info.compute_type
        self.multilingual = info.multilingual
        self.workers = workers
        self._connection = connection
        self._timeout_s = timeout_s

    def decode(
        self,
        pcm: Pcm,
        language: str | None,
        *,
        retry: bool,
        is_wanted: Callable[[], bool] = lambda: True,
        with_tokens: bool = False,
        with_times: bool = False,
        prompt: str = "",
        languages: ConversationLanguage | None = None,
        thorough: bool = False,
    ) -> Decoded | None:
        """See `LoadedWhisper.decode`. `languages`: always None. Raises EngineError."""
        more = (True,) if thorough else ()  # a replica of an earlier version knows no other decodes
        answer = self._answer(is_wanted, "decode", sent_pcm(pcm), language, retry, with_tokens, prompt, *more)
        return None if answer is None else received_decode(answer, pcm)

    def first_word(self, pcm: Pcm, language: str) -> Decoded:
        """See `LoadedWhisper.first_word`. Raises EngineError."""
        return received_decode(self._answer(lambda: True, "first_word", sent_pcm(pcm), language), pcm)

    def detect_language(self, encoded: Pcm) -> tuple[str, float]:
        """Returns the likeliest language of a segment and its probability. Raises EngineError."""
        language, probability = self._answer(lambda: True, "detect_language", sent_pcm(encoded))
        return str(language), float(probability)

    def _answer(self, is_wanted: Callable[[], bool], question: str, *arguments: object) -> Any:
        """Returns a replica's answer; None if the request became unwanted."""
        deadline_s, is_told = time.monotonic() + self._timeout_s, False
        while True:
            try:
                answer = self._connection.request("recognizer", "answer", question, *arguments)
                return result_of(answer, is_wanted, deadline_s)
            except ReplicaLostError as error:
                if time.monotonic() + REPEAT_AFTER_S > deadline_s:
                    raise
                if not is_told:  # once for a decode: the last replica's end is answered every 50 ms
                    log.warning("stt: a decode is repeated, because %s", error)
                    is_told = True
                time.sleep(REPEAT_AFTER_S)


class ClusterWhisper(SharedWhisper):
    """The Whisper model on the cluster, with a recognizer for each conversation of this gateway."""

    detects_languages = False

    def __init__(self, request: GatewayRequest) -> None:
        """Creates it without a connection."""
        settings = WhisperSettings(Path(), language=request.language, workers=request.decodes, name="on the cluster")
        super().__init__(settings)
        self._request = request
        self._info: ReplicaInfo | None = None

    @property
    def detail(self) -> str:
        """The replicas' engine and the number of decodes at the same time."""
        if self._info is None or not self.works:
            return f"{NAME} on the cluster, not connected"
        return f"{self._info.detail}, on the cluster, up to {self.settings.workers} decodes at once"

    def _load_model(self) -> SegmentDecoder:
        """Returns the model after a replica has answered. Raises EngineLoadError."""
        connection, timeout_s = self._request.connection, self._request.timeout_s
        self._info = info = ask_replica(connection, "recognizer")
        return ClusterWhisperModel(connection, info, workers=self.settings.workers, timeout_s=timeout_s)
