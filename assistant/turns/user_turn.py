"""Holds the state of the open user turn and its attempts. Pure.

An attempt starts at a silence: its transcript is requested, and requested again when it has settled. If the words have
changed, the attempt restarts. `assistant.turns.turn_taking` decides when the turn ends and whether it is answered.
"""

from dataclasses import dataclass, field
from typing import Literal

from assistant.turns.backchannel import plain_words
from assistant.turns.events import (
    AbandonReason,
    DiscardSegment,
    DropAttempt,
    DropReason,
    Effect,
    Effects,
    FinalTranscript,
    PrepareReply,
    ReplyId,
    Transcribe,
    TranscriptFailed,
    TurnDiscarded,
)
from assistant.turns.resume_guard import ResumeGuard
from assistant.turns.settings import EndsTurn, TurnSettings
from audio.stt import SegmentId
from audio.units import Samples, ms_of_samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import VadResult

IgnoreReason = Literal["", "noise", "overheard", "called", "backchannel"]
"""Why a transcript is not answered; "" if it is answered."""

_WITHOUT_TEXT = frozenset({"noise", "backchannel"})


@dataclass(slots=True)
class Attempt:
    """One speculative reply to the transcript so far.

    Attributes:
        reply: The id of the reply.
        text: All words of the turn; None before the transcript arrives.
        new_text: The words that are not in the history yet.
        low_confidence: The recognizer reports low confidence in the words.
        transcript_lost: The recognizer failed or timed out.
        requested_after_ms: The length of the silence when the transcript was requested.
        settled: The transcript was requested after `settle_ms` and will not improve.
        draft: The transcript is an unconfirmed draft. It is never committed.
        ignored_because: Why the transcript is not answered.
    """

    reply: ReplyId
    text: str | None = None
    new_text: str = ""
    low_confidence: bool = False
    transcript_lost: bool = False
    requested_after_ms: float = 0.0
    settled: bool = False
    draft: bool = False
    ignored_because: IgnoreReason = ""

    @property
    def ready(self) -> bool:
        """Whether the transcript has arrived."""
        return self.text is not None


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
        ended_at: When the turn ended; None while it is open.
        forced: The client or the maximum length ended it. Speech that continues does not reopen it.
        overlong: The maximum length ended it during speech.
        submitted: The client ended it.
        silence_timeout_ms: The silence timeout of the current silence, from the last estimate; None without one.
        reply_due: A reply is due even if no more words follow.
        resumable_reply: The reply that resumes if this turn is discarded: the one it interrupted or kept from resuming.
        early: It interrupted a reply right after its start, so the user continues the previous turn.
        will_be_answered: It is answered at its end; otherwise it is only recorded.
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
    ended_at: Samples | None = None
    forced: bool = False
    overlong: bool = False
    submitted: bool = False
    silence_timeout_ms: float | None = None
    reply_due: bool = False
    resumable_reply: ReplyId | None = None
    early: bool = False
    will_be_answered: bool = True
    peak_probability: float = 0.0
    resume_guard: ResumeGuard = field(default_factory=ResumeGuard)

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
        if speculate_ms is None or settings.ends_turn is EndsTurn.CLIENT:
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
        if attempt.settled or not attempt.ready or self.recheck is not None:
            return ()
        return self._recheck_if_due(attempt, ms_of_samples(silence), speech_end, settings)

    def begin_attempt(self, at: Samples, speech_end: Samples, settings: TurnSettings, *, draft: bool = False) -> Effect:
        """Starts an attempt and requests its transcript.

        Args:
            at: The current position.
            speech_end: The end of the speech.
            settings: The current settings.
            draft: Accept a draft if the transcript has not settled.
        """
        self.attempts += 1
        self.attempts_without_rechecks += 1
        requested_after_ms = ms_of_samples(at - speech_end)
        settled = requested_after_ms >= settings.settle_ms or self.forced
        self.attempt = Attempt(
            ReplyId(self.number, self.attempts), requested_after_ms=requested_after_ms, settled=settled
        )
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
        if attempt is None or not attempt.ready or self.recheck is not None:
            return ()
        return () if ms_of_samples(at - self.speech_end) < settings.settle_ms else self.recheck_before_commit(at)

    def recheck_before_commit(self, at: Samples) -> Effects:
        """Requests the transcript once more if the turn is over and it was requested before it had settled."""
        attempt = self.attempt
        if attempt is None or attempt.settled or attempt.transcript_lost:
            return ()
        return (self._recheck(attempt, ms_of_samples(at - self.speech_end), self.speech_end, settled=True),)

    def _recheck(self, attempt: Attempt, silence_ms: float, speech_end: Samples, *, settled: bool) -> Effect:
        attempt.requested_after_ms, attempt.settled = silence_ms, settled  # takes effect when the recheck arrives
        self.attempts += 1
        reply = ReplyId(self.number, self.attempts)
        self.recheck = Attempt(reply, requested_after_ms=silence_ms, settled=settled)
        return Transcribe(reply, self.segment, speech_end, early=not settled)

    def drop_attempts(self, reason: DropReason) -> Effects:
        """Drops the attempt and its recheck."""
        dropped = tuple(
            DropAttempt(attempt.reply, reason) for attempt in (self.attempt, self.recheck) if attempt is not None
        )
        self.attempt = self.recheck = None
        return dropped

    # ---- transcripts ----

    def on_transcript(
        self, event: FinalTranscript | TranscriptFailed, settings: TurnSettings, *, reject_noise: bool = False
    ) -> Effects | None:
        """Takes the transcript of an attempt or its failure. Returns None as `apply_transcript` does.

        Args:
            event: The transcript or the failure.
            settings: The current settings.
            reject_noise: Ignore a low-confidence transcript as noise if the VAD was not certain of speech.
        """
        if isinstance(event, TranscriptFailed):
            return self.apply_transcript(
                event.reply, "", low_confidence=False, transcript_lost=True, ignored_because=""
            )
        words, text = event.transcript, event.transcript.text.strip()
        uncertain = words.low_confidence and self.peak_probability < settings.start.certain_speech
        noise = reject_noise and uncertain and bool(text)
        ignores_backchannel = (
            self.resumable_reply is not None
            and self.will_be_answered
            and not (self.early or self.forced or self.reply_due)
        )
        said: IgnoreReason = (
            "" if event.ignored_because == "backchannel" and not ignores_backchannel else event.ignored_because
        )
        ignored_because: IgnoreReason = "noise" if noise else said
        effects = self.apply_transcript(
            event.reply,
            text,
            low_confidence=words.low_confidence,
            transcript_lost=False,
            ignored_because=ignored_because,
        )
        attempt = self.attempt
        if not words.is_draft or effects is None or attempt is None or attempt.reply != event.reply:
            return effects
        attempt.draft = True
        return (*effects, self._recheck(attempt, attempt.requested_after_ms, self.speech_end, settled=False))

    def apply_transcript(
        self, reply: ReplyId, text: str, *, low_confidence: bool, transcript_lost: bool, ignored_because: IgnoreReason
    ) -> Effects | None:
        """Applies a transcript to its attempt. Returns None if the attempt was dropped and the transcript is late."""
        if self.recheck is not None and self.recheck.reply == reply:
            self.recheck.ignored_because = ignored_because
            return self._apply_recheck(
                self.recheck, text, low_confidence=low_confidence, transcript_lost=transcript_lost
            )
        attempt = self.attempt
        if attempt is None or attempt.reply != reply or attempt.ready:
            return None
        if ignored_because in _WITHOUT_TEXT:
            text, low_confidence = "", False
        attempt.text, attempt.new_text = " ".join((*self.retracted_texts, text)).strip(), text
        attempt.low_confidence, attempt.transcript_lost, attempt.ignored_because = (
            low_confidence or self.retracted_low_confidence,
            transcript_lost,
            ignored_because,
        )
        return (
            (prepare_reply(attempt),)
            if self.will_be_answered and (attempt.text or transcript_lost or self.reply_due)
            else ()
        )

    def _apply_recheck(
        self, recheck: Attempt, text: str, *, low_confidence: bool, transcript_lost: bool
    ) -> Effects | None:
        """Applies a rechecked transcript: with the same words the attempt continues, with others it restarts."""
        attempt, self.recheck = self.attempt, None
        assert attempt is not None, "what is asked for again was asked for before"
        if recheck.ignored_because == attempt.ignored_because and recheck.ignored_because in _WITHOUT_TEXT:
            text = attempt.new_text
        same = plain_words(text) == plain_words(attempt.new_text)
        if attempt.draft and same and not transcript_lost and recheck.ignored_because != "noise":
            # Use the confidence of the recheck: on the shorter audio of a draft, decoders can be wrongly confident.
            attempt.draft, attempt.ignored_because, attempt.low_confidence = (
                False,
                recheck.ignored_because,
                low_confidence or self.retracted_low_confidence,
            )
            return (DropAttempt(recheck.reply, "same words"),)
        if not attempt.draft and (transcript_lost or same):
            attempt.ignored_because = (
                attempt.ignored_because
                if transcript_lost or recheck.ignored_because == "noise"
                else recheck.ignored_because
            )
            # High confidence in either transcript is enough, since they may come from different decoders.
            attempt.low_confidence = (
                attempt.low_confidence and (low_confidence or transcript_lost)
            ) or self.retracted_low_confidence
            return (DropAttempt(recheck.reply, "same words"),)
        self.attempt = recheck
        self.attempts_without_rechecks += attempt.draft  # the recheck of a draft counts as an attempt of its own
        others = self.apply_transcript(
            recheck.reply,
            text,
            low_confidence=low_confidence,
            transcript_lost=transcript_lost,
            ignored_because=recheck.ignored_because,
        )
        return (DropAttempt(attempt.reply, "other words"), *(others or ()))

    def discard(self, at: Samples, reason: AbandonReason) -> Effects:
        """Returns the effects that end the turn without a reply."""
        dropped = self.drop_attempts(reason)
        discarded = TurnDiscarded(self.number, at, self.speech_end, reason, self.submitted)
        return (*dropped, DiscardSegment(self.segment, self.number), discarded)


def speech_probability(vad: VadResult) -> float:
    """Returns the speech probability of a speech frame, 0 for a silent one, at the trace's precision."""
    return round_to_trace(vad.probability) if vad.speaking else 0.0


def round_to_trace(probability: float) -> float:
    """Rounds a probability to the trace's 8 bits, so that a replay makes the same decisions."""
    return round(probability * 255) / 255


def prepare_reply(attempt: Attempt) -> PrepareReply:
    """Returns the effect that starts the reply of an attempt."""
    assert attempt.text is not None, "words have come"
    return PrepareReply(attempt.reply, attempt.text, attempt.new_text, attempt.transcript_lost)
