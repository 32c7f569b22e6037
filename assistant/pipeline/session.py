"""Runs one conversation, from the first microphone frame to the last sample of the last reply.

    microphone ──frame──▶ AudioInput ──event──▶ TurnTaking ──effect──┬─▶ AudioInput: open, transcribe, close a segment
                                                                     └─▶ ReplyManager ──audio──▶ speaker

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
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.states import Phase
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.wake_phrase import WakePhraseGate
from audio.frame import Frame
from audio.frame_batching import MAX_SPEECH_BATCH_S, Batching
from audio.microphone import Microphone
from audio.speaker import Speaker
from audio.units import FRAME_MS, FRAME_SAMPLES, Samples, ms_of_samples, samples_of_s
from audio.vad import VadResult

LAST_REPLY_TIMEOUT_S = 60.0
"""How long the last turn may take after the microphone has ended."""

SILENCE_PROBABILITY = 0.2
"""Speech probability below which a frame cannot be the beginning of speech."""

SPEECH_PROBABILITY = 0.9
"""Speech probability above which the next frames, if equally loud, cannot contain the end of speech."""

MAX_TYPED_MESSAGES = 20
"""Most typed messages that wait for a transcript. Beyond it the oldest are dropped."""


@dataclass(slots=True)
class Session:
    """One conversation. `run` holds it from beginning to end. Not thread-safe: call it on the event loop.

    Attributes:
        microphone: Source of the frames and of the sample clock.
        speaker: Plays the replies.
        engines: VAD, recognizer, LLM, voice and the other engines in use.
        turns: The turn-taking state machine. It maps events to effects and performs no I/O.
        history: The history that the LLM sees.
        recorder: Collects the trace of each turn.
        settings: Time limits of the stages.
        on_event: Receives every session event, for the terminal or the client.
        reply_options: Options of the replies. A client may replace them at any time.
        wake_phrase: Wake-phrase gate. It decides whether speech is addressed to the assistant.
        push_to_talk: Push-to-talk key; None where the microphone is always open.
    """

    microphone: Microphone
    speaker: Speaker
    engines: Engines
    turns: TurnTaking
    history: History
    recorder: Recorder
    settings: SessionSettings
    on_event: Callable[[SessionEvent], None]
    reply_options: ReplyOptions = field(default_factory=ReplyOptions)
    wake_phrase: WakePhraseGate = field(default_factory=WakePhraseGate)
    push_to_talk: PushToTalk | None = None  # the microphone is muted while the key is up
    _audio_input: AudioInput = field(init=False)
    _reply_manager: ReplyManager = field(init=False)
    _tasks: asyncio.TaskGroup = field(init=False)
    _at: Samples = Samples(0)
    _typed_messages: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_TYPED_MESSAGES))
    _request_options: ReplyOptions | None = None  # options of a requested reply
    _request_after_reply: bool = False  # a request that waits for the current reply to end
    _leaving: bool = False
    _release_tools: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        clock = self.microphone.clock
        self._audio_input = AudioInput(
            self.engines,
            self.wake_phrase,
            self.recorder,
            clock,
            self.settings,
            self._dispatch,
            self.on_event,
            self._report_problem,
        )
        self._reply_manager = ReplyManager(
            self.engines,
            self.speaker,
            self.history,
            self.recorder,
            clock,
            self.settings,
            lambda: self._at,
            self._dispatch,
            self.on_event,
            self._report_problem,
            self._audio_input.on_reply_heard,
        )

    async def run(self) -> None:
        """Runs the conversation until the microphone has ended and the last reply has been played.

        Raises:
            ExceptionGroup: Holds the AudioError of a microphone or speaker that failed. The open turn is recorded.
        """
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self._run_conversation()
        except BaseException as error:
            self._shut_down(f"the conversation broke off ({type(error).__name__})")
            raise
        finally:
            self._release_tools()

    async def _run_conversation(self) -> None:
        self._audio_input.start(self._tasks)
        self._reply_manager.start(self._tasks)
        if self.engines.tools is not None:
            self._release_tools = self.engines.tools.subscribe(self._report_problem)
        speaker_task = self._tasks.create_task(self.speaker.run(), name="speaker")
        if self.settings.greeting:
            self._dispatch(ReplyRequested(self._at, "greeting", self.settings.greeting))
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self._process_frame(frame)
        if not self._leaving:
            await self._finish_last_turn()
        self._shut_down()
        await asyncio.sleep(self.speaker.latency_s)  # the speaker has accepted the last block, but not played it yet
        speaker_task.cancel()

    @property
    def reply_request_pending(self) -> bool:
        """Whether a reply was requested that has not been started yet."""
        return self._request_after_reply or self.turns.pending_turn_has_reply_request

    @property
    def idle(self) -> bool:
        """Whether nobody speaks and no reply is being prepared or played."""
        return self.turns.phase is Phase.IDLE and not self.turns.resume_pending and not self._reply_manager.trailing

    @property
    def playing(self) -> tuple[ReplyId, ...]:
        """The replies that are being prepared or played, in order."""
        replying = self.turns.replying
        return (*self._reply_manager.trailing, *(() if replying is None else (replying,)))

    # ---- requests of a client or user interface ----

    def request(self, options: ReplyOptions | None = None, *, after_reply: bool = False) -> None:
        """Requests a reply to the history, or to the speech that is being transcribed.

        Args:
            options: Options of this reply only; None: the session's `reply_options`.
            after_reply: False: a reply that is playing is interrupted. True: the request waits until that reply has
                ended. If that reply was sent completely and nobody speaks over it, the new reply is prepared at once
                and played after it. If the user speaks first, the reply to that speech fulfils the request.
        """
        self._request_options = options
        if after_reply and not self.turns.has_overlap and self._reply_manager.add_trailing(self.turns.replying):
            self._request_after_reply = False
            self._dispatch(ReplyRequested(self._at, "requested", after_current_reply=True))
            return
        # A request waits for the end of user speech, except where only the client ends turns.
        busy_phases = (
            {Phase.REPLYING, Phase.AWAITING_TRANSCRIPT}
            if self.turns.settings.ends_by_client
            else {Phase.REPLYING, Phase.AWAITING_TRANSCRIPT, Phase.USER_SPEAKING}
        )
        self._request_after_reply = (
            after_reply and self.turns.phase in busy_phases and not self.turns.pending_turn_lacks_reply_request
        )
        if not self._request_after_reply:
            self._dispatch(ReplyRequested(self._at, "requested"))

    def submit(self) -> None:
        """Ends the user's turn at once, without waiting for silence.

        A reply that was sent completely is played to its end.
        """
        only_client_ends = self.turns.settings.ends_by_client and self.turns.has_overlap
        self._dispatch(
            InputCommitted(
                self._at, after_current_reply=only_client_ends and self._reply_manager.add_trailing(self.turns.replying)
            )
        )

    def clear(self) -> None:
        """Discards the speech of the current turn."""
        self._dispatch(InputCleared(self._at))

    def cancel(self, *, including_request: bool = False) -> None:
        """Stops the current reply, if there is one.

        Args:
            including_request: Also withdraw a requested reply that has not been started.
        """
        if including_request:
            self._request_after_reply, self._request_options = False, None
        self._dispatch(ReplyCancelled(self._at, including_request))
        self._reply_manager.cut_trailing("client")

    def stop_trailing(self, reply: ReplyId) -> None:
        """Stops a reply that is still played before the current one."""
        self._reply_manager.cut_trailing("client", reply)

    def on_client_latency(self, reply_id: ReplyId, latency_s: float, device_s: float) -> None:
        """Reports the response latency that a remote client has measured.

        Args:
            reply_id: The reply.
            latency_s: From the end of the user's speech to the first audible sample, on the client's own clock.
            device_s: The part of it that the audio spent in the client's buffer and audio device.
        """
        self._reply_manager.on_client_latency(reply_id, latency_s, device_s)

    @property
    def wake_window_open(self) -> bool:
        """Whether speech that begins now is accepted without the wake phrase."""
        return self.wake_phrase.is_open(self._at)

    def type(self, text: str) -> bool:
        """Adds a typed user message and requests a reply. A reply that is playing is interrupted.

        While a transcript is pending, the message waits for it. While the user speaks, the message is answered at once,
        and the speech becomes the next turn.

        Returns:
            False if the text is blank.
        """
        if not text.strip():
            return False
        self._typed_messages.append(text.strip())
        self._add_typed_messages()
        return True

    def repeat(self) -> bool:
        """Repeats the reply that is playing, else the last one, from its beginning. Returns False if there was none."""
        text = self._reply_manager.reply_text(self.turns.replying)
        if text:
            self._dispatch(ReplyRequested(self._at, "repeated", text))
        return bool(text)

    def set_push_to_talk(self, pressed: bool) -> None:
        """Presses or releases the push-to-talk key. Pressing it interrupts a reply that is playing.

        After the release, the turn ends when all audio captured before it has arrived. Until then
        `push_to_talk.awaits_frames` is true, and the microphone must stay open.
        """
        if self.push_to_talk is None:
            return
        if not pressed:
            self.push_to_talk.release(self._captured_position())
        elif self.push_to_talk.press(self._captured_position()):
            self._dispatch(KeyPressed(self._at))

    def leave(self) -> None:
        """Announces that the microphone is about to end and that the last reply need not be finished."""
        self._leaving = True

    # ---- frames ----

    def _process_frame(self, frame: Frame) -> None:
        """Passes a frame through the push-to-talk key and the VAD, and its VAD result to the turn-taking machine."""
        if self.push_to_talk is not None:
            frame = self.push_to_talk.mute_or_pass(frame)
        self._at = frame.end
        if self.turns.phase is Phase.REPLYING:
            self.wake_phrase.extend_for_reply(self._at)
        vad_result = self._audio_input.process(frame)
        if self.push_to_talk is not None:
            self.push_to_talk.add_vad_result(frame.end, vad_result)
        self._dispatch(FrameProcessed(frame.end, vad_result))
        if self.push_to_talk is not None:
            self._check_key(self.push_to_talk)
        for announcement in self.engines.skill_effects.due(self._now_s()):
            self._dispatch(ReplyRequested(self._at, "announcement", announcement))
        self.microphone.batching = self._batching_after(vad_result)

    def _batching_after(self, vad_result: VadResult) -> Batching:
        """Returns whether the next frames may arrive in batches, because no decision can depend on them."""
        # Timers are checked with every frame; a released key waits for the frames captured before the release.
        if self.push_to_talk is not None or self.engines.skill_effects.timers.any_set:
            return Batching.OFF
        if not vad_result.speaking:
            return (
                Batching.SILENCE
                if vad_result.probability < SILENCE_PROBABILITY and self.turns.ignores_silence
                else Batching.OFF
            )
        until = Samples(self._at + samples_of_s(MAX_SPEECH_BATCH_S))
        still_speaking = vad_result.possible_end is None and vad_result.probability > SPEECH_PROBABILITY
        return Batching.SPEECH if still_speaking and self.turns.ignores_speech_until(until) else Batching.OFF

    def _check_key(self, key: PushToTalk) -> None:
        match key.take_action(self._at, self._audio_input.onset if self.turns.phase is Phase.USER_SPEAKING else None):
            case "submit":
                self._dispatch(InputCommitted(self._at))
            case "clear":
                self._dispatch(InputCleared(self._at))

    # ---- events to the turn-taking machine, and its effects ----

    def _dispatch(self, event: Event) -> None:
        """Passes an event to the turn-taking machine and applies the effects it returns."""
        self.recorder.event_log.add(event, self.turns.settings)
        for effect in self.turns.handle(event):
            self._apply(effect)
        if self._request_after_reply and self.turns.phase is Phase.IDLE:
            self.request(self._request_options)
        self._add_typed_messages()

    def _add_typed_messages(self) -> None:
        """Adds typed messages to the history: after earlier speech, before speech that is still going on."""
        if not self._typed_messages or self.turns.phase is Phase.AWAITING_TRANSCRIPT:
            return
        if self.turns.phase is Phase.USER_SPEAKING and not self._audio_input.addressed:
            # Not addressed to the assistant. Without this, the reply would open the wake-phrase window for it.
            self._dispatch(InputCleared(self._at))
            return
        while self._typed_messages:
            self.history.insert(UserMessage(self.history.reserve(), self._typed_messages.popleft(), spoken=False))
        self.request()

    def _apply(self, effect: Effect) -> None:  # noqa: C901, PLR0912 - one case for each kind of effect
        """Carries out one effect."""
        match effect:
            case OpenSegment():
                self._audio_input.open(effect)
            case TurnStarted():
                if self.turns.settings.voice_interrupts:
                    self._reply_manager.cut_trailing("voice")
                self.recorder.turn_started(effect.turn, self._loop_time_of(effect.onset))
                self.on_event(
                    SpeechStarted(effect.turn, ms_of_samples(effect.onset), self._reply_manager.reserve_user_item())
                )
            case Transcribe():
                self._transcribe(effect)
            case RequestTranscript():
                self._audio_input.transcribe_overlap(effect, self._reply_manager.recent_text(self.turns.replying))
            case PrepareReply():
                self._reply_manager.prepare(
                    effect, self.reply_options if effect.is_literal else self._request_options or self.reply_options
                )
            case EndOfTurn():
                self.recorder.end_of_turn(effect.turn, self._now_s())
            case CommitTurn():
                self._commit(effect)
            case RecordTurn():
                self._reply_manager.record_turn(effect)
            case CloseSegment() | DiscardSegment():
                self._audio_input.close(effect, self._now_s())
            case DropAttempt():
                self._reply_manager.drop(effect)
            case RetractReply():
                self._reply_manager.cut_trailing("voice")
                if self._reply_manager.retract(effect):
                    self._audio_input.turn_continued()
            case InterruptReply():
                self._reply_manager.cut_trailing(effect.reason)
                self._reply_manager.interrupt(effect)
                if effect.continues_turn:
                    self._audio_input.turn_continued()
            case HoldPlayback():
                self._reply_manager.hold(effect.reply)
            case ReleasePlayback():
                self._reply_manager.release(effect.reply)
            case DuckReply():
                self.speaker.duck()
                self.recorder.event(effect.reply.turn, "duck", self._now_s())
            case UnduckReply():
                self.speaker.unduck()
                self.recorder.event(effect.reply.turn, "unduck", self._now_s())
            case TurnDiscarded():
                self._discard_turn(effect if self._audio_input.addressed else replace(effect, reason="overheard"))
            case ResumeReply():
                self._resume_reply(effect.reply)
            case _:
                assert_never(effect)

    def _discard_turn(self, effect: TurnDiscarded) -> None:
        """Ends a turn that gave nothing to answer."""
        if effect.reason == "called":
            self.wake_phrase.open_after_phrase(self._at)
        self.recorder.turn_discarded(effect, self._loop_time_of(effect.speech_end), self.microphone.clock)
        in_history = effect.submitted and self.turns.settings.has_client
        item = self._reply_manager.add_empty_message() if in_history else None
        self.on_event(SpeechDiscarded(effect.turn, ms_of_samples(effect.speech_end), effect.reason, item))

    def _resume_reply(self, reply_id: ReplyId) -> None:
        """Speaks the unheard rest of an interrupted reply, or requests the reply again if it was incomplete."""
        rest = self._reply_manager.unheard_text(reply_id)
        if rest is None:
            self._dispatch(ReplyRequested(self._at, "requested"))
        elif rest:
            self._dispatch(ReplyRequested(self._at, "resumed", rest))

    # ---- a silence: what was said? ----

    def _transcribe(self, effect: Transcribe) -> None:
        now_s = self._now_s()
        self.recorder.transcript_requested(effect, now_s, self._loop_time_of(effect.speech_end))
        transcription = self._tasks.create_task(
            self._request_transcript(effect, self._audio_input.onset), name=f"words of {effect.reply}"
        )
        self._reply_manager.add_attempt(effect, transcription, now_s)

    async def _request_transcript(self, effect: Transcribe, onset: Samples) -> None:
        """Transcribes the segment and dispatches the result."""
        began_s = self._now_s()
        self._audio_input.start_silence(effect)
        transcript = await self._audio_input.transcript(effect)
        draft = transcript is not None and transcript.is_draft
        self.recorder.transcribed(effect.reply, began_s, self._now_s(), draft=draft)
        attempt_open = self._reply_manager.transcript_arrived(effect.reply)
        self._dispatch(self._audio_input.transcript_event(effect, transcript, onset, attempt_open=attempt_open))

    # ---- commit ----

    def _commit(self, effect: CommitTurn) -> None:
        self.wake_phrase.extend_for_reply(self._at)
        if self._reply_manager.asks_llm(effect.reply):
            self._request_after_reply, self._request_options = False, None
        self._reply_manager.commit(effect)

    # ---- problems ----

    def _report_problem(self, what: str) -> None:
        """Reports a problem, in one sentence, to the user and to the trace."""
        self.on_event(Problem(what))
        self.recorder.problem(what, self._now_s())

    # ---- the end ----

    async def _finish_last_turn(self) -> None:
        """Feeds silence after the microphone has ended, until the last turn is over."""
        self.set_push_to_talk(pressed=False)
        loop = asyncio.get_running_loop()
        silence = np.zeros(FRAME_SAMPLES, np.int16)
        due_s, give_up_s = loop.time(), loop.time() + LAST_REPLY_TIMEOUT_S
        while not self.idle and self._at > 0 and loop.time() < give_up_s:
            due_s += FRAME_MS / 1000
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            self._process_frame(Frame(self._at, silence, is_inserted=True))

    def _shut_down(self, failure: str | None = None) -> None:
        """Stops the replies, the records and the audio input. `failure`: why the conversation ended early."""
        self._reply_manager.stop(leaving=self._leaving, failure=failure)
        self.recorder.finish_all(self.microphone.clock, failure)
        self._audio_input.stop()

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _captured_position(self) -> Samples:
        """Returns the sample position that the microphone captures now. Its frame arrives a little later."""
        clock = self.microphone.clock
        return max(self._at, clock.to_position(self._now_s())) if clock.running else self._at

    def _loop_time_of(self, position: Samples) -> float:
        """Returns the loop time of a microphone sample; before the first sample, the current time."""
        clock = self.microphone.clock
        return clock.to_loop_s(position) if clock.running else self._now_s()
