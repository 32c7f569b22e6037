"""Accepts connections, also when file descriptors run out.

asyncio logs a traceback for each connection that it cannot accept, and tries again for each place in the backlog: 5,000
tracebacks a second. Here that is one log line a minute and a pause, and connections without a request make room.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable

from web import descriptors

AT_ONCE = 64
"""Connections that are accepted before others get their turn."""
PAUSE_S = 0.5
"""After one that could not be accepted."""
SAID_EVERY_S = 60.0
SPARE = 8
"""Descriptors that new connections leave to conversations, which open files and connections of their own."""

_log = logging.getLogger(__name__)


class Acceptor:
    """One listening socket, with as much of `asyncio.Server` as uvicorn uses. Lives on the event loop."""

    def __init__(
        self,
        listening: socket.socket,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:
        """Begin.

        Args:
            listening: The socket; whoever made it closes it.
            make_protocol: Makes one for each connection.
            make_room: Closes a connection that has no request; False: there is none.
        """
        self._listening = listening
        self._make_protocol = make_protocol
        self._make_room = make_room
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._again: asyncio.TimerHandle | None = None
        self._said_s = -SAID_EVERY_S
        self._open = True
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Accept nothing from now on. Idempotent."""
        if not self._open:
            return
        self._open = False
        if self._again is not None:
            self._again.cancel()
        self._loop.remove_reader(self._listening)

    async def wait_closed(self) -> None:
        """Wait for connections that are being set up."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._make_room()
                self._pause(os.strerror(error.errno) if error.errno else type(error).__name__)
                return
            if _is_spare(connection) or self._make_room():
                task = self._loop.create_task(self._connect(connection), name="accept")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                connection.close()
                self._pause("too few file descriptors are left")
                return

    async def _connect(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._make_protocol, connection)
        except OSError:  # it is gone already
            connection.close()

    def _pause(self, why: str) -> None:
        now_s = self._loop.time()
        if now_s - self._said_s >= SAID_EVERY_S:
            self._said_s = now_s
            _log.warning(
                "connections are not accepted: %s (limit: %s). Allow the process more (ulimit -n, LimitNOFILE=). "
                "Said once a minute.",
                why,
                descriptors.limit(),
            )
        self._loop.remove_reader(self._listening)
        self._again = self._loop.call_later(PAUSE_S, self._loop.add_reader, self._listening, self._accept)


def _is_spare(connection: socket.socket) -> bool:
    """Whether enough descriptors are left beside this one."""
    most = descriptors.limit()
    if most is None or connection.fileno() < most // 2:  # the lowest free number is given: all below are in use
        return True
    free = descriptors.free()
    return free is None or free >= SPARE
