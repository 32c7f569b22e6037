"""Connects a session of the voice pipeline with the Realtime protocol of its client.

    socket ─text─▶ Realtime ─command─▶ RealtimeSession ─▶ Session ─event─▶ RealtimeSession ─▶ Realtime ─text─▶ socket

The session outlives its socket for a while, so that a client that lost its connection can resume it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import assert_never

from assistant.config.turn_settings import ProfileName
from assistant.events import SessionEvent, SpeechEnded, UserTurnCommitted, WakeWordHeard
from assistant.home import ServiceCall
from assistant.pipeline.session import Session
from assistant.setup.conversation.conversation_home import ConversationHome
from assistant.turns.events import ReplyId
from assistant.turns.settings import TurnSettings
from audio.arrivals import MAX_BLOCK_S
from audio.sound_id import SoundId
from audio.stt import Recognizer
from audio.units import REPLY_RATE_HZ, Pcm
from web.client_audio.appended_audio import decoded, length_s
from web.client_audio.audio_backlog import AudioBacklog
from web.client_audio.audio_throttle import AudioPacer
from web.client_audio.client_microphone import ClientMicrophone
from web.client_audio.client_speaker import ClientSpeaker
from web.session.client_items import ClientItems
from web.session.client_replies import ClientReplies
from web.session.client_settings import reply_options
from web.session.kept_conversation import ConversationKeeper
from web.session.mcp_session import McpSession
from web.session.response_requests import OnEnd, OutOfBand, ResponseRequests
from web.session.session_choices import SessionChoices, choosing
from web.session.session_update import apply_settings, logprobs_of
from web.wire.incoming.base64_steps import STEP_CHARS
from web.wire.incoming.commands import (
    Append,
    CancelBackground,
    CancelResponse,
    ChangeTimer,
    ClearInput,
    ClearOutput,
    Command,
    CommitInput,
    CreateItem,
    CreateResponse,
    DeleteItem,
    EndHomeCall,
    PlayoutReport,
    RemoveListItems,
    ReportWakeWord,
    RetrieveItem,
    TruncateItem,
    UpdateHomeStates,
    UpdateSession,
)
from web.wire.incoming.transcription_fields import NOISE_REDUCTION
from web.wire.realtime import Realtime
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import SessionConfig

MIN_COMMIT_MS = 100

PIECE_MS = 40
"""A message that is longer than a block of live audio, or was queued, is processed in pieces of this length. A whole
recording at once is more than the recognizer's queue holds."""


