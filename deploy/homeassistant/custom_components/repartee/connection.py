"""One conversation at the server, over the Realtime protocol: questions as text, answers as they are written."""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
from homeassistant.core import Context

from .const import LOGGER
from .events import event_of, item, update
from .server import CONNECT_TIMEOUT_S, Server, ServerError

ANSWER_TIMEOUT_S = 60.0
"""Longest time without any event of an answer, in seconds. A language model on a small machine takes long."""

SETTLE_TIMEOUT_S = 30.0
"""Longest wait for new settings, in seconds: the server loads another language."""

FIRST_WAIT_S = 1.0
MAX_WAIT_S = 30.0
"""Waits between attempts to connect again: they double, in seconds."""

MAX_HISTORY = 20
"""Messages that a new connection is told of a conversation that the server does not know any more."""

_REQUEST = "request"
"""Entry of a response's metadata that names the question."""


@dataclass(frozen=True)
class Question:
    """A question and who asks it.

    Attributes:
        text: The words.
        language: The language, as in "de"; "" for the server's own.
        room: Name of the room; "" for none.
        device_id: The satellite; None for none.
        context: The user, for calls of services.
        history: The messages before, as (role, text).
    """

    text: str
    language: str
    room: str
    device_id: str | None
    context: Context
    history: Sequence[tuple[str, str]] = ()


