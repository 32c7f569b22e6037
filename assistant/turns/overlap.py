"""Holds the state of the active reply and of user speech that overlaps it. Pure."""

from dataclasses import dataclass, field

from assistant.turns.events import (
    DuckReply,
    Effects,
    HoldPlayback,
    OpenSegment,
    PlaybackProgress,
    ReleasePlayback,
    ReplyId,
    RequestTranscript,
    UnduckReply,
)
from assistant.turns.resume_guard import ResumeGuard
from assistant.turns.settings import TurnSettings
from assistant.turns.speech_candidate import SpeechCandidate
from assistant.turns.user_turn import UserTurn, round_to_trace, speech_probability
from audio.stt import SegmentId
from audio.units import FRAME_MS, Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult


@dataclass(frozen=True, slots=True)
class Announcement:
    """Text that is said as soon as nobody speaks, for example when a timer rings.

    Attributes:
        failures: How often speech synthesis failed for it.
    """

    text: str
    failures: int = 0


@dataclass(slots=True)
class Overlap:
    """User speech during a reply, not yet classified.

    Attributes:
        segment: The segment that is transcribed for it.
        onset: Where it began.
        speech_end: Its end, if no more speech follows.
        backchannel: Its transcript so far is a backchannel.
        ducked: The reply is ducked for it now.
        ducked_at: When ducking began; None if the reply was not ducked for it.
        speech_ms: The amount of certain speech.
        peak_probability: The highest speech probability of its frames.
        is_speech: It was long enough to be speech. Whether it is addressed to the assistant is open.
        early: It began so soon after the reply that it continues the previous turn; see `OverlapThresholds.early_ms`.
        deferred: It does not interrupt the reply and becomes a turn after it. Either it was a turn already when this
            reply was requested, or speech may not interrupt. A new onset may still interrupt, if the mode allows it.
        turn: The number of that turn, if its start was reported.
        side_talk: The turn whose transcript shows whether the speech is addressed to the assistant.
        paused: The speech has ended, as far as is known, without interrupting.
        transcript_requested_at: When its transcript was requested.
    """

    segment: SegmentId
    onset: Samples
    speech_end: Samples
    backchannel: bool = False
    ducked: bool = False
    ducked_at: Samples | None = None
    speech_ms: float = 0.0
    peak_probability: float = 0.0
    is_speech: bool = False
    early: bool = False
    deferred: bool = False
    turn: int | None = None
    side_talk: UserTurn | None = None
    paused: bool = False
    transcript_requested_at: Samples | None = None

    def add_frame(self, at: Samples, vad: VadResult) -> None:
        """Takes the VAD result of the next frame: speech continues or pauses."""
        self.peak_probability = max(self.peak_probability, speech_probability(vad))
        if vad.speaking:
            self.speech_end = at if vad.possible_end is None else max(vad.possible_end, self.onset)
            if self.paused:  # a new onset in the same segment
                self.paused, self.transcript_requested_at, self.speech_ms = False, None, 0.0
        else:
            self.speech_end, self.paused = max(vad.boundary, self.onset), True

    def request_transcript(self, at: Samples, settings: TurnSettings) -> Effects:
        """Requests the transcript after a pause, once; () if it is too early or was requested already."""
        too_early = at - self.speech_end < samples_of_ms(settings.start.request_after_ms)
        if too_early or self.transcript_requested_at is not None:
            return ()
        self.transcript_requested_at = at
        return (RequestTranscript(self.segment, self.speech_end),)

    def awaits_transcript(self, at: Samples, settings: TurnSettings) -> bool:
        """Returns whether the transcript may still arrive in time. Long intermittent noise is not waited for."""
        if not self.is_speech and self.speech_end - self.onset > samples_of_ms(settings.start.max_span_ms):
            return False
        asked_at = self.transcript_requested_at
        return asked_at is None or at - asked_at < samples_of_ms(settings.start.transcript_timeout_ms)

    def interrupts(self, vad: VadResult, settings: TurnSettings) -> bool:
        """Takes a frame and returns whether the overlap interrupts the reply now, without a transcript."""
        is_speech_now = self.is_long_enough(vad, settings)
        self.is_speech = self.is_speech or is_speech_now
        background = vad.background_level and settings.interrupt_after_ms < settings.overlap.echo_interrupt_after_ms
        return is_speech_now and not (background and self.speech_ms < settings.overlap.background_speech_ms)

    def is_long_enough(self, vad: VadResult, settings: TurnSettings) -> bool:
        """Takes a frame and returns whether there is enough speech for an interruption."""
        self.count_speech(vad, settings)
        enough_ms = settings.interrupt_after_ms
        if self.backchannel and not self.early:
            enough_ms *= settings.overlap.backchannel_factor
        if self.early and self.peak_probability <= settings.overlap.uncertain_speech:
            enough_ms = max(enough_ms, settings.overlap.min_early_speech_ms)
        return self.speech_ms >= enough_ms

    def to_candidate(self) -> SpeechCandidate:
        """Returns the speech as a candidate for a turn, after the reply has ended too."""
        asked = self.transcript_requested_at is not None
        return SpeechCandidate(self.onset, self.speech_end, FRAME_MS, self.peak_probability, asked, self.segment)

    def count_speech(self, vad: VadResult, settings: TurnSettings) -> None:
        """Adds a frame to the amount of speech, weighted by its probability.

        Frames of early speech or clearly above the noise count in full from `likely_speech` on.
        """
        if not vad.speaking:
            return
        if not (self.early or vad.above_noise):
            self.speech_ms += _weight_ms(vad, settings.overlap.uncertain_speech)
        elif round_to_trace(vad.probability) >= settings.overlap.likely_speech:
            self.speech_ms += FRAME_MS


