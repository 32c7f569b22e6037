"""Holds the state of user speech that overlaps a reply. No I/O, no clock."""

from dataclasses import dataclass
from enum import Enum, auto

from assistant.turns.effects import Effects, RequestTranscript
from assistant.turns.events import InterimTranscript
from assistant.turns.settings import TurnSettings
from assistant.turns.state.speech_candidate import SpeechCandidate
from assistant.turns.state.user_turn import UserTurn, speech_probability
from assistant.turns.words.addressee import is_side_talk
from assistant.turns.words.backchannel import is_backchannel, is_wordless, may_become_backchannel
from audio.stt import SegmentId
from audio.units import FRAME_MS, Samples, ms_of_samples, samples_of_ms
from audio.vad import VadResult


class OverlapStatus(Enum):
    """The status of an overlap.

    - UNDECIDED: it may be anything.
    - SPEECH: it was long enough to be speech. Whether it interrupts is open.
    - DEFERRED: it does not interrupt the reply and becomes a turn after it. Either it was a turn already when this
      reply was requested, or speech may not interrupt. A new onset may still interrupt, if the mode allows it.
    """

    UNDECIDED = auto()
    SPEECH = auto()
    DEFERRED = auto()


class Ducking(Enum):
    """The ducking of a reply during an overlap.

    - NOT_YET: speech has not begun, or it has paused.
    - DUCKED: the reply is ducked now.
    - GIVEN_UP: it was ducked for so long that its volume was restored.
    """

    NOT_YET = auto()
    DUCKED = auto()
    GIVEN_UP = auto()


@dataclass(slots=True)
class Pause:
    """The silence after the speech of an overlap that has not interrupted.

    Attributes:
        transcript_requested_at: When the transcript was requested; None before.
    """

    transcript_requested_at: Samples | None = None


