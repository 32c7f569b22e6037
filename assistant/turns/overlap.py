"""The reply that has the floor, and the voice into it that is not decided yet. Pure."""

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
"""The detector's probability up to which a frame during a reply says nothing."""

EARLY_MS = 700.0
"""Who speaks up so soon behind the beginning of an answer goes on, and shows by no "mhm" that they listen: a word takes
some 400 ms to be heard, and 200 to 300 ms more to be answered."""

LIKELY = 0.5
"""The detector's probability from which a frame of such a voice counts in full, or one that is clear of the silence."""

UNSURE_MS = 100.0
"""So much of it at least, where no frame says more than `UNSURE`: a train that comes in is one window above a half."""

MURMUR_MS = 1000.0
"""So much sure voice that is no louder than what was heard before it takes the floor without a word that was
understood: such are the voices of a coffee shop (docs/lab/experiments.md, "Voices of a room") ..."""

ECHOES_MS = 300.0
"""... or so much, where so much is asked for of any voice: there what was heard before is an echo."""

LOWERED_MS = 1000.0
"""Voice that is not sure for so long is that of a room, or of nobody: the reply is no longer lowered for it."""

MOST_FAILURES = 2
"""An announcement of which nothing was heard this often, though nobody spoke, is made no more."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is said as soon as nobody speaks: a timer rings.

    Attributes:
        failures: So often nothing of it was heard, for want of a voice.
    """

    text: str
    failures: int = 0


@dataclass(slots=True)
class Overlap:
    """Voice during a reply, not yet decided.

    Attributes:
        early: It began so soon that it is no answer to the reply: whoever the reply answers goes on.
        kept: It was a turn already when somebody asked for this reply, by typing, or it may not interrupt: its words
            are a turn behind it, and what goes on of it interrupts nothing. Voice that begins anew may, if any may.
        turn: The number of that turn, where it was told already that it began.
        aside: The turn that it is if it is addressed: its words were asked for beside the reply.
        speech_end: Should nothing more come.
        backchannel: As far as its words are known, it only shows that somebody listens.
        lowered_at: Since when the reply is lowered for it, or was.
        sure_ms: How much of it was surely voice.
        surest: As of a turn.
        somebodys: There was enough of it to be somebody's, of whom it is not known whether they speak to the assistant.
        hushed: It has ended, as far as is known, and was not sure.
        asked_at: Its words were asked for then.
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
        """Another frame, which may be its end."""
        self.surest = max(self.surest, certainty(voicing))
        if voicing.speaking:
            self.speech_end = at if voicing.possible_end is None else max(voicing.possible_end, self.onset)
            if self.paused:  # another voice, in the same segment
                self.paused, self.asked_at, self.sure_ms = False, None, 0.0
        else:
            self.speech_end, self.paused = max(voicing.boundary, self.onset), True

    def asks(self, at: Samples) -> Effects:
        """It has ended, and nothing but its words can tell whether it was anything; nothing to ask now: ()."""
        if self.asked_at is not None or at - self.speech_end < samples_of_ms(ASKED_AFTER_MS):
            return ()
        self.asked_at = at
        return (RequestTranscript(self.segment, self.speech_end),)

    def waits(self, at: Samples) -> bool:
        """Its words may still come in time; what goes on and off for long, and never surely, is babble."""
        if not self.is_speech and self.speech_end - self.onset > samples_of_ms(LONGEST_MS):
            return False
        return self.asked_at is None or at - self.asked_at < samples_of_ms(WORDS_WITHIN_MS)

    def takes(self, voicing: VadResult, settings: TurnSettings) -> bool:
        """With this frame it takes the floor, whatever it says."""
        sure = self.is_sure(voicing, settings)
        self.is_speech = self.is_speech or sure
        murmur = voicing.background_level and settings.interrupt_after_ms < ECHOES_MS
        return sure and not (murmur and self.sure_ms < MURMUR_MS)

    def is_sure(self, voicing: VadResult, settings: TurnSettings) -> bool:
        """With this frame there was enough of it to be somebody's."""
        self.counts(voicing)
        enough_ms = settings.interrupt_after_ms * (2 if self.backchannel and not self.early else 1)
        if self.early and self.surest <= UNSURE:
            enough_ms = max(enough_ms, UNSURE_MS)
        return self.sure_ms >= enough_ms

    def receding(self) -> SpeechCandidate:
        """It has ended, and so has the reply: what may become a turn, if it was a word."""
        asked = self.asked_at is not None
        return SpeechCandidate(self.onset, self.speech_end, FRAME_MS, self.surest, asked, self.segment)

    def counts(self, voicing: VadResult) -> None:
        """A frame, as far as it is surely voice; where it is clear, or early, as far as it is likely to be."""
        if not voicing.speaking:
            return
        if not (self.early or voicing.above_noise):
            self.sure_ms += _sure_ms(voicing)
        elif as_traced(voicing.probability) >= LIKELY:
            self.sure_ms += FRAME_MS