@dataclass(slots=True)
class ActiveReply:
    """A committed reply that has not ended.

    Attributes:
        answered_texts: The words that it answers.
        low_confidence: The recognizer reported low confidence in them.
        progress_at: The last sign of progress, for the stuck check.
        attempts: The number of attempts of its turn, including dropped ones. It keeps reply ids unique.
        announcement: The announcement it says, which is repeated if it was not heard.
        requested: The client requested the reply.
        peak_probability: The highest speech probability of the turn that it answers.
        resumed: It is the rest of an interrupted reply.
        was_retracted: It was retracted before for speech without words. It now takes more to retract it.
        forced: The client or the maximum length ended the turn that it answers, not silence.
        words_heard: The number of complete words that were played.
        audible_at: When its first sound was played; None before.
        overlap: The current overlap, or None.
        resume_guard: Continues the guard of the turn that it answers.
        playback_held: Its first sound is delayed, because the user may be resuming.
    """

    reply: ReplyId
    answered_texts: tuple[str, ...]
    low_confidence: bool
    progress_at: Samples
    attempts: int = 1
    announcement: Announcement | None = None
    requested: bool = False
    peak_probability: float = 0.0
    resumed: bool = False
    was_retracted: bool = False
    forced: bool = False
    words_heard: int = 0
    audible_at: Samples | None = None
    overlap: Overlap | None = None
    resume_guard: ResumeGuard = field(default_factory=ResumeGuard)
    playback_held: bool = False

    def update_progress(self, event: PlaybackProgress) -> None:
        """Takes a progress report of the speaker."""
        self.progress_at = max(self.progress_at, event.at)
        self.words_heard = max(self.words_heard, event.words_heard)
        if event.audible and self.audible_at is None:
            self.audible_at = event.at

    @property
    def audible(self) -> bool:
        """Whether some of its sound was played."""
        return self.audible_at is not None

    def is_stuck(self, at: Samples, settings: TurnSettings) -> bool:
        """Returns whether there was no progress for `stuck_after_s`."""
        return at - self.progress_at >= samples_of_s(settings.stuck_after_s)

    @property
    def can_hold_playback(self) -> bool:
        """Whether its start is delayed if the user resumes: it answers speech and is not audible yet."""
        return bool(self.answered_texts) and not self.audible

    def update_hold(self, at: Samples, vad: VadResult, settings: TurnSettings) -> Effects:
        """Takes a frame without confirmed speech. Holds or releases the first sound."""
        may_hold = self.can_hold_playback and settings.voice_interrupts
        if not (may_hold and self.resume_guard.process(at, vad, settings)):
            return self.release()
        held, self.playback_held = self.playback_held, True
        return () if held else (HoldPlayback(self.reply),)

    def release(self) -> Effects:
        """Releases the first sound, if it was held."""
        held, self.playback_held = self.playback_held, False
        return (ReleasePlayback(self.reply),) if held else ()

    def start_overlap(self, at: Samples, vad: VadResult, segment: SegmentId, settings: TurnSettings) -> Effects:
        """Starts an overlap. Ducks the reply if it is audible and may be interrupted."""
        early = settings.voice_interrupts and self.is_early(vad.boundary, settings)
        self.overlap = overlap = Overlap(
            segment, vad.boundary, at, peak_probability=speech_probability(vad), early=early
        )
        overlap.count_speech(vad, settings)
        opened = OpenSegment(segment, vad.boundary)
        if not settings.voice_interrupts or not self.audible:
            return (opened,)
        return (*self.duck(at, settings), opened)

    def is_early(self, onset: Samples, settings: TurnSettings) -> bool:
        """Returns whether speech with this onset continues the previous turn; see `OverlapThresholds.early_ms`."""
        answers = bool(self.answered_texts) and not self.was_retracted and self.audible_at is not None
        return answers and onset - (self.audible_at or onset) <= samples_of_ms(settings.overlap.early_ms)

    def unduck(self) -> Effects:
        """Returns the effect that restores the volume, if the reply is ducked."""
        return (UnduckReply(self.reply),) if self.overlap is not None and self.overlap.ducked else ()

    def stop_ducking(self) -> Effects:
        """Restores the volume, because the speech pauses or may not interrupt. Later speech may duck again."""
        unducked = self.unduck()
        if self.overlap is not None:
            self.overlap.ducked, self.overlap.ducked_at = False, None
        return unducked

    def duck(self, at: Samples, settings: TurnSettings) -> Effects:
        """Ducks the reply when speech begins. Restores the volume if that is undecided after `max_ducking_ms`."""
        overlap = self.overlap
        if overlap is None:
            return ()
        if overlap.ducked_at is None:
            overlap.ducked, overlap.ducked_at = True, at
            return (DuckReply(self.reply),)
        too_long = at - overlap.ducked_at >= samples_of_ms(settings.overlap.max_ducking_ms)
        unducked = self.unduck() if too_long else ()
        overlap.ducked = overlap.ducked and not unducked
        return unducked

    def end_overlap(self) -> Effects:
        """Ends the overlap without an interruption and restores the volume."""
        unducked, self.overlap = self.unduck(), None
        return unducked


def _weight_ms(vad: VadResult, uncertain: float) -> float:
    """Returns the weight of a frame in ms. Noise has probabilities around 0.5, speech near 1."""
    return FRAME_MS * min(max((round_to_trace(vad.probability) - uncertain) / (1 - uncertain), 0.0), 1.0)
