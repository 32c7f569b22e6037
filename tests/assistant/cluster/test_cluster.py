"""Gateways, replicas and Ray as real processes on this machine."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from gateway import REPARTEE, Answer, asking, gateway, question
from phrase_whisper import PHRASE, phrase_whisper
from ray_cluster import ray_cluster
from synthetic_piper import tone_voice

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(600)]

COMMAND_TIMEOUT_S = 240.0


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, ...]]:
    """Settings of gateways on a cluster where the engines run."""
    folder = tmp_path_factory.mktemp("models")
    with ray_cluster() as address:
        made = (
            *("stt.engine=ray", "tts.engine=ray", "turn.smart_turn=auto", "stt.device=cpu", "stt.threads=1"),
            *(f"stt.model={phrase_whisper()}", f"tts.voice={tone_voice(folder)}"),
            *(f"cluster.address={address}", "cluster.replica_cpus=0.5", "cluster.max_replicas=1"),
            # A killed replica costs the time in which another one starts on a busy machine.
            *("stt.timeout_s=60", "tts.timeout_s=60", "turn.stuck_after_s=120", "cluster.timeout_s=120"),
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
    assert set(replicas(*settings)) == {"whisper", "voice"}


def test_decode_is_repeated_after_its_replica_was_killed(settings: tuple[str, ...], tmp_path: Path) -> None:
    async def scene(url: str, replica: int) -> None:
        async with asking(url) as asker:
            assert_answered(await asker.ask(question()))
            os.kill(replica, signal.SIGSTOP)  # the decodes of the next question do not end
            asked = asyncio.get_running_loop().create_task(asker.ask(question()))
            await asyncio.sleep(3)
            os.kill(replica, signal.SIGKILL)
            assert_answered(await asked)

    (replica,) = replicas(*settings)["whisper"]
    with gateway(tmp_path, settings) as (url, _process):
        asyncio.run(scene(url, replica))
    (another,) = replicas(*settings)["whisper"]
    assert another != replica


def test_killed_gateway_costs_a_reconnect(settings: tuple[str, ...], tmp_path: Path) -> None:
    async def scene(urls: tuple[str, str], process: "subprocess.Popen[str]") -> None:
        async with asking(urls[0]) as asker:
            assert_answered(await asker.ask(question()))
            process.kill()
            await asker.socket.wait_closed()
        async with asking(urls[1]) as asker:
            assert_answered(await asker.ask(question()))

    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    with gateway(folders[0], settings) as (first, process), gateway(folders[1], settings) as (second, _other):
        asyncio.run(scene((first, second), process))


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
    for service, processes in before.items():
        assert not set(processes) & set(after[service])
