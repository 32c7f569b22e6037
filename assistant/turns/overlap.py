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
from assistant.turns.speech_candidate import ASKED_AFTER_MS, LONGEST_MS, WORDS_WITHIN_MS, SpeechCandidate
from assistant.turns.user_turn import UserTurn, as_traced, certainty
from audio.stt import SegmentId
from audio.units import FRAME_MS, Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult

UNSURE = 0.6
"""Speech probability up to which a frame during a reply counts nothing towards an interruption."""

EARLY_MS = 700.0
"""Speech within this time, in ms, of the reply's first sound continues the turn; it is never a backchannel. A listener
needs about 400 ms to hear a word and 200 to 300 ms more to react."""

LIKELY = 0.5
"""Speech probability from which a frame counts in full, if the speech is early or clearly above the noise."""

UNSURE_MS = 100.0
"""Speech in ms that early speech needs if no frame exceeds `UNSURE`. A noise such as a train gives one VAD window above
0.5."""

MURMUR_MS = 1000.0
"""Speech in ms, no louder than the background, that interrupts without a transcript. Background voices, as in a coffee
shop, are usually shorter (docs/lab/experiments.md, "Voices of a room")."""

ECHOES_MS = 300.0
"""Value of `interrupt_after_ms` from which `MURMUR_MS` does not apply. There the background level contains the
reply's own echo."""

LOWERED_MS = 1000.0
"""Longest ducking in ms for an undecided overlap. Speech that stays undecided for longer is background or noise."""

