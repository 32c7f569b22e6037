"""Time limits of one connection to /v1/realtime, and the notice with which it ends."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from starlette.types import Message, Receive, Scope, Send

from web.limits.session_limits import CloseNotice, expired, idle

HELD_BACK = "repartee.held_back"
"""Key of the connection's state: a function that reports that the client is throttled."""
BUSY_TURN = "repartee.busy"
"""Key of the connection's state: a function that returns whether a turn is in progress."""
SILENT = "repartee.silent"
"""Key of the connection's state: a function that returns whether no sound was received, or only a wake word is listened
for."""
ENDED_BY = "repartee.ended_by"
"""Key of the connection's state: a function that returns why the server ends the connection, or None."""

IDLE_STEP = 0.05
"""Fraction of the idle limit by which it may be late. Resetting it for every message cost 3 % of the main thread."""


class ConnectionLifetime:
    """Time limits of one connection: the session limit, the idle limit, and an end on request.

    Attributes:
        limit: The time limit within which the conversation runs.
        counted_silent: Whether the conversation was found to send no sound.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, max_session_s: float, idle_timeout_s: float) -> None:
        """Starts counting; `scope`, `receive` and `send` are those of the connection."""
        self._state = scope.setdefault("state", {})
        self._state[HELD_BACK] = self.note_activity
        self._state[ENDED_BY] = lambda: self.close_notice
        self._receive = receive
        self._send = send
        self._over = self.counted_silent = False
        self._loop = asyncio.get_running_loop()
        self._max_session_s = max_session_s
        self._idle_timeout_s = idle_timeout_s
        self._requested_notice: CloseNotice | None = None
        self.begin()

    def begin(self) -> None:
        """Starts counting its time."""
        self._began_s = self._active_s = self._loop.time()
        self.limit = asyncio.timeout_at(self._ends_s)

    async def receive(self) -> Message:
        """Receives the client's next message."""
        message = await self._receive()
        self._over = self._over or message["type"] == "websocket.disconnect"
        self.note_activity()
        return message

    def note_activity(self) -> None:
        """Restarts the idle limit: a message arrived, or is still being processed."""
        self._active_s = self._loop.time()
        self._set()

    async def send(self, message: Message) -> None:
        """Sends a message to the client."""
        self._over = self._over or message["type"] == "websocket.close"
        self._set()
        await self._send(message)

    def _set(self) -> None:
        """Sets the connection's time limit. A closed connection has none: the next connection then limits the session.

        Messages arrive fifty times a second, so the idle limit is moved in steps and may be that much late.
        """
        if self._requested_notice is not None or self.limit.expired():
            return
        ends_s, set_s = None if self._over else self._ends_s, self.limit.when()
        if ends_s == set_s or (ends_s is not None and set_s is not None and ends_s <= set_s):
            return
        with suppress(RuntimeError):  # the limit has ended already
            self.limit.reschedule(None if ends_s is None else self._until(self._idle_timeout_s * (1 + IDLE_STEP)))

    def end(self, close_notice: CloseNotice) -> None:
        """Ends the connection now with this notice. Idempotent."""
        if self._requested_notice is not None:
            return
        self._requested_notice = close_notice
        with suppress(RuntimeError):  # it is being closed already
            if not self.limit.expired():
                self.limit.reschedule(self._loop.time())

    @property
    def busy(self) -> bool:
        """Whether a turn is in progress."""
        busy: Callable[[], bool] | None = self._state.get(BUSY_TURN)
        return busy is not None and busy()

    @property
    def silent(self) -> bool:
        """Whether the conversation is no load so far."""
        silent: Callable[[], bool] | None = self._state.get(SILENT)
        return silent is not None and silent()

    @property
    def close_notice(self) -> CloseNotice | None:
        """Reason for which the connection was ended; None if it was not."""
        if not self.limit.expired():
            return None
        if self._requested_notice is not None:
            return self._requested_notice
        if self._ends_s < self._began_s + self._max_session_s:
            return idle(self._idle_timeout_s)
        return expired(self._max_session_s)

    @property
    def lasted_s(self) -> float:
        return self._loop.time() - self._began_s

    @property
    def _ends_s(self) -> float:
        return self._until(self._idle_timeout_s)

    def _until(self, idle_s: float) -> float:
        longest_s = self._began_s + self._max_session_s
        return min(longest_s, self._active_s + idle_s) if idle_s else longest_s
