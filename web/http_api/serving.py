"""Runs the HTTP endpoints: methods, errors, limits on their number, streamed answers, clients that leave."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from web.access.rate_limits import Kind, RateLimits
from web.http_api.errors import FRESH, ApiError
from web.limits.session_limits import DRAINING, LOADING, SessionLimits
from web.observation.health import EngineHealth, is_ready

SEND_TIMEOUT_S = 30.0
"""Time limit for a client to take the next part of an answer."""
ANSWER_TIMEOUT_S = 900.0
"""Time limit for a whole answer."""

GIVE_WAY_S = 3.0
"""Longest wait of an audio request, before each of its sentences or segments, for the turns of sessions."""
WAIT_STEP_S = 0.1

RETRY_S = 2
"""Retry-After for a client that sends too fast."""

Handler = Callable[[Request, Send], Awaitable[None]]
"""Answers one request. May raise ApiError as long as it has sent nothing."""


class ApiEndpoint:
    """ASGI endpoint for one path and method."""

    def __init__(self, method: str, handle: Handler, count_refused: Callable[[str], None], rates: RateLimits) -> None:
        """Creates the endpoint.

        Args:
            method: The method of the requests; all others get 405.
            handle: Answers them.
            count_refused: Called with the code of each refusal.
            rates: Limits how fast a client may send requests.
        """
        self._rates = rates
        self._method = method
        self._handle = handle
        self._count_refused = count_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method != self._method:
            message = f"{scope['method']} is not allowed here; use {self._method}"
            refusal = ApiError(405, "method_not_allowed", message, headers={"Allow": self._method})
            await refusal.response()(scope, receive, send)
            return
        answer, request = _Answer(send), Request(scope, receive)
        try:
            check_rate(self._rates, "requests", request)
            await self._handle(request, answer.send)
        except ApiError as error:
            self._count_refused(error.code)
            if not answer.begun:  # otherwise uvicorn closes the connection, so that the answer does not look complete
                await error.response()(scope, receive, send)
        except ClientDisconnect:
            pass


@dataclass(slots=True)
class AudioSlots:
    """Limits the audio requests that are worked on at a time, besides the sessions.

    Attributes:
        most: How many.
    """

    most: int
    _taken: int = field(default=0, init=False)

    @contextmanager
    def take_slot(self) -> Generator[None]:
        """Takes a slot. Raises ApiError if all are in use."""
        if self._taken >= self.most:
            raise ApiError.busy(f"the server works on {self.most} audio requests already; try again in a moment", 2)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of the server: whether it takes requests, and how busy it is.

    Attributes:
        turn_in_progress: Returns whether any session has a turn in progress.
        ended: Set when the requests in progress must end, because the server shuts down.
    """

    engine_pool: EngineHealth
    limits: SessionLimits
    turn_in_progress: Callable[[], bool]
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self) -> None:
        """Raises ApiError while the engines are loading or the server shuts down."""
        if self.limits.draining:
            raise ApiError.unavailable(DRAINING)
        if not is_ready(self.engine_pool.state()):
            raise ApiError.unavailable(LOADING)

    async def give_way(self) -> None:
        """Waits while a turn is in progress, up to a limit: whoever talks comes first."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + GIVE_WAY_S
        while self.turn_in_progress() and loop.time() < until_s:  # noqa: ASYNC110 - turns have no common event
            await asyncio.sleep(WAIT_STEP_S)

    @property
    def in_conversation(self) -> bool:
        """Whether there is a session, which must not be slowed down."""
        return self.limits.current > 0


def check_rate(rates: RateLimits, kind: Kind, request: Request) -> None:
    """Counts a request. Raises ApiError if its client sends such requests too fast."""
    address = request.client.host if request.client else ""
    if not rates.allows(kind, address, request.headers.getlist("authorization")):
        what = "requests" if kind == "requests" else "requests for client secrets"
        raise ApiError.busy(f"this client sends {what} too fast; try again in a moment", RETRY_S)


async def respond(request: Request, response: Response, send: Send) -> None:
    """Sends a complete response."""
    response.headers.setdefault("Cache-Control", FRESH["Cache-Control"])
    await response(request.scope, request.receive, send)


async def stream(
    send: Send, content_type: str, parts: AsyncGenerator[bytes], more: Mapping[str, str] | None = None
) -> None:
    """Sends parts as they come. Nothing is sent if the first one fails. Raises ApiError as they do."""
    async with aclosing(parts):
        first = await anext(parts, b"")
        headers = {"Content-Type": content_type, "X-Accel-Buffering": "no", **FRESH, **(more or {})}
        encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": encoded})
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def unless_client_leaves(request: Request, state: ServerState, work: Awaitable[None]) -> None:
    """Runs `work`, and cancels it when the client disconnects, the time limit passes, or the server ends.

    Raises ApiError.
    """
    failures: list[ApiError] = []

    async def guarded() -> None:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await work
        except ApiError as error:
            failures.append(error)
        except TimeoutError:
            failures.append(ApiError(503, "timeout", "the answer took too long"))
        except ClientDisconnect:
            pass

    async with asyncio.TaskGroup() as tasks:
        all_tasks = [
            tasks.create_task(guarded()),
            tasks.create_task(disconnected(request)),
            tasks.create_task(_end(state)),
        ]
        await asyncio.wait(all_tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in all_tasks:
            task.cancel()
    if state.ended.is_set():
        raise ApiError.unavailable(DRAINING)
    if failures:
        raise failures[0]


def sse(event: dict[str, object]) -> bytes:
    """Formats an event of a stream (server-sent events)."""
    return f"data: {json.dumps(event)}\n\n".encode()


async def _end(state: ServerState) -> None:
    await state.ended.wait()


async def disconnected(request: Request) -> None:
    """Waits until the client has left. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@dataclass(slots=True)
class _Answer:
    """Sends an answer, each part within the time limit.

    Attributes:
        begun: Whether a part was sent.
    """

    to_client: Send
    begun: bool = False

    async def send(self, message: Message) -> None:
        self.begun = True
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self.to_client(message)
        except TimeoutError as error:
            raise ClientDisconnect from error
