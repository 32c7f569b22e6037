"""The gateway's side of Smart Turn on a cluster, with scripted replicas."""

import asyncio

import numpy as np
import pytest
from support.engines.scripted_cluster import LOST, ScriptedCluster

from audio.cluster.turn_end import MAX_WAITING, ClusterTurnEnd
from audio.cluster.wire import sent_pcm
from audio.end_of_turn.smart_turn.network import WINDOW_SAMPLES
from audio.errors import EngineError

PCM = np.zeros(WINDOW_SAMPLES + 100, np.int16)


def judged(cluster: ScriptedCluster) -> float:
    async def scene() -> float:
        model = ClusterTurnEnd(cluster)
        await model.load()
        return await model.probability(PCM)

    return asyncio.run(scene())


def test_silence_is_judged_by_a_replica() -> None:
    cluster = ScriptedCluster({"probability": [0.75]})
    assert judged(cluster) == 0.75
    assert cluster.requests[-1] == ("turn-end", "probability", sent_pcm(PCM[-WINDOW_SAMPLES:]))


def test_silence_is_judged_again_if_the_replica_ends() -> None:
    assert judged(ScriptedCluster({"probability": [LOST, 0.25]})) == 0.25


def test_silence_stays_unjudged_if_two_replicas_end() -> None:
    with pytest.raises(TimeoutError):
        judged(ScriptedCluster({"probability": [LOST]}))


def test_failure_of_the_network_is_reported() -> None:
    with pytest.raises(EngineError, match="onnxruntime"):
        judged(ScriptedCluster({"probability": [EngineError("Smart Turn failed inside onnxruntime")]}))


async def test_requests_beyond_the_limit_are_refused() -> None:
    model = ClusterTurnEnd(ScriptedCluster({"probability": [None]}))
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(model.probability(PCM)) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await model.probability(PCM)
        for task in waiting:
            task.cancel()
