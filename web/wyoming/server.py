"""The Wyoming server: accepts clients, limits their number, and ends with the HTTP server."""

import asyncio
import logging
import socket
from contextlib import suppress
from dataclasses import dataclass, field

from web.wyoming.address import WyomingSockets
from web.wyoming.connection import WyomingConnection, WyomingParts
from web.wyoming.events import MAX_LINE_BYTES, WRITE_BUFFER_BYTES, EventWriter, WyomingError

MAX_CONNECTIONS = 64
"""Clients at a time. One more takes the place of one without a request, or is refused."""

CLOSE_TIMEOUT_S = 1.0
"""Time limit for the last event of a refused client."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class WyomingServer:
    """Serves Wyoming clients beside the HTTP server, in the same event loop and with the same engines.

    Attributes:
        listening: The listening sockets; closed at the end.
        parts: The parts of the server that requests need.
        ended: Set when the requests in progress must end, because the server shuts down.
    """

    listening: WyomingSockets
    parts: WyomingParts
    ended: asyncio.Event
    _connections: dict[asyncio.Task[None], WyomingConnection] = field(default_factory=dict)

    async def run(self) -> None:
        """Serves until `ended` is set or it is cancelled."""
        async with self.parts.conversations.tasks:
            servers = [await self._serve(listener) for listener in self.listening.sockets]
            try:
                await self.ended.wait()
            finally:
                for server in servers:
                    server.close()
                self.listening.close()
                for task in self._connections:
                    task.cancel()
                if self._connections:
                    await asyncio.wait(self._connections)

    async def _serve(self, listener: socket.socket) -> asyncio.Server:
        if self.listening.path is not None:
            return await asyncio.start_unix_server(self._accept, sock=listener, limit=MAX_LINE_BYTES)
        return await asyncio.start_server(self._accept, sock=listener, limit=MAX_LINE_BYTES)

    def _accept(self, reader: asyncio.StreamReader, stream: asyncio.StreamWriter) -> None:
        self.parts.conversations.tasks.create_task(self._serve_client(reader, stream), name="wyoming client")

    async def _serve_client(self, reader: asyncio.StreamReader, stream: asyncio.StreamWriter) -> None:
        stream.transport.set_write_buffer_limits(WRITE_BUFFER_BYTES)
        writer = EventWriter(stream)
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._connections) >= MAX_CONNECTIONS and not self._make_room():
                await self._refuse(writer)
                return
            connection = WyomingConnection(self.parts, reader, writer)
            self._connections[task] = connection
            await connection.run()
        except Exception as error:  # noqa: BLE001 - one client must not end the others
            _log.error("a Wyoming connection ended because of an error", exc_info=error)
        finally:
            self._connections.pop(task, None)
            stream.close()
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await stream.wait_closed()
            stream.transport.abort()

    def _make_room(self) -> bool:
        """Disconnects the oldest client without a request. Returns False if there is none."""
        for task, connection in self._connections.items():
            if connection.idle:
                del self._connections[task]
                task.cancel()
                return True
        return False

    async def _refuse(self, writer: EventWriter) -> None:
        message = f"the server has {MAX_CONNECTIONS} Wyoming clients already; try again in a moment"
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await writer.fail(WyomingError("server_full", message))
