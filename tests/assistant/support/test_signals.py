"""A program ended by a signal restores its terminal, and its exit status names the signal."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.models.phrase_whisper import phrase_settings
from support.programs.terminal import Terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")

HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"

LOADING = """
import asyncio, signal
from rich.console import Console
from assistant.support.signals import as_ctrl_c

async def load():
    console = Console()
    with console.status("loading"):
        console.print("inside")
        await asyncio.sleep(60)

%s
with as_ctrl_c():
    asyncio.run(load())
"""

ENVIRON = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}


def ended_by(number: int, once: bytes, command: Sequence[str | Path], folder: Path) -> tuple[int, bytes]:
    """Returns the exit status and output of a program that receives the signal after its first output."""
    terminal = Terminal(command, ENVIRON, folder)
    try:
        terminal.until(once)
        terminal.send_signal(number)
        return terminal.end(), terminal.wrote
    finally:
        terminal.close()


@pytest.mark.slow
def test_cursor_is_restored_if_a_loading_demo_is_terminated(tmp_path: Path) -> None:
    command: list[str | Path] = [Path(sys.executable).with_name("repartee"), "demo"]
    for value in (f"trace.dir={tmp_path}", *phrase_settings()):
        command += ["--set", value]
    code, wrote = ended_by(signal.SIGHUP, HIDDEN, command, tmp_path)
    assert code == -signal.SIGHUP
    assert wrote.rindex(SHOWN) > wrote.rindex(HIDDEN)
    assert b"Traceback" not in wrote


def test_other_signals_work_if_the_shell_ignores_ctrl_c(tmp_path: Path) -> None:
    background = LOADING % "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    code, wrote = ended_by(signal.SIGTERM, b"inside", [sys.executable, "-c", background], tmp_path)
    assert code == -signal.SIGTERM
    assert wrote.rindex(SHOWN) > wrote.rindex(HIDDEN)


def test_initially_ignored_signal_stays_ignored() -> None:
    code = """
import signal
from assistant.support.signals import as_ctrl_c
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with as_ctrl_c():
    signal.raise_signal(signal.SIGHUP)
print("still here")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (0, "still here\n")


def test_second_signal_ends_an_unresponsive_program() -> None:
    code = """
import signal
from assistant.support.signals import as_ctrl_c
with as_ctrl_c():
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        print("asked", flush=True)
        signal.raise_signal(signal.SIGTERM)
        print("not reached", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "asked\n")
