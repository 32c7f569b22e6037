"""Runs an MCP server as a program and communicates over standard input and output, one JSON message per line.

Replaces the package's own transport, which reads and parses lines of any length.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId, jsonrpc_message_adapter

from assistant.tools.mcp_limits import MAX_BYTES, excess, too_large
from audio.telemetry import TELEMETRY_OFF

STOP_TIMEOUT_S = 2.0
"""Longest wait for the program to end: after its input is closed, after SIGTERM and after SIGKILL."""

BLOCK_BYTES = 64 << 10

MAX_SKIPPED_BYTES = 64 << 20
"""Bytes of a line that is too long. A program that writes more without a line break is stopped."""

Messages = MemoryObjectReceiveStream[SessionMessage | Exception]
Streams = tuple[Messages, MemoryObjectSendStream[SessionMessage]]


class EndlessLineError(ValueError):
    """The program writes a line that never ends."""


@asynccontextmanager
async def running(argv: Sequence[str], env: Mapping[str, str]) -> AsyncGenerator[Streams]:
    """Starts a program and yields the message streams from and to it; stops it at the end. Discards its stderr.

    Raises OSError if it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        # Its output there may contain parts of the conversation, which are never shown.
        stderr=asyncio.subprocess.DEVNULL,
        env={**get_default_environment(), **TELEMETRY_OFF, **env},
        start_new_session=True,
        limit=BLOCK_BYTES,
    )
    arrived, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    pipes = _Pipes(process, arrived, to_send)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(pipes.read(), name="mcp read"),
                group.create_task(pipes.write(), name="mcp write"),
            ]
            try:
                yield messages, sending
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        for stream in (messages, sending, arrived, to_send):
            stream.close()
        await asyncio.shield(_stop(process))


class _Pipes:
    """Reads from and writes to a program's pipes."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        arrived: MemoryObjectSendStream[SessionMessage | Exception],
        to_send: MemoryObjectReceiveStream[SessionMessage],
    ) -> None:
        self._process = process
        self._arrived = arrived
        self._to_send = to_send
        self._open: set[RequestId] = set()  # requests without an answer yet

    async def read(self) -> None:
        """Reads messages line by line; closes the message stream at the end of the program's output."""
        assert self._process.stdout is not None
        line = bytearray()
        skipped = 0  # bytes of a line that is too long
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, EndlessLineError):
            while block := await self._process.stdout.read(BLOCK_BYTES):
                *whole, rest = block.split(b"\n")
                for end in whole:
                    if skipped:
                        skipped = 0
                    else:
                        await self._receive(line + end)
                    line.clear()
                if skipped:
                    skipped = self._skip(skipped + len(rest))
                    continue
                line += rest
                if len(line) > MAX_BYTES:
                    await self._refuse(line, excess(line))
                    skipped = self._skip(len(line))
                    line.clear()
        self._arrived.close()

    async def write(self) -> None:
        """Writes messages; closes the message stream if the program no longer reads."""
        assert self._process.stdin is not None
        try:
            async for sent in self._to_send:
                if isinstance(sent.message, JSONRPCRequest):
                    self._open.add(sent.message.id)
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._process.stdin.write(text.encode("utf-8", "replace") + b"\n")
                await self._process.stdin.drain()
        except OSError:
            self._arrived.close()

    async def _receive(self, line: bytearray) -> None:
        if what := excess(line):
            await self._refuse(line, what)
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
        except ValueError as error:
            await self._arrived.send(error)
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._open.discard(message.id)
        await self._arrived.send(SessionMessage(message))

    async def _refuse(self, line: bytearray, what: str) -> None:
        """Sends an error as the answer to the request that the line names, or to all open requests if none is found."""
        ends = bytes(line[:200]), bytes(line[-200:])
        named = {request for request in self._open if any(_mentions_request(end, request) for end in ends)}
        for request in sorted(named or self._open, key=str):
            self._open.discard(request)
            await self._arrived.send(too_large(request, what))

    @staticmethod
    def _skip(size_bytes: int) -> int:
        if size_bytes > MAX_SKIPPED_BYTES:
            raise EndlessLineError("a line that is too long")
        return max(size_bytes, 1)


def _mentions_request(part: bytes, request: RequestId) -> bool:
    """Returns whether this beginning or end of a message contains the id of a request."""
    written = (f'"{request}"' if isinstance(request, str) else str(request)).encode()
    squeezed = b"".join(part.split())
    return any(b'"id":' + written + end in squeezed for end in (b",", b"}"))


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Closes the program's input, then ends it and its child processes with increasing force."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    # otherwise the program may block on a full pipe
    draining = asyncio.get_running_loop().create_task(_drain(process.stdout))
    try:
        for force in (None, signal.SIGTERM, signal.SIGKILL):
            if force is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, force)
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_TIMEOUT_S):
                    while process.returncode is None:  # noqa: ASYNC110 - `wait` also waits for processes that inherited the pipes
                        await asyncio.sleep(0.01)
                    break
    finally:
        draining.cancel()
        # No public function closes the pipe that a child of the program may still hold open.
        process._transport.close()  # type: ignore[attr-defined]


async def _drain(output: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await output.read(BLOCK_BYTES):
            pass
