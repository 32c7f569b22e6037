"""A conversation with a server: sends the microphone's audio, plays the replies, and shows the events.

    microphone ─frame─▶ RemoteTalk ─text─▶ wire ─▶ server ─event─▶ RemoteConversation ─effect─▶ screen, loudspeaker

Read this module first in `web.remote`.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assistant.events import Floor, Problem, ReplyStarted, SessionEvent
from assistant.registry.engine_choice import EngineChoice
from audio.frame import Frame
from audio.microphone import Microphone
from audio.speaker import Speaker
from audio.units import FRAME_SAMPLES, ms_of_samples
from audio.wake import WakeWordDetection
from web.remote.address import ServerAddress
from web.remote.close_reasons import CloseReason
from web.remote.conversation import commands as say
from web.remote.conversation.conversation import COMMIT_EMPTY, RemoteConversation, error_code
from web.remote.conversation.effects import (
    Ducking,
    Effect,
    ListeningSoundReceived,
    ListeningSoundStopped,
    SessionOpened,
    Sound,
    SoundEnded,
    SpeechEnded,
    StopPlayback,
    WakeWordYielded,
)
from web.remote.conversation.pending_text import MAX_WAITING
from web.remote.playout_reports import PlayoutReports
from web.remote.sound.contested_reply import ContestedReply
from web.remote.sound.playback import RemotePlayback
from web.remote.sound.sent_audio import SentAudio
from web.remote.sound.waking import Waking
from web.remote.wire import RemoteWire, ServerLostError
from web.wire.values.reply_ids import response_id

if TYPE_CHECKING:
    from assistant.pipeline.listening_sounds import SoundOutput

MIN_TURN_MS = 100.0
"""The server refuses shorter turns as an empty buffer."""

NOT_KEPT = "the server no longer has the earlier conversation: a new one begins without its history"
NOT_CONNECTED = "not sent: there is no connection to the server"
NOT_YET_SENT = "not sent yet: the server cannot be reached; your text is sent when the connection is back"
SENT_AGAIN = "your text may not have arrived: if so, it is sent again when the connection is back"
TOO_MUCH_TYPED = f"not sent: {MAX_WAITING} texts are already waiting for the server"
NEVER_SENT = "your last text was not sent: the server could no longer be reached"
NOT_HEARD = "the wake word was heard, but there is no connection to the server"
TOO_SHORT = "nothing was sent: press once, speak, and press again when you are done"


@dataclass(slots=True)
class RemoteTalk:
    """One conversation. Outlives its connections. Implements `Talker`.

    Attributes:
        show: Called with every session event.
        engines: Called with the engines of the server.
        push_to_talk: Whether turns begin and end with a key.
        interrupt_after_ms: Shortest speech that may interrupt a reply, because of echo through the sound card; None:
            the server's setting.
        sound_output: Plays listening sounds; None: the server sends none.
        tls: See `RemoteWire`.
        waking: Wakes the conversation by the sound of a word; None: it is always awake.
        room: Name of the room of this machine; "" for none.
        keeps_trying: See `RemoteWire`.
        on_step: Called when `floor` may have changed: after each frame, and after a lost connection.
    """

    address: ServerAddress
    token: str | None
    microphone: Microphone
    speaker: Speaker
    show: Callable[[SessionEvent], None]
    engines: Callable[[Sequence[EngineChoice]], None] = lambda _chosen: None
    push_to_talk: bool = False
    interrupt_after_ms: float | None = None
    sound_output: "SoundOutput | None" = None
    tls: ssl.SSLContext | None = None
    waking: Waking | None = None
    room: str = ""
    keeps_trying: bool = False
    on_step: Callable[[], object] = lambda: None
    conversation: RemoteConversation = field(default_factory=RemoteConversation)
    playback: RemotePlayback = field(init=False)
    wire: RemoteWire = field(init=False)
    model: str = ""
    key_held: bool = False
    _sent: SentAudio = field(init=False)
    _offers_rooms: bool = False
    _released_s: float | None = None  # when the key was released: the turn's speech ends there
    _held_samples: int = 0
    _reply_requested: bool = False  # a requested response has not begun
    _nothing_to_answer: bool = False  # the turn that it was to answer has no words
    _clear_pending: bool = False  # the server's input buffer must be cleared on the next connection
    _reports: PlayoutReports = field(init=False)
    _contested: ContestedReply = field(init=False)
    _greeted: bool = False
    _greeting: bool = False  # a new connection is still sending the history
    _last_shown_reason: str = ""  # the last close reason that was shown

    def __post_init__(self) -> None:
        self.wire = RemoteWire(self.address, self.token, self, self.tls, keeps_trying=self.keeps_trying)
        self._sent = SentAudio(lambda pcm: self.wire.sound(say.append(pcm)))
        self._reports = PlayoutReports(
            self.wire.send,
            self.conversation.replies,
            self._sent.map,
            self.microphone.clock.to_loop_s,
            lambda: self.playback.playing,
        )
        self.playback = RemotePlayback(
            self.speaker, self._reports.audible, self._reports.progress, lambda what: self.show(Problem(what))
        )
        self._contested = ContestedReply(self.playback, self.interrupt)
        if self.waking is not None:
            self.waking.listener.accept = self._on_wake_word

    async def run(self) -> None:
        """Runs the conversation until the microphone ends or `leave` is called.

        Raises an ExceptionGroup with a ServerLostError if the server cannot be used, or with an AudioError if the
        microphone or loudspeaker failed.
        """
        async with asyncio.TaskGroup() as tasks:
            work = [
                tasks.create_task(self.speaker.run(), name="speaker"),
                tasks.create_task(self.playback.run(), name="playback"),
                tasks.create_task(self._listen(), name="microphone"),
            ]
            try:
                await self.wire.run()
            except ServerLostError:
                self._never_sent()
                raise
            for task in work:
                task.cancel()

    def leave(self) -> None:
        """Hangs up. Idempotent."""
        self._contested.end()
        self.playback.stop()
        if not self.wire.open:
            self._never_sent()
        self.wire.leave()

    def _never_sent(self) -> None:
        if self.conversation.typed.give_up():
            self.show(Problem(NEVER_SENT))

    async def _listen(self) -> None:
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self.take_frame(frame)
                self.on_step()
        self.leave()

    # ---- state: see `Talker` ----

    @property
    def floor(self) -> Floor:
        """The state of the conversation, see `Talker`."""
        if not self.wire.open and not self.playback.sounding:
            return "starting"
        if self.playback.sounding:
            return "speaking" if self.playback.playing is None or (self.played_ms or 0.0) > 0 else "thinking"
        if self.conversation.hearing or self.key_held:
            return "hearing"
        if self.conversation.reply_pending:
            return "thinking"
        return "listening" if self.waking is None or self.waking.awake else "asleep"

    @property
    def endpoint(self) -> str:
        """Model and server in one line."""
        place = self.address.place
        return f"{self.model} at {place}" if self.wire.open else f"{place}, not connected"

    @property
    def played_ms(self) -> float | None:
        """Played length of the current reply."""
        return self.playback.played_ms

    def counts(self) -> dict[str, int]:
        """Returns counters of lost audio."""
        return {"sound not sent": self.wire.dropped}

    # ---- user actions ----

    def interrupt(self) -> None:
        """Stops the reply, whether it is being generated or only played."""
        under_way = self.conversation.replies.under_way
        if under_way is not None:
            self.wire.send(say.cancel(response_id(under_way)))
            self.conversation.replies.silence(under_way)
        elif self.playback.playing is not None:
            self.conversation.replies.silence(self.playback.playing)
            self.wire.send(say.silence())
        self.playback.stop()

    def type(self, text: str) -> None:
        """Sends a typed text now, or as soon as the server can be reached."""
        self.interrupt()
        if not self.conversation.typed.add_text(text):
            self.show(Problem(TOO_MUCH_TYPED))
        elif not self._send_typed() and not self._greeting:  # while greeting it is sent in a moment
            self.show(Problem(NOT_YET_SENT))

    def _send_typed(self) -> bool:
        """Sends typed texts that the server does not have, and requests a response.

        Returns False if they have to wait.
        """
        typed = self.conversation.typed
        if self._greeting:
            return False  # the history may show that they have arrived
        for name, words in typed.unsent:
            if not self.wire.send(say.typed(name, words)):
                return False
            typed.sent(name)
        if typed.reply_due:
            self._request_response()
        return True

    def forget(self) -> None:
        """Discards the current speech: clears the server's input buffer now or on the next connection."""
        self._clear_pending = not self.wire.send(say.clear())
        self._held_samples = 0

    def repeat(self) -> bool:
        """Repeats the last reply from the kept audio; returns False if there is none."""
        busy = self.conversation.hearing or self.conversation.reply_pending
        return busy or self.playback.again()

    @property
    def needs_sound(self) -> bool:
        """Whether the microphone must be open: always, or with push-to-talk until the turn was sent."""
        return not self.push_to_talk or self.key_held or self._released_s is not None

    def set_push_to_talk(self, pressed: bool) -> None:
        """Starts or ends a turn with push-to-talk."""
        if not self.push_to_talk or pressed == self.key_held:
            return
        self.key_held = pressed
        if pressed:
            self.interrupt()
            if self._released_s is None:
                self._held_samples = 0
            self._released_s = None  # released just now: continue the same turn
        else:
            self._released_s = asyncio.get_running_loop().time()  # frames of the turn are still to arrive

    def _request_response(self) -> None:
        self.wire.send(say.answer())
        self._reply_requested = True
        self.conversation.response_requested()

    # ---- microphone ----

    def take_frame(self, frame: Frame) -> None:
        """Takes the next frame of the microphone; while the conversation sleeps, only its wake word is heard."""
        waking = self.waking
        if waking is None:
            self.hear(frame)
            return
        talk = self.conversation
        replies = talk.replies
        sounding, pending = self.playback.sounding, talk.reply_pending
        if not waking.awake:  # an announcement does not wake it
            sounding = sounding and not replies.is_announcement(self.playback.playing)
            pending = pending and not replies.is_announcement(replies.under_way)
        activity = waking.activity(sounding=sounding, hearing=talk.hearing, pending=pending)
        for taken in waking.take(frame, activity):
            self.hear(taken)
        if not waking.awake:
            self._sent.pause()

    def hear(self, frame: Frame) -> None:
        """Sends a frame. Inserted silence is not sent, because the server inserts its own."""
        if self._is_sent(frame) and not frame.is_inserted and self.wire.open:
            self._held_samples += FRAME_SAMPLES
            self._sent.send_frame(frame)
        else:
            self._sent.pause()
        if self._released_s is not None and self._captured_s(frame.end) >= self._released_s:
            self._finish_turn()

    def _is_sent(self, frame: Frame) -> bool:
        if not self.push_to_talk or self.key_held:
            return True
        return self._released_s is not None and self._captured_s(frame.start) < self._released_s

    def _on_wake_word(self, detection: WakeWordDetection) -> bool:
        """Handles a wake word, which interrupts a reply; returns False if the reply itself contains it.

        In a room, the reply is interrupted only when no other satellite answers.
        """
        assert self.waking is not None
        if self.floor == "speaking":
            if self.waking.is_spoken_in(detection, self.conversation.replies.text_of(self.playback.playing)):
                return False
            if self._offers_rooms and self.room and self.wire.open:
                self._contested.begin()
            else:
                self.interrupt()
        if not self.wire.open:
            self.waking.on_nothing_heard()
            self.show(Problem(NOT_HEARD))
            return False
        if self._offers_rooms:
            self.wire.send(say.wake_word_heard(self.waking.listener.level_dbfs(detection), self._sent.map.ms))
        return True

    def _finish_turn(self) -> None:
        self._released_s = None
        self._sent.pause()
        if not self.wire.open:
            self.forget()  # otherwise the next turn would begin with audio from before the disconnect
            self.show(Problem(NOT_CONNECTED))
        elif ms_of_samples(self._held_samples) >= MIN_TURN_MS:
            self.wire.send(say.commit())
            self._request_response()
        else:
            self.forget()
            self.show(Problem(TOO_SHORT))

    def _captured_s(self, position: int) -> float:
        return self.microphone.clock.to_loop_s(position)  # type: ignore[arg-type]  # a position of the line

    # ---- implements WireListener ----

    def event(self, event: Mapping[str, Any]) -> None:
        """Handles a server event."""
        for effect in self.conversation.handle(event):
            self._do(effect)
        kind = str(event.get("type"))
        if kind == "response.created":
            if self._reply_requested and (self.key_held or self._nothing_to_answer):
                self.interrupt()  # the user speaks again, or has said nothing to answer
            self._reply_requested = self._nothing_to_answer = False
        if kind == "error" and error_code(event) == COMMIT_EMPTY:
            self._nothing_to_answer = self._reply_requested
        if self._greeting and kind in {"session.updated", "error"}:  # the history arrives before that
            self._greeting = False
            self._send_typed()

    def resume(self) -> Mapping[str, str]:
        """Returns the query parameters with which a new connection resumes the conversation."""
        if not self.conversation.token:
            return {}
        more = {"resume": self.conversation.token}
        reply_id = self.conversation.replies.under_way or self.playback.playing
        if reply_id is not None:
            received_ms = int(self.playback.received_ms(reply_id))
            more |= {"received_ms": str(received_ms), "response_id": response_id(reply_id)}
        return more

    def connection_lost(self, ending: CloseReason) -> None:
        """Handles a lost connection; another attempt follows."""
        self._sent.connection_lost()
        if self._greeting and self.conversation.typed.unsent:
            self.show(Problem(NOT_YET_SENT))
        self._greeting = False
        self.conversation.connection_lost()
        if self.conversation.typed.connection_lost():
            self.show(Problem(SENT_AGAIN))
        if ending.sentence != self._last_shown_reason:
            self._last_shown_reason = ending.sentence
            self.show(Problem(f"{ending.sentence} Trying again."))
        self.on_step()

    def _do(self, effect: Effect) -> None:
        match effect:
            case SessionOpened():
                self._begin(effect)
            case SpeechEnded(sent_ms):
                self._reports.speech_ended(sent_ms)
            case Sound() | SoundEnded() | StopPlayback() | Ducking():
                self._play(effect)
            case ListeningSoundReceived() | ListeningSoundStopped():
                self._play_listening_sound(effect)
            case WakeWordYielded():
                self._contested.end()
                if self.waking is not None:
                    self.waking.sleep()
            case _:
                if isinstance(effect, ReplyStarted):
                    self._reports.reply_started(effect.reply_id)
                self.show(effect)

    def _play(self, effect: Sound | SoundEnded | StopPlayback | Ducking) -> None:
        match effect:
            case Sound(reply_id, pcm):
                self.playback.sound(reply_id, pcm)
            case SoundEnded(reply_id):
                self.playback.end(reply_id)
            case StopPlayback():
                self.playback.stop()
            case Ducking(lower):
                self.playback.loudness(lower=lower)

    def _play_listening_sound(self, effect: ListeningSoundReceived | ListeningSoundStopped) -> None:
        if self.sound_output is None:
            return
        if isinstance(effect, ListeningSoundReceived):
            self.sound_output.chime(effect.pcm)
        else:
            self.sound_output.stop_chime()

    def _begin(self, greeted: SessionOpened) -> None:
        self._sent.connected(greeted.heard_ms if greeted.resumed else None)
        if not greeted.resumed:
            self.playback.forget()
            self._reports.forget()
            if self._greeted:
                self.show(Problem(NOT_KEPT))
        self._greeted, self._last_shown_reason, self._greeting = True, "", True
        self._offers_rooms = greeted.rooms
        detection = None if self.push_to_talk else greeted.detection
        shows = {"listening_sounds": self.sound_output is not None, "markup": greeted.markup}
        room = self.room if greeted.rooms else ""
        self.wire.send(say.update_session(detection, self.interrupt_after_ms, room=room, **shows))
        if self._clear_pending and greeted.resumed:
            self.forget()
        self._clear_pending = False
        unwanted = self.conversation.replies.unwanted
        if unwanted is not None:  # stopped while there was no connection
            self.wire.send(say.cancel(response_id(unwanted)))
        self.model = next((engine.name for engine in greeted.engines if engine.stage == "llm"), "")
        self.engines(greeted.engines)
