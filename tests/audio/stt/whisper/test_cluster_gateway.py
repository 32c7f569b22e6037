"""The gateway's side of Whisper on a cluster, with scripted replicas."""

import asyncio
import logging
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from support.engines.scripted_cluster import INFO, LOST, ScriptedCluster

from audio.cluster import answers
from audio.cluster.wire import sent_info, sent_pcm
from audio.engines.recognizer import GatewayRequest
from audio.errors import EngineError, EngineLoadError, ReplicaLostError, SttError
from audio.stt import SegmentId
from audio.stt.whisper.cluster import replica
from audio.stt.whisper.cluster.gateway import ClusterWhisper, ClusterWhisperModel
from audio.stt.whisper.cluster.wire import sent_decode
from audio.stt.whisper.model import Decoded, WhisperSettings
from audio.units import MIC_RATE_HZ

PCM = np.full(MIC_RATE_HZ, 3000, np.int16)
SAID = sent_decode(Decoded("what time is it", "", "en", False))


def model_on(cluster: ScriptedCluster, timeout_s: float = 30.0) -> ClusterWhisperModel:
    return ClusterWhisperModel(cluster, INFO, workers=2, timeout_s=timeout_s)


def test_decode_is_sent_to_a_replica() -> None:
    cluster = ScriptedCluster({"answer": [SAID]})
    decoded = model_on(cluster).decode(PCM, "en", retry=True)
    assert decoded is not None
    assert decoded.text == "what time is it"
    assert cluster.requests == [("recognizer", "answer", "decode", sent_pcm(PCM), "en", True, False, "")]


def test_thorough_decode_is_sent_to_a_replica() -> None:
    cluster = ScriptedCluster({"answer": [SAID]})
    assert model_on(cluster).decode(PCM, "en", retry=True, thorough=True) is not None
    assert cluster.requests == [("recognizer", "answer", "decode", sent_pcm(PCM), "en", True, False, "", True)]


@pytest.mark.parametrize("more", [(), (True,)])
def test_replica_decodes_as_it_is_asked(more: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    model = MagicMock()
    model.decode.return_value = Decoded("what time is it", "", "en", False)
    monkeypatch.setattr(replica, "LoadedWhisper", lambda _settings: model)
    answering = replica.ReplicaWhisper(WhisperSettings(Path()))
    assert answering.answer(lambda: True, "decode", sent_pcm(PCM), "en", True, False, "", *more) == SAID
    assert model.decode.call_args.kwargs["thorough"] == bool(more)


def test_decode_is_repeated_if_its_replica_ends(caplog: pytest.LogCaptureFixture) -> None:
    cluster = ScriptedCluster({"answer": [LOST, LOST, SAID]})
    with caplog.at_level(logging.WARNING):
        decoded = model_on(cluster).decode(PCM, "en", retry=True)
    assert decoded is not None
    assert len(cluster.requests) == 3
    assert caplog.text.count("is repeated") == 1  # not for each attempt


def test_decode_is_not_repeated_after_its_deadline() -> None:
    cluster = ScriptedCluster({"answer": [LOST]})
    with pytest.raises(ReplicaLostError):
        model_on(cluster, timeout_s=0.2).decode(PCM, "en", retry=True)


def test_unanswered_decode_fails_at_its_deadline_and_is_cancelled() -> None:
    cluster = ScriptedCluster({"answer": [None]})
    with pytest.raises(SttError, match="cluster status"):
        model_on(cluster, timeout_s=0.1).decode(PCM, "en", retry=True)
    assert cluster.pending[0].cancelled()


def test_unwanted_decode_is_cancelled() -> None:
    cluster = ScriptedCluster({"answer": [None]})
    assert model_on(cluster).decode(PCM, "en", retry=True, is_wanted=lambda: False) is None
    assert cluster.pending[0].cancelled()


def test_other_failure_of_a_replica_is_not_repeated() -> None:
    cluster = ScriptedCluster({"answer": [EngineError("whisper failed")]})
    with pytest.raises(EngineError, match="whisper failed"):
        model_on(cluster).decode(PCM, "en", retry=True)
    assert len(cluster.requests) == 1


def test_language_of_a_segment_is_detected_by_a_replica() -> None:
    cluster = ScriptedCluster({"answer": [("de", 0.9)]})
    assert model_on(cluster).detect_language(PCM) == ("de", 0.9)


def run_recognizer(cluster: ScriptedCluster, pcm: Any = PCM) -> str:
    async def scene() -> str:
        shared = ClusterWhisper(GatewayRequest(cluster, "en", decodes=2, timeout_s=30))
        assert "not connected" in shared.detail
        await shared.load()
        assert shared.detail == "an engine on CPU, on the cluster, up to 2 decodes at once"
        try:
            stream = shared.transcriber().open(SegmentId(0), lambda _transcript: None)
            stream.feed(pcm)
            return (await stream.transcript()).text
        finally:
            await shared.aclose()

    return asyncio.run(scene())


def test_recognizer_returns_words_of_a_replica() -> None:
    cluster = ScriptedCluster({"answer": [SAID]})
    assert run_recognizer(cluster) == "what time is it"


def test_failed_replica_fails_the_transcript_as_a_local_model_does() -> None:
    cluster = ScriptedCluster({"answer": [EngineError("whisper failed on the cluster (MemoryError)")]})
    with pytest.raises(SttError, match="MemoryError"):
        run_recognizer(cluster)


def test_recognizer_waits_for_a_replica_that_is_replaced() -> None:
    cluster = ScriptedCluster({"describe": [LOST, sent_info(INFO)], "answer": [SAID]})
    assert run_recognizer(cluster) == "what time is it"


@pytest.mark.parametrize("error", [EngineLoadError("the cluster cannot be reached."), EngineError("it failed")])
def test_loading_without_a_cluster_fails_and_connects_again(error: Exception) -> None:
    cluster = ScriptedCluster({"describe": [error]})
    with pytest.raises(EngineLoadError, match=str(error)):
        run_recognizer(cluster)
    assert cluster.resets == ["recognizer"]


def test_loading_ends_if_no_replica_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "DESCRIBE_LIMIT_S", 0.1)
    with pytest.raises(EngineLoadError, match="did not answer"):
        run_recognizer(ScriptedCluster({"describe": [None]}))
