"""Defines the states of a conversation. No I/O, no clock.

A conversation is in exactly one of them, and each has only the fields that exist in it. `turn_taking.py` has the table
of transitions; the handlers of a state are in the file of its name. What outlasts a state is in `conversation.py`.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from assistant.turns.effects import DuckReply, Effects, HoldPlayback, OpenSegment, ReleasePlayback, UnduckReply
from assistant.turns.events import Origin, PlaybackProgress, ReplyId
from assistant.turns.settings import TurnSettings
from assistant.turns.state.announcements import Announcement
from assistant.turns.state.overlap import Ducking, Overlap
from assistant.turns.state.resume_guard import ResumeGuard
from assistant.turns.state.speech_candidate import SpeechCandidate
from assistant.turns.state.user_turn import UserTurn, speech_probability
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult


class Phase(Enum):
    """Names the state of a conversation, as others see it. Unconfirmed speech counts as idle."""

    IDLE = auto()
    USER_SPEAKING = auto()
    AWAITING_TRANSCRIPT = auto()
    REPLYING = auto()


class EndedBy(Enum):
    """Names what ended a turn.

    - SILENCE: the user did not speak. If they speak again before the reply, the turn continues.
    - FINAL_SILENCE: the same, where silence ends a turn for good. Speech after it is the next turn.
    - COMMAND: the client or the push-to-talk key. Speech that continues is the next turn.
    - MAX_LENGTH: the maximum length, mostly during speech. Speech that continues is the next turn, if there were words.
    - OTHER_VOICE: another voice goes on after the user's own. Speech that continues belongs to no turn.
    """

    SILENCE = auto()
    FINAL_SILENCE = auto()
    COMMAND = auto()
    MAX_LENGTH = auto()
    OTHER_VOICE = auto()


_SILENCE = EndedBy.SILENCE  # bound once, because each frame compares it


@dataclass(frozen=True, slots=True)
class Idle:
    """Nobody speaks, and there is no reply."""


@dataclass(slots=True)
class ConfirmingSpeech:
    """Speech has begun that is not confirmed yet. It is not reported, and there is no reply."""

    candidate: SpeechCandidate


@dataclass(slots=True)
class UserSpeaking:
    """The user's turn is open: they speak, or pause for less than the silence timeout."""

    turn: UserTurn


@dataclass(slots=True)
class AwaitingTranscript:
    """The user's turn has ended, and its transcript is pending.

    Attributes:
        turn: The turn.
        ended_at: When it ended.
        ended_by: What ended it.
    """

    turn: UserTurn
    ended_at: Samples
    ended_by: EndedBy

    @property
    def is_final(self) -> bool:
        """Whether the turn stays ended even if the user goes on speaking."""
        return self.ended_by is not _SILENCE

    @property
    def is_forced(self) -> bool:
        """Whether the turn ended although the user may not have finished."""
        return self.ended_by in {EndedBy.COMMAND, EndedBy.MAX_LENGTH}


