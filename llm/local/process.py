"""Starts, watches, restarts and stops the child process that serves a model (llm/local/server.py)."""

import asyncio
import json
import logging
import secrets
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from llm.local.gguf_header import GgufError, GgufHeader, read_header
from llm.local.memory import available_bytes
from llm.local.processor_time import IDLE_SHARE, is_starved, processor_s

log = logging.getLogger(__name__)

PROGRAM = Path(__file__).with_name("server.py")
PACKAGE = "xllamacpp"

START_TIMEOUT_S = 300.0
"""Longest time to load a model: 3 GB from a disk that reads 10 MB a second."""

STOP_TIMEOUT_S = 1.0
"""Time for the process to end after its input was closed. It ends within milliseconds unless it is stuck."""

FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 60.0
"""Wait before a restart; it doubles with each further crash."""

HEALTHY_AFTER_S = 60.0
"""A process that ran for so long begins with the first backoff again."""

HEALTH_INTERVAL_S = 5.0
HEALTH_TIMEOUT_S = 3.0
MAX_MISSED = 3
"""The process is killed after this number of health checks without an answer in which it neither computed nor waited
for a processor: it hangs."""

MAX_COMPUTING_S = 300.0
"""Processor time, in seconds, after which a process that computes and answers no health check hangs, too. Its thread
for requests answers while the model computes."""

RESERVE_BYTES = 250_000_000
"""Memory needed besides the weights and the cache: buffers of the computation, Python and the library."""

BATCH_TOKENS = 32
"""Prompt tokens that are computed before the next look whether the request was cancelled. Fewer take longer each."""

CACHE_MB = 128
"""Memory for prompts of other conversations, in 2^20 bytes."""

LAST_LINES = 20


