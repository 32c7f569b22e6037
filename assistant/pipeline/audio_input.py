"""Processes the microphone's frames: VAD, speech recognition, wake-phrase gate and end-of-turn estimation.

frame ─▶ VAD ─▶ VAD result ─▶ turn taking
speech segment ─▶ recognizer ─▶ transcript ─▶ wake-phrase gate ─▶ turn taking
silence ─▶ evidence collector ─▶ EOT probability ─▶ turn taking
"""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from assistant.end_of_turn.estimator import EndOfTurnEstimate
from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.events import InterimWords, Problem
from assistant.pipeline.connection_warmer import ConnectionWarmer
from assistant.pipeline.end_of_turn_evidence import EvidenceCollector
from assistant.pipeline.engine_recovery import EngineRecovery, reason_of
from assistant.pipeline.engines import SessionSettings
from assistant.pipeline.listening_sounds import ListeningSounds
from assistant.pipeline.recognizer import RecognizerFeed
from assistant.pipeline.session_context import SessionContext
from assistant.pipeline.side_tasks import cancel_task
from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.support.notice import notice
from assistant.turns.effects import CloseSegment, EndSegment, OpenSegment, RequestTranscript
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
    FinalTranscript,
    InterimTranscript,
    ReplyId,
    TranscriptFailed,
)
from assistant.turns.words.addressee import reason_to_ignore
from assistant.turns.words.backchannel import ends_with_question, ignorable_probability, is_backchannel, is_echo
from assistant.turns.words.wake_phrase import WakePhraseGate
from audio.frame import Frame, SilentSpan
from audio.stt import UNKNOWN_LANGUAGE, LanguageDetector, SegmentId, Transcript
from audio.units import Samples
from audio.vad import CERTAIN_SPEECH, LIKELY_SPEECH, Vad, VadResult

DIP_PROBABILITIES = (CERTAIN_SPEECH, LIKELY_SPEECH)
"""Speech probabilities. When the probability falls below one of them, the speech may be over, so the recognizer may
start to decode early; see docs/stt.md."""


