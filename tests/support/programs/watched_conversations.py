"""Starts the program in each way and holds conversations with it under watch; `test_nothing_leaves.py` runs this file.

Arguments: a folder, and "isolated" inside a network namespace, in which only the loopback device is left. Writes what
the programs printed, and the file `seen.json` with what the watchers saw.
"""

import asyncio
import base64
import dataclasses
import fcntl
import json
import os
import re
import signal
import socket
import struct
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import httpx
import soundfile
import soxr
from support.models.installed_model import JOE_FILE, TINY_EN_FOLDER
from support.models.synthetic_gguf import ANSWER, write_gguf
from support.programs.program import REPARTEE
from support.programs.program_watch import STRACE, Watch, wait_for_end
from support.services.llm_server import answer, serving
from websockets.asyncio.client import connect

from assistant.models.needs import folder_of
from audio.units import REPLY_RATE_HZ

WHAT_TIME = Path(__file__).parents[2] / "recordings" / "rhasspy3_what-time-is-it.wav"
SPOKEN = "Mount Everest is the tallest."

HOME_FOLDERS = (".config/repartee", ".local/share/repartee", ".cache/repartee", ".config/pulse")
"""Folders in the home folder that a user is told about (docs/daily-running.md). The last one is of the sound system."""

START_FOLDERS = ("traces", "out")
"""Likewise in the folder of the start."""

STEP_TIMEOUT_S = 90.0
BLOCK_S = 0.1

SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1


class Programs:
    """Starts watched programs in a home folder of their own."""

    def __init__(self, folder: Path) -> None:
        """Makes the folders: the home, in which models of this machine are linked, and the folder of the start."""
        self.home, self.start, self.temporary = (folder / name for name in ("home", "start", "temporary"))
        for each in (self.home, self.start, self.temporary):
            each.mkdir()
        self.watch = Watch(folder / "watch", self.start)
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONUTF8": "1",
            **self.watch.environment,
        }
        data = self.home / ".local" / "share" / "repartee"
        hub = self.home / ".cache" / "huggingface" / "hub"
        models = {data / "turns": folder_of("smart-turn")}
        if JOE_FILE is not None:
            models[data / "voices"] = JOE_FILE.parent
        if TINY_EN_FOLDER is not None:
            models[hub / TINY_EN_FOLDER.parents[1].name] = TINY_EN_FOLDER.parents[1]
        for link, model in models.items():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(model)
        self._logs = folder / "printed"
        self._logs.mkdir()

    async def run(self, name: str, *words: str | Path, status: tuple[int, ...] = (0,), **environ: str) -> str:
        """Runs the program to its end and returns what it printed."""
        process, trace = await self._start(words, environ)
        return await self._ended(process, trace, name, status)

    async def talk(self, name: str, *words: str | Path, answers: str, **environ: str) -> str:
        """Types into `talk --plain` until both questions are answered."""
        process, trace = await self._start(("talk", "--plain", *words), environ)
        assert process.stdin is not None
        assert process.stdout is not None
        printed = ""
        for typed, expected in (("what is the tallest mountain?", answers), ("set a timer for an hour", "timer")):
            process.stdin.write(f"{typed}\n".encode())
            async with asyncio.timeout(STEP_TIMEOUT_S):
                while not re.search(rf"^repartee: .*{expected}", printed, re.MULTILINE):
                    line = (await process.stdout.readline()).decode()
                    assert line, printed
                    printed += line
        process.stdin.write(b"/quit\n")
        return await self._ended(process, trace, name, (0,), printed)

    async def serve(self, name: str, port: int, *words: str, **environ: str) -> str:
        """Runs the server, loads the page with its files, and talks as the page does: spoken and typed."""
        process, trace = await self._start(("serve", f"--port={port}", *words), environ)
        await _loads_page(f"http://127.0.0.1:{port}")
        await _speaks(f"ws://127.0.0.1:{port}/v1/realtime?model=repartee")
        process.send_signal(signal.SIGINT)
        return await self._ended(process, trace, name, (0, 130))

    async def _start(self, words: tuple[str | Path, ...], environ: dict[str, str]) -> tuple[Process, Path]:
        command = self.watch.command(REPARTEE, *words)
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.start,
            env={**self.environ, **environ},
            stdin=PIPE,
            stdout=PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        return process, Path(command[command.index("-o") + 1]) if STRACE else Path()

    async def _ended(self, process: Process, trace: Path, name: str, status: tuple[int, ...], printed: str = "") -> str:
        async with asyncio.timeout(STEP_TIMEOUT_S):
            printed += (await process.communicate())[0].decode()
        (self._logs / name).write_text(printed)
        if STRACE:
            await asyncio.to_thread(wait_for_end, trace, process.pid)
        assert process.returncode in status, f"{name} ended with {process.returncode}: {printed}"
        return printed