MOST_FAILURES = 2
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
        lowered_at: When ducking began; None if the reply was not ducked for it.
        sure_ms: The amount of certain speech.
        surest: The highest speech probability of its frames.
        is_speech: It was long enough to be speech. Whether it is addressed to the assistant is open.
        early: It began so soon after the reply that it continues the previous turn; see `EARLY_MS`.
        kept: It does not interrupt the reply and becomes a turn after it. The reason: it was a turn already when this
            reply was requested, or speech may not interrupt. A new onset may still interrupt, if the mode allows it.
        turn: The number of that turn, if its start was reported.
        side_talk: The turn whose transcript shows whether the speech is addressed to the assistant.
        paused: The speech has ended, as far as is known, without interrupting.
        asked_at: When its transcript was requested.
    """

    segment: SegmentId
    onset: Samples
    speech_end: Samples
    backchannel: bool = False
    ducked: bool = False
    lowered_at: Samples | None = None
    sure_ms: float = 0.0
    surest: float = 0.0
    is_speech: bool = False
    early: bool = False
    kept: bool = False
    turn: int | None = None
    side_talk: UserTurn | None = None
    paused: bool = False
    asked_at: Samples | None = None

    def goes_on(self, at: Samples, voicing: VadResult) -> None:
        """Takes the VAD result of the next frame: speech continues or pauses."""
        self.surest = max(self.surest, certainty(voicing))
        if voicing.speaking:
            self.speech_end = at if voicing.possible_end is None else max(voicing.possible_end, self.onset)
            if self.paused:  # a new onset in the same segment
                self.paused, self.asked_at, self.sure_ms = False, None, 0.0
        else:
            self.speech_end, self.paused = max(voicing.boundary, self.onset), True

    def asks(self, at: Samples) -> Effects:
        """Requests the transcript after a pause, once; () if it is too early or was requested already."""
        if self.asked_at is not None or at - self.speech_end < samples_of_ms(ASKED_AFTER_MS):
            return ()
        self.asked_at = at
        return (RequestTranscript(self.segment, self.speech_end),)

    def waits(self, at: Samples) -> bool:
        """Returns whether the transcript may still arrive in time. Long intermittent noise is not waited for."""
        if not self.is_speech and self.speech_end - self.onset > samples_of_ms(LONGEST_MS):
            return False
        return self.asked_at is None or at - self.asked_at < samples_of_ms(WORDS_WITHIN_MS)

    def takes(self, voicing: VadResult, settings: TurnSettings) -> bool:
        """Takes a frame and returns whether the overlap interrupts the reply now, without a transcript."""
        sure = self.is_sure(voicing, settings)
        self.is_speech = self.is_speech or sure
        murmur = voicing.background_level and settings.interrupt_after_ms < ECHOES_MS
        return sure and not (murmur and self.sure_ms < MURMUR_MS)

    def is_sure(self, voicing: VadResult, settings: TurnSettings) -> bool:
        """Takes a frame and returns whether there is enough speech for an interruption."""
        self.counts(voicing)
        enough_ms = settings.interrupt_after_ms * (2 if self.backchannel and not self.early else 1)
        if self.early and self.surest <= UNSURE:
            enough_ms = max(enough_ms, UNSURE_MS)
        return self.sure_ms >= enough_ms

    def receding(self) -> SpeechCandidate:
        """Returns the speech as a candidate for a turn, after the reply has ended too."""
        asked = self.asked_at is not None
        return SpeechCandidate(self.onset, self.speech_end, FRAME_MS, self.surest, asked, self.segment)

    def counts(self, voicing: VadResult) -> None:
        """Adds a frame to the amount of speech, weighted by its probability.

        Frames of early speech or clearly above the noise count in full from `LIKELY` on.
        """
        if not voicing.speaking:
            return
        if not (self.early or voicing.above_noise):
            self.sure_ms += _sure_ms(voicing)
        elif as_traced(voicing.probability) >= LIKELY:
            self.sure_ms += FRAME_MS


@dataclass(slots=True)
class ActiveReply:
    """A committed reply that has not ended.

    Attributes:
        earlier: The words that it answers.
        rough: The recognizer reported low confidence in them.
        progress_at: The last sign of progress, for the stuck check.
        attempts: The number of attempts of its turn, including dropped ones. It keeps reply ids unique.
        announcement: The announcement it says, which is repeated if it was not heard.
        requested: The client requested the reply.
        surest: The highest speech probability of the turn that it answers.
        resumed: It is the rest of an interrupted reply.
        again: It was retracted before for speech without words. It now takes more to retract it.
        forced: The client or the maximum length ended the turn that it answers, not silence.
        words_heard: The number of complete words that were played.
        audible_at: When its first sound was played; None before.
        overlap: The current overlap, or None.
        resume_guard: Continues the guard of the turn that it answers.
        held: Its first sound is delayed, because the user may be resuming.
    """

    reply: ReplyId
    earlier: tuple[str, ...]
    rough: bool
    progress_at: Samples
    attempts: int = 1
    announcement: Announcement | None = None
    requested: bool = False
    surest: float = 0.0
    resumed: bool = False
    again: bool = False
    forced: bool = False
    words_heard: int = 0
    audible_at: Samples | None = None
    overlap: Overlap | None = None
    resume_guard: ResumeGuard = field(default_factory=ResumeGuard)
    held: bool = False

    def playing(self, event: PlaybackProgress) -> None:
        """Takes a progress report of the speaker."""
        self.progress_at = max(self.progress_at, event.at)
        self.words_heard = max(self.words_heard, event.words_heard)
        if event.audible and self.audible_at is None:
            self.audible_at = event.at

    @property
    def audible(self) -> bool:
        """Whether some of its sound was played."""
        return self.audible_at is not None

    def stuck(self, at: Samples, settings: TurnSettings) -> bool:
        """Returns whether there was no progress for `stuck_after_s`."""
        return at - self.progress_at >= samples_of_s(settings.stuck_after_s)

    @property
    def looks(self) -> bool:
        """Whether its start is delayed if the user resumes: it answers speech and is not audible yet."""
        return bool(self.earlier) and not self.audible

    def looked(self, at: Samples, voicing: VadResult, *, interruptible: bool) -> Effects:
        """Takes a frame without confirmed speech. Holds or releases the first sound."""
        if not (self.looks and interruptible and self.resume_guard.at(at, voicing)):
            return self.released()
        held, self.held = self.held, True
        return () if held else (HoldPlayback(self.reply),)

    def released(self) -> Effects:
        """Releases the first sound, if it was held."""
        held, self.held = self.held, False
        return (ReleasePlayback(self.reply),) if held else ()

    def challenged(self, at: Samples, voicing: VadResult, segment: SegmentId, *, interruptible: bool) -> Effects:
        """Starts an overlap. Ducks the reply if it is audible and may be interrupted."""
        early = interruptible and self.is_early(voicing.boundary)
        self.overlap = challenge = Overlap(segment, voicing.boundary, at, surest=certainty(voicing), early=early)
        challenge.counts(voicing)
        opened = OpenSegment(segment, voicing.boundary)
        if not interruptible or not self.audible:
            return (opened,)
        return (*self.lowered(at), opened)

    def is_early(self, onset: Samples) -> bool:
        """Returns whether speech with this onset continues the previous turn; see `EARLY_MS`."""
        answers = bool(self.earlier) and not self.again and self.audible_at is not None
        return answers and onset - (self.audible_at or onset) <= samples_of_ms(EARLY_MS)

    def unducked(self) -> Effects:
        """Returns the effect that restores the volume, if the reply is ducked."""
        return (UnduckReply(self.reply),) if self.overlap is not None and self.overlap.ducked else ()

    def hushed(self) -> Effects:
        """Restores the volume, because the speech pauses or may not interrupt. Later speech may duck again."""
        unducked = self.unducked()
        if self.overlap is not None:
            self.overlap.ducked, self.overlap.lowered_at = False, None
        return unducked

    def lowered(self, at: Samples) -> Effects:
        """Ducks the reply when speech begins. Restores the volume if the overlap is undecided after `LOWERED_MS`."""
        challenge = self.overlap
        if challenge is None:
            return ()
        if challenge.lowered_at is None:
            challenge.ducked, challenge.lowered_at = True, at
            return (DuckReply(self.reply),)
        unducked = self.unducked() if at - challenge.lowered_at >= samples_of_ms(LOWERED_MS) else ()
        challenge.ducked = challenge.ducked and not unducked
        return unducked

    def dismissed(self) -> Effects:
        """Ends the overlap without an interruption and restores the volume."""
        unducked, self.overlap = self.unducked(), None
        return unducked


def _sure_ms(voicing: VadResult) -> float:
    """Returns the weight of a frame in ms. Noise has probabilities around 0.5, speech near 1."""
    return FRAME_MS * min(max((as_traced(voicing.probability) - UNSURE) / (1 - UNSURE), 0.0), 1.0)
