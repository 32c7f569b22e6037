"""Runs the real server in the test's own loop: app, uvicorn, protocol and sessions, with the test's engines."""

import asyncio
import base64
import json
import os
import urllib.parse
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from support.conversations.simulation import LoudnessVad, ScriptedVoice
from support.engines.scripted_engines import SCRIPTED, Answer, SequenceModel, SequenceRecognizer, engines_of
from support.programs.complete_lines import complete_lines
from support.servers.web_server import InProcessServer
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.pipeline.engines import Engines
from assistant.registry.engine_choice import EngineChoice
from assistant.setup.engine_loader import EngineLoader
from assistant.storage.conversation_file import ConversationFile
from audio.units import REPLY_RATE_HZ, Pcm
from web.access.access_control import AccessControl
from web.access.client_secrets import ClientSecrets
from web.app import make_app
from web.connections.connection import Connections
from web.connections.engine_pool import EnginePool
from web.handover.handovers import Handovers
from web.http_api.serving import ServerState
from web.limits.session_acceptor import SessionAcceptor
from web.limits.session_limits import SessionLimits
from web.observation.metrics import Metrics
from web.page_api.setup import SetupParts
from web.routes import ApiParts, api_routes, make_calls, serving_wyoming
from web.serve import Server, uvicorn_config
from web.sockets.listening_sockets import listen
from web.wyoming.address import WyomingSockets

Event = dict[str, Any]

RECORDINGS = Path(__file__).parents[2] / "recordings"
WHAT_TIME = RECORDINGS / "rhasspy3_what-time-is-it.wav"
"""2 s; "what time is it" is said from 0.7 to 1.6 s."""

STARTED_WITHIN_S = 40.0


def settings_for(traces: Path, *assignments: str) -> Settings:
    """Returns the default settings with these `section.key=value` changes; a busy machine refuses no conversation."""
    fixed = [f"trace.dir={traces}", "server.port=0", "server.admission=fixed"]
    return load_settings(Path(os.devnull), {}, [*fixed, *assignments]).settings


@dataclass(slots=True)
class SpokenEngineLoader(EngineLoader):
    """Loads real engines, except for the recognizer: its transcripts are scripted, anew for every conversation."""

    transcripts: Sequence[str] = ("what time is it",)
    recognizer: type[SequenceRecognizer] = SequenceRecognizer

    async def _make_recognizer(self) -> SequenceRecognizer:
        now_s = asyncio.get_running_loop().time()
        self.record_choice("stt", SCRIPTED, "", "as scripted", now_s)
        return self.recognizer(self.transcripts)


def real_engines(
    traces: Path, endpoint: str = "", *assignments: str, transcripts: Sequence[str] = ("what time is it",)
) -> SpokenEngineLoader:
    """Returns espeak-ng, and the skills or an OpenAI-compatible service at `endpoint`; transcripts are scripted."""
    services = (
        [f'llm.endpoints=[{{name = "near", kind = "openai", url = "{endpoint}", model = "m"}}]'] if endpoint else []
    )
    engines = ["tts.engine=espeak-ng", *services]
    return SpokenEngineLoader(settings_for(traces, *engines, *assignments), os.environ, transcripts=transcripts)


@dataclass(slots=True)
class ScriptedEngineLoader(EngineLoader):
    """Loads scripted engines, new ones for every conversation.

    Attributes:
        recognizers: Recognizers of all conversations so far.
        models: LLMs of all conversations so far.
        fails: Called before each conversation's engines are made; may raise.
        speech: The voice of /v1/audio/speech.
    """

    answers: Sequence[Answer | tuple[Answer, ...]] = ("It is ten o'clock.",)
    transcripts: Sequence[str] = ("what time is it",)
    recognizers: list[SequenceRecognizer] = field(default_factory=list)
    models: list[SequenceModel] = field(default_factory=list)
    fails: Callable[[], None] = lambda: None
    speech: ScriptedVoice = field(default_factory=ScriptedVoice)

    async def open(self) -> None:
        names = {
            "vad": "loudness",
            "turn": "silence",
            "stt": "scripted recognizer",
            "llm": "scripted model",
            "tts": "scripted voice",
        }
        self.chosen = [EngineChoice(stage, name, "", "as scripted", False, 0.0) for stage, name in names.items()]

    async def engines(self) -> Engines:
        self.fails()
        self.recognizers.append(SequenceRecognizer(self.transcripts))
        self.models.append(SequenceModel(self.answers))
        return engines_of(self.recognizers[-1], self.models[-1], ScriptedVoice())

    @property
    def voice(self) -> ScriptedVoice:
        return self.speech

    def spoken_text(self, text: str) -> str:
        return text

    async def background_recognizer(self) -> SequenceRecognizer:
        return SequenceRecognizer(self.transcripts)

    async def live_recognizer(self) -> SequenceRecognizer:
        self.recognizers.append(SequenceRecognizer(self.transcripts))
        return self.recognizers[-1]

    def detector(self) -> LoudnessVad:
        return LoudnessVad()

    async def aclose(self, report: Callable[[str], None] = lambda _what: None) -> None:
        pass