class LocalServerError(Exception):
    """The server cannot be started. The text says what, and the remedy."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the server.

    Attributes:
        model: The GGUF file.
        context_tokens: Longest prompt and answer together.
        threads: Threads that generate tokens.
        prompt_threads: Threads that read the prompt.
        gpu_layers: Layers on a graphics processor, for builds of the library that use one; 0: none.
    """

    model: Path
    context_tokens: int
    threads: int = 1
    prompt_threads: int = 1
    gpu_layers: int = 0


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address and key of a started server.

    Attributes:
        url: Base URL of its OpenAI-compatible API, on loopback.
        key: Its API key; random for each start.
    """

    url: str
    key: str


def check(settings: ServerSettings) -> GgufHeader:
    """Returns the model's metadata. Blocking; reads the beginning of the file.

    Raises LocalServerError if the extra is missing, the file is no chat model, or memory does not suffice.
    """
    try:
        header = read_header(settings.model)
        size_bytes = settings.model.stat().st_size
    except GgufError as error:
        raise LocalServerError(
            f"{settings.model} {error}: remove it and pull it again, or name a chat model in GGUF format"
        ) from error
    except OSError as error:
        raise LocalServerError(f"{settings.model} cannot be read ({error.strerror}): correct its model") from error
    if not header.has_template:
        raise LocalServerError(f"{settings.model} has no chat template: name a model that is made for conversations")
    needed = size_bytes + header.cache_bytes_per_token * settings.context_tokens + RESERVE_BYTES
    free = available_bytes()
    if free is not None and free < needed:
        raise LocalServerError(
            f"{settings.model.name} needs {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free: close "
            "other programs, or use a smaller model (repartee models --all)"
        )
    return header


class ServerProcess:
    """The child process of one model, and its successors after crashes.

    Args:
        endpoint: The endpoint's name, for messages.
        settings: See the class.
        on_started: Called in the event loop with the address of each started process, and with None when one ended.
    """

    def __init__(
        self, endpoint: str, settings: ServerSettings, on_started: Callable[[ServerAddress | None], None]
    ) -> None:
        self.settings = settings
        self._endpoint = endpoint
        self._on_started = on_started
        self._process: asyncio.subprocess.Process | None = None
        self._last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._port = 0

    @property
    def pid(self) -> int | None:
        """Process id; None if no process runs."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def start(self) -> None:
        """Starts the first process and watches it from then on. Raises LocalServerError."""
        await asyncio.to_thread(check, self.settings)
        await self._launch()
        # Not in a TaskGroup: the task lives as long as the client, and no group does.
        self._keep(asyncio.get_running_loop().create_task(self._watch(), name=f"watch {self._endpoint}"))

    async def aclose(self) -> None:
        """Stops the process. Idempotent; bounded in time."""
        self._closed = True
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_TIMEOUT_S)
        await self._stop()

    async def _launch(self) -> None:
        """Starts a process and waits until it serves. Raises LocalServerError."""
        key = secrets.token_urlsafe(32)
        settings = {
            "model": str(self.settings.model),
            "key": key,
            "context_tokens": self.settings.context_tokens,
            "threads": self.settings.threads,
            "prompt_threads": self.settings.prompt_threads,
            "batch_tokens": BATCH_TOKENS,
            "cache_mb": CACHE_MB,
            "gpu_layers": self.settings.gpu_layers,
            "verbosity": 1,  # errors only: more would write prompts
        }
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                str(PROGRAM),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **_own_group(),
            )
        except OSError as error:
            raise LocalServerError(f"its server cannot be started ({error.strerror}): run repartee doctor") from error
        self._process = process
        self._last_lines.clear()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            reading = asyncio.get_running_loop().create_task(self._read_errors(process), name="server errors")
            self._keep(reading)
            async with asyncio.timeout(START_TIMEOUT_S):
                with suppress(ConnectionError):  # it ended at once; the missing answer says so
                    process.stdin.write(f"{json.dumps(settings)}\n".encode())
                    await process.stdin.drain()
                answer = await process.stdout.readline()
            url = self._url_of(answer) or await self._explain_end(process, reading)
        except TimeoutError as error:
            await self._stop()
            raise LocalServerError(
                f"its server did not start within {START_TIMEOUT_S:g} s: use a smaller model"
            ) from error
        except BaseException:
            await self._stop()
            raise
        if self._closed:
            await self._stop()
            raise LocalServerError("was closed while it started")
        self._port = urlsplit(url).port or 0
        self._on_started(ServerAddress(f"{url}/v1", key))

    def _url_of(self, answer: bytes) -> str:
        """Returns the address in the server's answer; "" for none. Raises LocalServerError if it has an error."""
        try:
            message = json.loads(answer)
        except ValueError:
            message = {}
        if "url" in message:
            return str(message["url"])
        reason = next((line for line in self._last_lines if " E " in line), "").partition(" E ")[2].strip()
        reason = reason or str(message.get("error", ""))
        if not reason:
            return ""
        raise LocalServerError(
            f"{self.settings.model} cannot be loaded ({reason}): remove it and pull it again, or name another file"
        )

    async def _explain_end(self, process: asyncio.subprocess.Process, reading: "asyncio.Task[None]") -> NoReturn:
        """Raises LocalServerError for a process that ended without an answer, with its last lines."""
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                status = await process.wait()
        except TimeoutError:
            process.kill()
            status = await process.wait()
        await asyncio.wait({reading}, timeout=STOP_TIMEOUT_S)
        self._url_of(b"")  # the library's own error may have arrived last
        where = "without a message"
        if self._last_lines:
            log.warning("llm endpoint %r: last lines of its server: %s", self._endpoint, " | ".join(self._last_lines))
            where = "its last lines are in the log on standard error"
        raise LocalServerError(
            f"its server {_ended(status)} while it loaded {self.settings.model}, {where}: use another model, or "
            f"install the package {PACKAGE} again"
        )

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        """Reads standard error, so that the process never waits for it, and keeps the last lines."""
        assert process.stderr is not None
        while True:
            try:
                line = await process.stderr.readline()
            except ValueError:  # a line that is too long; it was discarded
                continue
            if not line:
                return
            self._last_lines.append(line.decode(errors="replace").rstrip())

    async def _watch(self) -> None:
        """Restarts the process whenever it ends. Reports a series of crashes once."""
        loop = asyncio.get_running_loop()
        backoff_s, reported = FIRST_BACKOFF_S, False
        while not self._closed:
            began_s = loop.time()
            why = await self._wait_until_down()
            self._on_started(None)
            if loop.time() - began_s >= HEALTHY_AFTER_S:
                backoff_s, reported = FIRST_BACKOFF_S, False
            if not reported:
                log.warning("llm endpoint %r: its server %s; it is restarted", self._endpoint, why)
                reported = True
            await self._stop()
            backoff_s = await self._relaunch(backoff_s)

    async def _relaunch(self, backoff_s: float) -> float:
        """Starts a process, as often as needed. Returns the backoff after the next crash."""
        last_failure = ""
        while True:
            await asyncio.sleep(backoff_s)
            backoff_s = min(MAX_BACKOFF_S, 2 * backoff_s)
            try:
                await asyncio.to_thread(check, self.settings)
                await self._launch()
            except LocalServerError as error:
                if str(error) != last_failure:
                    log.warning("llm endpoint %r: its server was not restarted: %s", self._endpoint, error)
                last_failure = str(error)
            else:
                log.warning("llm endpoint %r: its server runs again", self._endpoint)
                return backoff_s

    async def _wait_until_down(self) -> str:
        """Returns how the process ended; kills one that hangs."""
        process = self._process
        assert process is not None
        ending = asyncio.get_running_loop().create_task(process.wait(), name="server end")
        missed, answered_s = 0, processor_s(process.pid)
        before_s = answered_s
        try:
            while missed < MAX_MISSED:
                await asyncio.wait({ending}, timeout=HEALTH_INTERVAL_S)
                if ending.done():
                    return _ended(ending.result())
                used_s = processor_s(process.pid)
                if await _answers(self._port):
                    missed, answered_s = 0, used_s
                elif not (is_starved(process.pid) or used_s - before_s > IDLE_SHARE * HEALTH_INTERVAL_S):
                    missed += 1  # a busy machine answers late
                elif used_s - answered_s > MAX_COMPUTING_S:
                    break
                before_s = used_s
        finally:
            ending.cancel()
        return "did not answer"

    async def _stop(self) -> None:
        """Ends the process: its input is closed; if that does not suffice, it is killed."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_TIMEOUT_S):
                    await process.wait()
        finally:  # also if the caller is cancelled meanwhile: nothing else knows the process
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
        await process.wait()

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _ended(status: int) -> str:
    """Returns how a process ended, as the predicate of a sentence."""
    if status >= 0:
        return f"ended with status {status}"
    names = {signals.value: signals.name for signals in signal.Signals}
    return f"ended with signal {-status} ({names.get(-status, 'unknown')})"


def _own_group() -> dict[str, Any]:
    """Returns what keeps Ctrl-C in a terminal from the child: this process stops it in its own time.

    Not a session of its own: Linux would then give the child as much processor time as all speech engines together
    (sched_autogroup).
    """
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


async def _answers(port: int) -> bool:
    """Returns whether a server answers a health check in time. It needs no key."""
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            return (await reader.readline()).startswith(b"HTTP/1.1 200")
    except (OSError, TimeoutError, ValueError):
        return False
    finally:
        if writer is not None:
            writer.close()
