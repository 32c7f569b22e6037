"""Runs the processes of a bench, a controlled LLM and `repartee serve`, and measures their processor time."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from bench.controlled_llm import Answer, LlmBehaviour

READY_WITHIN_S = 60.0
LEAVES_WITHIN_S = 8.0
LOOK_S = 0.02
CONTROL_TIMEOUT_S = 5.0

_PROC = Path("/proc")
REPARTEE = ("-c", "import sys; from repartee.cli import main; sys.argv[0] = 'repartee'; main()")
"""Python arguments that start the program; the program's own arguments follow."""


class NotStartedError(Exception):
    """A process ended, or did not get ready in time."""


@dataclass(frozen=True, slots=True)
class Model:
    """The controlled LLM.

    Attributes:
        url: Base URL.
        log: File with one line for each answer.
    """

    url: str
    log: Path

    async def configure(self, behaviour: LlmBehaviour) -> None:
        """Changes the settings for new requests. Raises httpx.HTTPError."""
        async with httpx.AsyncClient(trust_env=False, timeout=CONTROL_TIMEOUT_S) as client:
            (await client.post(f"{self.url}/control", json=asdict(behaviour))).raise_for_status()

    def answers_since(self, wall_s: float) -> list[Answer]:
        """Returns the answers to requests that came at or after `wall_s`."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        answers = [Answer(**json.loads(line)) for line in lines]
        return [answer for answer in answers if answer.at_s >= wall_s]


@dataclass(frozen=True, slots=True)
class Server:
    """A `repartee serve` that is ready.

    Attributes:
        url: URL for WebSocket connections.
        pid: Process id.
        ready_s: Time from its start until it was ready.
        engines: Its engines as it lists them when it is ready, one line each.
    """

    url: str
    pid: int
    ready_s: float
    engines: tuple[str, ...]


@asynccontextmanager
async def model(behaviour: LlmBehaviour, folder: Path) -> AsyncGenerator[Model]:
    """Runs a controlled LLM while the block runs. Raises NotStartedError."""
    log, log_path = folder / "llm.jsonl", folder / "llm.log"
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "bench.controlled_llm", "--port", "0", "--log", str(log)]
    async with _running(command, os.environ, log_path) as process:
        match = await _wait_for_output(process, log_path, r"http://\S+", "the controlled language model")
        model = Model(match[0], log)
        await model.configure(behaviour)
        yield model


@asynccontextmanager
async def server(
    llm_url: str, settings: Sequence[str], log_path: Path, program: Sequence[str] = REPARTEE
) -> AsyncGenerator[Server]:
    """Runs `repartee serve` with these settings while the block runs. Raises NotStartedError.

    Args:
        llm_url: The LLM that answers everything; built-in skills are off.
        settings: Further `section.key=value`.
        log_path: File for its output.
        program: Python arguments that start it, as `REPARTEE`.
    """
    endpoint = f'[{{name = "controlled", kind = "openai", url = "{llm_url}", model = "controlled"}}]'
    assigned = [
        "server.port=0",
        "server.admission=fixed",  # a bench measures also what a server would refuse
        "skills.before_llm=false",
        f"llm.endpoints={endpoint}",
        *settings,
    ]
    command = [sys.executable, *program, "serve", "--config", os.devnull]
    command += [part for name in assigned for part in ("--set", name)]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("REPARTEE_")}
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with _running(command, {**bare, "PYTHONUNBUFFERED": "1"}, log_path) as process:
        await _wait_for_output(process, log_path, r"\bready\b", "repartee serve")
        ready_s = loop.time() - began_s
        text = _text(log_path)
        address = re.search(r"ws://\S+", text)
        if address is None:
            raise NotStartedError(f"repartee serve printed no address; see {log_path}")
        engines = re.findall(r"^ *(?:vad|turn|stt|llm|tts) .*$", text, re.MULTILINE)
        yield Server(address[0], process.pid, ready_s, tuple(" ".join(line.split()) for line in engines))


@asynccontextmanager
async def _running(
    command: Sequence[str], environ: Mapping[str, str], log_path: Path
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Runs a process while the block runs; its output goes to a file."""
    with log_path.open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output, env=environ)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(LEAVES_WITHIN_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _wait_for_output(
    process: asyncio.subprocess.Process, log_path: Path, pattern: str, name: str
) -> re.Match[str]:
    """Waits for the first match in the output of the process and returns it."""
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            while (match := re.search(pattern, _text(log_path))) is None:
                if process.returncode is not None:
                    raise NotStartedError(f"{name} ended with {process.returncode}:\n{_text(log_path)[-2000:]}")
                await asyncio.sleep(LOOK_S)
    except TimeoutError as error:
        raise NotStartedError(f"{name} was not ready within {READY_WITHIN_S:g} s; see {log_path}") from error
    return match


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# ---- processor time ----

ENGINE_THREADS = frozenset({"faster-whisper", "espeak-ng", "Piper"})
"""Thread names of recognizers and TTS engines that run in the server's own process."""


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Processor time of a process, in seconds.

    Attributes:
        loop_s: Its main thread: the event loop.
        threads_s: Other threads: Smart Turn, trace writing.
        engines_s: Recognizers and TTS engines: threads named in ENGINE_THREADS, and child processes.
    """

    loop_s: float
    threads_s: float
    engines_s: float

    def __sub__(self, before: "CpuTime") -> "CpuTime":
        return CpuTime(
            self.loop_s - before.loop_s, self.threads_s - before.threads_s, self.engines_s - before.engines_s
        )

    @property
    def own_s(self) -> float:
        """Returns the time without recognizers and TTS engines."""
        return self.loop_s + self.threads_s

    @property
    def all_s(self) -> float:
        """Returns the total time."""
        return self.own_s + self.engines_s


def cpu_of(pid: int) -> CpuTime | None:
    """Returns the processor time of a process so far; None if the system has no /proc."""
    try:
        main, own = _ticks(f"{pid}/task/{pid}"), _ticks(f"{pid}")
    except OSError:
        return None
    hz = os.sysconf("SC_CLK_TCK")
    mine = own[0]
    threads = sum(_ticks_or_none(place)[0] for place in _engine_threads(pid))
    engines = own[1] + sum(sum(_ticks_or_none(child)) for child in descendants(pid))
    return CpuTime(main[0] / hz, max(0, mine - main[0] - threads) / hz, (engines + threads) / hz)


def _engine_threads(pid: int) -> list[str]:
    threads = []
    with contextlib.suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError):  # just ended: its time counts as the process's own
                if (task / "comm").read_text().strip() in ENGINE_THREADS:
                    threads.append(f"{pid}/task/{task.name}")
    return threads


def busy_of_machine() -> tuple[float, float] | None:
    """Returns the busy seconds of all processors since boot, and the share of this process and its descendants.

    Returns None if the system has no /proc.
    """
    try:
        fields = [int(field) for field in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return None
    hz = os.sysconf("SC_CLK_TCK")
    busy = sum(fields) - fields[3] - fields[4]  # without idle and I/O wait
    ours = sum(sum(_ticks_or_none(pid)) for pid in (os.getpid(), *descendants(os.getpid())))
    return busy / hz, ours / hz


def _ticks(place: str) -> tuple[int, int]:
    """Returns user and system time of a process or thread, and of its children that have ended."""
    fields = (_PROC / place / "stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def _ticks_or_none(place: int | str) -> tuple[int, int]:
    try:
        return _ticks(str(place))
    except OSError:
        return 0, 0  # just ended


def descendants(pid: int) -> list[int]:
    """Returns the ids of all child processes, and of theirs. Raises OSError without /proc."""
    parents: dict[int, int] = {}
    for place in _PROC.iterdir():
        if place.name.isdigit():
            try:
                parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    processes, look = [], [pid]
    while look:
        children = [child for child, parent in parents.items() if parent == look[-1]]
        look.pop()
        look += children
        processes += children
    return processes