@dataclass(frozen=True, slots=True)
class SessionServer:
    """A running server and its metrics and records."""

    port: int
    settings: Settings
    metrics: Metrics
    limits: SessionLimits
    connections: Connections
    server: Server
    wyoming: WyomingSockets | None = None

    @property
    def openai(self) -> str:
        """Returns the base URL for a stock client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def url(self, **query: object) -> str:
        """Returns the URL for WebSocket connections."""
        asked = urllib.parse.urlencode({"model": "repartee", **query})
        return f"ws://127.0.0.1:{self.port}/v1/realtime?{asked}"

    def value(self, name: str, **labels: str) -> float:
        """Returns the value of a metric."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    def records(self) -> list[Event]:
        """Returns the trace records on disk."""
        files = sorted(self.settings.trace.dir.glob("*.jsonl"))
        return [json.loads(line) for file in files for line in complete_lines(file)]


@asynccontextmanager
async def session_server(
    engine_loader: EngineLoader,
    token: str | None = None,
    allowed_hosts: Sequence[str] = (),
    make_setup: Callable[[AccessControl], SetupParts] | None = None,
    allowed_origins: Sequence[str] = (),
    conversations: ConversationFile | None = None,
    make_handovers: Callable[[Metrics], Handovers | None] = lambda _metrics: None,
    wyoming: WyomingSockets | None = None,
) -> AsyncGenerator[SessionServer]:
    """Runs the server with loaded engines while the block runs; clients need the `token`, if there is one."""
    section = engine_loader.settings.server
    sockets = listen("127.0.0.1", 0, loopback_only=True)
    port = sockets[0].getsockname()[1]
    metrics, limits = Metrics(), SessionLimits(section.max_sessions)
    engine_pool = EnginePool(engine_loader, metrics)
    handovers = make_handovers(metrics)
    connections = Connections(engine_pool, metrics, "0.1", conversations, handovers)
    acceptor = SessionAcceptor(
        connections,
        engine_pool,
        limits,
        metrics,
        max_session_s=section.max_session_s,
        idle_timeout_s=section.idle_timeout_s,
    )
    access_control = AccessControl(
        "127.0.0.1", port, token=token, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins
    )
    client_secrets = ClientSecrets(asyncio.get_running_loop().time, handovers)
    parts = ApiParts(
        engine_loader,
        connections.initial_config,
        connections.service,
        connections.rooms,
        engine_pool.choices,
        conversations,
    )
    state = ServerState(engine_pool, limits, lambda: acceptor.turn_in_progress)
    acceptor.at_drain(state.ended.set)
    calls = make_calls(parts, state, acceptor)
    loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def engines_loaded(error: Exception | None) -> None:
        if error is None:
            loaded.set_result(None)
        else:
            loaded.set_exception(error)

    app = make_app(
        engine_pool,
        access_control,
        acceptor,
        metrics,
        loaded=engines_loaded,
        background_tasks=(
            connections.losses.run,
            calls.run,
            *(() if handovers is None else (handovers.run,)),
            *(() if wyoming is None else (serving_wyoming(wyoming, parts, acceptor, state.ended),)),
        ),
        handover_health=None if handovers is None else handovers.health,
        traces=connections.traces,
        api_routes=api_routes(
            parts,
            client_secrets,
            state,
            metrics.request_refused,
            max_audio_requests=section.max_audio_requests,
            tokens_are_checked=token is not None,
            calls=calls,
            setup=None if make_setup is None else make_setup(access_control),
        ),
        client_secrets=client_secrets,
    )
    server = InProcessServer(uvicorn_config(app, section, {}), acceptor, drain_s=section.drain_s)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=sockets))
        try:
            async with asyncio.timeout(STARTED_WITHIN_S):
                await loaded
            yield SessionServer(port, engine_loader.settings, metrics, limits, connections, server, wyoming)
        finally:
            server.should_exit = True
            await serving


