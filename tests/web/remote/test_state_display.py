"""The state of a satellite in a file and by a command: bounded, and the last one wins."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.servers.session_server import eventually

from assistant.config.errors import ConfigError
from web.remote import state_display
from web.remote.state_display import StateDisplay, shown_state

pytestmark = [pytest.mark.slow, pytest.mark.calm]


@asynccontextmanager
async def displayed(command: str = "", file: str = "") -> AsyncGenerator[tuple[StateDisplay, list[str]]]:
    problems: list[str] = []
    display = state_display.state_display(command, file, problems.append)
    assert display is not None
    async with display.running():
        yield display, problems


def script(folder: Path, text: str) -> str:
    path = folder / "led command"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return f"'{path}' --bright"


def runs(number: str) -> bool:
    """Returns whether a process runs; one that has ended may still wait for its parent."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_file_contains_the_last_state(tmp_path: Path) -> None:
    file = tmp_path / "state"
    async with displayed(file=str(file)) as (display, problems):
        display.show("asleep")
        await eventually(file.exists)
        assert file.read_text() == "asleep\n"
        assert display.show("listening")
        assert not display.show("listening")
        await eventually(lambda: file.read_text() == "listening\n")
    assert problems == []


async def test_command_gets_the_state_and_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPARTEE_TOKEN", "a-token-of-enough-letters")
    output = tmp_path / "out"
    async with displayed(script(tmp_path, f'echo "$1 $2 $REPARTEE_TOKEN." >> {output}')) as (display, _):
        display.show("thinking")
        await eventually(lambda: output.exists() and output.read_text() == "--bright thinking .\n")


async def test_states_during_a_slow_command_are_left_out(tmp_path: Path) -> None:
    output = tmp_path / "out"
    async with displayed(script(tmp_path, f'echo "$2" >> {output}; sleep 0.3')) as (display, _):
        display.show("listening")
        await eventually(output.exists)
        display.show("hearing")
        display.show("thinking")
        display.show("speaking")
        await eventually(lambda: output.read_text().split() == ["listening", "speaking"])


async def test_hanging_command_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_display, "COMMAND_TIMEOUT_S", 0.3)
    ids = tmp_path / "ids"
    async with displayed(script(tmp_path, f"sleep 60 & echo $! >> {ids}; wait")) as (display, problems):
        display.show("listening")
        await eventually(lambda: len(problems) == 1)
        assert problems[0].endswith("led command: it took more than 0.3 s")
        display.show("asleep")
        await eventually(lambda: len(ids.read_text().split()) == 2)
        await asyncio.sleep(0.6)
    assert len(problems) == 1
    assert not any(map(runs, ids.read_text().split()))


async def test_command_ends_with_the_program(tmp_path: Path) -> None:
    ids = tmp_path / "ids"
    async with displayed(script(tmp_path, f"echo $$ >> {ids}; sleep 60")) as (display, _):
        display.show("listening")
        await eventually(lambda: ids.exists() and bool(ids.read_text()))
    assert not any(map(runs, ids.read_text().split()))


async def test_end_is_shown_as_disconnected(tmp_path: Path) -> None:
    file, output = tmp_path / "state", tmp_path / "out"

    async def lose_sound_card() -> None:
        async with displayed(script(tmp_path, f'echo "$2" >> {output}'), str(file)) as (display, _):
            display.show("listening")
            await eventually(lambda: output.exists() and output.read_text() == "listening\n")
            raise OSError("the sound card is gone")

    with pytest.raises(ExceptionGroup):
        await lose_sound_card()
    assert file.read_text() == "disconnected\n"
    assert output.read_text().split() == ["listening", "disconnected"]


async def test_hanging_command_does_not_delay_the_end_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_display, "COMMAND_TIMEOUT_S", 0.3)
    async with asyncio.timeout(5), displayed(script(tmp_path, "sleep 60")) as (display, _):
        display.show("listening")
        await asyncio.sleep(0.1)


async def test_state_file_is_not_synced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory card wears out: a conversation has many states."""
    monkeypatch.setattr("os.fsync", lambda _descriptor: pytest.fail("the file was synced"))
    async with displayed(file=str(tmp_path / "state")) as (display, problems):
        display.show("asleep")
        await eventually((tmp_path / "state").exists)
    assert problems == []


def test_pipe_as_state_file_is_refused(tmp_path: Path) -> None:
    """Without a reader, writing to it never ends."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="it is not an ordinary file; name another one"):
        state_display.state_display("", str(tmp_path / "pipe"), print)


async def test_file_that_becomes_a_pipe_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "state"
    async with displayed(file=str(file)) as (display, problems):
        os.mkfifo(file)
        display.show("asleep")
        await eventually(lambda: len(problems) == 1)
    assert "it is not an ordinary file" in problems[0]


@pytest.mark.parametrize(
    ("command", "file", "problem"),
    [
        ("/nowhere/led", "", "satellite.state_command /nowhere/led: it cannot be started (No such file or directory)"),
        ("false", "", "satellite.state_command false: it ended with status 1"),
        ("", "/nowhere/state", "satellite.state_file /nowhere/state: it cannot be written (No such file or directory)"),
    ],
    ids=["no program", "failing program", "no folder"],
)
async def test_failure_is_reported_once(command: str, file: str, problem: str) -> None:
    async with displayed(command, file) as (display, problems):
        display.show("listening")
        await eventually(lambda: problems == [problem])
        display.show("asleep")
        await asyncio.sleep(0.1)
    assert problems == [problem]


def test_wrong_quotes_in_the_command_are_refused() -> None:
    with pytest.raises(ConfigError, match="correct its quotes"):
        state_display.state_display("led 'on", "", print)


def test_states_are_those_of_the_guide() -> None:
    assert shown_state("starting") == "disconnected"
    assert shown_state("asleep") == "asleep"
