"""Runs conversations on accepted sockets, and lets clients resume them on a new socket.

The handler of the first connection owns the conversation. When the socket is lost, it waits `server.resume_s` for the
client to reconnect. The handler of the new connection then runs its socket for the same conversation.

With `server.redis_url`, a conversation of another gateway is continued as well (`web/handover`).
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from starlette.websockets import WebSocket

from assistant.config.mcp_hosts import McpHosts
from assistant.events import Problem, SessionEvent, TurnFinished
from assistant.pipeline.engines import Engines
from assistant.pipeline.session import Session
from assistant.setup.conversation import new_session
from assistant.setup.conversation.switched_engines import SwitchedEngines
from assistant.setup.derived_settings import turn_settings
from assistant.storage.conversation_file import ConversationFile
from assistant.support.notice import notice
from assistant.trace.file import TraceFile
from assistant.trace.folder import RetentionLimits
from audio.units import REPLY_RATE_HZ
from web.client_audio.audio_backlog import AudioBacklog
from web.client_audio.audio_throttle import AudioPacer
from web.client_audio.client_microphone import ClientMicrophone
from web.client_audio.client_speaker import AHEAD_MS, ClientSpeaker
from web.connections.client_socket import ClientSocket
from web.connections.engine_pool import EnginePool
from web.connections.running_conversation import RESUMED_ELSEWHERE, RunningConversation
from web.connections.shared_limits import SharedLimits
from web.connections.socket_reader import MAX_MESSAGE_BYTES, SocketReader
from web.handover.claims import Claimed, claimed_conversation
from web.handover.handovers import Handovers
from web.handover.session_snapshot import config_of, continue_session, keeper_of
from web.limits.session_acceptor import Conversations, arrival_of, busy_while, ended_by, is_guest
from web.limits.session_limits import DRAINING, RESUMING, AudioThrottle, SessionRefusedError, recording_throttle
from web.observation.metrics import Metrics
from web.observation.trace_losses import TraceLosses
from web.observation.trace_stream import TraceStream
from web.phone.session import call_of, log_conversation
from web.process.fair_share import FairShare
from web.process.garbage import GarbageCollection
from web.rooms.user_rooms import UserRooms
from web.session.kept_conversation import file_for
from web.session.realtime_session import RealtimeSession
from web.session.session_choices import SessionChoices
from web.session.session_offer import config_of_connection, engines_for, initial_config, session_offer
from web.wire.outgoing.session_object import Service
from web.wire.realtime import Realtime
from web.wire.values.reply_ids import received_ms_of, reply_of
from web.wire.values.session_config import SessionConfig

_log = logging.getLogger(__name__)

ID_TAG_CHARS = 8
"""Length of the random part that all ids of a session have."""

REFILL_AFTER_S = 1.0
"""Delay before the next engines are made, so that the new conversation can start first."""
REFILL_TRIES = 20
"""Attempts to find the conversation idle. Making engines takes less than a millisecond, and seconds of a processor if a
model has to be loaded again."""


@dataclass(slots=True)
class Connections(Conversations):
    """Runs all conversations of a server."""

    engine_pool: EnginePool
    metrics: Metrics
    version: str
    conversations: ConversationFile | None = None
    handovers: Handovers | None = None
    traces: TraceStream = field(default_factory=TraceStream)
    rooms: UserRooms = field(default_factory=UserRooms)
    settles: tuple[Callable[[], Awaitable[None]], ...] = ()  # each waits until a file of the user has all changes
    _share: FairShare = field(default_factory=FairShare)
    _shared: SharedLimits = field(default_factory=SharedLimits)
    _conversations: dict[str, RunningConversation] = field(default_factory=dict)
    losses: TraceLosses = field(init=False)
    _garbage: GarbageCollection = field(init=False)

    def __post_init__(self) -> None:
        self._garbage = GarbageCollection(
            lambda: any(conversation.busy for conversation in self._conversations.values())
        )
        self.losses = TraceLosses(self.metrics, self.engine_pool.engine_loader.settings.trace.dir)

    def resumable(self, token: str) -> bool:
        """Returns whether a client with this token can resume its conversation."""
        return self._find_resumable(token) is not None

    async def confirm(self, token: str) -> None:
        """Ends the conversation with this token if another gateway has continued it."""
        conversation = self._find_resumable(token)
        if conversation is not None and conversation.handover is not None:
            await conversation.handover.confirm()

    async def kept_elsewhere(self, token: str) -> bool:
        """Returns whether this token continues a conversation of another gateway."""
        return self.handovers is not None and await self.handovers.keeps(token)

    def _find_resumable(self, token: str) -> RunningConversation | None:
        conversation = self._conversations.get(token)
        return None if conversation is None or conversation.ended else conversation

    @property
    def waiting(self) -> tuple[RunningConversation, ...]:
        """The conversations whose clients are disconnected and may reconnect."""
        return tuple(
            conversation
            for conversation in self._conversations.values()
            if conversation.client_socket is None and not conversation.ended
        )

    def make_room(self) -> bool:
        """Ends the conversation whose client has been disconnected for longest; returns False if no client is away."""
        if not self.waiting:
            return False
        min(self.waiting, key=lambda conversation: conversation.lost_s).make_room()
        return True

    async def converse(self, websocket: WebSocket) -> None:
        """Runs a new conversation on an accepted socket, or resumes one.

        Raises SessionRefusedError if another connection is resuming it.
        """
        conversation = self._find_resumable(websocket.query_params.get("resume", ""))
        if conversation is not None:
            await self._resume(conversation, websocket)
            return
        try:
            async with self._claimed(websocket) as claimed:
                if claimed is not None and self.resumable(claimed.token):
                    raise SessionRefusedError(RESUMING)  # meanwhile another connection has continued it here
                async with self.engine_pool.engines() as engines:
                    if claimed is not None:
                        await claimed.begin()
                    await self._run_new(websocket, engines, claimed)
        finally:
            self._garbage.conversation_ended()

    def _claimed(self, websocket: WebSocket) -> AbstractAsyncContextManager[Claimed | None]:
        """Takes over the conversation of another gateway that the client wants to resume, if there is one."""
        token = websocket.query_params.get("resume", "")
        if self.handovers is None or not token or call_of(websocket.scope) is not None:
            return nullcontext()
        return claimed_conversation(self.handovers, token)

    # ---- a new conversation ----

    async def _run_new(self, websocket: WebSocket, engines: Engines, claimed: Claimed | None) -> None:
        config = config_of_connection(websocket, self.initial_config(engines.voice.name))
        guest = is_guest(websocket.scope)
        if claimed is not None:
            config = config_of(claimed.snapshot, voice=engines.voice.name, mcp_hosts=config.mcp_hosts)
            guest = guest or claimed.snapshot.is_guest
        engines = engines_for(engines, config, websocket, is_guest=guest)
        conversation, trace = self._create(engines, config, call_of(websocket.scope), claimed, is_guest=guest)
        realtime_session = conversation.realtime_session
        realtime_session.keeper.file = None if guest else file_for(self.conversations, websocket)
        realtime_session.keeper.memory = self.engine_pool.engine_loader.memory
        joins = not guest and call_of(websocket.scope) is None
        in_rooms = self.rooms.joined(realtime_session) if joins else nullcontext()
        self._conversations[conversation.token] = conversation
        self._share.conversations = len(self._conversations)
        try:
            with in_rooms:
                await self._run(conversation, trace, websocket, claimed)
        except BaseException:
            conversation.hand_over = ended_by(websocket.scope) in {None, DRAINING}
            raise
        finally:
            if conversation.handover is not None:
                await conversation.handover.end(keep=conversation.hand_over)

    async def _run(
        self, conversation: RunningConversation, trace: TraceFile, websocket: WebSocket, claimed: Claimed | None
    ) -> None:
        """Runs the conversation until it is over."""
        realtime_session, handover = conversation.realtime_session, conversation.handover
        async with asyncio.TaskGroup() as writing:
            writer = writing.create_task(trace.run(), name="trace")
            # An inner group: however the conversation ends, its last record is queued before the writer is stopped.
            async with asyncio.TaskGroup() as tasks:
                helpers = [tasks.create_task(self._refill(realtime_session.session), name="refill")]
                if handover is not None:
                    helpers.append(tasks.create_task(handover.run(), name="handover"))
                session = tasks.create_task(realtime_session.run(), name="session")
                try:
                    if claimed is None:
                        realtime_session.realtime.begin()
                    else:
                        continue_session(realtime_session, claimed.snapshot)
                    with busy_while(websocket.scope, lambda: conversation.busy, lambda: conversation.silent):
                        await self._run_socket(conversation, websocket)
                        await self._wait_for_reconnects(conversation)
                finally:
                    conversation.ended = True
                    if self._conversations.get(conversation.token) is conversation:
                        del self._conversations[conversation.token]
                    self._share.conversations = len(self._conversations)
                    if conversation.client_socket is not None:
                        conversation.client_socket.lost.set()
                realtime_session.session.announce_end()
                realtime_session.microphone.end(at_once=True)
                for helper in helpers:
                    helper.cancel()
                await session
            writer.cancel()

    async def _wait_for_reconnects(self, conversation: RunningConversation) -> None:
        """Waits until a disconnected client has stayed away for too long, or has left."""
        while not conversation.ended:
            try:
                async with asyncio.timeout(self.engine_pool.engine_loader.settings.server.resume_s):
                    await conversation.has_socket.wait()
            except TimeoutError:
                return
            if (client_socket := conversation.client_socket) is not None:
                await client_socket.released.wait()

    def initial_config(self, voice: str) -> SessionConfig:
        """Returns the settings of a session before its client changes them; `voice`: the name of the voice."""
        settings = self.engine_pool.engine_loader.settings
        return replace(initial_config(settings, voice), mcp_hosts=McpHosts.of(settings.tools.client_mcp_hosts))

    def _create(
        self,
        engines: Engines,
        config: SessionConfig,
        call_id: str | None,
        claimed: Claimed | None,
        *,
        is_guest: bool,
    ) -> tuple[RunningConversation, TraceFile]:
        engine_loader = self.engine_pool.engine_loader
        settings = engine_loader.settings
        token = secrets.token_urlsafe(24) if claimed is None else claimed.token
        session_id = f"sess_{secrets.token_hex(8)}" if claimed is None else claimed.snapshot.session_id
        microphone, speaker = ClientMicrophone(REPLY_RATE_HZ, self._share), ClientSpeaker(AHEAD_MS)
        base = turn_settings(settings, engines.recognizer.name)
        switched = SwitchedEngines(engines)
        realtime_session = RealtimeSession(
            self._realtime(config, engines, token, session_id),
            microphone,
            speaker,
            base if engines.listening_sound is not None else replace(base, listening_sounds=None),
            settings.turn.profile,
            voice=engines.voice.name,
            on_out_of_band_end=self.metrics.out_of_band,
            recognizer=engine_loader.background_recognizer,
            choices=SessionChoices(self.engine_pool.choices, switched),
        )
        self._shared.apply_to(realtime_session)
        conversation = RunningConversation(realtime_session, token)
        if self.handovers is not None and call_id is None:
            conversation.handover = keeper_of(
                self.handovers,
                token,
                realtime_session,
                lambda what: realtime_session.on_event(Problem(notice("handover_failed", reason=what))),
                is_guest=is_guest,
                resume_s=settings.server.resume_s,
                claimed=claimed,
            )
            conversation.handover.on_taken = conversation.on_taken
        name = new_session.conversation_name()
        if call_id is not None:
            log_conversation(call_id, name)
        trace = TraceFile(
            settings.trace.dir,
            name,
            lambda what: self._on_trace_problem(realtime_session, what),
            RetentionLimits.of(settings.trace),
            count_lost=self.losses.count,
            report_lost=lambda what: realtime_session.on_event(Problem(notice("trace_unwritten", reason=what))),
        )
        realtime_session.session = new_session.session(
            engine_loader,
            engines=switched.engines,
            microphone=microphone,
            speaker=speaker,
            trace=trace,
            on_event=lambda event: self._on_event(conversation, name, event),
            counters=lambda: {"silent_clients": speaker.silent_clients},
            sound_output=realtime_session,
            in_call=call_id is not None,
        )
        realtime_session.session.history.id_tag = session_id[-ID_TAG_CHARS:]
        realtime_session.configure(config)
        return conversation, trace

    def _realtime(self, config: SessionConfig, engines: Engines, token: str, session_id: str) -> Realtime:
        service = self._service(engines.model.name, engines.recognizer.name, token)
        return Realtime(
            config,
            service,
            session_id=session_id,
            expires_at_s=self._expires_at_s(),
            id_tag=session_id[-ID_TAG_CHARS:],
        )

    def service(self) -> Service:
        """Returns the description of the server, outside of a conversation."""
        chosen = {choice.stage: choice.name for choice in self.engine_pool.engine_loader.chosen}
        return self._service(chosen.get("llm", ""), chosen.get("stt", ""), "")

    def _service(self, model: str, transcriber: str, resume_token: str) -> Service:
        engine_loader = self.engine_pool.engine_loader
        settings, engines = engine_loader.settings, tuple(engine_loader.chosen)
        choices = self.engine_pool.choices
        offer = session_offer(settings, engine_loader.chosen, choices.options(), choices.default_voice)
        language, languages = settings.assistant.language, settings.assistant.languages
        return Service(self.version, model, transcriber, language, engines, resume_token, offer, languages)

    def _expires_at_s(self) -> int:
        """Returns the expiry time of a connection that begins now, in seconds since 1970."""
        lasts_s = self.engine_pool.engine_loader.settings.server.max_session_s
        return int((datetime.now(UTC) + timedelta(seconds=lasts_s)).timestamp())

    def _on_event(self, conversation: RunningConversation, name: str, event: SessionEvent) -> None:
        if isinstance(event, TurnFinished):
            if conversation.handover is not None:
                conversation.handover.note_change()
            self.metrics.turn(event.record)
            self.traces.publish(event.record)
        elif isinstance(event, Problem) and not event.private:
            _log.warning("conversation %s: %s", name, event.text)
        conversation.realtime_session.on_event(event)

    def _on_trace_problem(self, realtime_session: RealtimeSession, what: str) -> None:
        """Reports a trace problem in the conversation and in the server's log."""
        self.losses.failing(what)
        realtime_session.on_event(Problem(notice("trace_unwritten", reason=what)))

    async def _refill(self, session: Session) -> None:
        for _ in range(REFILL_TRIES):
            await asyncio.sleep(REFILL_AFTER_S)
            if session.idle:
                break
        await self.engine_pool.refill()

    # ---- sockets ----

    async def _run_socket(self, conversation: RunningConversation, websocket: WebSocket) -> None:
        """Runs the conversation on this socket until it is lost."""
        realtime_session = conversation.realtime_session
        client_socket = ClientSocket(websocket, realtime_session.realtime, arrival=arrival_of(websocket.scope))
        client_socket.stored = partial(self._stored, realtime_session)
        conversation.take_socket(client_socket)
        broke_off = True
        backlog = AudioBacklog(self._shared.backlog)
        reader = SocketReader(client_socket, realtime_session, backlog, self._share, self.metrics, MAX_MESSAGE_BYTES)
        pacer = AudioPacer(
            AudioThrottle(REPLY_RATE_HZ),
            reader.rest,
            lambda: not client_socket.lost.is_set(),
            backlog,
            recording_throttle(REPLY_RATE_HZ),
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                work = [
                    tasks.create_task(client_socket.write(self.metrics), name="write"),
                    tasks.create_task(client_socket.queue_tables(), name="tables"),
                    tasks.create_task(reader.run(pacer), name="read"),
                    tasks.create_task(realtime_session.feed(pacer), name="feed"),
                ]
                await client_socket.lost.wait()
                for task in work:
                    task.cancel()
            broke_off = False
        finally:
            backlog.close()
            if conversation.client_socket is client_socket:
                # A client that knows that the session is over does not reconnect.
                left = client_socket.left or client_socket.expelled or broke_off or call_of(websocket.scope) is not None
                conversation.lose_socket(ended=left, draining=ended_by(websocket.scope) is DRAINING)
            client_socket.released.set()
        if not client_socket.left:
            await client_socket.close()

    async def _stored(self, realtime_session: RealtimeSession) -> None:
        """Waits until the conversation, the timers and the lists are on disk. The caller sets the deadline."""
        for settle in (*self.settles, realtime_session.keeper.stored):
            await settle()

    async def _resume(self, conversation: RunningConversation, websocket: WebSocket) -> None:
        """Resumes a conversation on another socket. The handler of the first socket still owns the conversation."""
        if conversation.has_newer(arrival_of(websocket.scope)):
            await ClientSocket(websocket, conversation.realtime_session.realtime, farewell=RESUMED_ELSEWHERE).close()
            return
        query = websocket.query_params
        reply_id, received_ms = reply_of(query.get("response_id", "")), received_ms_of(query.get("received_ms"))
        conversation.realtime_session.resume(self._expires_at_s(), reply_id, received_ms)
        with busy_while(websocket.scope, lambda: conversation.busy):
            await self._run_socket(conversation, websocket)
