"""The gateway's side of a voice on a cluster, with scripted replicas."""

import asyncio
import logging
from contextlib import aclosing

import numpy as np
import pytest
from support.engines.scripted_cluster import ScriptedCluster

from audio.cluster.voice import ATTEMPTS, ClusterVoice
from audio.cluster.wire import sent_chunk
from audio.errors import EngineError, EngineLoadError, ReplicaLostError, TtsError
from audio.tts import Chunk, WordMark
from audio.units import ReplySamples

SOUND = np.arange(1, 1001, dtype=np.int16)
LOST = ReplicaLostError("a replica of voice ended while it worked")


def mark(start: int, end: int) -> WordMark:
    return WordMark(start, end, ReplySamples(start), ReplySamples(end))


FIRST, SECOND = sent_chunk(Chunk(SOUND[:400], (mark(0, 400),))), sent_chunk(Chunk(SOUND[400:], (mark(400, 1000),)))


def spoken(cluster: ScriptedCluster, timeout_s: float = 30.0) -> list[Chunk]:
    async def scene() -> list[Chunk]:
        voice = ClusterVoice(cluster, timeout_s=timeout_s)
        await voice.load()
        async with aclosing(voice.speak("Hello.", 1.2)) as chunks:
            return [chunk async for chunk in chunks]

    return asyncio.run(scene())


def sound_of(chunks: list[Chunk]) -> list[int]:
    return [int(sample) for chunk in chunks for sample in chunk.pcm]


def test_text_is_spoken_by_a_replica() -> None:
    cluster = ScriptedCluster(streams=[[FIRST, SECOND]])
    chunks = spoken(cluster)
    assert sound_of(chunks) == list(SOUND)
    assert [one for chunk in chunks for one in chunk.marks] == [mark(0, 400), mark(400, 1000)]
    assert cluster.requests[-1] == ("voice", "speak", "Hello.", 1.2)
    assert cluster.closed_streams == 1


def test_text_whose_replica_ends_goes_on_from_the_same_position(caplog: pytest.LogCaptureFixture) -> None:
    again = [sent_chunk(Chunk(SOUND[:300], (mark(0, 250), mark(250, 600)))), sent_chunk(Chunk(SOUND[300:]))]
    cluster = ScriptedCluster(streams=[[FIRST, LOST], again])
    with caplog.at_level(logging.WARNING):
        assert sound_of(spoken(cluster)) == list(SOUND)
    assert "another replica" in caplog.text


def test_text_fails_if_every_replica_ends() -> None:
    cluster = ScriptedCluster(streams=[[LOST]])
    with pytest.raises(TtsError, match=f"{ATTEMPTS} times"):
        spoken(cluster)
    assert cluster.closed_streams == ATTEMPTS


def test_failure_of_the_engine_is_a_failure_of_the_voice() -> None:
    with pytest.raises(TtsError, match="Piper is overloaded"):
        spoken(ScriptedCluster(streams=[[FIRST, EngineError("Piper is overloaded")]]))


def test_voice_that_gives_no_sound_in_time_fails() -> None:
    cluster = ScriptedCluster(streams=[[FIRST, None]])
    with pytest.raises(TtsError, match=r"no audio within 0\.1 s"):
        spoken(cluster, timeout_s=0.1)
    assert cluster.closed_streams == 1


async def test_closing_the_generator_cancels_the_request() -> None:
    cluster = ScriptedCluster(streams=[[FIRST, None]])
    voice = ClusterVoice(cluster, timeout_s=30)
    async with aclosing(voice.speak("Hello.")) as chunks:
        await anext(chunks)
    assert cluster.closed_streams == 1


def test_voice_without_a_cluster_is_not_loaded() -> None:
    cluster = ScriptedCluster({"describe": [EngineLoadError("no cluster.")]})
    with pytest.raises(EngineLoadError, match="no cluster"):
        spoken(cluster)
