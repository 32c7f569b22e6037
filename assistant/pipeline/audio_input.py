"""Processes the microphone's frames: VAD, speech recognition, wake-phrase gate and end-of-turn estimation.

frame ─▶ VAD ─▶ VAD result
speech segment ─▶ recognizer ─▶ transcript ─▶ wake-phrase gate ─▶ turn taking
silence ─▶ end-of-turn judge ─▶ EOT probability ─▶ turn taking
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from assistant.end_of_turn.estimator import EndOfTurnEstimate
from assistant.events import InterimWords, Problem, SessionEvent
from assistant.pipeline.connection_warmer import ConnectionWarmer
from assistant.pipeline.end_of_turn_judge import EndOfTurnJudge
from assistant.pipeline.engine_recovery import EngineRecovery, reason_of
from assistant.pipeline.engines import Engines, SessionSettings
from assistant.pipeline.recognizer import RecognizerFeed
from assistant.pipeline.recorder import Recorder
from assistant.turns.backchannel import asks, is_backchannel, is_echo
from assistant.turns.events import (
    CloseSegment,
    DiscardSegment,
    EndOfTurnScored,
    Event,
    FinalTranscript,
    InterimTranscript,
    OpenSegment,
    RequestTranscript,
    Transcribe,
    TranscriptFailed,
)
from assistant.turns.wake_phrase import WakePhraseGate
from audio.clock import StreamClock
from audio.frame import Frame
from audio.stt import SegmentId, Transcript
from audio.units import Samples
from audio.vad import Vad, VadResult

DIPS = (0.8, 0.5)
"""Speech probabilities. Falling below one of them, speech may be over and an early decode may pay; see docs/stt.md."""


@dataclass(slots=True)
class AudioInput:
    """Processes the audio of one conversation. Not thread-safe: call it on the event loop.

    Attributes:
        engines: VAD, recognizer and end-of-turn models.
        attention: Wake-phrase gate.
        recorder: Collects the traces.
        clock: The microphone's sample clock.
        settings: Time limits.
        tell: Receives events for the turn-taking machine.
        show: Receives session events for the user interface or client.
        trouble: Receives problem descriptions, one sentence each.
        onset: Onset of the latest speech segment.
        meant: Whether the speech is addressed to the assistant, as far as is known.
    """

    engines: Engines
    attention: WakePhraseGate
    recorder: Recorder
    clock: StreamClock
    settings: SessionSettings
    tell: Callable[[Event], None]
    show: Callable[[SessionEvent], None]
    trouble: Callable[[str], None]
    onset: Samples = Samples(0)
    meant: bool = True
    _at: Samples = Samples(0)
    _asks: bool = False  # whether the last reply, as far as heard, asked a question
    _probability: float = 0.0  # of speech in the last frame
    _vad: Vad = field(init=False)
    _ears: RecognizerFeed = field(init=False)
    _judge: EndOfTurnJudge | None = None
    _warmth: ConnectionWarmer | None = None
    _tasks: asyncio.TaskGroup = field(init=False)
    _other: tuple[SegmentId, str] | None = None  # segment that may be in another language, and which one
    _hinted: bool = False  # the user was told so
    _question: tuple[SegmentId, asyncio.Task[None]] | None = None  # see `reconsider`

    def __post_init__(self) -> None:
        engines = self.engines
        self._vad = engines.vad
        restarting = EngineRecovery(engines.recognizer.name, engines.recognizer.load, self.trouble)
        self._ears = RecognizerFeed(
            engines.recognizer, restarting, self.settings.stt_timeout_s, self._partial, self.trouble
        )
        if engines.end_of_turn is not None:
            self._judge = EndOfTurnJudge(
                engines.end_of_turn,
                engines.audio_end_of_turn,
                engines.understands,
                self.settings.reads,
                self._judged,
                self.trouble,
            )
        if engines.warm is not None:
            self._warmth = ConnectionWarmer(engines.warm)

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """Starts the audio input. `tasks` owns its asynchronous work."""
        self._tasks = self._ears.restarting.tasks = tasks
        if self._judge is not None:
            self._judge.tasks = tasks
        if self._warmth is not None:
            self._warmth.tasks = tasks

    def end(self) -> None:
        """Stops the audio input and releases the recognizer."""
        self._forget_question()
        self._ears.close()
        if self._warmth is not None:
            self._warmth.close()

    # ---- frames and segments ----

    def hear(self, frame: Frame) -> VadResult:
        """Processes a frame and returns its VAD result."""
        self._at = frame.end
        self._ears.hear(frame)
        voicing, before = self._detect(frame), self._probability
        self._probability = voicing.probability
        if any(voicing.probability < dip <= before for dip in DIPS):
            self._ears.probability_dip()
        self.recorder.frame(frame, voicing, self.clock)
        if self._judge is not None:
            self._judge.hear(frame, voicing)
        return voicing

    def _detect(self, frame: Frame) -> VadResult:
        try:
            return self._vad.process(frame)
        except Exception as error:
            if self._vad is self.engines.spare_vad:
                raise
            self._vad = self.engines.spare_vad
            why = f"vad: {self._vad.name}, in place of a detector that failed: {reason_of(error)}"
            self.recorder.vad_replaced(self._vad.name, self._vad.end_bias_ms, why)
            self.trouble(why)
            return self._vad.process(frame)

    def open(self, effect: OpenSegment) -> None:
        """Opens a speech segment: the recognizer starts on it."""
        self.onset, self.meant = effect.onset, self.attention.awake(effect.onset)
        self.recorder.segment_opened(effect, self.clock.to_loop_s(effect.onset), meant=self.meant)
        self._ears.open(effect.segment)
        if self._judge is not None:
            self._judge.began(effect.onset)
        if self._warmth is not None and self.meant:
            self._warmth.began()

    def close(self, effect: CloseSegment | DiscardSegment, now_s: float) -> None:
        """Closes a speech segment, either as part of a turn or discarded."""
        used = isinstance(effect, CloseSegment)
        if self._question is not None and self._question[0] == effect.segment:
            self._forget_question()
        self._hint_language(effect, now_s)
        self._ears.end(effect.segment, used=used)
        self.recorder.segment_ended(effect.turn, now_s)
        if self._judge is not None:
            self._judge.ended(turn=used)
        if self._warmth is not None:
            self._warmth.ended()

    # ---- transcripts ----

    def _partial(self, words: Transcript) -> None:
        if self._question is not None and self._question[0] == words.segment:
            return  # the pending transcription also decides whether it is an echo
        address = self.attention.address(words.text, self.onset)
        if address.kind == "overheard":
            return
        self._addressed()
        heard = replace(words, text=self.attention.name if address.kind == "called" else address.text)
        self.recorder.partial(heard, _now_s())
        self.show(InterimWords(heard.text, heard.low_confidence))
        self.tell(InterimTranscript(self._at, heard, address.named))

    def _addressed(self) -> None:
        """Marks the current speech as addressed to the assistant. From here on it may cost requests."""
        if not self.meant and self._warmth is not None:
            self._warmth.began()
        self.meant = True
        self.recorder.addressed()

    def reconsider(self, effect: RequestTranscript, just_said: str) -> None:
        """Transcribes an uncertain overlap and sends an interim transcript to the turn-taking machine.

        Args:
            effect: The segment.
            just_said: Recent reply text. The loudspeaker may have fed it back into the microphone.
        """
        self._forget_question()
        question = self._reconsider(effect, just_said, self.onset)
        task = self._tasks.create_task(question, name=f"words of the voice at {effect.segment}")
        self._question = effect.segment, task

    async def _reconsider(self, effect: RequestTranscript, just_said: str, onset: Samples) -> None:
        words = await self._ears.transcript(effect.segment, effect.speech_end, early=True)
        if words is not None and words.text and words.low_confidence:  # often repetitions, in such short audio
            words = await self._ears.transcript(effect.segment, effect.speech_end, early=False)
        self._question = None
        words = words or Transcript(effect.segment, self._at, "")
        address = self.attention.address(words.text, onset)
        echo = is_echo(words.text, just_said)
        text = "" if echo else self.attention.name if address.kind == "called" else address.text
        heard = replace(words, text=text, punctuation=None)
        if text:
            self._addressed()
            self.recorder.partial(heard, _now_s())
        self.tell(InterimTranscript(self._at, heard, address.named and bool(text), was_requested=True, is_echo=echo))

    def _hint_language(self, effect: CloseSegment | DiscardSegment, now_s: float) -> None:
        """Tells the user, once in a conversation, that poorly recognized speech may be in another language."""
        other, hint = self._other, self.settings.language_hint
        if self._hinted or not self.meant or other is None or other[0] != effect.segment or hint is None:
            return
        self._hinted = True
        self.recorder.event(effect.turn, "language", now_s, other[1])
        self.show(Problem(hint(other[1])))

    def _forget_question(self) -> None:
        """Cancels a pending overlap transcription."""
        question, self._question = self._question, None
        if question is not None:
            question[1].cancel()

    async def words(self, effect: Transcribe) -> Transcript | None:
        """Returns the transcript of the segment so far, or None if it was lost.

        No draft is made while it is unknown whether the speech is addressed to the assistant.
        """
        draft = effect.draft and self.meant
        return await self._ears.transcript(effect.segment, effect.speech_end, early=effect.early, draft=draft)

    def understood(
        self, effect: Transcribe, words: Transcript | None, onset: Samples, *, wanted: bool
    ) -> FinalTranscript | TranscriptFailed:
        """Converts a transcript to an event for the turn-taking machine.

        Args:
            effect: The request that the transcript belongs to.
            words: The transcript, or None if it was lost.
            onset: Onset of the speech.
            wanted: Whether the attempt still exists.
        """
        if words is None and self.meant:
            return TranscriptFailed(self._at, effect.reply, effect.segment)
        words = words or Transcript(effect.segment, self._at, "")  # lost, but not addressed to us
        if words.other_language:
            self._other = effect.segment, words.other_language
        elif words.text and not words.low_confidence:
            self._other = None
        address = self.attention.address(words.text, onset)
        if wanted and address.kind != "overheard" and not words.is_draft:  # which may lack the last word
            self._addressed()
            if self._judge is not None:
                self._judge.words(effect.segment, address.text, words.punctuation)
        void: Literal["", "overheard", "called", "backchannel"] = "" if address.kind == "meant" else address.kind
        if not void and not address.named and address.text and is_backchannel(address.text) and not self._asks:
            void = "backchannel"
        # The expected punctuation went to the end-of-turn judge; turn taking does not use it.
        return FinalTranscript(
            self._at, effect.reply, replace(words, text=address.text, punctuation=None, other_language=""), void
        )

    # ---- end of turn ----

    def silence(self, effect: Transcribe) -> None:
        """Starts the end-of-turn estimation for a silence in which a transcript was requested."""
        if self._judge is not None:
            self._judge.silence(effect.segment, effect.speech_end)

    def _judged(self, segment: SegmentId, estimate: EndOfTurnEstimate) -> None:
        self.tell(EndOfTurnScored(self._at, segment, estimate))
        self.recorder.judged(estimate, _now_s())

    def went_on(self) -> None:
        """Reports that the user continued a turn that had been taken for finished."""
        if self._judge is not None:
            self._judge.went_on()

    def assistant_said(self, heard: str) -> None:
        """Reports the text of a reply that was heard. It matters whether the reply asked a question."""
        self._asks = asks(heard)
        if self._judge is not None:
            self._judge.assistant_said(heard)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
