"""Serves GET /traces: a stream of turn records as JSON lines, each sent when the turn ends.

Each follower has a bounded queue. A follower that reads too slowly loses the oldest lines and receives their number. No
conversation waits for a follower. The records contain words only if `trace.words` is set.
"""

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from assistant.trace.record import TurnRecord

PATH = "/traces"
CONTENT_TYPE = "application/x-ndjson"

MAX_FOLLOWERS = 8
MAX_WAITING = 100
"""Queued lines of one follower, 5 to 20 kB each: minutes of a busy server. Beyond this the oldest are dropped."""

BEAT_S = 15.0
"""Interval of empty lines, which show the follower that the server is alive and the server that the follower is."""

SEND_TIMEOUT_S = 60.0
"""Time limit for one line; then the follower is disconnected."""

_HEADERS: Mapping[str, str] = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(slots=True, eq=False)
class _Follower:
    """The queued lines of one follower."""

    came: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: deque[bytes] = field(default_factory=deque)
    _lost: int = 0

    def append_line(self, line: bytes) -> None:
        """Appends a line; never blocks."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(line)
        self.came.set()

    def take(self) -> bytes:
        """Returns the next line, after a line with the number of lost lines if any; an empty line if none is queued."""
        losses = b"" if not self._lost else json.dumps({"lost": self._lost}).encode() + b"\n"
        self._lost = 0
        line = self._waiting.popleft() if self._waiting else b""
        if not self._waiting:
            self.came.clear()
        return losses + line + b"\n"


class TraceStream:
    """ASGI app that streams turn records to followers. Not thread-safe: use it on the event loop."""

    def __init__(self) -> None:
        """Starts without followers."""
        self._followers: set[_Follower] = set()
        self._ended = False

    @property
    def followers(self) -> int:
        """Number of followers."""
        return len(self._followers)

    def publish(self, record: TurnRecord) -> None:
        """Sends the record of a turn that has ended; never blocks."""
        if self._followers:
            line = record.to_json().encode()
            for follower in self._followers:
                follower.append_line(line)

    def end(self) -> None:
        """Ends all streams, because the server shuts down."""
        self._ended = True
        for follower in self._followers:
            follower.came.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request until the client disconnects or the server shuts down."""
        refusal = self._refusal(Request(scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        follower = _Follower()
        self._followers.add(follower)
        try:
            async with asyncio.TaskGroup() as tasks:
                work = [
                    tasks.create_task(self._write(follower, send), name="traces"),
                    tasks.create_task(_until_gone(receive), name="traces: follower"),
                ]
                await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
                for task in work:
                    task.cancel()
        finally:
            self._followers.discard(follower)

    def _refusal(self, request: Request) -> Response | None:
        if request.method != "GET":
            return JSONResponse(_error("not_supported", f"{PATH} supports GET only"), 405, {"Allow": "GET"})
        if self._ended:
            return JSONResponse(_error("server_draining", "the server is shutting down"), 503)
        if len(self._followers) >= MAX_FOLLOWERS:
            return JSONResponse(
                _error("too_many_followers", f"{MAX_FOLLOWERS} clients already follow; disconnect one"), 503
            )
        return None

    async def _write(self, follower: _Follower, send: Send) -> None:
        headers = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"\n", "more_body": True})  # sends the headers at once
        while not self._ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await follower.came.wait()
            if self._ended:
                break
            try:
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await send({"type": "http.response.body", "body": follower.take(), "more_body": True})
            except TimeoutError:
                return  # the server closes an incomplete response
            await asyncio.sleep(0)  # a hundred lines at once would delay conversations by milliseconds
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _error(code: str, message: str) -> dict[str, object]:
    return {"error": {"type": "server_error", "code": code, "message": message}}
