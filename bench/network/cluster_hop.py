"""Measures the latency that a hop to a replica on a Ray cluster adds, on this machine at rest.

`OMP_NUM_THREADS=1 python -m bench.network.cluster_hop` starts a cluster with one replica of each engine and alternates
between the engine in this process and the same engine in its replica: a decode of 3 s, the first sound of a sentence,
and Smart Turn. It needs the models of `repartee models pull`; `--synthetic` takes a recognizer and a voice that cost
almost nothing, so that only the hop is left. Ray gives each replica one thread in numpy's libraries; OMP_NUM_THREADS
gives this process the same.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.models.phrase_whisper import phrase_whisper
from support.models.synthetic_piper import tone_voice
from support.servers.ray_cluster import ray_cluster

from assistant.cluster import application
from assistant.cluster.replicas import RecognizerReplica, TurnEndReplica, VoiceReplica, local_settings
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from audio.cluster.ray_connection import RayConnection
from audio.cluster.turn_end import ClusterTurnEnd
from audio.cluster.voice import ClusterVoice
from audio.cluster.wire import sent_pcm
from audio.engines.recognizer import GatewayRequest
from audio.stt.whisper.cluster.gateway import ClusterWhisper
from audio.units import MIC_RATE_HZ, Pcm

SENTENCE = "The train leaves at ten."
PAUSE_S = 0.05
DEPLOY_TIMEOUT_S = 300.0
WARM_UP = 10


@dataclass(frozen=True, slots=True)
class Row:
    """The times of one kind of work in ms: in this process, in a replica, and what the replica added to each pair."""

    name: str
    direct_ms: Sequence[float]
    cluster_ms: Sequence[float]

    def text(self) -> str:
        """Returns the row of the table."""
        added = [there - here for there, here in zip(self.cluster_ms, self.direct_ms, strict=True)]
        cells = [_p(self.direct_ms), _p(self.cluster_ms), _p(added)]
        return f"| {self.name} | {' | '.join(cells)} |"


def main() -> None:
    """Prints the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=200, help="pairs of each kind")
    arguments.add_argument("--synthetic", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, ray_cluster() as address:
        models = [f"stt.model={phrase_whisper()}", f"tts.voice={tone_voice(Path(folder))}"] if given.synthetic else []
        engines = [
            "stt.engine=ray",
            "tts.engine=ray",
            "turn.smart_turn=ray",
            "stt.faster-whisper.device=cpu",
            "stt.threads=1",
        ]
        cluster = [f"cluster.address={address}", "cluster.replica_cpus=0.5", "cluster.max_replicas=1"]
        settings = load_settings(None, {}, [*engines, *cluster, *models]).settings
        rows = asyncio.run(_measured(settings, given.count))
    print("| ms, p50 / p95 | in this process | in a replica | added |\n|---|---|---|---|")
    for row in rows:
        print(row.text())


async def _measured(settings: Settings, count: int) -> list[Row]:
    connection = RayConnection(settings.cluster.address, timeout_s=60)
    try:
        for service in application.services_of(settings):
            await connection.call(
                partial(application.deploy, settings=settings, service=service), timeout_s=DEPLOY_TIMEOUT_S
            )
        return [
            await _empty(connection, count),
            await _decodes(settings, connection, count),
            await _first_sounds(settings, connection, count),
            await _turn_ends(settings, connection, count),
        ]
    finally:
        await connection.aclose()


async def _empty(connection: RayConnection, count: int) -> Row:
    """The hop alone: a request without work."""

    async def remote() -> None:
        await asyncio.wrap_future(connection.request("recognizer", "describe"))

    return await _alternating("no work", partial(asyncio.sleep, 0), remote, count)


async def _decodes(settings: Settings, connection: RayConnection, count: int) -> Row:
    local = RecognizerReplica(local_settings(settings), "")
    remote = ClusterWhisper(GatewayRequest(connection, "en", decodes=2, timeout_s=10))
    await remote.load()
    pcm, model = _sound(3), remote._scheduler.model
    assert model is not None
    return await _alternating(
        "decode of 3 s",
        lambda: local.answer("decode", sent_pcm(pcm), "en", False, False, ""),
        lambda: asyncio.to_thread(model.decode, pcm, "en", retry=False),
        count,
    )


async def _first_sounds(settings: Settings, connection: RayConnection, count: int) -> Row:
    local = VoiceReplica(local_settings(settings), "")
    await local.check_health()
    remote = ClusterVoice(connection, timeout_s=10)
    await remote.load()

    async def first(speak: Callable[[str], object]) -> None:
        chunks = speak(SENTENCE)
        async with aclosing(chunks):  # type: ignore[type-var]
            await anext(chunks)  # type: ignore[call-overload]

    try:
        voice = local._voice
        return await _alternating("first sound", partial(first, voice.speak), partial(first, remote.speak), count)
    finally:
        await local._voice.aclose()


async def _turn_ends(settings: Settings, connection: RayConnection, count: int) -> Row:
    local = TurnEndReplica(local_settings(settings), "")
    remote = ClusterTurnEnd(connection)
    await remote.load()
    pcm = _sound(8)
    return await _alternating(
        "Smart Turn, 8 s", lambda: local.judge([sent_pcm(pcm)]), lambda: remote.probability(pcm), count
    )


async def _alternating(
    name: str, direct: Callable[[], Awaitable[object]], cluster: Callable[[], Awaitable[object]], count: int
) -> Row:
    row = Row(name, [], [])
    times = {direct: list[float](), cluster: list[float]()}
    for number in range(count + WARM_UP):
        for work in (direct, cluster):
            began_s = time.perf_counter()
            await work()
            if number >= WARM_UP:
                times[work].append(1000 * (time.perf_counter() - began_s))
            await asyncio.sleep(PAUSE_S)
    return replace(row, direct_ms=times[direct], cluster_ms=times[cluster])


def _sound(seconds: int) -> Pcm:
    loud = np.random.default_rng(1).normal(0, 3000, seconds * MIC_RATE_HZ)
    return np.asarray(loud, np.int16)


def _p(values: Sequence[float]) -> str:
    return " / ".join(f"{np.percentile(values, share):.1f}" for share in (50, 95))


if __name__ == "__main__":
    main()