@dataclass(slots=True)
class Overlap:
    """User speech during a reply.

    Attributes:
        segment: The segment that is transcribed for it.
        onset: Where it began.
        speech_end: Its end, if no more speech follows.
        status: What is known about it.
        backchannel: Its transcript so far is a backchannel, or addressed to somebody else.
        may_become_backchannel: Its transcript so far may be the beginning of a backchannel.
        stops_ring: The reply rings, so that "okay" stops it as any other word does.
        early: It began so soon after the reply that it continues the previous turn; see `OverlapThresholds.early_ms`.
        speech_ms: The amount of speech that counts towards an interruption; see `count_speech`.
        peak_probability: The highest speech probability of its frames.
        ducking: Whether the reply is ducked for it.
        ducked_at: When ducking began.
        pause: The current pause; None while speech continues.
        turn: The number of its turn, if the start of that turn was reported.
        side_talk: The turn whose transcript shows whether the speech is addressed to the assistant, or is committed.
        low_confidence: The recognizer reported low confidence in its transcript so far.
        words_requested_at: When its words so far were requested; None if no request is pending.
        words_due_at: When they are requested next.
        presumed_other: It is presumed to be another voice's, which spoke just before. It is not judged yet.
        judged_other: It is another voice's. Its words are waited for, since they may contain the wake phrase.
    """

    segment: SegmentId
    onset: Samples
    speech_end: Samples
    status: OverlapStatus = OverlapStatus.UNDECIDED
    backchannel: bool = False
    may_become_backchannel: bool = False
    stops_ring: bool = False
    early: bool = False
    speech_ms: float = 0.0
    peak_probability: float = 0.0
    ducking: Ducking = Ducking.NOT_YET
    ducked_at: Samples = Samples(0)
    pause: Pause | None = None
    turn: int | None = None
    side_talk: UserTurn | None = None
    low_confidence: bool = False
    words_requested_at: Samples | None = None
    words_due_at: Samples = Samples(0)
    presumed_other: bool = False
    judged_other: bool = False

    @property
    def is_deferred(self) -> bool:
        """Whether it becomes a turn after the reply."""
        return self.status is OverlapStatus.DEFERRED

    @property
    def has_ended(self) -> bool:
        """Whether it is a turn that has ended for good: later speech is the next one."""
        return self.side_talk is not None and self.side_talk.end_reported

    @property
    def transcript_requested_at(self) -> Samples | None:
        """Time at which the transcript of the current pause was requested; None if it was not."""
        return None if self.pause is None else self.pause.transcript_requested_at

    # ---- frames and transcripts ----

    def add_frame(self, position: Samples, vad: VadResult) -> None:
        """Takes the VAD result of the next frame: speech continues or pauses."""
        self.peak_probability = max(self.peak_probability, speech_probability(vad))
        if not vad.speaking:
            self.speech_end, self.pause = max(vad.boundary, self.onset), self.pause or Pause()
            return
        self.speech_end = position if vad.possible_end is None else max(vad.possible_end, self.onset)
        if self.pause is not None:  # a new onset in the same segment
            self.pause, self.speech_ms = None, 0.0

    def count_speech(self, vad: VadResult, settings: TurnSettings) -> None:
        """Adds a frame that is certainly speech to the amount of speech.

        In early speech, and in speech clearly above the noise, likely speech is enough.
        """
        likely_is_enough = self.early or vad.above_noise
        least = settings.overlap.likely_speech if likely_is_enough else settings.start.certain_speech
        if vad.speaking and speech_probability(vad) >= least:
            self.speech_ms += FRAME_MS

    def add_transcript(self, event: InterimTranscript, settings: TurnSettings) -> None:
        """Takes the words so far, or the examined first word."""
        if event.was_requested and self.words_requested_at is not None:
            interval = samples_of_ms(self._words_interval_ms(event, settings))
            self.words_requested_at, self.words_due_at = None, Samples(event.position + interval)
        if event.ignorable is not None:
            return
        text, meant = event.transcript.text, event.has_wake_phrase or event.after_question
        meant = meant or (self.stops_ring and not is_wordless(text) and not is_side_talk(text))
        self.backchannel = bool(text) and not meant and (is_backchannel(text) or is_side_talk(text))
        self.may_become_backchannel = not meant and may_become_backchannel(text)
        self.low_confidence = event.transcript.low_confidence

    def _words_interval_ms(self, event: InterimTranscript, settings: TurnSettings) -> float:
        if event.ignorable is not None:
            return settings.overlap.first_word_interval_ms
        return max(settings.overlap.words_interval_ms, ms_of_samples(event.position - self.onset) / 4)

    def words_decide(self, settings: TurnSettings) -> bool:
        """Returns whether speech interrupts with words only, and not without. Early speech interrupts without."""
        return settings.overlap.words_after_ms > 0 and not self.early

    def awaits_words(self, position: Samples, settings: TurnSettings) -> bool:
        """Returns whether words may still decide while the speech continues."""
        if not self.words_decide(settings):
            return False
        if self.words_are_late(position, settings):
            return False
        if not self.low_confidence and (self.backchannel or self.may_become_backchannel):
            return True
        return self.speech_ms < settings.overlap.max_wordless_ms

    def words_are_late(self, position: Samples, settings: TurnSettings) -> bool:
        """Returns whether the recognizer takes too long for the words so far."""
        requested_at = self.words_requested_at
        return requested_at is not None and ms_of_samples(position - requested_at) >= settings.overlap.max_words_wait_ms

    def request_words_so_far(self, position: Samples, settings: TurnSettings) -> Effects:
        """Requests the words of speech that continues, if they decide and are due."""
        if not self.words_decide(settings) or self.words_requested_at is not None or position < self.words_due_at:
            return ()
        if position - self.onset < samples_of_ms(settings.overlap.words_after_ms) or not self.has_enough_speech(
            settings
        ):
            return ()
        self.words_requested_at = position
        begins = ms_of_samples(position - self.onset) < settings.overlap.first_word_until_ms
        return (RequestTranscript(self.segment, position, so_far=True, first_word=begins),)

    def request_transcript(self, position: Samples, settings: TurnSettings) -> Effects:
        """Requests the transcript of a pause, once; () if it is too early or was requested already."""
        pause = self.pause
        too_early = position - self.speech_end < samples_of_ms(settings.start.request_after_ms)
        if pause is None or too_early or pause.transcript_requested_at is not None:
            return ()
        pause.transcript_requested_at, self.words_requested_at = position, None
        return (RequestTranscript(self.segment, self.speech_end),)

    # ---- what is known ----

    def has_enough_speech(self, settings: TurnSettings) -> bool:
        """Returns whether there is enough speech for an interruption."""
        enough_ms = settings.interrupt_after_ms
        if self.backchannel and not self.early:
            enough_ms *= settings.overlap.backchannel_factor
        if self.early and self.peak_probability < settings.start.certain_speech:
            enough_ms = max(enough_ms, settings.overlap.min_early_speech_ms)
        return self.speech_ms >= enough_ms

    def update_status(self, settings: TurnSettings) -> None:
        """Marks the overlap as speech, if there is enough of it."""
        if self.status is OverlapStatus.UNDECIDED and self.has_enough_speech(settings):
            self.status = OverlapStatus.SPEECH

    def awaits_transcript(self, position: Samples, settings: TurnSettings) -> bool:
        """Returns whether the transcript may still arrive in time. Long intermittent noise is not waited for."""
        long = self.speech_end - self.onset > samples_of_ms(settings.start.max_span_ms)
        if long and self.status is not OverlapStatus.SPEECH:
            return False
        requested_at = self.transcript_requested_at
        return requested_at is None or position - requested_at < samples_of_ms(settings.start.max_transcript_wait_ms)

    def to_candidate(self) -> SpeechCandidate:
        """Returns the speech as a candidate for a turn, after the reply has ended too."""
        requested = self.transcript_requested_at is not None
        return SpeechCandidate(self.onset, self.speech_end, FRAME_MS, self.peak_probability, requested, self.segment)