@dataclass(slots=True)
class Replying:
    """A committed reply has not ended. The user may speak during it.

    Attributes:
        reply_id: Its id.
        origin: What caused it. A reply to speech that the client requested counts as requested.
        answered_texts: The words that it answers.
        low_confidence: The recognizer reported low confidence in them.
        progress_at: The last sign of progress, for the stuck check.
        attempts: The number of attempts of its turn, including dropped ones. It keeps reply ids unique.
        announcement: The announcement it says, which is repeated if it was not heard.
        peak_probability: The highest speech probability of the turn that it answers.
        was_retracted: It was retracted before, for speech without words. Speech during it never counts as early.
        turn_ended_by: What ended the turn that it answers.
        words_heard: The number of complete words that were played.
        audible_at: When its first sound was played; None before.
        has_effect: It has called a tool or changed something; see `PlaybackProgress`.
        overlap: The user's speech during it; None if nobody speaks.
        resume_guard: Continues the guard of the turn that it answers.
        playback_held: Its sound is held, because the user may be resuming.
        heard_hold: It was held after its first sound for an onset that was no speech. This happens once.
        past_onset: Its first second is over; see `OverlapThresholds.early_ms`.
    """

    reply_id: ReplyId
    origin: Origin
    answered_texts: tuple[str, ...]
    low_confidence: bool
    progress_at: Samples
    attempts: int = 1
    announcement: Announcement | None = None
    peak_probability: float = 0.0
    was_retracted: bool = False
    turn_ended_by: EndedBy = EndedBy.SILENCE
    words_heard: int = 0
    audible_at: Samples | None = None
    has_effect: bool = False
    overlap: Overlap | None = None
    resume_guard: ResumeGuard = field(default_factory=ResumeGuard)
    playback_held: bool = False
    heard_hold: bool = False
    past_onset: bool = False

    # ---- progress ----

    def update_progress(self, event: PlaybackProgress) -> None:
        """Takes a progress report of the speaker."""
        self.progress_at = max(self.progress_at, event.position)
        self.words_heard = max(self.words_heard, event.words_heard)
        self.has_effect = self.has_effect or event.has_effect
        if event.audible and self.audible_at is None:
            self.audible_at = event.position

    @property
    def audible(self) -> bool:
        """Whether some of its sound was played."""
        return self.audible_at is not None

    def is_stuck(self, position: Samples, settings: TurnSettings) -> bool:
        """Returns whether there was no progress for `stuck_after_s`."""
        return position - self.progress_at >= samples_of_s(settings.stuck_after_s)

    # ---- the first second ----

    @property
    def can_hold_playback(self) -> bool:
        """Whether it is held if the user may be resuming: it answers speech, and its first second is not over."""
        return bool(self.answered_texts) and not self.past_onset

    def update_hold(self, position: Samples, vad: VadResult, settings: TurnSettings) -> Effects:
        """Takes a frame without confirmed speech. Holds or releases the sound."""
        self._update_onset(position, settings)
        may_hold = self.can_hold_playback and settings.voice_interrupts
        if may_hold:
            self.resume_guard.add_frame(position, vad, settings)
        if may_hold and self.resume_guard.holds and not self._held_enough(settings):
            return self.hold()
        if self.playback_held and self.audible:
            self.heard_hold = True
        return self.release()

    def _update_onset(self, position: Samples, settings: TurnSettings) -> None:
        early = samples_of_ms(settings.overlap.early_ms)
        self.past_onset = self.audible_at is not None and (self.was_retracted or position - self.audible_at >= early)

    def _held_enough(self, settings: TurnSettings) -> bool:
        """Returns whether a possible onset holds the audible reply no more.

        Its own echo may be such an onset. It would hold the reply again and again.
        """
        return self.audible and (self.heard_hold or settings.hears_echo or settings.overlap.max_early_hold_ms <= 0)

    def hold(self) -> Effects:
        """Holds the sound, if it is not held."""
        held, self.playback_held = self.playback_held, True
        return () if held else (HoldPlayback(self.reply_id),)

    def release(self) -> Effects:
        """Releases the sound, if it was held."""
        held, self.playback_held = self.playback_held, False
        return (ReleasePlayback(self.reply_id),) if held else ()

    def update_overlap_hold(
        self, overlap: Overlap, position: Samples, vad: VadResult, settings: TurnSettings
    ) -> Effects:
        """Holds the audible reply while early speech is not decided, and releases it when the speech pauses."""
        if not overlap.early or not self.audible or settings.hears_echo:
            return self.release()
        longest = samples_of_ms(settings.overlap.max_early_hold_ms)
        if vad.speaking and position - overlap.onset < longest:
            return self.hold()
        return self.release()

    # ---- the overlap ----

    @property
    def side_talk(self) -> UserTurn | None:
        """The turn of the overlap, if its transcript was requested."""
        return None if self.overlap is None else self.overlap.side_talk

    def start_overlap(
        self,
        position: Samples,
        vad: VadResult,
        segment: SegmentId,
        settings: TurnSettings,
        *,
        segment_end: Samples | None = None,
        presumed_other: bool = False,
    ) -> Effects:
        """Starts an overlap. Ducks the reply if it is audible and may be interrupted.

        `presumed_other`: see `Overlap`.
        """
        early = settings.voice_interrupts and self.is_early(vad.boundary, settings)
        self.overlap = overlap = Overlap(
            segment,
            vad.boundary,
            position,
            stops_ring=self.origin == "ring",
            early=early,
            peak_probability=speech_probability(vad),
            presumed_other=presumed_other,
        )
        overlap.count_speech(vad, settings)
        opened = OpenSegment(segment, vad.boundary, segment_end)
        if not settings.voice_interrupts or not self.audible or presumed_other:
            return (opened,)
        held = self.update_overlap_hold(overlap, position, vad, settings)
        return (*held, *self.duck(position, settings), opened)

    def is_early(self, onset: Samples, settings: TurnSettings) -> bool:
        """Returns whether speech with this onset continues the previous turn; see `OverlapThresholds.early_ms`."""
        if not self.answered_texts or self.was_retracted or self.audible_at is None:
            return False
        return onset - self.audible_at < samples_of_ms(settings.overlap.early_ms)

    def duck(self, position: Samples, settings: TurnSettings) -> Effects:
        """Ducks the reply when speech begins. Restores the volume if still undecided after `max_ducking_ms`."""
        overlap = self.overlap
        if overlap is None:
            return ()
        if overlap.ducking is Ducking.NOT_YET:
            overlap.ducking, overlap.ducked_at = Ducking.DUCKED, position
            return (DuckReply(self.reply_id),)
        if position - overlap.ducked_at < samples_of_ms(settings.overlap.max_ducking_ms):
            return ()
        unducked = self.unduck()
        overlap.ducking = Ducking.GIVEN_UP
        return unducked

    def unduck(self) -> Effects:
        """Returns the effect that restores the volume, if the reply is ducked."""
        ducked = self.overlap is not None and self.overlap.ducking is Ducking.DUCKED
        return (UnduckReply(self.reply_id),) if ducked else ()

    def stop_ducking(self) -> Effects:
        """Restores the volume, because the speech pauses or may not interrupt. Later speech may duck again."""
        unducked = self.unduck()
        if self.overlap is not None:
            self.overlap.ducking = Ducking.NOT_YET
        return unducked

    def end_overlap(self) -> Effects:
        """Ends the overlap without an interruption. Restores the volume and releases the sound."""
        restored, self.overlap = (*self.release(), *self.unduck()), None
        return restored


State = Idle | ConfirmingSpeech | UserSpeaking | AwaitingTranscript | Replying