@dataclass(slots=True)
class ActiveReply:
    """A committed reply that is not over.

    Attributes:
        earlier: Words that it answers.
        attempts: Of its turn so far, dropped ones too: no id is used twice.
        announcement: It is to be made again if nothing of it was heard.
        surest: Of the turn that it answers.
        resumed: It is the rest of one that was cut.
        again: It was taken back for a voice without words: another such voice is believed less.
        forced: Not a silence ended the turn that it answers, but a client, or its length.
        look: Of the turn that it answers.
        held: Its first sound waits, for somebody may be going on.
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
        """The speaker reports."""
        self.progress_at = max(self.progress_at, event.at)
        self.words_heard = max(self.words_heard, event.words_heard)
        if event.audible and self.audible_at is None:
            self.audible_at = event.at

    @property
    def audible(self) -> bool:
        """Something of it was heard."""
        return self.audible_at is not None

    def stuck(self, at: Samples, settings: TurnSettings) -> bool:
        """Nothing was reported for too long."""
        return at - self.progress_at >= samples_of_s(settings.stuck_after_s)

    @property
    def looks(self) -> bool:
        """It answers somebody, who has heard nothing of it: it is not begun over them."""
        return bool(self.earlier) and not self.audible

    def looked(self, at: Samples, voicing: VadResult, *, interruptible: bool) -> Effects:
        """A frame in which nobody is known to speak."""
        if not (self.looks and interruptible and self.resume_guard.at(at, voicing)):
            return self.released()
        held, self.held = self.held, True
        return () if held else (HoldPlayback(self.reply),)

    def released(self) -> Effects:
        """It may sound."""
        held, self.held = self.held, False
        return (ReleasePlayback(self.reply),) if held else ()

    def challenged(self, at: Samples, voicing: VadResult, segment: SegmentId, *, interruptible: bool) -> Effects:
        """Somebody speaks into it. Where it was heard already, and may be interrupted, it is lowered."""
        early = interruptible and self.is_early(voicing.boundary)
        self.overlap = challenge = Overlap(segment, voicing.boundary, at, surest=certainty(voicing), early=early)
        challenge.counts(voicing)
        opened = OpenSegment(segment, voicing.boundary)
        if not interruptible or not self.audible:
            return (opened,)
        return (*self.lowered(at), opened)

    def is_early(self, onset: Samples) -> bool:
        """A voice that begins there is no answer to it: see `EARLY_MS`."""
        answers = bool(self.earlier) and not self.again and self.audible_at is not None
        return answers and onset - (self.audible_at or onset) <= samples_of_ms(EARLY_MS)

    def unducked(self) -> Effects:
        """It swells up again, if it was lowered."""
        return (UnduckReply(self.reply),) if self.overlap is not None and self.overlap.ducked else ()

    def hushed(self) -> Effects:
        """The voice into it pauses, or may not interrupt it: it swells up again."""
        unducked = self.unducked()
        if self.overlap is not None:
            self.overlap.ducked, self.overlap.lowered_at = False, None
        return unducked

    def lowered(self, at: Samples) -> Effects:
        """The voice into it begins; where it goes on, and is not decided after a while, the reply swells up again."""
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
        """The voice into it was nothing."""
        unducked, self.overlap = self.unducked(), None
        return unducked


def _sure_ms(voicing: VadResult) -> float:
    """How much of this frame is surely voice: babble and clatter hover around a half, speech stands near one."""
    return FRAME_MS * min(max((as_traced(voicing.probability) - UNSURE) / (1 - UNSURE), 0.0), 1.0)
