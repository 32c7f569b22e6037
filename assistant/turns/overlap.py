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
from assistant.turns.speech_candidate import MAX_SPAN_MS, REQUEST_AFTER_MS, TRANSCRIPT_TIMEOUT_MS, SpeechCandidate
from assistant.turns.user_turn import UserTurn, round_to_trace, speech_probability
from audio.stt import SegmentId
from audio.units import FRAME_MS, Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult

UNCERTAIN_SPEECH = 0.6
"""Speech probability up to which a frame during a reply counts nothing towards an interruption."""

EARLY_MS = 700.0
"""Speech within this time, in ms, of the reply's first sound continues the turn; it is never a backchannel. A listener
needs about 400 ms to hear a word and 200 to 300 ms more to react."""

LIKELY_SPEECH = 0.5
"""Speech probability from which a frame counts in full, if the speech is early or clearly above the noise."""

MIN_EARLY_SPEECH_MS = 100.0
"""Speech in ms that early speech needs if no frame exceeds `UNCERTAIN_SPEECH`. A noise such as a train gives one VAD
window above 0.5."""

BACKGROUND_SPEECH_MS = 1000.0
"""Speech in ms, no louder than the background, that interrupts without a transcript. Background voices, as in a coffee
shop, are usually shorter (docs/lab/experiments.md, "Voices of a room")."""

ECHO_INTERRUPT_AFTER_MS = 300.0
"""Value of `interrupt_after_ms` from which `BACKGROUND_SPEECH_MS` does not apply. There the background level contains
the reply's own echo."""

MAX_DUCKING_MS = 1000.0
"""Longest ducking in ms for an undecided overlap. Speech that stays undecided for longer is background or noise."""

MAX_ANNOUNCEMENT_FAILURES = 2
"""Number of failures after which an announcement is given up. A failure: nothing of it was audible and nobody spoke."""


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
        early: It began so soon after the reply that it continues the previous turn; see `EARLY_MS`.
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

    def request_transcript(self, at: Samples) -> Effects:
        """Requests the transcript after a pause, once; () if it is too early or was requested already."""
        if self.transcript_requested_at is not None or at - self.speech_end < samples_of_ms(REQUEST_AFTER_MS):
            return ()
        self.transcript_requested_at = at
        return (RequestTranscript(self.segment, self.speech_end),)

    def awaits_transcript(self, at: Samples) -> bool:
        """Returns whether the transcript may still arrive in time. Long intermittent noise is not waited for."""
        if not self.is_speech and self.speech_end - self.onset > samples_of_ms(MAX_SPAN_MS):
            return False
        return self.transcript_requested_at is None or at - self.transcript_requested_at < samples_of_ms(
            TRANSCRIPT_TIMEOUT_MS
        )

    def interrupts(self, vad: VadResult, settings: TurnSettings) -> bool:
        """Takes a frame and returns whether the overlap interrupts the reply now, without a transcript."""
        is_speech_now = self.is_long_enough(vad, settings)
        self.is_speech = self.is_speech or is_speech_now
        background = vad.background_level and settings.interrupt_after_ms < ECHO_INTERRUPT_AFTER_MS
        return is_speech_now and not (background and self.speech_ms < BACKGROUND_SPEECH_MS)

    def is_long_enough(self, vad: VadResult, settings: TurnSettings) -> bool:
        """Takes a frame and returns whether there is enough speech for an interruption."""
        self.count_speech(vad)
        enough_ms = settings.interrupt_after_ms * (2 if self.backchannel and not self.early else 1)
        if self.early and self.peak_probability <= UNCERTAIN_SPEECH:
            enough_ms = max(enough_ms, MIN_EARLY_SPEECH_MS)
        return self.speech_ms >= enough_ms

    def to_candidate(self) -> SpeechCandidate:
        """Returns the speech as a candidate for a turn, after the reply has ended too."""
        asked = self.transcript_requested_at is not None
        return SpeechCandidate(self.onset, self.speech_end, FRAME_MS, self.peak_probability, asked, self.segment)

    def count_speech(self, vad: VadResult) -> None:
        """Adds a frame to the amount of speech, weighted by its probability.

        Frames of early speech or clearly above the noise count in full from `LIKELY_SPEECH` on.
        """
        if not vad.speaking:
            return
        if not (self.early or vad.above_noise):
            self.speech_ms += _weight_ms(vad)
        elif round_to_trace(vad.probability) >= LIKELY_SPEECH:
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

    def update_hold(self, at: Samples, vad: VadResult, *, interruptible: bool) -> Effects:
        """Takes a frame without confirmed speech. Holds or releases the first sound."""
        if not (self.can_hold_playback and interruptible and self.resume_guard.process(at, vad)):
            return self.release()
        held, self.playback_held = self.playback_held, True
        return () if held else (HoldPlayback(self.reply),)

    def release(self) -> Effects:
        """Releases the first sound, if it was held."""
        held, self.playback_held = self.playback_held, False
        return (ReleasePlayback(self.reply),) if held else ()

    def start_overlap(self, at: Samples, vad: VadResult, segment: SegmentId, *, interruptible: bool) -> Effects:
        """Starts an overlap. Ducks the reply if it is audible and may be interrupted."""
        early = interruptible and self.is_early(vad.boundary)
        self.overlap = overlap = Overlap(
            segment, vad.boundary, at, peak_probability=speech_probability(vad), early=early
        )
        overlap.count_speech(vad)
        opened = OpenSegment(segment, vad.boundary)
        if not interruptible or not self.audible:
            return (opened,)
        return (*self.duck(at), opened)

    def is_early(self, onset: Samples) -> bool:
        """Returns whether speech with this onset continues the previous turn; see `EARLY_MS`."""
        answers = bool(self.answered_texts) and not self.was_retracted and self.audible_at is not None
        return answers and onset - (self.audible_at or onset) <= samples_of_ms(EARLY_MS)

    def unduck(self) -> Effects:
        """Returns the effect that restores the volume, if the reply is ducked."""
        return (UnduckReply(self.reply),) if self.overlap is not None and self.overlap.ducked else ()

    def stop_ducking(self) -> Effects:
        """Restores the volume, because the speech pauses or may not interrupt. Later speech may duck again."""
        unducked = self.unduck()
        if self.overlap is not None:
            self.overlap.ducked, self.overlap.ducked_at = False, None
        return unducked

    def duck(self, at: Samples) -> Effects:
        """Ducks the reply when speech begins. Restores the volume if that is undecided after `MAX_DUCKING_MS`."""
        overlap = self.overlap
        if overlap is None:
            return ()
        if overlap.ducked_at is None:
            overlap.ducked, overlap.ducked_at = True, at
            return (DuckReply(self.reply),)
        unducked = self.unduck() if at - overlap.ducked_at >= samples_of_ms(MAX_DUCKING_MS) else ()
        overlap.ducked = overlap.ducked and not unducked
        return unducked

    def end_overlap(self) -> Effects:
        """Ends the overlap without an interruption and restores the volume."""
        unducked, self.overlap = self.unduck(), None
        return unducked


def _weight_ms(vad: VadResult) -> float:
    """Returns the weight of a frame in ms. Noise has probabilities around 0.5, speech near 1."""
    return FRAME_MS * min(max((round_to_trace(vad.probability) - UNCERTAIN_SPEECH) / (1 - UNCERTAIN_SPEECH), 0.0), 1.0)
