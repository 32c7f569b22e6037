"""Gateways, replicas and Ray as real processes on this machine."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support.models.phrase_whisper import PHRASE, phrase_whisper
from support.models.synthetic_piper import tone_voice
from support.models.synthetic_smart_turn import counting_network, padded
from support.servers.gateway import REPARTEE, Answer, asking, gateway, question
from support.servers.ray_cluster import ray_cluster

from assistant.commands.cluster.command import connection_of
from assistant.config.loading import load_settings
from audio.cluster.turn_end import ClusterTurnEnd
from audio.end_of_turn.smart_turn.catalogue import SMART_TURN
from audio.units import MIC_RATE_HZ

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.alone, pytest.mark.timeout(600)]

COMMAND_TIMEOUT_S = 240.0


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, ...]]:
    """Settings of gateways on a cluster where the engines run."""
    folder = tmp_path_factory.mktemp("models")
    (network,) = SMART_TURN.files
    turns = folder / "repartee" / "turns"
    turns.mkdir(parents=True)
    assert network.size_bytes is not None
    (turns / network.name).write_bytes(padded(counting_network(), network.size_bytes))
    with ray_cluster(environ={"XDG_DATA_HOME": str(folder)}) as address:
        made = (
            *(
                "stt.engine=ray",
                "tts.engine=ray",
                "turn.smart_turn=auto",
                "stt.faster-whisper.device=cpu",
                "stt.threads=1",
            ),
            *(f"stt.model={phrase_whisper()}", f"tts.voice={tone_voice(folder)}"),
            *(f"cluster.address={address}", "cluster.replica_cpus=0.5", "cluster.max_replicas=1"),
            # A killed replica costs the time in which another one starts on a busy machine.
            *("stt.timeout_s=60", "tts.timeout_s=60", "turn.stuck_after_s=120"),
        )
        command("deploy", *made)
        yield made


def command(name: str, *settings: str) -> str:
    """Runs `repartee cluster` and returns its output."""
    flags = [word for setting in settings for word in ("--set", setting)]
    ran = subprocess.run(
        [REPARTEE, "cluster", name, *flags], capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def replicas(*settings: str) -> dict[str, list[int]]:
    """Returns the processes of the replicas by service."""
    found: dict[str, list[int]] = {}
    service = ""
    for line in command("status", *settings).splitlines()[1:]:
        service = line.split()[0] if line[:1].strip() else service
        if process := re.match(r"\s+\S+:([0-9]+)\s", line):
            found.setdefault(service, []).append(int(process[1]))
    return found


def assert_answered(answer: Answer) -> None:
    assert answer.question.lower().strip(" ?.") == PHRASE
    assert answer.text.startswith("It's"), answer.text
    assert answer.sound_bytes > 24_000


def test_turn_is_answered_by_engines_on_the_cluster(settings: tuple[str, ...], tmp_path: Path) -> None:
    async def scene(url: str) -> None:
        async with asking(url) as asker:
            for _ in range(2):
                assert_answered(await asker.ask(question()))

    with gateway(tmp_path, settings) as (url, _process):
        asyncio.run(scene(url))
    assert set(replicas(*settings)) >= {"recognizer", "voice"}


def test_decodes_and_texts_are_repeated_after_their_replica_was_killed(
    settings: tuple[str, ...], tmp_path: Path
) -> None:
    async def scene(url: str, before: dict[str, list[int]]) -> None:
        async with asking(url) as asker:
            assert_answered(await asker.ask(question()))
            for service in ("recognizer", "voice"):
                (replica,) = before[service]
                os.kill(replica, signal.SIGSTOP)  # the decodes or the texts of the next question do not end
                asked = asyncio.get_running_loop().create_task(asker.ask(question()))
                await asyncio.sleep(3)
                assert not asked.done()
                os.kill(replica, signal.SIGKILL)
                assert_answered(await asked)

    before = replicas(*settings)
    with gateway(tmp_path, settings) as (url, _process):
        asyncio.run(scene(url, before))
    after = replicas(*settings)
    assert all(before[service] != after[service] for service in ("recognizer", "voice"))


@pytest.mark.filterwarnings("ignore")  # of Ray's own imports
def test_killed_replica_of_smart_turn_costs_at_most_its_estimate(settings: tuple[str, ...]) -> None:
    only = (*(one for one in settings if one.startswith("cluster.")), "turn.smart_turn=ray")
    sound = np.random.default_rng(0).normal(0, 3000, MIC_RATE_HZ).astype(np.int16)

    async def scene(replica: int) -> None:
        connection = connection_of(load_settings(None, {}, only).settings)
        try:
            model = ClusterTurnEnd(connection)
            await model.load()
            before = await model.probability(sound)
            os.kill(replica, signal.SIGSTOP)
            asked = asyncio.get_running_loop().create_task(model.probability(sound))
            await asyncio.sleep(1)
            assert not asked.done()
            os.kill(replica, signal.SIGKILL)
            with suppress(TimeoutError):  # this estimate is made without it
                assert await asked == before
            async with asyncio.timeout(COMMAND_TIMEOUT_S):
                await model.load()
                assert await model.probability(sound) == before
        finally:
            await connection.aclose()

    command("deploy", *only)
    (replica,) = replicas(*only)["turn-end"]
    asyncio.run(scene(replica))
    assert replicas(*only)["turn-end"] != [replica]


def test_update_of_the_replicas_loses_no_turn(settings: tuple[str, ...], tmp_path: Path) -> None:
    async def scene(url: str) -> int:
        flags = [word for setting in settings for word in ("--set", setting)]
        update = await asyncio.create_subprocess_exec(REPARTEE, "cluster", "deploy", *flags)
        turns = 0
        async with asking(url) as asker:
            while update.returncode is None or turns < 3:
                assert_answered(await asker.ask(question()))
                turns += 1
        assert update.returncode == 0
        return turns

    before = replicas(*settings)
    with gateway(tmp_path, settings) as (url, _process):
        asyncio.run(scene(url))
    after = replicas(*settings)
    assert set(before) == set(after)
    for service in ("recognizer", "voice"):  # an earlier test has deployed Smart Turn, which these settings do not use
        assert before[service], service
        assert not set(before[service]) & set(after[service])