@dataclass(slots=True)
class AudioInput:
    """Processes the audio of one conversation. Not thread-safe: call it on the event loop.

    Attributes:
        context: What it shares with the rest of the session.
        wake_phrase: Wake-phrase gate.
        listening_sounds: Removes the echo of the assistant's listening sounds from transcripts.
        onset: Onset of the latest speech segment.
        segment: The latest speech segment.
        judges_voices: Whether `VoiceJudged` is reported, and so the wake phrase in final transcripts.
        addressed: Whether the speech is addressed to the assistant, as far as is known: its words may still show it.
    """

    context: SessionContext
    wake_phrase: WakePhraseGate
    listening_sounds: ListeningSounds
    onset: Samples = Samples(0)
    segment: SegmentId | None = None
    judges_voices: bool = False
    addressed: bool = True
    _position: Samples = Samples(0)
    _reply_was_question: bool = False  # whether the last reply, as far as heard, asked a question
    _probability: float = 0.0  # of speech in the last frame
    _skipped: bool = False  # the frames before were not heard
    _vad: Vad = field(init=False)
    _recognizer: RecognizerFeed = field(init=False)
    _evidence_collector: EvidenceCollector | None = None
    _connection_warmer: ConnectionWarmer | None = None
    _tasks: asyncio.TaskGroup = field(init=False)
    _other_language: tuple[SegmentId, str] | None = None  # a segment that may be in another language; the language
    _language_hinted: bool = False  # the user was told about the other language
    _overlap_task: tuple[SegmentId, asyncio.Task[None]] | None = None  # see `transcribe_overlap`
    _transcriptions: dict[ReplyId, tuple[asyncio.Task[None], float]] = field(
        default_factory=dict
    )  # and when each began

    def __post_init__(self) -> None:
        engines = self.context.engines
        self._vad = engines.vad
        recovery = EngineRecovery(engines.recognizer.name, engines.recognizer.load, self.context.report_problem)
        self._recognizer = RecognizerFeed(
            engines.recognizer,
            recovery,
            self.context.settings.stt_timeout_s,
            self._interim_transcript,
            self.context.report_problem,
        )
        if engines.end_of_turn is not None:
            self._evidence_collector = EvidenceCollector(
                engines.end_of_turn,
                engines.audio_end_of_turn,
                engines.is_known_sentence,
                self.context.settings.knows_grammar,
                self._end_of_turn_estimated,
                self.context.report_problem,
                self.context.settings.dictation_rules,
            )
        if engines.warm_connections is not None:
            self._connection_warmer = ConnectionWarmer(engines.warm_connections)

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Starts the audio input. `tasks` owns its asynchronous work."""
        self._tasks = self._recognizer.recovery.tasks = tasks
        if self._evidence_collector is not None:
            self._evidence_collector.tasks = tasks
        if self._connection_warmer is not None:
            self._connection_warmer.tasks = tasks

    def stop(self) -> None:
        """Stops the audio input and releases the recognizer."""
        self._cancel_overlap_task()
        for reply_id in list(self._transcriptions):
            self.drop_transcription(reply_id)
        self._recognizer.close()
        if self._connection_warmer is not None:
            self._connection_warmer.close()

    @property
    def pending(self) -> bool:
        """Whether an engine has been asked about the sound so far and has not answered yet."""
        return self._overlap_task is not None or (
            self._evidence_collector is not None and self._evidence_collector.pending
        )

    @property
    def pause_stats(self) -> SpeakerPauseStats:
        """The user's pauses so far; none where silence alone ends a turn."""
        return SpeakerPauseStats() if self._evidence_collector is None else self._evidence_collector.pause_stats

    @pause_stats.setter
    def pause_stats(self, stats: SpeakerPauseStats) -> None:
        if self._evidence_collector is not None:
            self._evidence_collector.pause_stats = stats

    # ---- frames and segments ----

    def process(self, frame: Frame) -> VadResult:
        """Processes a frame and returns its VAD result."""
        self._position = frame.end
        self._recognizer.feed(frame)
        vad_result, before = self._detect(frame), self._probability
        self._probability = vad_result.probability
        if any(vad_result.probability < dip <= before for dip in DIP_PROBABILITIES):
            self._recognizer.probability_dip()
        self.context.recorder.frame(frame, vad_result, self.context.clock)
        if self._evidence_collector is not None:
            self._evidence_collector.process(frame, vad_result)
        return vad_result

    def skip(self, frame: Frame) -> None:
        """Keeps a frame of a conversation that waits for its wake word: only as sound before the next speech."""
        self._skipped = True
        self._recognizer.feed(frame)
        if self._evidence_collector is not None:
            self._evidence_collector.skip(frame)

    def pass_silence(self, span: SilentSpan) -> None:
        """Passes over silence between two segments; it is kept as sound before the next speech."""
        self._skipped, self._position = True, span.end
        silence = np.zeros(span.end - span.start, np.int16)
        self._recognizer.pass_silence(span.start, silence)
        if self._evidence_collector is not None:
            self._evidence_collector.pass_silence(span.start, silence)

    def _detect(self, frame: Frame) -> VadResult:
        if self._skipped:
            self._vad.reset()
            self._skipped, self._probability = False, 0.0
        try:
            return self._vad.process(frame)
        except Exception as error:
            if self._vad is self.context.engines.spare_vad:
                raise
            self._vad = self.context.engines.spare_vad
            name, reason = self._vad.name, reason_of(error)
            fallback = f"vad: {name}, instead of a detector that failed: {reason}"
            self.context.recorder.vad_replaced(name, self._vad.end_bias_ms, fallback)
            self.context.report_problem(notice("vad_failed", reason=reason, name=name))
            return self._vad.process(frame)

    def open(self, effect: OpenSegment) -> None:
        """Opens a speech segment: the recognizer starts on it."""
        self.onset, self.addressed = effect.onset, self.wake_phrase.is_open(effect.onset)
        self.segment = effect.segment
        self.context.recorder.segment_opened(
            effect, self.context.clock.to_loop_s(effect.onset), addressed=self.addressed
        )
        self._recognizer.open(effect.segment, effect.end)
        if self._evidence_collector is not None:
            self._use_grammar(self._evidence_collector, self.context.settings)
            self._evidence_collector.start_segment(effect.onset)
        if self._connection_warmer is not None and self.addressed:
            self._connection_warmer.start()

    def _use_grammar(self, collector: EvidenceCollector, settings: SessionSettings) -> None:
        """Lets the end of the turn be estimated by the grammar of the language of these settings."""
        collector.knows_grammar, collector.dictation_rules = settings.knows_grammar, settings.dictation_rules

    def end(self, effect: EndSegment) -> None:
        """Ends the audio of a speech segment whose transcript is pending."""
        self._recognizer.end_segment(effect.segment, effect.end)

    def close(self, effect: CloseSegment, now_s: float) -> None:
        """Closes a speech segment."""
        if self._overlap_task is not None and self._overlap_task[0] == effect.segment:
            self._cancel_overlap_task()
        self._hint_language(effect, now_s)
        self._recognizer.close_segment(effect.segment, used=effect.used)
        self.context.recorder.segment_ended(effect.turn, now_s)
        if self._evidence_collector is not None:
            self._evidence_collector.end_segment(turn=effect.used)
        if self._connection_warmer is not None:
            self._connection_warmer.stop()

    # ---- transcripts ----

    def _interim_transcript(self, transcript: Transcript) -> None:
        transcript = self._without_echo(transcript)
        if self._overlap_task is not None and self._overlap_task[0] == transcript.segment:
            return  # `_transcribe_overlap` is about to report better words, and whether they are an echo
        if transcript.is_draft:
            self._draft_transcript(transcript)
            return
        addressed_speech = self.wake_phrase.classify(transcript.text, self.onset)
        if addressed_speech.kind == "overheard":
            return
        self._mark_addressed()
        heard = replace(
            transcript, text=self.wake_phrase.name if addressed_speech.kind == "called" else addressed_speech.text
        )
        self.context.recorder.interim_transcript(heard, _now_s())
        self.context.on_event(InterimWords(heard.text, heard.low_confidence))
        self.context.dispatch(InterimTranscript(self._position, heard, addressed_speech.has_wake_phrase))

    def _draft_transcript(self, transcript: Transcript) -> None:
        """Reports the words of a decode, from which a reply may be prepared before the silence.

        As in `transcript`, nothing is prepared while it is unknown whether the speech is addressed to the assistant.
        """
        words = self.wake_phrase.classify(transcript.text, self.onset)
        backchannel = is_backchannel(words.text) and not self._reply_was_question
        settings = self.context.parts_of(transcript.language).settings
        if not self.addressed or words.kind != "meant" or backchannel or not settings.knows_grammar:
            return
        sentence_end = 0.0 if transcript.punctuation is None else round(transcript.punctuation.sentence_end, 3)
        draft = replace(transcript, text=words.text, punctuation=None, language="")
        self.context.languages.drafted = transcript.language
        self.context.dispatch(DraftTranscript(self._position, draft, sentence_end))
        self.context.languages.drafted = ""

    def _without_echo(self, transcript: Transcript) -> Transcript:
        """Returns the transcript without the echo of listening sounds."""
        text = self.listening_sounds.without_echo(transcript.text, transcript.segment)
        return transcript if text == transcript.text else replace(transcript, text=text, punctuation=None, guess="")

    def _mark_addressed(self) -> None:
        """Marks the current speech as addressed to the assistant. From here on, connections are kept warm for it."""
        if not self.addressed and self._connection_warmer is not None:
            self._connection_warmer.start()
        self.addressed = True
        self.context.recorder.mark_addressed()

    def transcribe_overlap(self, effect: RequestTranscript, recent_text: str) -> None:
        """Transcribes an uncertain overlap and sends an interim transcript to the turn-taking machine.

        Args:
            effect: The segment.
            recent_text: Recent reply text. The loudspeaker may have fed it back into the microphone.
        """
        self._cancel_overlap_task()
        overlap_task = self._transcribe_overlap(effect, recent_text, self.onset)
        task = self._tasks.create_task(overlap_task, name=f"words of the voice at {effect.segment}")
        self._overlap_task = effect.segment, task

    async def _transcribe_overlap(self, effect: RequestTranscript, recent_text: str, onset: Samples) -> None:
        first = await self._recognizer.first_word(effect.segment) if effect.first_word else None
        if first is not None:
            self._overlap_task = None
            asked = ends_with_question(recent_text)
            probability = round(ignorable_probability(first, recent_text, after_question=asked), 3)
            nothing = Transcript(effect.segment, self._position, "")
            self.context.dispatch(InterimTranscript(self._position, nothing, was_requested=True, ignorable=probability))
            return
        transcript = await self._recognizer.transcript(effect.segment, effect.speech_end, early=True)
        if transcript is not None and transcript.text and transcript.low_confidence and not effect.so_far:
            # In such short audio, an early transcript often repeats words.
            transcript = await self._recognizer.transcript(effect.segment, effect.speech_end, early=False)
        self._overlap_task = None
        transcript = self._without_echo(transcript or Transcript(effect.segment, self._position, ""))
        addressed_speech = self.wake_phrase.classify(transcript.text, onset)
        echo = is_echo(transcript.text, recent_text)
        text = "" if echo else self.wake_phrase.name if addressed_speech.kind == "called" else addressed_speech.text
        heard = replace(transcript, text=text, punctuation=None)
        if text:
            self._mark_addressed()
            self.context.recorder.interim_transcript(heard, _now_s())
        self.context.dispatch(
            InterimTranscript(
                self._position,
                heard,
                addressed_speech.has_wake_phrase and bool(text),
                was_requested=True,
                is_echo=echo,
                after_question=ends_with_question(recent_text),
            )
        )

    def _hint_language(self, effect: CloseSegment, now_s: float) -> None:
        """Tells the user, once in a conversation, that poorly recognized speech may be in another language."""
        hint = self.context.settings.language_hint
        if self._language_hinted or not self.addressed or hint is None:
            return
        recognizer, other = self.context.engines.recognizer, ""
        if self._other_language is not None and self._other_language[0] == effect.segment:
            other = self._other_language[1]
        elif isinstance(recognizer, LanguageDetector):
            other = recognizer.other_language  # of this segment, or on a slow machine of the one before
        if not other:
            return
        self._language_hinted = True
        self.context.recorder.event(effect.turn, "language", now_s, other)
        self.context.on_event(Problem(hint(other), language="" if other == UNKNOWN_LANGUAGE else other))

    def _cancel_overlap_task(self) -> None:
        """Cancels a pending overlap transcription."""
        overlap_task, self._overlap_task = self._overlap_task, None
        if overlap_task is not None:
            overlap_task[1].cancel()

    def transcribe(self, effect: RecognizerRequest) -> None:
        """Transcribes the segment and sends its transcript to the turn-taking machine."""
        now_s, recorder = _now_s(), self.context.recorder
        recorder.transcript_requested(effect, now_s, self.context.clock.to_loop_s(effect.speech_end))
        task = self._tasks.create_task(self._transcribe(effect, self.onset), name=f"words of {effect.reply_id}")
        self._transcriptions[effect.reply_id] = task, now_s

    async def _transcribe(self, effect: RecognizerRequest, onset: Samples) -> None:
        """Transcribes the segment. The end-of-turn estimation of this silence starts.

        No draft is made while it is unknown whether the speech is addressed to the assistant.
        """
        began_s = _now_s()
        if self._evidence_collector is not None:
            self._evidence_collector.start_estimation(effect.segment, effect.speech_end)
        transcript = await self._recognizer.transcript(
            effect.segment, effect.speech_end, early=effect.early, draft=effect.draft and self.addressed
        )
        self.context.recognizer_is_busy = self._recognizer.is_busy
        draft = transcript is not None and transcript.is_draft
        self.context.recorder.transcribed(effect.reply_id, began_s, _now_s(), draft=draft)
        attempt_open = self._transcriptions.pop(effect.reply_id, None) is not None
        self.context.dispatch(self._transcript_event(effect, transcript, onset, attempt_open=attempt_open))

    def drop_transcription(self, reply_id: ReplyId) -> None:
        """Stops the transcription of a dropped attempt, if it has not ended."""
        if reply_id in self._transcriptions:
            task, requested_s = self._transcriptions.pop(reply_id)
            self.context.recorder.transcribed(reply_id, requested_s, _now_s())
            cancel_task(task, self._tasks, self.context.report_problem)

    def _transcript_event(
        self, effect: RecognizerRequest, transcript: Transcript | None, onset: Samples, *, attempt_open: bool
    ) -> FinalTranscript | TranscriptFailed:
        """Converts a transcript to an event for the turn-taking machine.

        Args:
            effect: The request that the transcript belongs to.
            transcript: The transcript, or None if it was lost.
            onset: Onset of the speech.
            attempt_open: Whether the attempt still exists.
        """
        if transcript is None and self.addressed:
            return TranscriptFailed(self._position, effect.reply_id, effect.segment)
        lost = Transcript(effect.segment, self._position, "")  # lost, but not addressed to us
        transcript = self._without_echo(transcript or lost)
        if not self.addressed:
            transcript = replace(transcript, guess="")  # words of others are no guess
        if transcript.other_language:
            self._other_language = effect.segment, transcript.other_language
        elif transcript.text and not transcript.low_confidence:
            self._other_language = None
        addressed_speech = self.wake_phrase.classify(transcript.text, onset)
        if attempt_open and addressed_speech.kind != "overheard":
            self.context.languages.note(effect.reply_id.turn, transcript.language)
        # A draft may lack the last word, so it is no evidence for the end of the turn.
        if attempt_open and addressed_speech.kind != "overheard" and not transcript.is_draft:
            self._mark_addressed()
            if self._evidence_collector is not None:
                if transcript.language:
                    settings = self.context.parts_of(transcript.language).settings
                    self._use_grammar(self._evidence_collector, settings)
                self._evidence_collector.add_transcript(effect.segment, addressed_speech.text, transcript.punctuation)
        ignored_because: Literal["", "overheard", "called", "backchannel"] = (
            "" if addressed_speech.kind == "meant" else addressed_speech.kind
        )
        if not ignored_because and not addressed_speech.has_wake_phrase and addressed_speech.text:
            ignored_because = reason_to_ignore(addressed_speech.text, reply_was_question=self._reply_was_question)
        # The evidence collector has received the expected punctuation; turn taking does not use it.
        return FinalTranscript(
            self._position,
            effect.reply_id,
            replace(transcript, text=addressed_speech.text, punctuation=None, other_language="", language=""),
            ignored_because,
            answer_expected=self.addressed and (self._reply_was_question or self.context.settings.in_call),
            calls_assistant=self.judges_voices and addressed_speech.has_wake_phrase,
        )

    # ---- end of turn ----

    def _end_of_turn_estimated(self, segment: SegmentId, estimate: EndOfTurnEstimate) -> None:
        self.context.dispatch(EndOfTurnScored(self._position, segment, estimate))
        self.context.recorder.end_of_turn_estimated(estimate, _now_s())

    def turn_continued(self) -> None:
        """Reports that the user continued a turn that had been judged finished."""
        if self._evidence_collector is not None:
            self._evidence_collector.turn_continued()

    def on_reply_heard(self, heard: str, *, rang: bool = False) -> None:
        """Reports the text of a reply that was heard. "Yes" after a question or a ring is no backchannel."""
        self._reply_was_question = rang or ends_with_question(heard)
        if self._evidence_collector is not None:
            self._evidence_collector.on_reply_heard(heard)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