@asynccontextmanager
async def scripted_server(
    folder: Path, *assignments: str, **engines: Any
) -> AsyncGenerator[tuple[SessionServer, ScriptedEngineLoader]]:
    """Runs the server with scripted engines while the block runs, and yields both; its traces are in `folder`."""
    loader = ScriptedEngineLoader(settings_for(folder, *assignments), os.environ, **engines)
    async with session_server(loader) as server:
        yield server, loader


@dataclass(slots=True)
class RecordingClient:
    """A WebSocket client that records the events it receives."""

    socket: ClientConnection
    events: list[Event] = field(default_factory=list)

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def until(self, kind: str, count: int = 1, *, within_s: float = 40.0) -> Event:
        """Receives until `count` events of a type have come. Returns the last of them."""
        async with asyncio.timeout(within_s):
            while len(found := self.events_of(kind)) < count:
                self.events.append(json.loads(await self.socket.recv()))
        return found[count - 1]

    def events_of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]

    @property
    def sound_ms(self) -> float:
        """Returns the duration of the reply sound received so far, as PCM."""
        return (
            sum(len(base64.b64decode(event["delta"])) for event in self.events_of("response.output_audio.delta")) / 48
        )

    @property
    def token(self) -> str:
        return str(self.events_of("session.created")[0]["session"]["repartee"]["resume_token"])

    async def request_reply(self, text: str) -> None:
        """Sends typed text and requests a response."""
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        await self.send("conversation.item.create", item=message)
        await self.send("response.create")

    async def ask(self, text: str = "hello", until: str = "response.done", count: int = 1) -> Event:
        """Types a text, requests a response, and waits until this many events of a type have come."""
        await self.request_reply(text)
        return await self.until(until, count)

    async def until_closed(self) -> Close:
        """Receives until the server closes the connection. Returns its close frame."""
        with suppress(ConnectionClosed):
            while True:
                self.events.append(json.loads(await self.socket.recv()))
        return await close_frame(self.socket)

    async def send_audio(self, pcm: Pcm) -> None:
        """Sends sound at 24 kHz, all at once."""
        await self.send("input_audio_buffer.append", audio=encoded(pcm))

    def break_connection(self) -> None:
        """Breaks the connection."""
        self.socket.transport.abort()


async def close_frame(socket: ClientConnection) -> Close:
    """Returns the frame with which the server closes the connection."""
    try:
        await socket.recv()
    except ConnectionClosed as closed:
        if closed.rcvd is None:
            raise
        return closed.rcvd
    raise AssertionError("the connection is open")


@asynccontextmanager
async def connected_client(
    server: SessionServer, headers: Mapping[str, str] | None = None, **query: object
) -> AsyncGenerator[RecordingClient]:
    """Connects a client and waits for its session."""
    async with connect(server.url(**query), additional_headers=headers, compression=None, max_queue=None) as socket:
        caller = RecordingClient(socket)
        await caller.until("session.created")
        yield caller


class Pace:
    """Keeps a test client in real time.

    Attributes:
        late_s: Longest delay of the event loop that was seen.
        stall_s: How long the test itself holds the event loop at a time.
    """

    def __init__(self) -> None:
        self.late_s = self.stall_s = 0.0

    async def until(self, due_s: float) -> None:
        """Waits until this loop time."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, due_s - loop.time()))
        self.late_s = max(self.late_s, loop.time() - due_s)

    async def watch(self) -> None:
        """Measures the delay of the event loop until cancelled, while nothing is sent."""
        while True:
            await self.until(asyncio.get_running_loop().time() + 0.02)

    @property
    def kept(self) -> bool:
        """Returns whether sound was sent in time. A client with a gap of 100 ms counts as silent."""
        return self.late_s < self.stall_s + 0.06


def in_real_time(folder: Path, main: Callable[[Pace, Path], Coroutine[None, None, None]]) -> None:
    """Runs a test in real time. Repeats a failed one if this machine was too busy."""
    for attempt in range(3):
        pace = Pace()
        try:
            asyncio.run(main(pace, folder / str(attempt)))
        except Exception:
            if attempt == 2 or pace.kept:
                raise
        else:
            return


def encoded(pcm: Pcm) -> str:
    """Encodes sound for the wire."""
    return base64.b64encode(pcm.astype("<i2").tobytes()).decode()


def recording(path: Path) -> Pcm:
    """Returns a recording at the wire's rate."""
    pcm, rate_hz = soundfile.read(path, dtype="int16")
    return np.asarray(soxr.resample(pcm, rate_hz, REPLY_RATE_HZ), np.int16)


async def eventually(true: Callable[[], bool], *, within_s: float = 20.0) -> None:
    """Waits until `true()` holds."""
    async with asyncio.timeout(within_s):
        while not true():  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