class Home(Protocol):
    """The home, as conversations use it."""

    def description(self) -> dict[str, Any]:
        """Returns the home in the form of the protocol."""
        ...

    async def call(self, call: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Calls a service. Returns the fields of the result."""
        ...


class Announcer(Protocol):
    """Tells what the server says without being asked: a timer has ended, a command failed late."""

    def __call__(self, text: str, device_id: str | None) -> None:
        """Tells it at a satellite; None: where the user sees it."""
        ...


class Conversation:
    """A conversation and its connection, which is kept open and opened again when it is lost. Use it on the event loop.

    Attributes:
        has_timers: Whether something is set that the server will do or tell later.
        question: The latest question; None: there was none.
        on_plans: Called with whether a reminder, or a command for later, is set.
    """

    def __init__(
        self, http: aiohttp.ClientSession, server: Server, home: Home, announce: Announcer, owner: str = ""
    ) -> None:
        """`owner`: id of the user with whose rights services are called; "" for none."""
        self.has_timers = False
        self.on_plans: Callable[[bool], None] = lambda _any: None
        self._owner = owner
        self.question: Question | None = None
        self._http = http
        self._server = server
        self._home = home
        self._announce = announce
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._resume_token = ""
        self._connecting = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reply: asyncio.Queue[str | ServerError | None] | None = None
        self._asked = 0
        self._responses: dict[str, str] = {}  # texts of responses that nobody has asked for, by id
        self._reply_id = ""
        self._has_arrived = False  # the server's history has the question
        self._missed_answer = ""  # the answer in the history that follows it
        self._told: tuple[str, str] | None = None  # language and room that the server knows; None: no settings yet
        self._knows_history = False
        self._unsettled: set[str] = set()  # settings that are not in force yet
        self._settling = asyncio.Event()
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether a question is being answered."""
        return self._asking.locked()

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._socket is not None

    async def ask(self, question: Question) -> AsyncGenerator[str]:
        """Yields the parts of the answer as they are written. Raises ServerError."""
        async with self._asking:
            self.question, ended = question, False
            try:
                await self._request(question)
                while (part := await self._next_part(question)) is not None:
                    yield part
                ended = True
            finally:
                if not ended:  # nobody wants the rest
                    self._start(self._send({"type": "response.cancel"}))
                self._reply, self._reply_id = None, ""

    def stay_connected(self) -> None:
        """Connects, and connects again whenever the connection is lost, until `aclose`."""
        self._start(self._reconnect(0.0))

    def send_home(self, home: Mapping[str, Any]) -> None:
        """Sends the home after a change, if there is a connection."""
        if self._told is not None:
            self._start(self._send(update({"repartee": {"home": {**home, "owner": self._owner}}})))

    def send_states(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Sends states that have changed, if there is a connection."""
        if self._told is not None:
            self._start(self._send({"type": "repartee.home.states", "states": states}))

    async def aclose(self) -> None:
        """Ends the conversation."""
        self._closed = True
        tasks, socket = tuple(self._tasks), self._socket
        self._socket = None
        if socket is not None:
            await socket.close()  # with 1000: the server does not wait for another connection
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ---- requests ----

    async def _request(self, question: Question) -> None:
        """Connects, if there is no connection, and asks. Raises ServerError."""
        await self._connect()
        self._asked += 1
        self._reply, self._reply_id = asyncio.Queue(), ""
        self._has_arrived, self._missed_answer = False, ""
        wanted = question.language, question.room
        if self._told != wanted:
            self._told = wanted
            await self._configure(with_home=False)
        await self._until_settled()
        if not self._knows_history:
            self._knows_history = True
            for role, text in question.history[-MAX_HISTORY:]:
                await self._send(item(role, text))
        name = str(self._asked)
        await self._send(item("user", question.text, f"question_{name}"))
        await self._send(
            {"type": "response.create", "event_id": f"ask_{name}", "response": {"metadata": {_REQUEST: name}}}
        )

    async def _configure(self, *, with_home: bool) -> None:
        self._unsettled.add("settings")
        await self._send(update(self._settings(self.question, with_home=with_home)))

    async def _until_settled(self) -> None:
        """Waits until the settings are in force: another language takes a moment to load. Raises ServerError."""
        try:
            async with asyncio.timeout(SETTLE_TIMEOUT_S):
                while self._unsettled and self._socket is not None:
                    self._settling.clear()
                    await self._settling.wait()
        except TimeoutError:
            raise ServerError("late", self._server.url) from None

    async def _next_part(self, question: Question) -> str | None:
        """Returns the next part of the answer; None at its end. Raises ServerError."""
        part = await self._next_event()
        if isinstance(part, ServerError) and part.key == "connection_lost" and not self._reply_id:
            await self._resume(question)
            part = await self._next_event()
        if isinstance(part, ServerError):
            raise part
        return part

    async def _resume(self, question: Question) -> None:
        """Connects again, and repeats the question if the server has not got it. Raises ServerError.

        A command must not be done twice. A conversation that goes on sends its history first: an answer that was
        complete is in it, and one under way follows.
        """
        await self._connect()
        await self._until_settled()
        if not self._has_arrived:
            await self._request(question)
        elif self._missed_answer and self._reply is not None:
            self._reply.put_nowait(self._missed_answer)
            self._reply.put_nowait(None)

    async def _next_event(self) -> str | ServerError | None:
        assert self._reply is not None
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await self._reply.get()
        except TimeoutError:
            return ServerError("late", self._server.url)

    def _settings(self, question: Question | None, *, with_home: bool) -> dict[str, Any]:
        extensions: dict[str, Any] = {"events": True, "room": "" if question is None else question.room}
        if with_home:
            extensions["home"] = {**self._home.description(), "owner": self._owner}
        language = "" if question is None else question.language
        return {
            "output_modalities": ["text"],
            "audio": {"input": {"turn_detection": None, "transcription": {"language": language}}},
            "repartee": extensions,
        }

    async def _send(self, event: Mapping[str, Any]) -> None:
        if self._socket is None:
            raise ServerError("connection_lost", self._server.url)
        try:
            await self._socket.send_json(event)
        except (aiohttp.ClientError, ConnectionError, RuntimeError) as error:
            raise ServerError("connection_lost", self._server.url) from error

    # ---- the connection ----

    async def _connect(self) -> None:
        """Connects, if there is no connection. Raises ServerError."""
        async with self._connecting:
            if self._socket is not None:
                return
            if self._closed:
                raise ServerError("connection_lost", self._server.url)
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    socket = await self._server.connect(self._http, self._resume_token)
                    try:
                        created = await self._first_event(socket)
                    except BaseException:
                        await socket.close()
                        raise
            except TimeoutError:
                raise ServerError("cannot_connect", self._server.url) from None
            extensions = created["session"].get("repartee", {})
            self._resume_token = str(extensions.get("resume_token", ""))
            self._knows_history = self._knows_history and extensions.get("resumed") is True
            self._socket = socket
            self._start(self._read(socket))
            await self._configure(with_home=True)
            self._told = ("", "") if self.question is None else (self.question.language, self.question.room)

    async def _first_event(self, socket: aiohttp.ClientWebSocketResponse) -> Mapping[str, Any]:
        """Returns session.created. Raises ServerError: the server closes a connection that it refuses."""
        message = await socket.receive()
        event = event_of(message) if message.type is aiohttp.WSMsgType.TEXT else None
        if event is not None and event["type"] == "session.created" and isinstance(event.get("session"), dict):
            return event
        if event is not None and event["type"] == "error":
            raise ServerError("busy", self._server.url, str(event["error"].get("code")))
        raise ServerError("busy" if message.type is aiohttp.WSMsgType.CLOSE else "not_repartee", self._server.url)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Handles the server's events until the connection is lost; then connects again."""
        try:
            async for message in socket:
                event = event_of(message) if message.type is aiohttp.WSMsgType.TEXT else None
                if event is not None:
                    self._receive(event)
        finally:
            await socket.close()
            if self._socket is socket:
                self._socket, self._told = None, None
                self._unsettled.clear()
                self._settling.set()
            self._responses.clear()
            self._has_arrived, self._missed_answer = False, ""
            self._fail_reply("connection_lost")
        if not self._closed:
            await self._reconnect(FIRST_WAIT_S)

    async def _reconnect(self, wait_s: float) -> None:
        """Connects again, for ever: something may be set at the server that it will do later."""
        while not self._closed and self._socket is None:
            await asyncio.sleep(wait_s * random.uniform(0.75, 1.25))  # noqa: S311 - no secret
            wait_s = min(max(2 * wait_s, FIRST_WAIT_S), MAX_WAIT_S)
            with contextlib.suppress(ServerError):
                await self._connect()

    # ---- events ----

    def _receive(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "response.created":
                self._begin(event["response"])
            case "response.output_text.delta":
                self._add_text(str(event.get("response_id")), str(event.get("delta") or ""))
            case "response.done":
                self._end(event["response"])
            case "conversation.item.done":
                self._note_item(event["item"])
            case "session.updated":
                self._settle("settings", settled=True)
            case "repartee.choices":
                self._settle("choices", settled=not event.get("pending"))
            case "repartee.timers":
                self._note_timers(event.get("timers") or [])
            case "repartee.home.call":
                context = self.question.context if self.question is not None else Context(user_id=self._owner or None)
                self._start(self._call(event, context))
            case "error":
                self._note_error(event["error"])

    def _note_item(self, item: Mapping[str, Any]) -> None:
        if item.get("id") == f"question_{self._asked}":
            self._has_arrived = True
        elif self._has_arrived and item.get("role") == "assistant":
            self._missed_answer = "".join(str(part.get("text") or "") for part in item.get("content") or ())

    def _note_timers(self, timers: Sequence[Mapping[str, Any]]) -> None:
        self.has_timers = bool(timers)
        self.on_plans(any(timer.get("kind") == "reminder" for timer in timers))  # planned commands are shown as such

    def _settle(self, what: str, *, settled: bool) -> None:
        (self._unsettled.discard if settled else self._unsettled.add)(what)
        self._settling.set()

    def _begin(self, response: Mapping[str, Any]) -> None:
        name, response_id = (response.get("metadata") or {}).get(_REQUEST), str(response["id"])
        if self._reply is not None and name == str(self._asked):
            self._reply_id = response_id
        else:
            self._responses[response_id] = ""

    def _add_text(self, response_id: str, text: str) -> None:
        if self._reply is not None and response_id == self._reply_id:
            self._reply.put_nowait(text)
        elif response_id in self._responses:
            self._responses[response_id] += text

    def _end(self, response: Mapping[str, Any]) -> None:
        response_id = str(response["id"])
        if self._reply is not None and response_id == self._reply_id:
            self._reply.put_nowait(None)
        elif text := self._responses.pop(response_id, "").strip():
            self._announce(text, None if self.question is None else self.question.device_id)

    async def _call(self, call: Mapping[str, Any], context: Context) -> None:
        result = await self._home.call(call, context)
        await self._send({"type": "repartee.home.result", "call_id": call.get("call_id"), **result})

    def _note_error(self, error: Mapping[str, Any]) -> None:
        LOGGER.warning("the server reports %s: %s", error.get("code"), error.get("message"))
        if error.get("event_id") == f"ask_{self._asked}":
            self._fail_reply("failed")

    def _fail_reply(self, key: str) -> None:
        if self._reply is not None:
            self._reply.put_nowait(ServerError(key, self._server.url))

    def _start(self, work: Any) -> None:
        """Runs a coroutine until the conversation ends. A lost connection ends it, too."""

        async def run() -> None:
            with contextlib.suppress(ServerError):
                await work

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
