"""Accepts connections, also when file descriptors run out.

When `accept` fails, asyncio logs a traceback and retries once for each place in the backlog: 5,000 tracebacks a second.
This acceptor logs one line a minute, pauses, and closes connections without a request to free descriptors.
"""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable

from web.process import descriptors

ACCEPTS_PER_CALLBACK = 64
"""Connections accepted in one callback before other tasks of the event loop run."""
PAUSE_S = 0.5
"""Pause after a connection could not be accepted."""
WARN_EVERY_S = 60.0
"""Shortest time between two log lines about connections that are not accepted."""
HANDSHAKE_TIMEOUT_S = 10.0
"""Time limit for a TLS handshake."""
SHUTDOWN_TIMEOUT_S = 2.0
"""Time limit for a client to confirm the end of a TLS connection."""
MAX_HANDSHAKES = 256
"""TLS handshakes in progress; beyond it the oldest is dropped."""
SPARE_DESCRIPTORS = 8
"""File descriptors that new connections leave free, for files and connections that conversations open."""

_log = logging.getLogger(__name__)


class Acceptor:
    """Accepts the connections of one listening socket.

    Has the methods of `asyncio.Server` that uvicorn uses. Not thread-safe: call it on the event loop.
    """

    def __init__(
        self,
        listening: socket.socket,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        make_room: Callable[[], bool] = lambda: False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Starts accepting connections.

        Args:
            listening: The socket. The caller closes it.
            make_protocol: Creates the protocol of a connection.
            make_room: Closes a connection that has no request. Returns False if there is none.
            tls: Context of the connections; None: they are not encrypted.
        """
        self._tls = tls
        self._listening = listening
        self._make_protocol = make_protocol
        self._make_room = make_room
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[asyncio.Task[None], None] = {}  # oldest first
        self._retry_timer: asyncio.TimerHandle | None = None
        self._last_warning_s = -WARN_EVERY_S
        self._open = True
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Stops accepting connections. Idempotent."""
        if not self._open:
            return
        self._open = False
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        self._loop.remove_reader(self._listening)

    async def wait_closed(self) -> None:
        """Waits for connections that are being set up. TLS handshakes are dropped: a client may never finish one."""
        if self._tls is not None:
            for task in self._tasks:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _accept(self) -> None:
        for _ in range(ACCEPTS_PER_CALLBACK):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._make_room()
                self._pause(os.strerror(error.errno) if error.errno else type(error).__name__)
                return
            if _leaves_descriptors(connection) or self._make_room():
                task = self._loop.create_task(self._connect(connection), name="accept")
                self._tasks[task] = None
                task.add_done_callback(self._tasks.pop)
                if len(self._tasks) > MAX_HANDSHAKES:
                    next(iter(self._tasks)).cancel()
            else:
                connection.close()
                self._pause("too few file descriptors are left")
                return

    async def _connect(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(
                self._make_protocol,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_TIMEOUT_S,
                ssl_shutdown_timeout=None if self._tls is None else SHUTDOWN_TIMEOUT_S,
            )
        except OSError:  # the client has disconnected already, or its TLS handshake failed
            connection.close()

    def _pause(self, why: str) -> None:
        now_s = self._loop.time()
        if now_s - self._last_warning_s >= WARN_EVERY_S:
            self._last_warning_s = now_s
            _log.warning(
                "connections are not accepted: %s (limit: %s). Allow the process more (ulimit -n, LimitNOFILE=). "
                "This is logged at most once a minute.",
                why,
                descriptors.limit(),
            )
        self._loop.remove_reader(self._listening)
        self._retry_timer = self._loop.call_later(PAUSE_S, self._loop.add_reader, self._listening, self._accept)


def _leaves_descriptors(connection: socket.socket) -> bool:
    """Returns whether enough file descriptors are left besides this connection's."""
    most = descriptors.limit()
    if (
        most is None or connection.fileno() < most // 2
    ):  # the system assigns the lowest free number: all below are in use
        return True
    free = descriptors.free()
    return free is None or free >= SPARE_DESCRIPTORS
