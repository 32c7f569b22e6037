"""Holds the state of the open user turn and its attempts. No I/O, no clock.

An attempt starts at a silence: its transcript is requested, and requested again when it has settled. If the words have
changed, the attempt restarts. `turn_end_policy.py` decides when the turn ends.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from assistant.turns.attempt import WITHOUT_TEXT, Attempt, IgnoreReason, Stability, Words, prepare_reply
from assistant.turns.backchannel import plain_words
from assistant.turns.events import (
    AbandonReason,
    CloseSegment,
    DropAttempt,
    DropReason,
    Effect,
    Effects,
    FinalTranscript,
    ReplyId,
    Transcribe,
    TranscriptFailed,
    TurnDiscarded,
)
from assistant.turns.resume_guard import ResumeGuard
from assistant.turns.settings import TurnSettings
from audio.stt import SegmentId
from audio.units import Samples, ms_of_samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import VadResult


class Answering(Enum):
    """Whether a turn is answered.

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
        attempts: The number of attempts, including dropped ones. It keeps reply ids unique.
        attempts_without_rechecks: The number of attempts without rechecks.
        attempt: The current attempt.
        recheck: The second request for the transcript of the attempt.
        submitted: The client ended it.
        silence_timeout_ms: The silence timeout of the current silence, from the last estimate; None without one.
        answering: Whether it is answered.
        resumable_reply: The reply that resumes if this turn is discarded: the one it interrupted or kept from resuming.
        early: It interrupted a reply right after its start, so the user continues the previous turn.
        peak_probability: The highest speech probability of its frames.
        resume_guard: Delays the end of turn and the reply while the user may be resuming.
    """

    number: int
    segment: SegmentId
    onset: Samples
    speech_end: Samples
    retracted_texts: tuple[str, ...] = ()
    retracted_low_confidence: bool = False
    attempts: int = 0
    attempts_without_rechecks: int = 0
    attempt: Attempt | None = None
    recheck: Attempt | None = None
    submitted: bool = False
    silence_timeout_ms: float | None = None
    answering: Answering = Answering.IF_WORDS
    resumable_reply: ReplyId | None = None
    early: bool = False
    peak_probability: float = 0.0
    resume_guard: ResumeGuard = field(default_factory=ResumeGuard)

    @property
    def will_be_answered(self) -> bool:
        """Whether it is answered, if it has words."""
        return self.answering is not _NO

    @property
    def reply_due(self) -> bool:
        """Whether a reply is due even if no more words follow."""
        return self.answering is _ALWAYS

    def add_frame(self, vad: VadResult) -> None:
        """Updates the highest speech probability from a frame."""
        self.peak_probability = max(self.peak_probability, speech_probability(vad))

    def mark_certain(self) -> None:
        """Marks the speech as certain, whatever the VAD reports: a client or the wake phrase confirms it."""
        self.peak_probability = 1.0

    def is_too_long(self, at: Samples, settings: TurnSettings) -> bool:
        """Returns whether it has reached the maximum length."""
        return at - self.onset >= samples_of_s(settings.max_turn_s)

    # ---- attempts ----

    def speculate(self, at: Samples, speech_end: Samples, settings: TurnSettings) -> Effects:
        """Starts or rechecks an attempt during a silence or a possible end of speech."""
        self.speech_end = speech_end
        speculate_ms = settings.speculate_after_ms
        if speculate_ms is None or settings.ends_by_client:
            return ()
        attempt, silence = self.attempt, at - speech_end
        if attempt is None:
            thresholds = settings.attempts
            max_early = thresholds.max_early + thresholds.max_early_per_s * s_of_samples(at - self.onset)
            early = self.attempts_without_rechecks < max_early
            after_ms = speculate_ms if early else max(speculate_ms, thresholds.late_after_ms)
            if silence < samples_of_ms(after_ms):
                return ()
            return (self.begin_attempt(at, speech_end, settings, draft=True),)
        if attempt.settled or attempt.words is None or self.recheck is not None:
            return ()
        return self._recheck_if_due(attempt, ms_of_samples(silence), speech_end, settings)

    def begin_attempt(
        self, at: Samples, speech_end: Samples, settings: TurnSettings, *, draft: bool = False, settled: bool = False
    ) -> Effect:
        """Starts an attempt and requests its transcript.

        Args:
            at: The current position.
            speech_end: The end of the speech.
            settings: The current settings.
            draft: Accept a draft if the transcript has not settled.
            settled: The transcript will not improve, however short the silence is: the turn is over.
        """
        self.attempts += 1
        self.attempts_without_rechecks += 1
        requested_after_ms = ms_of_samples(at - speech_end)
        settled = settled or requested_after_ms >= settings.settle_ms
        self.attempt = Attempt(ReplyId(self.number, self.attempts), requested_after_ms, settled)
        return Transcribe(
            self.attempt.reply,
            self.segment,
            speech_end,
            early=not settled,
            draft=draft and self.will_be_answered and not settled,
        )

    def _recheck_if_due(
        self, attempt: Attempt, silence_ms: float, speech_end: Samples, settings: TurnSettings
    ) -> Effects:
        """Requests the transcript again once it has settled, and once before, to notice changes sooner."""
        settle_ms = settings.settle_ms
        again_ms = attempt.requested_after_ms + settings.attempts.recheck_ms
        if silence_ms < (again_ms if again_ms <= settle_ms - settings.attempts.min_recheck_lead_ms else settle_ms):
            return ()
        return (self._recheck(attempt, silence_ms, speech_end, settled=silence_ms >= settle_ms),)

    def recheck_once_settled(self, at: Samples, settings: TurnSettings) -> Effects:
        """Requests the transcript again at once if it arrived after the settle time.

        Waiting for the next frame would cost up to 20 ms.
        """
        attempt = self.attempt
        if attempt is None or attempt.words is None or self.recheck is not None:
            return ()
        return () if ms_of_samples(at - self.speech_end) < settings.settle_ms else self.recheck_before_commit(at)

    def recheck_before_commit(self, at: Samples) -> Effects:
        """Requests the transcript once more if the turn is over and it was requested before it had settled."""
        attempt = self.attempt
        if attempt is None or attempt.settled or (attempt.words is not None and attempt.words.are_lost):
            return ()
        return (self._recheck(attempt, ms_of_samples(at - self.speech_end), self.speech_end, settled=True),)

    def _recheck(self, attempt: Attempt, silence_ms: float, speech_end: Samples, *, settled: bool) -> Effect:
        attempt.requested_after_ms, attempt.settled = silence_ms, settled  # takes effect when the recheck arrives
        self.attempts += 1
        reply = ReplyId(self.number, self.attempts)
        self.recheck = Attempt(reply, silence_ms, settled)
        return Transcribe(reply, self.segment, speech_end, early=not settled)

    def drop_attempts(self, reason: DropReason) -> Effects:
        """Drops the attempt and its recheck."""
        if self.attempt is None:  # as in most frames; there is no recheck without an attempt
            return ()
        dropped = tuple(
            DropAttempt(attempt.reply, reason) for attempt in (self.attempt, self.recheck) if attempt is not None
        )
        self.attempt = self.recheck = None
        return dropped

    # ---- transcripts ----

    def on_transcript(
        self,
        event: FinalTranscript | TranscriptFailed,
        settings: TurnSettings,
        *,
        reject_noise: bool = False,
        forced: bool = False,
    ) -> Effects | None:
        """Takes the transcript of an attempt or its failure.

        Args:
            event: The transcript or the failure.
            settings: The current settings.
            reject_noise: Ignore a low-confidence transcript as noise if the VAD was not certain of speech.
            forced: The client or the maximum length ended the turn.

        Returns:
            The effects; None if the attempt was dropped and the transcript is late.
        """
        if isinstance(event, TranscriptFailed):
            return self._apply(event.reply, Words("", "", stability=Stability.LOST))
        transcript, text = event.transcript, event.transcript.text.strip()
        uncertain = transcript.low_confidence and self.peak_probability < settings.start.certain_speech
        reason: IgnoreReason = event.ignored_because
        if reject_noise and uncertain and text:
            reason = "noise"
        elif reason == "backchannel" and not self._ignores_backchannel(forced=forced):
            reason = ""
        effects = self._apply(event.reply, Words("", text, transcript.low_confidence, ignored_because=reason))
        attempt = self.attempt
        if not transcript.is_draft or effects is None or attempt is None or attempt.reply != event.reply:
            return effects
        if attempt.words is not None:
            attempt.words = replace(attempt.words, stability=Stability.DRAFT)
        return (*effects, self._recheck(attempt, attempt.requested_after_ms, self.speech_end, settled=False))

    def _ignores_backchannel(self, *, forced: bool) -> bool:
        """Returns whether a backchannel is no turn: it interrupted a reply, and nothing else asks for an answer."""
        interrupted = self.resumable_reply is not None and not self.early
        return interrupted and not forced and self.answering is Answering.IF_WORDS

    def _apply(self, reply: ReplyId, words: Words) -> Effects | None:
        """Applies a transcript to its attempt or recheck. Returns None if it is late."""
        if self.recheck is not None and self.recheck.reply == reply:
            return self._apply_recheck(self.recheck, words)
        attempt = self.attempt
        if attempt is None or attempt.reply != reply or attempt.words is not None:
            return None
        attempt.words = words = self._with_retracted(words)
        answered = words.text or words.are_lost or self.reply_due
        return (prepare_reply(reply, words),) if self.will_be_answered and answered else ()

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

    def _apply_recheck(self, recheck: Attempt, words: Words) -> Effects | None:
        """Applies a rechecked transcript: with the same words the attempt continues, with others it restarts."""
        attempt, self.recheck = self.attempt, None
        assert attempt is not None, "what is asked for again was asked for before"
        assert attempt.words is not None, "a transcript is requested again only after it has arrived"
        before = attempt.words
        if words.ignored_because == before.ignored_because and words.ignored_because in WITHOUT_TEXT:
            words = replace(words, new_text=before.new_text)
        same = plain_words(words.new_text) == plain_words(before.new_text)
        noise = words.ignored_because == "noise"
        if before.is_draft and same and not words.are_lost and not noise:
            # Use the confidence of the recheck: on the shorter audio of a draft, decoders can be wrongly confident.
            attempt.words = replace(
                before,
                stability=Stability.CONFIRMED,
                ignored_because=words.ignored_because,
                low_confidence=words.low_confidence or self.retracted_low_confidence,
            )
            return (DropAttempt(recheck.reply, "same words"),)
        if not before.is_draft and (words.are_lost or same):
            # High confidence in either transcript is enough, since they may come from different decoders.
            low_confidence = before.low_confidence and (words.low_confidence or words.are_lost)
            attempt.words = replace(
                before,
                ignored_because=before.ignored_because if words.are_lost or noise else words.ignored_because,
                low_confidence=low_confidence or self.retracted_low_confidence,
            )
            return (DropAttempt(recheck.reply, "same words"),)
        self.attempt = recheck
        self.attempts_without_rechecks += before.is_draft  # the recheck of a draft counts as an attempt of its own
        return (DropAttempt(attempt.reply, "other words"), *(self._apply(recheck.reply, words) or ()))

    def discard(self, at: Samples, reason: AbandonReason) -> Effects:
        """Returns the effects that end the turn without a reply."""
        dropped = self.drop_attempts(reason)
        discarded = TurnDiscarded(self.number, at, self.speech_end, reason, self.submitted)
        return (*dropped, CloseSegment(self.segment, self.number, used=False), discarded)


def speech_probability(vad: VadResult) -> float:
    """Returns the speech probability of a speech frame, 0 for a silent one, at the trace's precision."""
    return round_to_trace(vad.probability) if vad.speaking else 0.0


def round_to_trace(probability: float) -> float:
    """Rounds a probability to the trace's 8 bits, so that a replay makes the same decisions."""
    return round(probability * 255) / 255
