"""A server for the page: the page's files under the real policy, and a Realtime endpoint that follows a script.

Its VAD is a level meter: a turn ends when nothing was loud for the script's silence timeout. Replies are canned.
"""

import asyncio
import base64
import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect
from support.conversations.scripted_record import ENGINES, Event, trace_of

from web.app import STATIC, PageFiles, content_security_policy
from web.shell import ServiceWorker

RATE_HZ = 24_000
LOUD = 0.01 * 32768  # -40 dBFS
PAGE_MODULES = Path(__file__).parents[2] / "web" / "page_modules"
Pcm = npt.NDArray[np.int16]

SETTINGS: Mapping[str, Any] = {
    "language": {"default": "en", "configured": False, "choices": [{"code": "en", "name": "English"}], "why_one": ""},
    "voice": {
        "default": "amy",
        "configured": False,
        "choices": [{"name": "amy", "language": "en"}],
        "not_installed": {},
    },
    "speed": {"default": 1.0, "configured": False, "min": 0.25, "max": 1.5},
    "profile": {"default": "auto", "configured": False, "choices": ["auto", "eager", "balanced", "patient"]},
    "endpoint": {"default": None, "configured": False, "choices": []},
    "instructions": {"default": "Answer briefly.", "configured": False},
    "words": {"default": False, "configured": False, "may_record": False},
    "answers": {"kind": "skills", "name": "", "here": True, "reachable": True, "problem": ""},
    "downloads": False,
}
"""The answer to GET /v1/repartee/settings."""


@dataclass(frozen=True)
class Reply:
    """A reply: words that share the sound's time evenly. Without text there is no reply."""

    text: str
    pcm: Pcm
    transcript: str = "what time is it"
    error: str = ""  # why it failed
    markup: str = ""  # the text with its Markdown, in pieces of 40 characters before the words

    @property
    def ms(self) -> float:
        return len(self.pcm) * 1000 / RATE_HZ

    def words(self) -> list[Event]:
        words = self.text.split()
        each = self.ms / len(words)
        return [
            {"text": word, "start_ms": n * each, "end_ms": (n + 1) * each, "estimated": False}
            for n, word in enumerate(words)
        ]


@dataclass
class Script:
    """Behaviour of the server; a test may change it at run time.

    Attributes:
        replies: Replies in order, then again from the first.
        reply_delay_s: Delay before a reply.
        stalls_s: Milliseconds of a reply's sound → seconds to wait then. Simulates network stalls.
        drop_after_ms: Breaks the connection once after this much of a reply was sent.
        close_with: Error code and close code that a connection gets at once.
        token: Token that clients must send.
        language: Language of the conversation.
        settings: The answer to GET /v1/repartee/settings; None: 404.
    """

    replies: Sequence[Reply]
    silence_timeout_ms: float = 300
    block_ms: int = 100
    reply_delay_s: float = 0.0
    stalls_s: dict[int, float] = field(default_factory=dict)
    drop_after_ms: int | None = None
    close_with: tuple[str, int] | None = None
    token: str = ""
    language: str = "en"
    settings: Mapping[str, Any] | None = field(default_factory=lambda: SETTINGS)


@dataclass
class SessionState:
    """State that outlives a connection."""

    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    turn: int = 0
    items: list[Event] = field(default_factory=list)
    reply: Reply | None = None
    response: str = ""
    item: str = ""
    speech_end_ms: float | None = None
    samples: int = 0
    item_count: int = 0

    def next_item_id(self) -> str:
        """Returns a new item id. As in the real server, ids count from 1 in every conversation."""
        self.item_count += 1
        return f"item_{self.item_count}"