@dataclass(slots=True)
class RealtimeSession:
    """Executes a client's commands and sends it events. Not thread-safe: use it on the event loop.

    Attributes:
        realtime: The client's protocol state.
        session: Set once, right after both objects are created.
        base: The server's turn-taking settings.
        profile: The server's setting turn.profile.
        voice: The name of the voice in use.
        recognizer: Returns a recognizer for recordings in messages; None: there is none.
        changed: Called when there are messages to send.
        on_out_of_band_end: Is told how each out-of-band response has ended.
        choices: Changes the engines as the client chooses; None: it cannot.
        on_wake_word: Called with the level in dBFS of a wake word that the client or the session has heard.
        last_turn_s: Loop time at which the user last spoke here; 0 before.
    """

    realtime: Realtime
    microphone: ClientMicrophone
    speaker: ClientSpeaker
    base: TurnSettings
    profile: ProfileName
    voice: str
    recognizer: Callable[[], Awaitable[Recognizer]] | None = None
    changed: Callable[[], None] = lambda: None
    on_out_of_band_end: OnEnd = lambda _end: None
    choices: SessionChoices | None = None
    on_wake_word: Callable[[float], None] = lambda _level_dbfs: None
    last_turn_s: float = 0.0
    session: Session = field(init=False)
    items: ClientItems = field(init=False)
    responses: ResponseRequests = field(init=False)
    mcp: McpSession = field(init=False)
    keeper: ConversationKeeper = field(init=False)
    home: ConversationHome = field(init=False)
    _replies: ClientReplies = field(default_factory=ClientReplies)
    _appended_ms: float = 0.0
    _ended_turn: int = 0  # the last turn that ended before its transcript

    def __post_init__(self) -> None:
        self.mcp = McpSession(self.realtime, self._tell, self._refresh_tools)
        self.keeper = ConversationKeeper(lambda: self.session, self.realtime, self.on_event, self._tell)
        self.home = ConversationHome(lambda: self.session.engines.skill_effects, self._call_home)
        self.items = ClientItems(
            self.realtime,
            lambda: self.session,
            self.mcp,
            self._replies,
            self.recognizer,
            self._on_transcribed,
        )
        self.responses = ResponseRequests(
            self.realtime,
            lambda: self.session,
            self.mcp,
            lambda: self.items.transcriber.busy,
            lambda: self._replies.generated,
            OutOfBand(lambda: self.session, self.realtime, self._tell, self.on_out_of_band_end),
        )
        self.microphone.tape = self.items.tape
        self.realtime.use_positions(self.microphone.inserted_ms)
        self.speaker.send = self._send_audio
        self.speaker.on_duck = self._duck
        self.microphone.on_problem = self._noise_stays
        self.microphone.holds_recording = lambda: self.realtime.config.takes_recordings and self.session.engines_pending

    async def run(self) -> None:
        """Runs the conversation, transcribes the recordings in the client's messages, and keeps what was said."""
        async with asyncio.TaskGroup() as self.items.transcriber.tasks, choosing(self.choices):
            keeping = self.items.transcriber.tasks.create_task(self.keeper.run(), name="keeper")
            try:
                await self.home.use(self.realtime.config.home)
                await self.session.run()
            finally:
                await self.home.aclose()
                self.items.transcriber.close()
                keeping.cancel()

    # ---- events of the session ----

    def on_event(self, event: SessionEvent) -> None:
        """Passes an event of the session on to the client."""
        self.microphone.on_turn_event(event)
        self.items.on_event(event)
        self.keeper.record(event)
        if isinstance(event, UserTurnCommitted):
            self.last_turn_s = asyncio.get_running_loop().time()
        event = self._replies.on_event(event)
        if self.realtime.config.turn_detection is not None and self._commits_input(event):
            self._appended_ms = 0.0
        self.realtime.on_event(event, reply_request_pending=self.responses.pending)
        if isinstance(event, WakeWordHeard):
            self.on_wake_word(event.level_dbfs)
        self.changed()

    def _commits_input(self, event: SessionEvent) -> bool:
        """Returns whether the server commits the sound so far."""
        match event:
            case SpeechEnded(turn):
                self._ended_turn = turn
                return True
            case UserTurnCommitted(turn, origin="spoken"):
                return turn > self._ended_turn  # else it was committed when it ended
            case _:
                return False

    def _send_audio(self, sound_id: SoundId, pcm: Pcm) -> None:
        assert isinstance(sound_id, ReplyId)
        self.realtime.sound(sound_id, pcm)
        self.items.add_reply_sound(sound_id, pcm)
        self.changed()

    def _duck(self, sound_id: SoundId, lower: bool) -> None:
        assert isinstance(sound_id, ReplyId)
        self.realtime.duck(sound_id, lower=lower)
        self.changed()

    def _noise_stays(self, why: str) -> None:
        self.realtime.report(ProtocolError("noise_reduction_failed", why, NOISE_REDUCTION, kind="server_error"))
        self.changed()

    # ---- listening sounds: it is the session's `SoundOutput` ----

    def chime(self, pcm: Pcm) -> None:
        """Sends a listening sound, which the client plays at once."""
        self.realtime.listening_sound(pcm)
        self.changed()

    def stop_chime(self) -> None:
        """Tells the client to stop the sound."""
        self.realtime.listening_sound_stopped()
        self.changed()

    def _call_home(self, call_id: str, call: ServiceCall) -> None:
        self.realtime.home_call(call_id, call)
        self.changed()

    # ---- the client's commands ----

    async def receive(self, text: str, pacer: AudioPacer) -> bool:
        """Processes one message of the client. Returns whether it had audio.

        If `pacer` has a backlog, commands that have to wait are put there for `feed`.
        """
        sound = False
        backlog = pacer.backlog
        for command in await self._commands_of(text):
            pacer.is_recording = self.realtime.config.takes_recordings
            if isinstance(command, Append):
                sound = sound or len(command.audio) > 0
                if backlog is not None and not self._takes_now(command, pacer, backlog):
                    backlog.append_command(command)
                else:
                    await self._append(command, pacer)
            elif backlog is not None and backlog.must_wait(command, behind=self.microphone.behind):
                backlog.append_command(command)
            else:
                await self._execute(command)
        if not sound:  # audio, fifty messages a second, has no answer
            self.changed()
        return sound

    async def _commands_of(self, text: str) -> tuple[Command, ...]:
        """Parses a message, a large one in steps between which other tasks of the event loop run."""
        if len(text) <= STEP_CHARS:
            return self.realtime.receive(text)
        steps = self.realtime.receive_in_steps(text)
        while True:
            await asyncio.sleep(0)
            try:
                next(steps)
            except StopIteration as end:
                commands: tuple[Command, ...] = end.value
                return commands

    async def feed(self, pacer: AudioPacer) -> None:
        """Processes the commands in the backlog of `pacer` until cancelled."""
        backlog = pacer.backlog
        assert backlog is not None
        while True:
            command = await backlog.first()
            if isinstance(command, Append):
                await self._append(command, pacer)
            else:
                await self._execute(command)
                self.changed()
            backlog.done(command)

    def _takes_now(self, command: Append, pacer: AudioPacer, backlog: AudioBacklog) -> bool:
        return backlog.empty and not self.microphone.full and pacer.lets_pass(length_s(command))

    async def _append(self, command: Append, pacer: AudioPacer) -> None:
        rate_hz, backlog = command.format.rate_hz, pacer.backlog
        whole = length_s(command) <= MAX_BLOCK_S and pacer.lets_pass(length_s(command))
        length = len(command.audio) if whole else rate_hz * PIECE_MS // 1000 * command.format.sample_bytes
        held = backlog is not None and backlog.is_wanted(command)
        for start in range(0, len(command.audio), length or 1):
            if not await pacer.wait() or (held and backlog is not None and not backlog.is_wanted(command)):
                break
            part = decoded(command.audio[start : start + length], command.format)
            self._appended_ms += len(part) * 1000 / rate_hz
            await self.microphone.deliver(part, rate_hz)
            pacer.took(len(part) * REPLY_RATE_HZ // rate_hz)

    async def _execute(self, command: Command) -> None:  # noqa: C901, PLR0912 - one case for each kind of command
        self.microphone.insert_silence()
        match command:
            case Append():
                pass  # handled in `receive` and `feed`
            case UpdateSession():
                ends_replies = command.config.kind != self.realtime.config.kind
                self.configure(command.config)
                await self.keeper.settle()
                await self.home.use(command.config.home)
                if ends_replies:  # it becomes a transcription session, and the greeting may be playing
                    self.session.cancel_reply(including_request=True)
                self.realtime.session_updated(voice=command.config.chosen_voice or self.voice)
            case CommitInput():
                await self._commit(command)
            case ClearInput():
                await self.microphone.settle()
                self._appended_ms = 0.0
                self.session.clear_input()
                self.realtime.input_cleared()
            case CreateItem():
                self.items.create(command)
            case RetrieveItem():
                self.items.retrieve(command)
            case DeleteItem():
                self.items.delete(command)
            case TruncateItem():
                self.items.truncate(command)
            case CreateResponse():
                self.responses.create(command)
            case CancelResponse():
                self._cancel(command)
            case ClearOutput():
                self._clear_output(command)
            case PlayoutReport():
                self._played(command)
            case CancelBackground():
                self.session.delegated.cancel()
            case RemoveListItems(keys=keys):
                self.session.list_display.remove(keys)
            case ChangeTimer(number=number, action=action):
                self.session.timer_display.press(action, number, asyncio.get_running_loop().time())
            case EndHomeCall(call_id=call_id, fault=fault, states=states):
                self.home.end_call(call_id, fault, states)
            case UpdateHomeStates(states=states):
                self.home.update_states(states)
            case ReportWakeWord(level_dbfs=level_dbfs):
                self.session.listen_again()
                self.on_wake_word(level_dbfs)
            case _:
                assert_never(command)

    def yield_to(self, room: str) -> None:
        """Drops what the user is saying: a satellite in `room` has heard the wake word better, and answers."""
        self.realtime.yielded(room)
        self.session.yield_turn()
        self.changed()

    def configure(self, config: SessionConfig) -> None:
        """Applies the client's settings."""
        apply_settings(self.session, self.base, self.profile, config)
        self.realtime.use_logprobs(lambda text: logprobs_of(self.session.engines.recognizer, text))
        self.microphone.noise_reduction = config.noise_reduction
        self.realtime.config, self.mcp.session = config, self.session
        self.keeper.configure(config.keeping)
        self.mcp.configure(config.mcp_servers if config.kind == "realtime" else ())
        self._refresh_tools()
        if self.choices is not None:
            self.choices.apply(config, self.session, self.realtime, self._tell)
        self.speaker.trusts_reports = config.extensions.playout
        self.speaker.paces = config.extensions.events or config.extensions.playout
        self.session.timer_display.show_again()
        self.session.list_display.show_again()

    def _refresh_tools(self) -> None:
        self.session.reply_options = self.mcp.with_tools(reply_options(self.realtime.config))

    def _tell(self) -> None:
        self.changed()  # another function on each connection

    async def _commit(self, command: CommitInput) -> None:
        if self._appended_ms < MIN_COMMIT_MS:
            self.realtime.refuse(command, "input_audio_buffer_commit_empty", buffer_ms=self._appended_ms)
            return
        self._appended_ms = 0.0
        await self.microphone.settle()
        self.session.end_user_turn()

    def _on_transcribed(self) -> None:
        self.responses.on_transcribed()
        self.changed()

    def _cancel(self, command: CancelResponse) -> None:
        if self.responses.out_of_band.cancel(command):
            return
        request_pending = self.responses.pending
        if not self._replying(command.reply_id) and not (request_pending and command.reply_id is None):
            if self._replies.late_for(command, command.reply_id) is None:
                self.realtime.refuse(command, "response_cancel_not_active")
            return
        if command.reply_id is not None and command.reply_id != self.session.turns.replying:
            self.session.stop_trailing_reply(command.reply_id)
            self._replies.stopped_by(command)
            return
        if request_pending:
            self.responses.drop()
        self.session.cancel_reply(including_request=True)
        self._replies.stopped_by(command)

    def _clear_output(self, command: ClearOutput) -> None:
        reply_id = next(reversed(self.session.active_replies), None) or self._replies.late_for(command, None)
        self.session.cancel_reply()
        self.realtime.output_cleared(command, reply_id)
        self._replies.stopped_by(command)

    def _replying(self, reply_id: ReplyId | None) -> bool:
        return bool(self.session.active_replies) if reply_id is None else reply_id in self.session.active_replies

    def _played(self, report: PlayoutReport) -> None:
        if report.latency_ms is not None:
            self.session.on_client_latency(report.reply_id, report.latency_ms / 1000, (report.device_ms or 0.0) / 1000)
        self.speaker.report(report.reply_id, report.played_ms, finished=report.finished)

    # ---- reconnecting ----

    def on_disconnect(self) -> None:
        """Handles a lost connection: the conversation continues in silence, and messages to the client are dropped."""
        self.speaker.on_disconnect()
        self.microphone.on_disconnect()
        self.responses.on_disconnect()
        self.home.on_disconnect()
        self.changed = self._forget

    def _forget(self) -> None:
        self.realtime.to_send()

    def resume(self, expires_at_s: int | None, reply_id: ReplyId | None, received_ms: float | None) -> None:
        """Continues on another connection: sends the history, then the reply in progress from where the client lost it.

        Args:
            expires_at_s: Latest end of the session on this connection, in seconds since 1970.
            reply_id: The reply of which the client has received a part.
            received_ms: How much of it the client has received.
        """
        self.changed = _do_nothing  # until the new connection sets it
        self.responses.on_disconnect()
        current = self._replies.current
        self.realtime.on_reconnect(
            self.session.history.items,
            expires_at_s=expires_at_s,
            heard_ms=self.microphone.received_ms,
            under_way=None if current is None else current.started.item,
        )
        for event in () if current is None else current.again():
            self.realtime.on_event(event)
        self.items.sends_again = True
        self.speaker.on_reconnect(reply_id, received_ms)
        self.items.sends_again = False
        if current is not None and current.sent is not None:
            self.realtime.on_event(current.sent)


def _do_nothing() -> None:
    pass
