"""Runs one conversation, from the first microphone frame to the last sample of the last reply.

    microphone ─frame─▶ AudioInput ─VAD result─▶ TurnTaking ─effect─▶ Session
                            ▲                        ▲                   │
                            └──── open segment ──────┼───────────────────┤
                             transcript ─────────────┘                   ▼
                                                               ReplyManager ─audio─▶ speaker

Reading order:

1. `_process_frame` passes a frame to `AudioInput`, which returns the VAD result.
2. `_dispatch` passes an event, such as `FrameProcessed` or `FinalTranscript`, to the turn-taking state machine.
3. `_apply` carries out each effect that the machine returns, such as `Transcribe` or `CommitTurn`.

These steps are synchronous. Slow work (recognition, LLM requests, synthesis) runs in tasks of this session's task
group. Each task has a time limit and reports its result as another event.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from assistant.events import Problem, SessionEvent, SpeechDiscarded, SpeechStarted
from assistant.history.history import History
from assistant.history.items import UserMessage
from assistant.pipeline.audio_input import AudioInput
from assistant.pipeline.engines import Engines, ReplyOptions, SessionSettings
from assistant.pipeline.recorder import Recorder
from assistant.pipeline.reply_manager import ReplyManager
from assistant.turns.events import (
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    DropAttempt,
    DuckReply,
    Effect,
    EndOfTurn,
    Event,
    FrameProcessed,
    HoldPlayback,
    InputCleared,
    InputCommitted,
    InterruptReply,
    KeyPressed,
    OpenSegment,
    PrepareReply,
    RecordTurn,
    ReleasePlayback,
    ReplyCancelled,
    ReplyId,
    ReplyRequested,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    Transcribe,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.machine import TurnTaking
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.states import Phase
from assistant.turns.wake_phrase import WakePhraseGate
from audio.frame import Frame
from audio.frame_batching import FLOW_S, Batching
from audio.microphone import Microphone
from audio.speaker import Speaker
from audio.units import FRAME_MS, FRAME_SAMPLES, Samples, ms_of_samples, samples_of_s
from audio.vad import VadResult

LAST_REPLY_TIMEOUT_S = 60.0
"""How long the last turn may take after the microphone has ended."""

UNHEARD = 0.2
"""Speech probability below which a frame cannot be the beginning of speech."""

FLOWING = 0.9
"""Speech probability above which the next frames, if equally loud, cannot contain the end of speech."""

MOST_TYPED = 20
"""Most typed messages that wait for a transcript. Beyond it the oldest are dropped."""


@dataclass(slots=True)
class Session:
    """One conversation. `run` holds it from beginning to end. Not thread-safe: call it on the event loop.

    Attributes:
        microphone: Source of the frames and of the sample clock.
        speaker: Plays the replies.
        engines: VAD, recognizer, LLM, voice and the other engines in use.
        turns: The turn-taking state machine. It maps events to effects and performs no I/O.
        conversation: The history that the LLM sees.
        recorder: Collects the trace of each turn.
        settings: Time limits of the stages.
        show: Receives every session event, for the terminal or the client.
        wishes: Options of the replies. A client may replace them at any time.
        attention: Wake-phrase gate. It decides whether speech is addressed to the assistant.
        key: Push-to-talk key; None where the microphone is always open.
    """

    microphone: Microphone
    speaker: Speaker
    engines: Engines
    turns: TurnTaking
    conversation: History
    recorder: Recorder
    settings: SessionSettings
    show: Callable[[SessionEvent], None]
    wishes: ReplyOptions = field(default_factory=ReplyOptions)
    attention: WakePhraseGate = field(default_factory=WakePhraseGate)
    key: PushToTalk | None = None  # the microphone is muted while the key is up
    _listening: AudioInput = field(init=False)
    _attempts: ReplyManager = field(init=False)
    _tasks: asyncio.TaskGroup = field(init=False)
    _at: Samples = Samples(0)
    _typed: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_TYPED))
    _this_once: ReplyOptions | None = None  # options of a requested reply
    _waiting_request: bool = False  # a request that waits for the current reply to end
    _leaving: bool = False
    _leave_tools: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        clock = self.microphone.clock
        self._listening = AudioInput(
            self.engines, self.attention, self.recorder, clock, self.settings, self._tell, self.show, self._trouble
        )
        self._attempts = ReplyManager(
            self.engines,
            self.speaker,
            self.conversation,
            self.recorder,
            clock,
            self.settings,
            lambda: self._at,
            self._tell,
            self.show,
            self._trouble,
            self._listening.assistant_said,
        )

    async def run(self) -> None:
        """Runs the conversation until the microphone has ended and the last reply has been played.

        Raises:
            ExceptionGroup: Holds the AudioError of a microphone or speaker that failed. The open turn is recorded.
        """
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self._converse()
        except BaseException as error:
            self._hang_up(f"the conversation broke off ({type(error).__name__})")
            raise
        finally:
            self._leave_tools()

    async def _converse(self) -> None:
        self._listening.begin(self._tasks)
        self._attempts.begin(self._tasks)
        if self.engines.tools is not None:
            self._leave_tools = self.engines.tools.attend(self._trouble)
        sound = self._tasks.create_task(self.speaker.run(), name="speaker")
        if self.settings.greeting:
            self._tell(ReplyRequested(self._at, "greeting", self.settings.greeting))
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self._hear(frame)
        if not self._leaving:
            await self._let_it_finish()
        self._hang_up()
        await asyncio.sleep(self.speaker.latency_s)  # the speaker has accepted the last block, but not played it yet
        sound.cancel()

    @property
    def request_waits(self) -> bool:
        """Whether a reply was requested that has not been started yet."""
        return self._waiting_request or self.turns.owes_reply

    @property
    def idle(self) -> bool:
        """Whether nobody speaks and no reply is being prepared or played."""
        return self.turns.phase is Phase.IDLE and not self.turns.resume_pending and not self._attempts.trailing

    @property
    def playing(self) -> tuple[ReplyId, ...]:
        """The replies that are being prepared or played, in order."""
        replying = self.turns.replying
        return (*self._attempts.trailing, *(() if replying is None else (replying,)))

    # ---- requests of a client or user interface ----

    def request(self, this_once: ReplyOptions | None = None, *, after_reply: bool = False) -> None:
        """Requests a reply to the history, or to the speech that is being transcribed.

        Args:
            this_once: Options of this reply only; None: the session's `wishes`.
            after_reply: False: a reply that is playing is interrupted. True: the request waits until that reply has
                ended. If that reply was sent completely and nobody speaks over it, the new reply is prepared at once
                and played after it. If the user speaks first, the reply to that speech fulfils the request.
        """
        self._this_once = this_once
        if after_reply and not self.turns.challenged and self._attempts.let_trail(self.turns.replying):
            self._waiting_request = False
            self._tell(ReplyRequested(self._at, "requested", behind=True))
            return
        # A request waits for the end of user speech, except where only the client ends turns.
        taken = (
            {Phase.REPLYING, Phase.AWAITING_TRANSCRIPT}
            if self.turns.settings.manual
            else {Phase.REPLYING, Phase.AWAITING_TRANSCRIPT, Phase.USER_SPEAKING}
        )
        self._waiting_request = after_reply and self.turns.phase in taken and not self.turns.has_unrequested_turn
        if not self._waiting_request:
            self._tell(ReplyRequested(self._at, "requested"))

    def submit(self) -> None:
        """Ends the user's turn at once, without waiting for silence.

        A reply that was sent completely is played to its end.
        """
        manual = self.turns.settings.manual and self.turns.challenged
        self._tell(InputCommitted(self._at, behind=manual and self._attempts.let_trail(self.turns.replying)))

    def clear(self) -> None:
        """Discards the speech of the current turn."""
        self._tell(InputCleared(self._at))

    def cancel(self, *, request_too: bool = False) -> None:
        """Stops the current reply, if there is one.

        Args:
            request_too: Also withdraw a requested reply that has not been started.
        """
        if request_too:
            self._waiting_request, self._this_once = False, None
        self._tell(ReplyCancelled(self._at, request_too))
        self._attempts.cut_trailing("client")

    def stop_trailing(self, reply: ReplyId) -> None:
        """Stops a reply that is still played before the current one."""
        self._attempts.cut_trailing("client", reply)

    def measured(self, reply_id: ReplyId, latency_s: float, device_s: float) -> None:
        """Reports the response latency that a remote client has measured.

        Args:
            reply_id: The reply.
            latency_s: From the end of the user's speech to the first audible sample, on the client's own clock.
            device_s: The part of it that the audio spent in the client's buffer and audio device.
        """
        self._attempts.measured(reply_id, latency_s, device_s)

    @property
    def awake(self) -> bool:
        """Whether speech that begins now is accepted without the wake phrase."""
        return self.attention.awake(self._at)

    def type(self, text: str) -> bool:
        """Adds a typed user message and requests a reply. A reply that is playing is interrupted.

        While a transcript is pending, the message waits for it. While the user speaks, the message is answered at once,
        and the speech becomes the next turn.

        Returns:
            False if the text is blank.
        """
        if not text.strip():
            return False
        self._typed.append(text.strip())
        self._take_typed()
        return True

    def repeat(self) -> bool:
        """Repeats the reply that is playing, else the last one, from its beginning. Returns False if there was none."""
        text = self._attempts.written(self.turns.replying)
        if text:
            self._tell(ReplyRequested(self._at, "repeated", text))
        return bool(text)

    def talk(self, on: bool) -> None:
        """Presses or releases the push-to-talk key. Pressing it interrupts a reply that is playing.

        After the release, the turn ends when all audio captured before it has arrived. Until then `key.waits` is true,
        and the microphone must stay open.
        """
        if self.key is None:
            return
        if not on:
            self.key.release(self._position_now())
        elif self.key.press(self._position_now()):
            self._tell(KeyPressed(self._at))

    def leave(self) -> None:
        """Announces that the microphone is about to end and that the last reply need not be finished."""
        self._leaving = True

    # ---- frames ----

    def _hear(self, frame: Frame) -> None:
        if self.key is not None:
            frame = self.key.heard(frame)
        self._at = frame.end
        if self.turns.phase is Phase.REPLYING:
            self.attention.replying(self._at)
        voicing = self._listening.hear(frame)
        if self.key is not None:
            self.key.judged(frame.end, voicing)
        self._tell(FrameProcessed(frame.end, voicing))
        if self.key is not None:
            self._let_go(self.key)
        for announcement in self.engines.skill_effects.due(self._now_s()):
            self._tell(ReplyRequested(self._at, "announcement", announcement))
        self.microphone.batching = self._to_heed(voicing)

    def _to_heed(self, voicing: VadResult) -> Batching:
        """Returns whether the next frames may arrive in batches, because no decision can depend on them."""
        # Timers are checked with every frame; a released key waits for the frames captured before the release.
        if self.key is not None or self.engines.skill_effects.timers.any_set:
            return Batching.OFF
        if not voicing.speaking:
            return Batching.SILENCE if voicing.probability < UNHEARD and self.turns.is_quiet else Batching.OFF
        until = Samples(self._at + samples_of_s(FLOW_S))
        flowing = voicing.possible_end is None and voicing.probability > FLOWING
        return Batching.SPEECH if flowing and self.turns.only_listens(until) else Batching.OFF

    def _let_go(self, key: PushToTalk) -> None:
        match key.due(self._at, self._listening.onset if self.turns.phase is Phase.USER_SPEAKING else None):
            case "submit":
                self._tell(InputCommitted(self._at))
            case "clear":
                self._tell(InputCleared(self._at))

    # ---- events to the turn-taking machine, and its effects ----

    def _tell(self, event: Event) -> None:
        self.recorder.told.tell(event, self.turns.settings)
        for effect in self.turns.tell(event):
            self._perform(effect)
        if self._waiting_request and self.turns.phase is Phase.IDLE:
            self.request(self._this_once)
        self._take_typed()

    def _take_typed(self) -> None:
        """Adds typed messages to the history: after earlier speech, before speech that is still going on."""
        if not self._typed or self.turns.phase is Phase.AWAITING_TRANSCRIPT:
            return
        if self.turns.phase is Phase.USER_SPEAKING and not self._listening.meant:
            # Not addressed to the assistant. Without this, the reply would open the wake-phrase window for it.
            self._tell(InputCleared(self._at))
            return
        while self._typed:
            self.conversation.insert(UserMessage(self.conversation.reserve(), self._typed.popleft(), spoken=False))
        self.request()

    def _perform(self, effect: Effect) -> None:  # noqa: C901, PLR0912 - one case for each kind of effect
        match effect:
            case OpenSegment():
                self._listening.open(effect)
            case TurnStarted():
                if self.turns.settings.interruptible and not self.turns.settings.manual:
                    self._attempts.cut_trailing("voice")
                self.recorder.started(effect.turn, self._clocked(effect.onset))
                self.show(SpeechStarted(effect.turn, ms_of_samples(effect.onset), self._attempts.spoken()))
            case Transcribe():
                self._transcribe(effect)
            case RequestTranscript():
                self._listening.reconsider(effect, self._attempts.just_said(self.turns.replying))
            case PrepareReply():
                self._attempts.prepare(effect, self.wishes if effect.is_literal else self._this_once or self.wishes)
            case EndOfTurn():
                self.recorder.endpoint(effect.turn, self._now_s())
            case CommitTurn():
                self._commit(effect)
            case RecordTurn():
                self._attempts.take_down(effect)
            case CloseSegment() | DiscardSegment():
                self._listening.close(effect, self._now_s())
            case DropAttempt():
                self._attempts.drop(effect)
            case RetractReply():
                self._attempts.cut_trailing("voice")
                if self._attempts.retract(effect):
                    self._listening.went_on()
            case InterruptReply():
                self._attempts.cut_trailing(effect.reason)
                self._attempts.interrupt(effect)
                if effect.continues_turn:
                    self._listening.went_on()
            case HoldPlayback():
                self._attempts.hold(effect.reply)
            case ReleasePlayback():
                self._attempts.release(effect.reply)
            case DuckReply():
                self.speaker.duck()
                self.recorder.event(effect.reply.turn, "duck", self._now_s())
            case UnduckReply():
                self.speaker.unduck()
                self.recorder.event(effect.reply.turn, "unduck", self._now_s())
            case TurnDiscarded():
                self._nothing_said(effect if self._listening.meant else replace(effect, reason="overheard"))
            case ResumeReply():
                self._go_on(effect.reply)
            case _:
                assert_never(effect)

    def _nothing_said(self, effect: TurnDiscarded) -> None:
        if effect.reason == "called":
            self.attention.called(self._at)
        self.recorder.nothing_said(effect, self._clocked(effect.speech_end), self.microphone.clock)
        kept = effect.submitted and self.turns.settings.by_client
        item = self._attempts.wordless() if kept else None
        self.show(SpeechDiscarded(effect.turn, ms_of_samples(effect.speech_end), effect.reason, item))

    def _go_on(self, reply_id: ReplyId) -> None:
        rest = self._attempts.rest_of(reply_id)
        if rest is None:
            self._tell(ReplyRequested(self._at, "requested"))
        elif rest:
            self._tell(ReplyRequested(self._at, "resumed", rest))

    # ---- a silence: what was said? ----

    def _transcribe(self, effect: Transcribe) -> None:
        now_s = self._now_s()
        self.recorder.attempt(effect, now_s, self._clocked(effect.speech_end))
        asking = self._tasks.create_task(self._ask(effect, self._listening.onset), name=f"words of {effect.reply}")
        self._attempts.asked(effect, asking, now_s)

    async def _ask(self, effect: Transcribe, onset: Samples) -> None:
        began_s = self._now_s()
        self._listening.silence(effect)
        words = await self._listening.words(effect)
        draft = words is not None and words.is_draft
        self.recorder.transcribed(effect.reply, began_s, self._now_s(), draft=draft)
        wanted = self._attempts.came(effect.reply)
        self._tell(self._listening.understood(effect, words, onset, wanted=wanted))

    # ---- commit ----

    def _commit(self, effect: CommitTurn) -> None:
        self.attention.replying(self._at)
        if self._attempts.answers_history(effect.reply):
            self._waiting_request, self._this_once = False, None
        self._attempts.commit(effect)

    # ---- problems ----

    def _trouble(self, what: str) -> None:
        """Reports a problem, in one sentence, to the user and to the trace."""
        self.show(Problem(what))
        self.recorder.trouble(what, self._now_s())

    # ---- the end ----

    async def _let_it_finish(self) -> None:
        """Feeds silence after the microphone has ended, until the last turn is over."""
        self.talk(on=False)
        loop = asyncio.get_running_loop()
        silence = np.zeros(FRAME_SAMPLES, np.int16)
        due_s, give_up_s = loop.time(), loop.time() + LAST_REPLY_TIMEOUT_S
        while not self.idle and self._at > 0 and loop.time() < give_up_s:
            due_s += FRAME_MS / 1000
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            self._hear(Frame(self._at, silence, is_inserted=True))

    def _hang_up(self, broke_off: str | None = None) -> None:
        self._attempts.hang_up(leaving=self._leaving, broke_off=broke_off)
        self.recorder.give_up(self.microphone.clock, broke_off)
        self._listening.end()

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _position_now(self) -> Samples:
        """Returns the sample position that the microphone captures now. Its frame arrives a little later."""
        clock = self.microphone.clock
        return max(self._at, clock.to_position(self._now_s())) if clock.running else self._at

    def _clocked(self, position: Samples) -> float:
        """Returns the loop time of a microphone sample; before the first sample, the current time."""
        clock = self.microphone.clock
        return clock.to_loop_s(position) if clock.running else self._now_s()
