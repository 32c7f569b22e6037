"""Holds the state of the open user turn and its attempts. No I/O, no clock.

An attempt starts at a silence: its transcript is requested. Better transcripts may follow until one has settled. If the
words have changed, the attempt restarts. `turn_end_policy.py` decides when the turn ends.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from assistant.turns.effects import (
    CloseSegment,
    DropAttempt,
    Effect,
    Effects,
    StopListeningSound,
    Transcribe,
    TurnDiscarded,
    TurnEnded,
)
from assistant.turns.events import (
    AbandonReason,
    Acceptable,
    DraftTranscript,
    DropReason,
    FinalTranscript,
    ReplyId,
    TranscriptExpected,
    TranscriptFailed,
)
from assistant.turns.settings import TurnSettings
from assistant.turns.state.attempt import (
    IF_INTERRUPTED,
    WITHOUT_TEXT,
    Attempt,
    IgnoreReason,
    Stability,
    Words,
    prepare_reply,
)
from assistant.turns.state.resume_guard import ResumeGuard
from assistant.turns.state.turn_voice import TurnVoice
from assistant.turns.words.backchannel import plain_words
from assistant.turns.words.speech_evidence import SpeechEvidence
from audio.stt import SegmentId
from audio.units import Samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import VadResult


class Answering(Enum):
    """The decision whether a turn is answered.

    - NO: it is committed without a reply.
    - IF_WORDS: it is answered if it has words.
    - ALWAYS: a reply is due even if no more words follow: the client has requested it, or it was retracted.
    """

    NO = auto()
    IF_WORDS = auto()
    ALWAYS = auto()

    @staticmethod
    def of(*, due: bool, automatic: bool) -> "Answering":
        """Returns ALWAYS if a reply is due; otherwise IF_WORDS if turns are answered automatically."""
        if due:
            return Answering.ALWAYS
        return Answering.IF_WORDS if automatic else Answering.NO


_NO, _ALWAYS = Answering.NO, Answering.ALWAYS  # bound once, because each frame compares them


@dataclass(slots=True)
class UserTurn:
    """The open user turn.

    Attributes:
        number: Its number, counting from 1.
        segment: The segment that is transcribed.
        onset: Where its speech began.
        speech_end: The end of its last speech, as far as is known.
        retracted_texts: Words of segments that were committed and then retracted.
        retracted_low_confidence: The recognizer reported low confidence in the earlier words.
        heard_before: A word of the retracted reply was heard, so it resumes if no words follow.
        attempts: The number of attempts and later transcripts, including dropped ones. It keeps reply ids unique.
        begun_attempts: The number of attempts that count for the limit on early ones.
        foreseen_attempts: The number of attempts that began before a silence.
        attempt: The current attempt.
        submitted: The client ended it.
        silence_timeout_ms: The silence timeout of the current silence, from the last estimate; None without one.
        sounds_unfinished: The last estimate of the current silence says that the turn sounds unfinished.
        evidence_logit: How finished the turn sounds, by the last estimate of the current silence; None without one.
        pause_attended: A listening sound was played in the current pause.
        answering: Whether it is answered.
        resumable_reply: The reply that resumes if this turn is discarded: the one it interrupted or kept from resuming.
        early: It interrupted a reply right after its start, so the user continues the previous turn.
        peak_probability: The highest speech probability of its frames.
        evidence: How much of it was certainly speech.
        resume_guard: Delays the end of turn and the reply while the user may be resuming.
        end_reported: `TurnEnded` has reported its end.
        voice: Whose voice it is, where the assistant listens to some voices only.
    """

    number: int
    segment: SegmentId
    onset: Samples
    speech_end: Samples
    retracted_texts: tuple[str, ...] = ()
    retracted_low_confidence: bool = False
    heard_before: bool = False
    attempts: int = 0
    begun_attempts: int = 0
    foreseen_attempts: int = 0
    attempt: Attempt | None = None
    submitted: bool = False
    silence_timeout_ms: float | None = None
    sounds_unfinished: bool = False
    evidence_logit: float | None = None
    pause_attended: bool = False
    answering: Answering = Answering.IF_WORDS
    resumable_reply: ReplyId | None = None
    early: bool = False
    peak_probability: float = 0.0
    evidence: SpeechEvidence = field(default_factory=SpeechEvidence)
    resume_guard: ResumeGuard = field(default_factory=ResumeGuard)
    end_reported: bool = False
    voice: TurnVoice = field(default_factory=TurnVoice)

    @property
    def will_be_answered(self) -> bool:
        """Whether it is answered, if it has words."""
        return self.answering is not _NO

    @property
    def reply_due(self) -> bool:
        """Whether a reply is due even if no more words follow."""
        return self.answering is _ALWAYS

    def is_answered(self, words: Words) -> bool:
        """Returns whether it is answered if these are its words."""
        if self.heard_before:
            return bool(words.new_text) or self.reply_due
        return bool(words.text) or words.need_apology or self.reply_due

    def add_frame(self, vad: VadResult, *, is_later: bool = False) -> None:
        """Updates the highest speech probability and the evidence of speech from a frame.

        `is_later`: it follows the turn, while the transcript is pending.
        """
        probability = speech_probability(vad)
        self.peak_probability = max(self.peak_probability, probability)
        if vad.speaking and not is_later:
            self.evidence.add_speech(probability)

    def mark_certain(self) -> None:
        """Marks the speech as certain, whatever the VAD reports: a client or the wake phrase confirms it."""
        self.peak_probability = 1.0

    def is_too_long(self, position: Samples, settings: TurnSettings) -> bool:
        """Returns whether it has reached the maximum length."""
        return position - self.onset >= samples_of_s(settings.max_turn_s)

    def speech_end_before(self, silence: VadResult) -> Samples:
        """Returns the end of the speech before a silent frame.

        A VAD that was replaced during the turn has seen no speech yet. Then the last speech frame was the end.
        """
        return silence.boundary if silence.boundary > self.onset else self.speech_end

    def end_pause(self) -> Effects:
        """Notes that the user goes on after a pause. Stops the listening sound of the pause."""
        attended, self.pause_attended, self.sounds_unfinished = self.pause_attended, False, False
        self.evidence_logit = None
        return (StopListeningSound(self.number),) if attended else ()

    def report_end(self, settings: TurnSettings) -> Effects:
        """Reports that it has ended for good, where sound alone decides. Once."""
        if not settings.sound_decides or self.end_reported:
            return ()
        self.end_reported = True
        return (TurnEnded(self.number, self.speech_end),)

    def sounds_unsure(self, settings: TurnSettings) -> bool:
        """Returns whether the last estimate is too low for a reply at full volume."""
        return self.evidence_logit is not None and self.evidence_logit < settings.end.soft_below_logit

    # ---- attempts ----

    def speculate(self, position: Samples, settings: TurnSettings) -> Effects:
        """Starts an attempt during a silence or a possible end of speech, or confirms the one that began before it."""
        speculate_ms = settings.speculate_after_ms
        if self.attempt is not None and self.attempt.foreseen_until is not None:
            return self._on_foreseen_silence(self.attempt, self.attempt.foreseen_until, position, settings)
        if self.attempt is not None or speculate_ms is None or settings.ends_by_client:
            return ()
        thresholds = settings.attempts
        max_early = thresholds.max_early + thresholds.max_early_per_s * s_of_samples(position - self.onset)
        early = self.begun_attempts < max_early
        after_ms = speculate_ms if early else max(speculate_ms, thresholds.late_after_ms)
        if position - self.speech_end < samples_of_ms(after_ms):
            return ()
        return (self.begin_attempt(self.speech_end, "draft" if self.will_be_answered else "early"),)

    def foresee(self, event: DraftTranscript, settings: TurnSettings) -> Effects:
        """Takes a draft while the user speaks. If it sounds complete, an attempt begins before the silence."""
        attempt, words = self.attempt, event.transcript
        if attempt is not None and (attempt.foreseen_until is None or attempt.words is None):
            return ()  # its transcripts are requested
        dropped: Effects = ()
        if attempt is not None and attempt.words is not None:
            if plain_words(words.text) == plain_words(attempt.words.new_text):
                attempt.foreseen_until = words.until
                return ()
            dropped = self.drop_attempt("went on")
        if not self._may_foresee(event, settings):
            return dropped
        self.attempts += 1
        self.foreseen_attempts += 1
        self.attempt = Attempt(ReplyId(self.number, self.attempts), None, settled=False, foreseen_until=words.until)
        draft = Words("", words.text.strip(), stability=Stability.DRAFT)
        return (*dropped, *self._begin_reply(self.attempt, draft))

    def _may_foresee(self, event: DraftTranscript, settings: TurnSettings) -> bool:
        thresholds = settings.attempts
        if settings.speculate_after_ms is None or not settings.ends_by_silence or not self.will_be_answered:
            return False
        if not event.transcript.text.strip() or event.sentence_end < thresholds.foreseen_sentence_end:
            return False
        duration_s = s_of_samples(event.position - self.onset)
        return self.foreseen_attempts < thresholds.max_foreseen + thresholds.max_foreseen_per_s * duration_s

    def on_speech_continues(self, position: Samples, settings: TurnSettings) -> Effects:
        """Drops the attempt, because the user speaks; one that began before the silence only after a while."""
        until = None if self.attempt is None else self.attempt.foreseen_until
        if until is not None and position - until < samples_of_ms(settings.attempts.foreseen_for_ms):
            return ()
        return self.drop_attempt("went on")

    def _on_foreseen_silence(
        self, attempt: Attempt, until: Samples, position: Samples, settings: TurnSettings
    ) -> Effects:
        """Requests transcripts for an attempt that began before this silence, or drops it for another one."""
        if self.speech_end - until > samples_of_ms(settings.attempts.max_speech_after_draft_ms):
            return (*self.drop_attempt("went on"), *self.speculate(position, settings))
        if position - self.speech_end < samples_of_ms(settings.speculate_after_ms or 0.0):
            return ()
        return (self.confirm_foreseen(attempt),)

    def confirm_foreseen(self, attempt: Attempt) -> Effect:
        """Requests transcripts for an attempt that began before the silence."""
        attempt.foreseen_until = None
        return Transcribe(attempt.reply_id, self.segment, self.speech_end, has_draft=True)

    def begin_attempt(self, speech_end: Samples, accepts: Acceptable = "early") -> Effect:
        """Starts an attempt and requests its transcript."""
        self.attempts += 1
        self.begun_attempts += 1
        reply_id = ReplyId(self.number, self.attempts)
        self.attempt = Attempt(reply_id, reply_id, settled=accepts == "settled")
        return Transcribe(reply_id, self.segment, speech_end, accepts)

    def drop_attempt(self, reason: DropReason) -> Effects:
        """Drops the attempt."""
        dropped, self.attempt = self.attempt, None
        return () if dropped is None else (DropAttempt(dropped.reply_id, reason),)

    # ---- transcripts ----

    def expect_transcript(self, event: TranscriptExpected) -> None:
        """Notes which transcript follows next. An id that belongs to no open attempt or was used is ignored."""
        attempt, reply_id = self.attempt, event.reply_id
        if attempt is None or attempt.expected not in {None, reply_id}:
            return
        if attempt.expected is None:
            if reply_id.turn != self.number or reply_id.attempt <= self.attempts:
                return
            self.attempts, attempt.expected = reply_id.attempt, reply_id
        attempt.settled = event.settled

    def on_transcript(
        self,
        event: FinalTranscript | TranscriptFailed,
        settings: TurnSettings,
        *,
        reject_noise: bool = False,
        forced: bool = False,
    ) -> Effects | None:
        """Takes a transcript for the attempt or its failure.

        Args:
            event: The transcript or the failure.
            settings: The current settings.
            reject_noise: Ignore a low-confidence transcript as noise if the VAD was not certain of speech.
            forced: The client or the maximum length ended the turn.

        Returns:
            The effects; None if the transcript is late: the attempt was dropped.
        """
        attempt = self.attempt
        if attempt is None or attempt.expected != event.reply_id:
            return None
        attempt.expected = None
        words = self._words_of(event, settings, reject_noise=reject_noise, forced=forced)
        if attempt.words is None:
            return self._begin_reply(attempt, words)
        return self._revise(attempt, attempt.words, event.reply_id, words)

    def _words_of(
        self, event: FinalTranscript | TranscriptFailed, settings: TurnSettings, *, reject_noise: bool, forced: bool
    ) -> Words:
        if isinstance(event, TranscriptFailed):
            return Words("", "", stability=Stability.LOST)
        transcript, text = event.transcript, event.transcript.text.strip()
        self.voice.called |= event.calls_assistant
        uncertain = transcript.low_confidence and self.peak_probability < settings.start.certain_speech
        reason: IgnoreReason = event.ignored_because
        may_be_noise = self.resumable_reply is not None or transcript.is_draft or bool(reason)
        guessed = bool(transcript.guess) and not may_be_noise and self.evidence.makes_words_likely
        if guessed:
            return Words("", transcript.guess.strip(), low_confidence=True, guessed=True)
        if not text and not may_be_noise and self._apologizes(answer_expected=event.answer_expected):
            return Words("", "", stability=Stability.UNRECOGNIZED)
        if reject_noise and uncertain and text:
            reason = "noise"
        elif text and reason in IF_INTERRUPTED and not self._ignores_interruption(forced=forced):
            reason = ""
        stability = Stability.DRAFT if transcript.is_draft else Stability.CONFIRMED
        return Words("", text, transcript.low_confidence, stability, reason)

    def _apologizes(self, *, answer_expected: bool) -> bool:
        """Returns whether the user is told aloud that no word of clear speech was recognized."""
        is_clear = self.evidence.is_clear and (answer_expected or self.evidence.is_certain_throughout)
        return is_clear and self.answering is Answering.IF_WORDS

    def _ignores_interruption(self, *, forced: bool) -> bool:
        """Returns whether a backchannel or words to others are no turn: they interrupted a reply, and nothing else asks
        for an answer.
        """
        interrupted = self.resumable_reply is not None and not self.early
        return interrupted and not forced and self.answering is Answering.IF_WORDS

    def _begin_reply(self, attempt: Attempt, words: Words) -> Effects:
        """Takes the words of an attempt and prepares the reply to them."""
        attempt.words = words = self._with_retracted(words)
        if not (self.will_be_answered and self.is_answered(words)):
            return ()
        return (prepare_reply(attempt.reply_id, words, foreseen=attempt.foreseen_until is not None),)

    def _with_retracted(self, words: Words) -> Words:
        """Returns the words together with those of retracted replies, or only those if the words are ignored."""
        ignored = words.ignored_because in WITHOUT_TEXT
        new_text = "" if ignored else words.new_text
        return replace(
            words,
            text=" ".join((*self.retracted_texts, new_text)).strip(),
            new_text=new_text,
            low_confidence=(words.low_confidence and not ignored) or self.retracted_low_confidence,
        )

    def _revise(self, attempt: Attempt, before: Words, reply_id: ReplyId, words: Words) -> Effects:
        """Takes a later transcript: with the same words the attempt continues, with others another one begins."""
        if words.ignored_because == before.ignored_because and words.ignored_because in WITHOUT_TEXT:
            words = replace(words, new_text=before.new_text)
        apology = (words.stability is Stability.UNRECOGNIZED) != (before.stability is Stability.UNRECOGNIZED)
        same = plain_words(words.new_text) == plain_words(before.new_text) and not apology
        noise = words.ignored_because == "noise"
        if before.is_draft and same and not words.are_lost and not noise:
            # The confidence of a draft does not count: on its shorter audio, decoders can be wrongly confident.
            attempt.words = replace(
                before,
                stability=words.stability,
                ignored_because=words.ignored_because,
                low_confidence=words.low_confidence or self.retracted_low_confidence,
            )
            return (DropAttempt(reply_id, "same words"),)
        if not before.is_draft and (words.are_lost or same):
            # High confidence in either transcript is enough, since they may come from different decoders.
            low_confidence = before.low_confidence and (words.low_confidence or words.are_lost)
            attempt.words = replace(
                before,
                ignored_because=before.ignored_because if words.are_lost or noise else words.ignored_because,
                low_confidence=low_confidence or self.retracted_low_confidence,
            )
            return (DropAttempt(reply_id, "same words"),)
        self.begun_attempts += before.is_draft  # words after a draft are the first that count
        self.attempt = Attempt(reply_id, None, attempt.settled)
        return (DropAttempt(attempt.reply_id, "other words"), *self._begin_reply(self.attempt, words))

    def discard(self, position: Samples, reason: AbandonReason) -> Effects:
        """Returns the effects that end the turn without a reply."""
        dropped = self.drop_attempt(reason)
        unheard = reason == "no words" and self.resumable_reply is None and self.evidence.is_clear
        discarded = TurnDiscarded(self.number, position, self.speech_end, reason, self.submitted, clear_speech=unheard)
        return (*dropped, CloseSegment(self.segment, self.number, used=False), discarded)


def speech_probability(vad: VadResult) -> float:
    """Returns the speech probability of a speech frame, 0 for a silent one, at the trace's precision."""
    return round_to_trace(vad.probability) if vad.speaking else 0.0


def round_to_trace(probability: float) -> float:
    """Rounds a probability to the trace's 8 bits, so that a replay makes the same decisions."""
    return round(probability * 255) / 255