async def _loads_page(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(STEP_TIMEOUT_S):
        while True:
            try:
                page = (await client.get(url)).raise_for_status().text
                break
            except httpx.HTTPError:
                await asyncio.sleep(0.2)
        names = re.findall(r'(?:src|href)="(/?[^":#]+)"', page)
        assert names
        for name in names:
            (await client.get(f"{url}/{name.lstrip('/')}")).raise_for_status()
        while (await client.get(f"{url}/readyz")).status_code != httpx.codes.OK:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.2)


async def _speaks(url: str) -> None:
    samples, rate = soundfile.read(WHAT_TIME, dtype="int16")
    sound = soxr.resample(samples, rate, REPLY_RATE_HZ).astype("int16")
    block = round(BLOCK_S * REPLY_RATE_HZ)
    async with connect(url, max_size=None) as socket_, asyncio.timeout(STEP_TIMEOUT_S):

        async def send(kind: str, **fields: Any) -> None:
            await socket_.send(json.dumps({"type": kind, **fields}))

        async def until(kind: str) -> dict[str, Any]:
            while True:
                event: dict[str, Any] = json.loads(await socket_.recv())
                assert event["type"] != "error", event
                if event["type"] == kind:
                    return event

        await until("session.created")
        if TINY_EN_FOLDER is not None:
            for begin in range(0, len(sound) + 2 * REPLY_RATE_HZ, block):
                pcm = sound[begin : begin + block].tobytes().ljust(2 * block, b"\0")
                await send("input_audio_buffer.append", audio=base64.b64encode(pcm).decode())
                await asyncio.sleep(BLOCK_S)
            await until("response.done")
        content = [{"type": "input_text", "text": "what is the tallest mountain?"}]
        await send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        await send("response.create")
        await until("response.done")


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def main(folder: Path) -> None:
    """Runs everything. The first command writes the configuration that the others read."""
    programs = Programs(folder)
    model = folder / "tiny.gguf"
    write_gguf(model)
    await programs.run("init", "init", "--yes")
    async with serving(answer(*(f"{word} " for word in SPOKEN.split()))) as service, asyncio.TaskGroup() as group:
        endpoints = {
            "REPARTEE_LLM_ENDPOINTS": json.dumps([{"name": "near", "url": service.url, "model": "scripted"}]).replace(
                '": ', '" = '
            )
        }
        for run in (
            programs.run("doctor", "doctor"),
            programs.run("demo", "demo", "--llm=skills"),
            programs.talk("talk near", answers="Everest", **endpoints),
            programs.talk("talk local", "--llm=local", f"--set=llm.local_model={model}", answers=ANSWER.strip()[:5]),
            programs.serve("serve", _free_port(), **endpoints),
        ):
            group.create_task(run)
    in_home = [programs.home / name for name in HOME_FOLDERS]
    seen = programs.watch.seen([*in_home, *(programs.start / name for name in START_FOLDERS), programs.temporary])
    (folder / "seen.json").write_text(json.dumps([dataclasses.astuple(one) for one in seen]))


if __name__ == "__main__":
    if sys.argv[2:] == ["isolated"]:
        _bring_loopback_up()
    asyncio.run(main(Path(sys.argv[1])))