class Server:
    """Records what the page sent, and holds the script."""

    def __init__(self, script: Script, static: Path = STATIC) -> None:
        self.begin_anew(script)
        self._static = static
        self.port = 0
        routes = [
            Route("/", self._page),
            Route("/service-worker.js", ServiceWorker(static).answer),
            Route("/healthz", self._healthz),
            Route("/v1/realtime", self._http_request),
            Route("/v1/repartee/setup", self._setup),
            Route("/v1/repartee/settings", self._settings),
            WebSocketRoute("/v1/realtime", self._run_session),
            Mount("/static", PageFiles(directory=static)),
            Mount("/test", StaticFiles(directory=PAGE_MODULES, check_dir=False)),
        ]
        self.app = Starlette(routes=routes)

    def begin_anew(self, script: Script) -> None:
        """Forgets what the page sent, and follows another script. No connection may be open."""
        self.script = script
        self.audio_chunks: list[Pcm] = []
        self.events: list[Event] = []
        self.connections = 0
        self.queries: list[dict[str, str]] = []
        self.sessions: dict[str, SessionState] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def events_of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]

    def received_audio(self) -> Pcm:
        return np.concatenate(self.audio_chunks) if self.audio_chunks else np.zeros(0, np.int16)

    async def _setup(self, _request: Request) -> Response:
        return JSONResponse({"offered": False})

    async def _page(self, _request: Request) -> Response:
        policy = content_security_policy(f"127.0.0.1:{self.port}")
        return FileResponse(
            self._static / "index.html", headers={"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
        )

    async def _healthz(self, _request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def _http_request(self, request: Request) -> Response:
        if self.script.token and request.headers.get("authorization") != f"Bearer {self.script.token}":
            return JSONResponse({"error": {"code": "token_missing", "message": "this server requires its token"}}, 401)
        return Response(status_code=404)

    async def _settings(self, _request: Request) -> Response:
        settings = self.script.settings
        return Response(status_code=404) if settings is None else JSONResponse(settings)

    async def _run_session(self, websocket: WebSocket) -> None:
        wanted = f"openai-insecure-api-key.{self.script.token}"
        if self.script.token and wanted not in websocket.scope["subprotocols"]:
            await websocket.receive()  # the handshake
            await websocket.send_denial_response(JSONResponse({"error": {"code": "token_missing"}}, 401))
            return
        await websocket.accept(subprotocol="realtime")
        if self.script.close_with is not None:
            code, close_code = self.script.close_with
            await websocket.send_json({"type": "error", "error": {"code": code, "message": f"message for {code}"}})
            await websocket.close(close_code, code)
            return
        self.connections += 1
        query = dict(websocket.query_params)
        self.queries.append(query)
        state = self.sessions.get(query.get("resume", "")) or SessionState()
        self.sessions[state.token] = state
        with suppress(WebSocketDisconnect, ExceptionGroup):
            async with asyncio.TaskGroup() as tasks:
                await Connection(self, websocket, state, tasks).run(query)


class Connection:
    """One WebSocket connection."""

    def __init__(self, server: Server, websocket: WebSocket, state: SessionState, tasks: asyncio.TaskGroup) -> None:
        self._server, self._websocket, self._state, self._tasks = server, websocket, state, tasks
        self._samples = self._loud_end = state.samples
        self._loud_run = self._quiet = 0
        self._speech = ""
        self._manual = False
        self._answer: asyncio.Task[None] | None = None
        self._active = False
        self._played = asyncio.Event()

    async def run(self, query: dict[str, str]) -> None:
        resumed = query.get("resume") == self._state.token
        await self._send("session.created", session=self._session(resumed=resumed))
        for item in self._state.items if resumed else []:
            await self._send("conversation.item.added", previous_item_id=None, item=item)
        if resumed and query.get("response_id") == self._state.response:
            self._answer = self._tasks.create_task(self._send_audio(float(query["received_ms"])))
        while True:
            event = json.loads(await self._websocket.receive_text())
            if event["type"] != "input_audio_buffer.append":
                self._server.events.append(event)
            await self._handle_event(event)

    async def _handle_event(self, event: Event) -> None:
        kind = event["type"]
        if kind == "input_audio_buffer.append":
            await self._process_audio(np.frombuffer(base64.b64decode(event["audio"]), "<i2"))
        elif kind == "session.update":
            audio = event["session"].get("audio", {}).get("input", {})
            self._manual = "turn_detection" in audio and audio["turn_detection"] is None
            await self._send("session.updated", session=self._session(resumed=False))
        elif kind == "conversation.item.create":
            await self._add_item({**event["item"], "id": self._state.next_item_id()})
        elif kind == "response.create" and self._active:
            await self._send_error("conversation_already_has_active_response", "another response is under way")
        elif kind == "response.create":
            self._begin_reply(self._loud_end / 24 if self._manual else None)
        elif kind in {"response.cancel", "output_audio_buffer.clear"}:
            await self._interrupt("client_cancelled")
        elif kind == "repartee.playout" and event["finished"]:
            self._played.set()

    # ---- input ----

    async def _process_audio(self, pcm: Pcm) -> None:
        self._server.audio_chunks.append(pcm)
        loud = float(np.sqrt(np.mean(np.square(pcm, dtype=np.float64)))) > LOUD
        self._loud_run = self._loud_run + len(pcm) if loud else 0
        self._samples += len(pcm)
        self._state.samples = self._samples
        if loud:
            self._loud_end = self._samples
        self._quiet = self._samples - self._loud_end
        if self._manual:
            return
        if not self._speech and self._loud_run >= RATE_HZ * 0.06:
            await self._interrupt("turn_detected")
            self._speech = self._state.next_item_id()
            at_ms = (self._samples - self._loud_run) / 24
            await self._send("input_audio_buffer.speech_started", audio_start_ms=at_ms, item_id=self._speech)
        elif self._speech and self._samples % (RATE_HZ // 5) == 0:
            words = self._next_reply().transcript.split()[: self._samples // (RATE_HZ // 5) % 8 + 1]
            await self._send("repartee.partial", item_id=self._speech, text=" ".join(words), rough=False)
        if self._speech and self._quiet >= RATE_HZ * self._server.script.silence_timeout_ms / 1000:
            self._begin_reply(self._loud_end / 24)

    def _next_reply(self) -> Reply:
        return self._server.script.replies[self._state.turn % len(self._server.script.replies)]

    # ---- replies ----

    def _begin_reply(self, speech_end_ms: float | None) -> None:
        self._active = True
        self._answer = self._tasks.create_task(self._reply(speech_end_ms))

    async def _reply(self, speech_end_ms: float | None) -> None:
        state, reply = self._state, self._next_reply()
        state.turn += 1
        state.reply, state.speech_end_ms = reply, speech_end_ms
        state.response, state.item = f"resp_{state.turn}_1", state.next_item_id()
        if self._manual and not reply.transcript:
            spoken = state.next_item_id()
            await self._send("input_audio_buffer.committed", item_id=spoken, previous_item_id=None)
            audio = {"type": "input_audio", "transcript": None}
            await self._add_item({"id": spoken, "type": "message", "role": "user", "content": [audio]})
            name = "conversation.item.input_audio_transcription.completed"
            await self._send(name, item_id=spoken, transcript="")
            await self._send("repartee.nothing_said", item_id=spoken, why="no words")
        elif speech_end_ms is not None:
            spoken, self._speech = self._speech or state.next_item_id(), ""
            stopped, repartee = {"audio_end_ms": round(speech_end_ms)}, {"inserted_ms": 0}
            committed: Event = {"item_id": spoken, "previous_item_id": None}
            if self._manual:
                committed["repartee"] = repartee | stopped
            else:
                await self._send("input_audio_buffer.speech_stopped", **stopped, item_id=spoken, repartee=repartee)
            await self._send("input_audio_buffer.committed", **committed)
            audio = {"type": "input_audio", "transcript": None}
            await self._add_item({"id": spoken, "type": "message", "role": "user", "content": [audio]})
            name = "conversation.item.input_audio_transcription.completed"
            await self._send(name, item_id=spoken, transcript=reply.transcript)
        await asyncio.sleep(self._server.script.reply_delay_s)
        await self._send("response.created", response={"id": state.response, "status": "in_progress"})
        item = {"id": state.item, "type": "message", "role": "assistant", "content": []}
        await self._send("response.output_item.added", response_id=state.response, item=item)
        await self._send("conversation.item.added", previous_item_id=None, item=item)
        ids = {"response_id": state.response, "item_id": state.item}
        await self._send("response.content_part.added", **ids, part={"type": "audio", "transcript": ""})
        await self._send("response.output_audio_transcript.delta", **ids, delta=reply.text)
        for at in range(0, len(reply.markup), 40):
            await self._send("repartee.markup", **ids, delta=reply.markup[at : at + 40])
        await self._send("repartee.words", **ids, words=reply.words())
        await self._send_audio(0)

    async def _send_audio(self, from_ms: float) -> None:
        state, script = self._state, self._server.script
        assert state.reply is not None
        ids = {"response_id": state.response, "item_id": state.item}
        pcm, block = state.reply.pcm, RATE_HZ * script.block_ms // 1000
        start = round(from_ms * 24)
        for at in range(start, len(pcm), block):
            if script.drop_after_ms is not None and at / 24 >= script.drop_after_ms:
                script.drop_after_ms = None
                await self._websocket.close(1011)
                raise WebSocketDisconnect
            await asyncio.sleep(script.stalls_s.get(round(at / 24), 0))
            delta = base64.b64encode(pcm[at : at + block].astype("<i2").tobytes()).decode()
            await self._send("response.output_audio.delta", **ids, delta=delta)
        await self._send("response.output_audio.done", **ids)
        await self._done("failed" if state.reply.error else "completed", state.reply.error)
        await self._played.wait()
        self._played.clear()
        trace = self._trace("answered")
        await self._send("repartee.trace", turn=state.turn, trace=trace)
        state.response = ""

    async def _send_error(self, code: str, message: str) -> None:
        await self._send("error", error={"code": code, "message": message})

    async def _done(self, status: str, error: str = "") -> None:
        self._active = False
        details = {"type": "failed", "error": {"code": "reply_failed", "message": error}} if error else None
        response = {"id": self._state.response, "status": status, "status_details": details}
        await self._send("response.done", response=response)

    async def _interrupt(self, reason: str) -> None:
        if self._answer is None or self._answer.done():
            return
        self._answer.cancel()
        state = self._state
        played = [
            event["played_ms"]
            for event in self._server.events_of("repartee.playout")
            if event["response_id"] == state.response
        ]
        await self._done("cancelled")
        end_ms = round(max(played, default=0))
        await self._send(
            "conversation.item.truncated", item_id=state.item, content_index=0, audio_end_ms=end_ms, why=reason
        )
        await self._send("repartee.trace", turn=state.turn, trace=self._trace("interrupted"))
        self._played.clear()

    async def _add_item(self, item: Event) -> None:
        self._state.items.append(item)
        await self._send("conversation.item.added", previous_item_id=None, item=item)
        await self._send("conversation.item.done", previous_item_id=None, item=item)

    async def _send(self, kind: str, **fields: object) -> None:
        await self._websocket.send_text(json.dumps({"type": kind, "event_id": uuid.uuid4().hex, **fields}))

    def _session(self, *, resumed: bool) -> Event:
        detection = None if self._manual else {"type": "semantic_vad", "eagerness": "auto"}
        repartee = {"resume_token": self._state.token, "resumed": resumed, "engines": ENGINES}
        repartee |= {"language": self._server.script.language, "heard_ms": self._state.samples / 24}
        audio = {"input": {"turn_detection": detection}, "output": {"voice": "en"}}
        return {"type": "realtime", "id": "sess_1", "audio": audio, "repartee": repartee}

    def _trace(self, outcome: str) -> Event:
        """Returns a record as from the real server with a fast LLM."""
        end = self._state.speech_end_ms
        measured = [e for e in self._server.events_of("repartee.playout") if "latency_ms" in e]
        latency = measured[-1]["latency_ms"] if measured and end is not None else None
        return trace_of(self._state.turn, outcome, end, latency, self._server.script.silence_timeout_ms)


@contextmanager
def serving(script: Script, port: int = 0, static: Path = STATIC) -> Iterator[Server]:
    """Runs the server in a separate thread, on a free port of loopback. `static`: the folder of the page's files."""
    scripted = Server(script, static)
    config = uvicorn.Config(scripted.app, "127.0.0.1", port, log_level="error", ws="websockets-sansio", lifespan="off")
    config.ws_per_message_deflate = False
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), f"nothing listens at port {port}"
        threading.Event().wait(0.01)
    scripted.port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield scripted
    finally:
        server.should_exit = server.force_exit = True
        thread.join(5)
