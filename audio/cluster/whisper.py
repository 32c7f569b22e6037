"""Speech to text by replicas of Whisper on a cluster.

The scheduler of the gateway decides what is decoded and when, as for a model in the same process. Only the decodes
themselves run on the cluster.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from audio.cluster import ClusterConnection, ReplicaInfo, Service
from audio.cluster.wire import received_decode, received_info, sent_pcm
from audio.errors import EngineError, EngineLoadError, LateError, ReplicaLostError
from audio.stt.whisper.model import Decoded, WhisperSettings
from audio.stt.whisper.segment_decoder import SegmentDecoder
from audio.stt.whisper.shared_model import LOAD_LIMIT_S, NAME, SharedWhisper
from audio.units import Pcm

log = logging.getLogger(__name__)

POLL_S = 0.02
"""Interval at which a pending decode is checked for being unwanted, in seconds."""

REPEAT_AFTER_S = 0.05
"""Wait before a decode is repeated whose replica ended, in seconds: the connection learns meanwhile that it is gone."""


class ClusterWhisperModel:
    """A Whisper model on the cluster. Implements `SegmentDecoder`: every method blocks.

    A decode whose replica ends is repeated by another replica, until its deadline.
    """

    def __init__(self, connection: ClusterConnection, info: ReplicaInfo, *, workers: int, timeout_s: float) -> None:
        """Creates it. `timeout_s`: longest wait for a decode, in seconds."""
        self.info = info
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
        wanted: Callable[[], bool] = lambda: True,
        with_tokens: bool = False,
        with_times: bool = False,
        prompt: str = "",
    ) -> Decoded | None:
        """See `LoadedWhisper.decode`. Raises EngineError."""
        answer = self._answer(wanted, "decode", sent_pcm(pcm), language, retry, with_tokens, prompt)
        return None if answer is None else received_decode(answer, pcm)

    def first_word(self, pcm: Pcm, language: str) -> Decoded:
        """See `LoadedWhisper.first_word`. Raises EngineError."""
        return received_decode(self._answer(lambda: True, "first_word", sent_pcm(pcm), language), pcm)

    def detect_language(self, encoded: Pcm) -> tuple[str, float]:
        """Returns the likeliest language of a segment and its probability. Raises EngineError."""
        language, probability = self._answer(lambda: True, "detect_language", sent_pcm(encoded))
        return str(language), float(probability)

    def _answer(self, wanted: Callable[[], bool], method: str, *arguments: object) -> Any:
        """Returns a replica's answer; None if the request became unwanted."""
        deadline_s, is_told = time.monotonic() + self._timeout_s, False
        while True:
            try:
                return _result(self._connection.request("whisper", method, *arguments), wanted, deadline_s)
            except ReplicaLostError as error:
                if time.monotonic() + REPEAT_AFTER_S > deadline_s:
                    raise
                if not is_told:  # once for a decode: the last replica's end is answered every 50 ms
                    log.warning("stt: a decode is repeated, because %s", error)
                    is_told = True
                time.sleep(REPEAT_AFTER_S)


class ClusterWhisper(SharedWhisper):
    """The Whisper model on the cluster, with a recognizer for each conversation of this gateway."""

    def __init__(self, connection: ClusterConnection, *, language: str, decodes: int, timeout_s: float) -> None:
        """Creates it without a connection.

        Args:
            connection: Stays open; its owner closes it.
            language: Initial language of each conversation.
            decodes: Decodes at the same time.
            timeout_s: A decode that takes longer, in seconds, fails.
        """
        settings = WhisperSettings(Path(), language=language, workers=decodes, cpu_threads=decodes, name="ray")
        super().__init__(settings)
        self._connection = connection
        self._timeout_s = timeout_s
        self._info: ReplicaInfo | None = None

    @property
    def detail(self) -> str:
        """The replicas' engine and the number of decodes at the same time."""
        if self._info is None or not self.works:
            return f"{NAME} on the cluster, not connected"
        return f"{self._info.detail}, on the cluster, up to {self.settings.workers} decodes at once"

    def _load_model(self) -> SegmentDecoder:
        """Returns the model after a replica has answered. Raises EngineLoadError."""
        self._info = info = ask_replica(self._connection, "whisper")
        return ClusterWhisperModel(self._connection, info, workers=self.settings.workers, timeout_s=self._timeout_s)


def ask_replica(connection: ClusterConnection, service: Service) -> ReplicaInfo:
    """Returns what a replica of a service says about itself; blocks. Raises EngineLoadError.

    After a failure, or without an answer within `LOAD_LIMIT_S`, the next request looks for the service again.
    """
    deadline_s = time.monotonic() + LOAD_LIMIT_S
    while True:
        try:
            return received_info(_result(connection.request(service, "describe"), lambda: True, deadline_s))
        except ReplicaLostError as error:
            if time.monotonic() + REPEAT_AFTER_S > deadline_s:
                raise EngineLoadError(str(error)) from error
            time.sleep(REPEAT_AFTER_S)
        except (EngineError, EngineLoadError) as error:
            connection.reset(service)
            raise EngineLoadError(str(error)) from error


def _result(answer: Future[Any], wanted: Callable[[], bool], deadline_s: float) -> Any:
    """Returns the result of a request; None if it became unwanted. Raises EngineError."""
    while True:
        rest_s = deadline_s - time.monotonic()
        try:
            return answer.result(max(0.0, min(POLL_S, rest_s)))
        except TimeoutError as error:
            if wanted() and rest_s > 0:
                continue
            answer.cancel()
            if rest_s <= 0:
                raise LateError("the cluster did not answer in time: run `repartee cluster status`") from error
            return None
