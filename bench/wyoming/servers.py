"""Starts Repartee and the servers of others with the same models, each with its own default number of threads."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from wyoming.client import AsyncTcpClient
from wyoming.info import Describe, Info

from assistant.models.needs import installed
from audio.stt.whisper.catalogue import TINY_EN
from audio.tts.piper.catalogue import JOE
from bench.conversations.processes import REPARTEE

READY_WITHIN_S = 90.0
LEAVES_WITHIN_S = 10.0
LOOK_S = 0.1

ENVIRONMENTS = Path("tests", "clients", "environments.py")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that serves Wyoming.

    Attributes:
        name: Its name in tables.
        hears: Whether it has speech to text.
        speaks: Whether it has text to speech.
        arguments: Python arguments that start it; `{port}` stands for its port.
        python: The Python that has it.
    """

    name: str
    hears: bool
    speaks: bool
    arguments: tuple[str, ...]
    python: Path


@dataclass(frozen=True, slots=True)
class Running:
    """A program that is ready.

    Attributes:
        program: The program.
        port: Its port on this machine.
        pid: Its process.
    """

    program: Program
    port: int
    pid: int


def environment_of_others() -> Path:
    """Returns the Python of tests/clients/wyoming/requirements.lock, which it installs if needed. Raises SystemExit."""
    made = subprocess.run(
        [sys.executable, ENVIRONMENTS, "wyoming"], capture_output=True, text=True, check=False, env=_environ()
    )
    if made.returncode != 0:
        raise SystemExit(f"the servers of others cannot be installed: {made.stderr.strip()[-500:]}")
    return Path(made.stdout.strip())


def programs(others: Path, settings: Sequence[str] = ()) -> list[Program]:
    """Returns all programs. Raises SystemExit if a model is missing.

    Args:
        others: The Python with the servers of others.
        settings: Further `section.key=value` for Repartee.
    """
    whisper, voice = installed(TINY_EN), installed(JOE)
    if whisper is None or voice is None:
        raise SystemExit("models are missing: run `repartee models pull tiny.en en_US-joe-medium`")
    address = "tcp://127.0.0.1:{port}"
    assigned = ["server.port=0", "tts.engine=piper", f"stt.model={whisper}", f"server.wyoming={address}", *settings]
    repartee = [*REPARTEE, "serve", "--config", os.devnull, *(part for one in assigned for part in ("--set", one))]
    heard = ["-m", "wyoming_faster_whisper", "--uri", address, "--model", str(whisper), "--language", "en"]
    heard += ["--stt-library", "faster-whisper", "--data-dir", str(Path(whisper).parent), "--local-files-only"]
    spoken = ["-m", "wyoming_piper", "--uri", address, "--voice", Path(voice).stem]
    spoken += ["--data-dir", str(Path(voice).parent)]
    return [
        Program("Repartee", True, True, tuple(repartee), Path(sys.executable)),
        Program("wyoming-faster-whisper", True, False, tuple(heard), others),
        Program("wyoming-piper", False, True, tuple(spoken), others),
    ]


@asynccontextmanager
async def running(program: Program, log: Path) -> AsyncGenerator[Running]:
    """Runs a program while the block runs; its output goes to a file. Raises SystemExit if it does not get ready."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    arguments = [argument.replace("{port}", str(port)) for argument in program.arguments]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            program.python, *arguments, stdout=output, stderr=output, env=_environ()
        )
    try:
        await _wait_until_ready(program, process, port, log)
        yield Running(program, port, process.pid)
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(LEAVES_WITHIN_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _wait_until_ready(program: Program, process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            while process.returncode is None:
                if (info := await _info(port)) is not None:
                    hears = any(model.installed for asr in info.asr for model in asr.models)
                    speaks = any(voice.installed for tts in info.tts for voice in tts.voices)
                    if hears >= program.hears and speaks >= program.speaks:
                        return
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        pass
    raise SystemExit(f"{program.name} did not get ready within {READY_WITHIN_S:g} s; see {log}")


async def _info(port: int) -> Info | None:
    """Returns what a server says of itself; None if it does not answer yet."""
    try:
        async with asyncio.timeout(READY_WITHIN_S), AsyncTcpClient("127.0.0.1", port) as client:
            await client.write_event(Describe().event())
            event = await client.read_event()
    except OSError:
        return None
    return None if event is None or not Info.is_type(event.type) else Info.from_event(event)


def _environ() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REPARTEE_", "PYTHON"))}
    return {**kept, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.fspath(Path.cwd() / "tests")}
