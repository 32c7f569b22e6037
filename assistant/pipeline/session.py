"""Runs one conversation, from the first microphone frame to the last sample of the last reply.

    microphone ─frame─▶ VAD ─VAD result─▶ turn taking ─effect─▶ session
    session ─▶ recognizer ─transcript─▶ history ─messages─▶ LLM ─token─▶ text chunks ─▶ voice ─audio─▶ speaker

`AudioInput` runs the VAD and the recognizer. `TurnTaking` decides. `TranscriptRequests` decides when the recognizer is
asked for the transcripts that turn taking awaits. `ReplyManager` asks the LLM and runs the voice; `reply_life.py` has
the states of a reply. `ReplyRequests` holds the replies that a client or typed text requests.

Transcripts, end-of-turn estimates and playback positions flow back to turn taking as events. Reading order:
1. `_process_frame` passes a frame to `AudioInput`, which returns the VAD result.
2. `_dispatch` passes an event to the turn-taking state machine, through `TranscriptRequests`. An event reports what has
   happened, such as `FrameProcessed` or `FinalTranscript`.
3. `_apply` carries out each effect that comes back. An effect is an instruction, such as `CommitTurn`.

These steps are synchronous. Slow work runs in tasks with a time limit, which report their results as further events.

Terms of the effects:
- A segment is the sound of one stretch of speech for the recognizer. It opens at the onset of speech, ends when the
  speech has ended, and closes when its transcript is used or no longer needed.
- An attempt is a reply before the commit of its turn. `DropAttempt` ends it unheard.
- After the commit, `RetractReply` ends a reply around its onset, `InterruptReply` a later one.
- A trailing reply was sent to the speaker completely. It plays to its end while the next one is prepared.
- `HoldPlayback` holds a committed reply before its first sound or in its first second: the user may be going on.
- A ring is a reply that sounds until the user stops it; an announcement is a reply that says once what is due.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Literal, assert_never

import numpy as np

from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.events import Problem, SessionEvent, SpeechDiscarded, SpeechEnded, SpeechStarted, WakeWordHeard
from assistant.history.history import History, HistorySnapshot
from assistant.pipeline.audio_input import AudioInput
from assistant.pipeline.delegated_calls import DelegatedCalls
from assistant.pipeline.engines import Engines, ReplyOptions, SessionSettings
from assistant.pipeline.listening_sounds import ListeningSounds, SoundOutput
from assistant.pipeline.out_of_band import OutOfBandAnswers
from assistant.pipeline.recorder import Recorder
from assistant.pipeline.reply_manager import NO_WORD_RECOGNIZED, ReplyManager
from assistant.pipeline.reply_requests import ReplyRequests
from assistant.pipeline.reply_source import UNRECOGNIZED
from assistant.pipeline.session_context import SessionContext
from assistant.pipeline.side_tasks import SideTasks
from assistant.pipeline.skill_displays import ListDisplay, TimerDisplay
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, TranscriptRequests
from assistant.pipeline.unasked.announcing import AnnouncementControl, AnnouncementState, Priority
from assistant.pipeline.unasked.ringing import RingControl
from assistant.pipeline.unasked.yielding import CommittedSpeech, Yielding, answer_all
from assistant.text.failure_sentences import failure_sentence
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    CommitWithoutReply,
    DropAttempt,
    DuckReply,
    EndOfTurn,
    EndSegment,
    HoldPlayback,
    IdleTimedOut,
    InterruptReply,
    OpenSegment,
    OverlapDecided,
    PlayListeningSound,
    PrepareReply,
    ReleasePlayback,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    StopListeningSound,
    TurnDiscarded,
    TurnEnded,
    TurnQueued,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import (
    FellAsleep,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    KeyPressed,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    ReportedEvent,
)
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.words.wake_phrase import WakePhraseGate
from audio.frame import Frame, SilentSpan
from audio.microphone import Microphone, SkippingMicrophone
from audio.speaker import Speaker
from audio.stt import Transcript
from audio.units import FRAME_MS, FRAME_SAMPLES, Samples, ms_of_samples
from audio.vad import POSSIBLE_SPEECH
from audio.wake import WakeWordDetection
from audio.wake.gate import Activity
from audio.wake.level_history import LevelHistory
from audio.wake.listener import WakeWordListener
from audio.wake.resting import RestingDevices

if TYPE_CHECKING:
    from assistant.pipeline.speakers.voice_watch import VoiceWatch
    from assistant.speakers.focus import VoiceFocus

BACKLOG_S = 1.0
"""A frame that is processed this long after it was captured, in seconds, belongs to a backlog of a busy machine or a
network. Later frames are then processed faster than real time."""

LAST_TURN_TIMEOUT_S = 60.0
"""Time limit for the last turn, its transcript and reply included, after the microphone has ended, in seconds."""


@dataclass(slots=True)
class Session:
    """Runs one conversation; see `run`. Not thread-safe: call it on the event loop.

    Attributes:
        microphone: Source of the frames and of the sample clock.
        speaker: Plays the replies.
        engines: VAD, recognizer, LLM, voice and the other engines in use.
        turns: The turn-taking state machine. It maps events to effects and performs no I/O.
        history: The history that the LLM sees.
        recorder: Collects the trace of each turn.
        settings: Initial time limits of the stages. `context.settings` holds the current ones.
        on_event: Receives every session event, for the terminal or the client (`assistant/events.py`).
        reply_options: Speed, LLM options and instructions of the replies. A client may replace them at any time.
        wake_phrase: Decides whether speech is addressed to the assistant.
        wake_word: Wakes the conversation by the sound of a word; None: it is always awake.
        push_to_talk: Push-to-talk key; None where the microphone is always open.
        sound_output: Plays listening sounds; None: nothing does.
        answers_speech: Returns whether this conversation answers speech; False: the user's satellite in another room
            does, which has heard the same.
        focus: The voices that it listens to; None: all. It needs `Engines.speaker_embedder`.
        context: What the parts of the session share.
        out_of_band: Runs the out-of-band responses that a client requests.
        timer_display: Reports the user's timers, and applies buttons to them.
        list_display: Reports the user's lists, and removes items for buttons.
        side_tasks: Tasks that end with the conversation.
        delegated: Tool calls in the background.
    """

    microphone: Microphone
    speaker: Speaker
    engines: Engines
    turns: TurnTaking
    history: History
    recorder: Recorder
    settings: InitVar[SessionSettings]
    on_event: Callable[[SessionEvent], None]
    reply_options: ReplyOptions = field(default_factory=ReplyOptions)
    wake_phrase: WakePhraseGate = field(default_factory=WakePhraseGate)
    wake_word: WakeWordListener | None = None
    push_to_talk: PushToTalk | None = None  # the microphone is muted while the key is up
    sound_output: SoundOutput | None = None
    focus: "VoiceFocus | None" = None
    answers_speech: Callable[[CommittedSpeech], bool] = answer_all
    context: SessionContext = field(init=False)
    out_of_band: OutOfBandAnswers = field(init=False)
    side_tasks: SideTasks = field(init=False)
    delegated: DelegatedCalls = field(init=False)
    _transcript_requests: TranscriptRequests = field(init=False)
    _audio_input: AudioInput = field(init=False)
    _voice_watch: "VoiceWatch | None" = None
    _reply_manager: ReplyManager = field(init=False)
    _reply_requests: ReplyRequests = field(init=False)
    _listening_sounds: ListeningSounds = field(init=False)
    timer_display: TimerDisplay = field(init=False)
    list_display: ListDisplay = field(init=False)
    _ring: RingControl = field(init=False)
    _announcements: AnnouncementControl = field(init=False)
    _devices: RestingDevices = field(init=False)
    _skipping: SkippingMicrophone | None = None
    _tasks: asyncio.TaskGroup = field(init=False)
    _position: Samples = Samples(0)  # end of the last frame on the sample clock
    _asleep: bool = False  # turn taking knows that the conversation sleeps
    _queued_turns: set[int] = field(default_factory=set)  # turns whose segment opens later
    _levels: LevelHistory = field(default_factory=LevelHistory)
    _yielding: Yielding = field(default_factory=Yielding)
    _answered_speech: ReplyId | None = None  # the last reply to speech
    _life: Literal["new", "running", "ended"] = "new"
    _skip_last_reply: bool = False  # when the microphone has ended, end without finishing the last reply
    _unsubscribe_from_tools: Callable[[], None] = lambda: None

    def __post_init__(self, settings: SessionSettings) -> None:
        self._devices = RestingDevices(self.microphone, self.speaker)
        if isinstance(self.microphone, SkippingMicrophone):
            self._skipping, self.microphone.on_silence = self.microphone, self._pass_silence
        if self.wake_word is not None:
            self.wake_word.accept = self.on_wake_word
        context = self.context = SessionContext(
            self.engines,
            settings,
            self.recorder,
            self.microphone.clock,
            lambda: self._position,
            self._dispatch,
            self.on_event,
            self._report_problem,
        )
        self.side_tasks = SideTasks(self._report_problem)
        self._transcript_requests = TranscriptRequests(self.turns)
        self._listening_sounds = ListeningSounds(
            self.recorder,
            context.position,
            lambda: self.engines.skill_effects.gain_db,
            self.engines.listening_sound,
            self.sound_output,
        )
        self._ring = RingControl(
            lambda: self.engines.skill_effects, context.position, self._dispatch, self._can_begin_unasked
        )
        self._announcements = AnnouncementControl(
            context.position,
            self._dispatch,
            lambda: self.turns.phase,
            lambda: self.turns.has_overlap,
            lambda: self.turns.reply_awaits_sound,
            self._can_begin_unasked,
            lambda: self._life == "running" and not self.engines.skill_effects.is_unheard(),
            lambda: self.turns.replying,
            self._ring.make_way,
            self.on_event,
        )
        self.list_display = ListDisplay(lambda: self.engines.skill_effects, self.on_event)
        self.timer_display = TimerDisplay(
            lambda: self.engines.skill_effects, self.on_event, lambda: context.settings.language
        )
        self._audio_input = AudioInput(context, self.wake_phrase, self._listening_sounds)
        if self.focus is not None:
            self._watch_voices(self.focus)
        self.delegated = DelegatedCalls(context, self.side_tasks, self._can_begin_unasked, self.request_reply)
        self._reply_manager = ReplyManager(
            context, self.speaker, self.history, self._audio_input.on_reply_heard, self.delegated
        )
        self._reply_requests = ReplyRequests(context, self.turns, self.history, self._audio_input, self._reply_manager)
        self.out_of_band = OutOfBandAnswers(context, lambda: self.turns.reply_awaits_sound)

    def _watch_voices(self, focus: "VoiceFocus") -> None:
        """Prepares to watch whose voice the speech is, if the embedder is available."""
        from assistant.pipeline.speakers.voice_watch import VoiceWatch, labels_of  # noqa: PLC0415 - on use only

        if (embedder := self.engines.speaker_embedder) is None:
            return
        self._voice_watch = VoiceWatch(
            embedder, focus, labels_of(focus), self.context.position, self._dispatch, self._report_problem
        )
        self._audio_input.judges_voices = True
        self.history.speaker_of = self._voice_watch.label_of

    async def run(self) -> None:
        """Runs the conversation until the microphone has ended and the last reply has been played.

        Raises:
            ExceptionGroup: Holds the AudioError of a microphone or speaker that failed. The open turn is recorded.
        """
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self._run_conversation()
        except BaseException as error:
            self._shut_down(f"the conversation ended with an error ({type(error).__name__})")
            raise
        finally:
            self._unsubscribe_from_tools()

    async def _run_conversation(self) -> None:
        self._audio_input.start(self._tasks)
        if self._voice_watch is not None:
            self._voice_watch.tasks = self._tasks
        self._reply_manager.start(self._tasks)
        self.out_of_band.start(self._tasks)
        self.side_tasks.start(self._tasks)
        if self.engines.tools is not None:
            self._unsubscribe_from_tools = self.engines.tools.subscribe(self._report_problem)
        speaker_task = self._tasks.create_task(self.speaker.run(), name="speaker")
        self._life = "running"
        if greeting := self.context.settings.greeting:
            self._dispatch(ReplyRequested(self._position, "greeting", greeting))
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self.recorder.frame_received(frame)
                self._take_frame(frame)
        if not self._skip_last_reply:
            await self._finish_last_turn()
        self._shut_down()
        await asyncio.sleep(self.speaker.latency_s)  # the speaker has accepted the last block, but not played it yet
        speaker_task.cancel()

    def history_snapshot(self) -> HistorySnapshot:
        """Returns the history as it would be if the conversation ended now."""
        return self.history.snapshot(self._reply_manager.heard_so_far())

    @property
    def reply_request_pending(self) -> bool:
        """Whether a reply was requested that has not been started yet."""
        return self._reply_requests.is_waiting or self.turns.pending_turn_has_reply_request

    @property
    def idle(self) -> bool:
        """Whether the user is silent and no reply is being prepared or played."""
        return (
            self.turns.phase is Phase.IDLE
            and not self.turns.resume_pending
            and not self._reply_manager.trailing_replies
        )

    @property
    def engines_pending(self) -> bool:
        """Whether the recognizer or the end-of-turn model has not yet answered for all of the sound so far."""
        return self._transcript_requests.pending or self._audio_input.pending

    def _can_begin_unasked(self) -> bool:
        """Returns whether a reply that nobody requested, such as a ring or a late result, may begin now."""
        return self.idle and not self.reply_request_pending

    @property
    def active_replies(self) -> tuple[ReplyId, ...]:
        """The replies that are being played, in order, and the current one, which may still be prepared."""
        replying = self.turns.replying
        return (*self._reply_manager.trailing_replies, *(() if replying is None else (replying,)))

    # ---- requests of a client or user interface ----

    def request_reply(self, options: ReplyOptions | None = None, *, after_reply: bool = False) -> None:
        """Requests a reply to the history; see `ReplyRequests.request`."""
        self._reply_requests.request(options, after_reply=after_reply)

    def end_user_turn(self) -> None:
        """Ends the user's turn at once, without waiting for silence.

        The event is `InputCommitted`: the client has ended its input. `CommitTurn` is the later effect: the transcript
        has arrived, and the turn enters the history. Where only the client ends turns, a reply that was sent completely
        is played to its end.
        """
        may_keep_reply = self.turns.settings.ends_by_client and self.turns.has_overlap
        kept = may_keep_reply and self._reply_manager.play_to_end(self.turns.replying)
        self._commit_input(InputCommitted(self._position, after_current_reply=kept), self._position)

    def clear_input(self) -> None:
        """Discards the user's speech in the current turn."""
        self._dispatch(InputCleared(self._position))

    def cancel_reply(self, *, including_request: bool = False) -> None:
        """Stops the current reply, if there is one.

        `including_request`: also withdraws a requested reply; without any reply, cancels calls in the background.
        """
        if including_request and self._can_begin_unasked():
            self.delegated.cancel()
        if including_request:
            self._reply_requests.clear()
        self._dispatch(ReplyCancelled(self._position, including_request))
        self._reply_manager.stop_trailing_replies("client")

    def announce(self, text: str, priority: Priority) -> AnnouncementState:
        """Says a text of another program now, or when its priority permits it. A sleeping conversation sleeps on."""
        return self._announcements.announce(text, priority, self._now_s())

    @property
    def takes_announcements(self) -> bool:
        """Whether the conversation has not ended, and the user does not leave it."""
        return self._life != "ended" and not self._skip_last_reply

    def stop_ring(self) -> None:
        """Stops what rings in this conversation, if anything does."""
        self._ring.stop(self._now_s())

    def stop_trailing_reply(self, reply_id: ReplyId) -> None:
        """Stops a trailing reply; see `ReplyState`."""
        self._reply_manager.stop_trailing_replies("client", reply_id)

    def on_client_latency(self, reply_id: ReplyId, latency_s: float, device_s: float) -> None:
        """Records the response latency that a remote client has measured.

        Args:
            reply_id: The reply.
            latency_s: From the end of the user's speech to the first audible sample, on the client's own clock.
            device_s: The part of it that the audio spent in the client's buffer and audio device.
        """
        self._reply_manager.on_client_latency(reply_id, latency_s, device_s)

    @property
    def hears_assistant_addressed(self) -> bool:
        """Whether the speech in progress is for the assistant, as far as is known."""
        return self._audio_input.addressed

    @property
    def pause_stats(self) -> SpeakerPauseStats:
        """The user's pauses so far. The keeper of the conversation may add those of earlier conversations."""
        return self._audio_input.pause_stats

    @pause_stats.setter
    def pause_stats(self, stats: SpeakerPauseStats) -> None:
        self._audio_input.pause_stats = stats

    @property
    def wake_window_open(self) -> bool:
        """Whether speech that begins now is accepted without the wake phrase or wake word."""
        return self.wake_phrase.is_open(self._position) and (self.wake_word is None or self.wake_word.awake)

    def type(self, text: str) -> bool:
        """Adds a typed user message and requests a reply; returns False if the text is blank.

        A reply that is playing is interrupted. While a transcript is pending, the message waits for it. While the user
        speaks, the message is answered at once, and the speech becomes the next turn.
        """
        if not text.strip():
            return False
        self._reply_requests.add_typed_message(text.strip())
        return True

    def repeat(self) -> bool:
        """Says the reply that is playing once more from its beginning, else the last one.

        The text is spoken as it is; the LLM is not asked. Returns False if there was no reply.
        """
        text = self._reply_manager.reply_text(self.turns.replying)
        if text:
            self._dispatch(ReplyRequested(self._position, "repeated", text))
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
            self._dispatch(KeyPressed(self._position))

    def announce_end(self) -> None:
        """Announces that the user leaves: the microphone is about to end, and the last reply need not be finished."""
        self._skip_last_reply = True

    # ---- frames ----

    def _take_frame(self, frame: Frame) -> None:
        """Processes a frame. While the conversation sleeps, only its wake word is listened for, and timers ring."""
        if self.wake_word is None:
            self._process_frame(frame)
            self._allow_skipping(inserted=frame.is_inserted)
            return
        for taken, heard in self.wake_word.take(frame, self._activity):
            if heard:
                self._process_frame(taken)
            else:
                self._audio_input.skip(taken)
        asleep, self._asleep = self._asleep, not self.wake_word.awake
        self._announcements.asleep = self._asleep
        if self._asleep:
            self._position = frame.end
            if not asleep:
                self._dispatch(FellAsleep(frame.end))
            self.microphone.batches_silence = False  # all sound is
            self._announce_what_is_due()
        quiet = not (self.engines.skill_effects.rings_soon or self._announcements.sounds_asleep)
        self._devices.rest(not self.wake_word.awake and quiet)
        self._allow_skipping(inserted=frame.is_inserted)

    def _allow_skipping(self, *, inserted: bool) -> None:
        """Lets the microphone skip silence while that changes nothing. `inserted`: no audio arrives."""
        if self._skipping is not None:
            self._skipping.skips_silence = (
                inserted
                and (self.wake_word is None or not self.wake_word.awake)
                and self.push_to_talk is None
                and self.turns.silence_may_be_skipped
                and not self.engines.skill_effects.rings_soon
                and self._can_begin_unasked()
            )

    def _pass_silence(self, span: SilentSpan) -> None:
        """Passes over silence that the microphone has inserted in one piece. Timers are announced."""
        self.recorder.silence_passed(span)
        if self.wake_word is not None:
            for frame in self.wake_word.release():
                self._audio_input.skip(frame)
        self._audio_input.pass_silence(span)
        self._position = span.end
        self._announce_what_is_due()
        self._allow_skipping(inserted=True)

    @property
    def _activity(self) -> Activity:
        """The activity that keeps the conversation awake. A reply without words opens no window, as with the phrase."""
        if self.turns.phase is Phase.REPLYING and self._reply_manager.is_without_words(self.turns.replying):
            return Activity.SPEECH
        if self._asleep and self._announcements.sounds_asleep:
            return Activity.NONE
        if self.turns.phase in {Phase.USER_SPEAKING, Phase.AWAITING_TRANSCRIPT} or self.turns.confirms_speech:
            return Activity.SPEECH
        return Activity.NONE if self._can_begin_unasked() else Activity.REPLY

    def use_wake_word(self, wake_word: WakeWordListener | None) -> None:
        """Sleeps until a wake word from now on; None: always listens."""
        self._asleep = self._announcements.asleep = False
        if self.wake_word is not None:
            for frame in self.wake_word.release():
                self._audio_input.skip(frame)
            self._devices.rest(False)
        self.wake_word = wake_word
        if wake_word is not None:
            wake_word.accept = self.on_wake_word

    def on_wake_word(self, detection: WakeWordDetection) -> bool:
        """Handles a wake word, which interrupts a reply; returns False if it does not count.

        It does not if the reply itself contains it, or if a satellite in another room has heard it better: then a reply
        to somebody here goes on. A reply that nothing was heard of goes on, too: who says no more than the word still
        waits for their answer.
        """
        replying = self.turns.replying
        phrase = None if replying is None else self.wake_phrase.spoken_name(detection.word)
        if phrase is not None and phrase.is_in(self._reply_manager.recent_text(replying)):
            return False
        level_dbfs = 0.0 if self.wake_word is None else self.wake_word.level_dbfs(detection)
        yielded = self._yielding.count
        self.listen_again()
        self.on_event(WakeWordHeard(detection.word, ms_of_samples(detection.end), level_dbfs))
        if self._yielding.count > yielded:  # a satellite in another room has heard it better
            return False
        if phrase is not None and not self.turns.reply_awaits_sound:
            if (segment := self._audio_input.segment) is not None and self.turns.has_overlap:
                words = Transcript(segment, self._position, phrase.text)
                self._dispatch(InterimTranscript(self._position, words, has_wake_phrase=True))
            else:
                self.cancel_reply()
        self.wake_phrase.note_word(detection.word, detection.end)
        return True

    def _process_frame(self, frame: Frame) -> None:
        """Passes a frame through the push-to-talk key and the VAD, and its VAD result to the turn-taking machine."""
        if self._yielding.is_deaf(frame.end):
            self._audio_input.skip(frame)
            self._position = frame.end
            self._announce_what_is_due()
            return
        if self.push_to_talk is not None:
            frame = self.push_to_talk.mute_or_pass(frame)
        self._position = frame.end
        self._levels.add_frame(frame)
        if self.turns.phase is Phase.REPLYING:  # the wake window is counted from the end of the reply
            self._extend_wake_window()
            if self._now_s() - self._loop_time_of(frame.end) >= BACKLOG_S:
                self._reply_manager.report_backlog()
        vad_result = self._audio_input.process(frame)
        if self.push_to_talk is not None:
            self.push_to_talk.add_vad_result(frame.end, vad_result)
        self._dispatch(FrameProcessed(frame.end, vad_result))
        if self._voice_watch is not None:
            self._voice_watch.process(frame, vad_result)
        if self.push_to_talk is not None:
            self._check_key(self.push_to_talk)
        self._announce_what_is_due()
        self.microphone.batches_silence = (
            not vad_result.speaking
            and vad_result.probability < POSSIBLE_SPEECH
            and self.push_to_talk is None  # a released key waits for the frames captured before
            and not self.engines.skill_effects.rings_soon  # timers are checked with every frame
            and self.turns.silence_may_wait
        )

    def _announce_what_is_due(self) -> None:
        """Announces timers that are due. `skill_effects` has what skills do; turn taking has effects of its own."""
        for announcement in self.engines.skill_effects.due(self._now_s()):
            self._dispatch(ReplyRequested(self._position, "announcement", announcement))
        self._ring.on_frame(self._now_s())
        self.timer_display.on_frame(self._now_s())
        self.list_display.on_frame()
        self._announcements.on_frame(self._now_s())

    def _check_key(self, key: PushToTalk) -> None:
        """Ends or discards the user's turn if the released key says so at this position."""
        onset = self._audio_input.onset if self.turns.phase is Phase.USER_SPEAKING else None
        released = self._position if key.released is None else key.released
        match key.take_action(self._position, onset):
            case "submit":
                self._commit_input(InputCommitted(self._position), released)
            case "clear":
                self._dispatch(InputCleared(self._position))

    def _commit_input(self, event: InputCommitted, position: Samples) -> None:
        """Ends the user's turn for the client or the key. Its latency counts from `position`, the key's release."""
        self.recorder.input_ended_s = self._loop_time_of(position)
        self._dispatch(event)
        self.recorder.input_ended_s = None

    # ---- events to the turn-taking machine, and its effects ----

    def _dispatch(self, event: ReportedEvent) -> None:
        """Passes an event to the turn-taking machine and applies the effects it returns."""
        # A replay needs the settings: clients change them.
        self.recorder.event_log.add_event(event, self.turns.settings)
        effects = self._transcript_requests.handle(event)
        for announcement in self.turns.take_unheard_announcements():
            self._announcements.return_unheard(announcement.failures)
        for effect in effects:
            self._ring.on_effect(effect, self._now_s())
            self._apply(effect)
        if self._yielding.dropped is not None:
            self._drop_yielded(self._yielding.dropped)
        if isinstance(event, ReplyEnded):
            self._ring.on_reply_ended(event.reply_id, self._now_s())
        if self._reply_requests.is_waiting or self._reply_requests.typed_messages:
            self._reply_requests.proceed()  # any event may end the reply or the speech that they wait for

    def _apply(self, effect: SessionEffect) -> None:  # noqa: C901, PLR0912, PLR0915 - one case for each kind
        """Carries out one effect."""
        match effect:
            case OpenSegment():
                self._listening_sounds.stop()
                self._audio_input.open(effect)
            case EndSegment():
                self._audio_input.end(effect)
            case TurnStarted():
                self.recorder.turn_started(effect.turn, self._loop_time_of(effect.onset))
                if self._voice_watch is not None:
                    self._voice_watch.turn_started(effect.turn, effect.onset)
                self._report_speech(effect)
            case TurnQueued():
                self._report_speech(effect)
            case TurnEnded():
                item = self.history.place_user_message(effect.turn)
                self.on_event(SpeechEnded(effect.turn, ms_of_samples(effect.speech_end), item))
            case RecognizerRequest():  # words of a turn, to answer them
                self._audio_input.transcribe(effect)
            case RequestTranscript():  # words of speech that is not a turn yet, to decide what it is
                self._audio_input.transcribe_overlap(effect, self._reply_manager.recent_text(self.turns.replying))
            case PrepareReply():
                options = self._reply_requests.options_of(effect, self.reply_options)
                ring = self._ring.prepare(spoken=options.spoken) if effect.rings else None
                self._reply_manager.prepare(effect, options, ring)
            case IdleTimedOut():
                self._reply_requests.on_idle_timeout(effect, self.reply_options)
            case PlayListeningSound():
                self._listening_sounds.play_sound(effect)
            case StopListeningSound():
                self._listening_sounds.stop()
            case EndOfTurn():
                self.recorder.end_of_turn(effect.turn, self._now_s())
            case CommitTurn():
                self._commit(effect)
            case CommitWithoutReply():  # writes the turn to the history, without a reply
                if self._yielding.takes(effect.turn):
                    self._discard_turn(TurnDiscarded(effect.turn, self._position, effect.speech_end, "overheard"))
                else:
                    self._reply_manager.commit_without_reply(effect)
            case CloseSegment():
                self._audio_input.close(effect, self._now_s())
            case DropAttempt():
                self._audio_input.drop_transcription(effect.reply_id)
                self._reply_manager.handle(effect)
                self.recorder.drop(effect.reply_id, self._now_s(), effect.reason)
            case RetractReply():
                self._reply_manager.stop_trailing_replies("voice")
                if self._reply_manager.answers_speech(effect.reply_id):
                    self._audio_input.turn_continued()
                self._reply_manager.handle(effect)
            case InterruptReply():
                # "stuck": the reply makes no progress. Trailing replies were sent completely: another reply ends them.
                self._reply_manager.stop_trailing_replies("requested" if effect.reason == "stuck" else effect.reason)
                if effect.reply_id == self._announcements.unheard:  # it is said again, as a reply of its own
                    self._reply_manager.handle(RetractReply(effect.reply_id))
                    self.recorder.finish(effect.reply_id.turn, "interrupted", "", self.microphone.clock)
                else:
                    self._reply_manager.handle(effect)
            case HoldPlayback():
                self._reply_manager.hold(effect.reply_id)
            case ReleasePlayback():
                self._reply_manager.release(effect.reply_id)
            case DuckReply():
                self.speaker.duck()
                self.recorder.event(effect.reply_id.turn, "duck", self._now_s())
            case UnduckReply():
                self.speaker.unduck()
                self.recorder.event(effect.reply_id.turn, "unduck", self._now_s())
            case OverlapDecided():
                self.recorder.event(effect.reply_id.turn, "overlap", self._now_s(), effect.description)
            case TurnDiscarded():  # speech that was not for the assistant is always reported as "overheard"
                overheard = self._yielding.takes(effect.turn) or not self._audio_input.addressed
                self._discard_turn(replace(effect, reason="overheard") if overheard else effect)
            case ResumeReply():
                if not self._ring.has_rung(effect.reply_id):  # the ring begins again by itself
                    self._resume_reply(effect.reply_id)
            case _:
                assert_never(effect)

    def _report_speech(self, effect: TurnStarted | TurnQueued) -> None:
        """Reports the start of a turn, unless that was done when it was queued."""
        if isinstance(effect, TurnStarted) and effect.turn in self._queued_turns:
            self._queued_turns.remove(effect.turn)
            return
        if isinstance(effect, TurnQueued):
            self._queued_turns.add(effect.turn)
        if self.turns.settings.voice_interrupts:  # speech also stops trailing replies
            self._reply_manager.stop_trailing_replies("voice")
        self.on_event(SpeechStarted(effect.turn, ms_of_samples(effect.onset), self.history.announce_user_item()))

    def _discard_turn(self, effect: TurnDiscarded) -> None:
        """Ends a turn that is not answered."""
        if effect.reason == "called":  # the user said the wake phrase alone
            self.wake_phrase.open_after_phrase(self._position)
        if effect.clear_speech and effect.reason == "no words":
            self.on_event(Problem(failure_sentence(UNRECOGNIZED, self.context.settings.language)))
            self.recorder.event(effect.turn, "error", self._now_s(), NO_WORD_RECOGNIZED)
        if (heard := self.history.restore_withdrawn(effect.turn)) is not None:
            self.recorder.finish(effect.turn, "interrupted", heard, self.microphone.clock)
        else:
            self.recorder.turn_discarded(effect, self._loop_time_of(effect.speech_end), self.microphone.clock)
        if effect.reason == "other voice" and self._voice_watch is not None:
            self._voice_watch.turn_ignored(effect.turn)
        self._queued_turns.discard(effect.turn)
        reported = self.history.is_placed(effect.turn) or (effect.submitted and self.turns.settings.has_client)
        item = self.history.add_user_text("", effect.turn) if reported else None
        self.on_event(SpeechDiscarded(effect.turn, ms_of_samples(effect.speech_end), effect.reason, item))

    def _resume_reply(self, reply_id: ReplyId) -> None:
        """Speaks the unheard rest of an interrupted reply, or requests the reply again if it was incomplete."""
        rest = self._reply_manager.unheard_text(reply_id)
        if rest is None:
            self._dispatch(ReplyRequested(self._position, "requested"))
        elif rest:
            self._dispatch(ReplyRequested(self._position, "resumed", rest))

    # ---- commit ----

    def _extend_wake_window(self, reply_id: ReplyId | None = None) -> None:
        """Opens the wake window for a reply, except for one that only says that no words were recognized.

        Otherwise every unrecognized sentence to others would be answered with it and keep the window open. An
        announcement, which nobody has asked for, only keeps a window open.
        """
        reply_id = reply_id or self.turns.replying
        if reply_id == self._announcements.latest and not self.wake_phrase.is_open(self._position):
            return
        if not self._reply_manager.is_without_words(reply_id):
            self.wake_phrase.extend_for_reply(self._position)

    def yield_turn(self) -> None:
        """Drops what the user is saying, as if it had not been heard: a satellite in another room answers it."""
        if self.wake_word is not None:
            self.wake_word.gate.sleep()
        self.wake_phrase.close()
        self._yielding.begin()
        self._dispatch(InputCleared(self._position))
        self._yielding.cleared(self._captured_position(), self.turns.awaited_turn)
        self._dispatch(FellAsleep(self._position))

    def listen_again(self) -> None:
        """Hears all sound from now on, also if a turn was just yielded: the wake word was said again."""
        self._yielding.hear_again()

    @property
    def reply_may_be_taken_over(self) -> bool:
        """Whether a satellite in another room may give the reply instead: nothing of it was heard or done."""
        replying = self.turns.replying
        if replying is None or replying != self._answered_speech:
            return False
        return self.turns.reply_awaits_sound and not self._reply_manager.has_effect(replying)

    def withdraw_turn(self) -> None:
        """Gives up the reply and the words that it answers, as if they had not been heard; see `yield_turn`."""
        if not self.reply_may_be_taken_over or (reply_id := self._answered_speech) is None:
            return
        self.wake_phrase.close()
        self._reply_manager.withdraw_turn(reply_id)
        self.cancel_reply()
        self.recorder.overheard(reply_id.turn)

    def _is_answered_here(self, effect: CommitTurn) -> bool:
        if effect.origin != "spoken" or effect.speech_end is None or effect.submitted:
            return True
        if self._yielding.takes(effect.reply_id.turn):
            return False
        onset, end = self._audio_input.onset, effect.speech_end
        level_dbfs = self._levels.level_dbfs(onset, end)
        normalize = self.context.parts_of(self.context.languages.of(effect.reply_id.turn)).normalize_text
        times_s = self._loop_time_of(onset), self._loop_time_of(end)
        speech = CommittedSpeech(effect.text, normalize, *times_s, level_dbfs)
        answered = self.answers_speech(speech)
        self._answered_speech = effect.reply_id if answered else None
        return answered

    def _drop_yielded(self, commit: CommitTurn) -> None:
        """Ends the turn of a commit that was not carried out."""
        self._yielding.dropped = None
        self._apply(DropAttempt(commit.reply_id, "overheard"))
        self._dispatch(ReplyCancelled(self._position))
        assert commit.speech_end is not None
        self._discard_turn(TurnDiscarded(commit.reply_id.turn, self._position, commit.speech_end, "overheard"))

    def _commit(self, effect: CommitTurn) -> None:
        if not self._is_answered_here(effect):
            self._yielding.dropped = effect
            return
        self._announcements.on_commit(effect.reply_id)
        self._extend_wake_window(effect.reply_id)  # the reply is active from here on
        self._reply_requests.clear()  # the reply fulfils a request
        self._reply_manager.handle(effect)
        if self._voice_watch is not None and effect.speech_end is not None:
            self._voice_watch.turn_committed(effect.reply_id.turn, called=effect.called)

    # ---- problems ----

    def _report_problem(self, what: str) -> None:
        """Reports a problem, in one sentence, to the user and to the trace."""
        self.on_event(Problem(what))
        self.recorder.problem(what, self._now_s())

    # ---- the end ----

    async def _finish_last_turn(self) -> None:
        """Feeds silence after the microphone has ended, until the last turn is over."""
        self.set_push_to_talk(pressed=False)
        self._ring.on_input_ended()
        loop = asyncio.get_running_loop()
        silence = np.zeros(FRAME_SAMPLES, np.int16)
        due_s, give_up_s = loop.time(), loop.time() + LAST_TURN_TIMEOUT_S
        while not self.idle and self._position > 0 and loop.time() < give_up_s:
            due_s += FRAME_MS / 1000
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            self._take_frame(Frame(self._position, silence, is_inserted=True))

    def _shut_down(self, failure: str | None = None) -> None:
        """Stops the replies, the records and the audio input. `failure`: why the conversation ended early."""
        self._life = "ended"
        self._reply_manager.stop(user_left=self._skip_last_reply, failure=failure)
        self._audio_input.stop()
        self.recorder.finish_all(self.microphone.clock, failure)
        self.out_of_band.close()
        self.side_tasks.stop()

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _captured_position(self) -> Samples:
        """Returns the sample position that the microphone captures now. Its frame arrives a little later."""
        clock = self.microphone.clock
        return max(self._position, clock.to_position(self._now_s())) if clock.running else self._position

    def _loop_time_of(self, position: Samples) -> float:
        """Returns the loop time of a microphone sample; before the first sample, the current time."""
        clock = self.microphone.clock
        return clock.to_loop_s(position) if clock.running else self._now_s()
