"""Defines the events and effects of the turn-taking machine in `assistant.turns.turn_taking`.

Every `at` is a position on the sample clock.
"""

from dataclasses import dataclass
from typing import Literal

from assistant.end_of_turn.estimator import EndOfTurnEstimate
from audio.stt import SegmentId, Transcript
from audio.units import Samples
from audio.vad import VadResult


@dataclass(frozen=True, slots=True, order=True)
class ReplyId:
    """Identifies one attempt at a reply. All audio for the speaker carries the id of its attempt."""

    turn: int
    attempt: int


AbandonReason = Literal["no words", "noise", "stuck", "requested", "cleared", "overheard", "called", "backchannel"]
"""Reason for which a turn ends without a reply.

- no words: the transcript is empty.
- noise: the transcript has low confidence, and the VAD was not certain of a voice.
- stuck: a transcript or a reply did not arrive in time.
- requested: another reply was requested.
- cleared: the client discarded the input.
- overheard: the speech was not addressed to the assistant.
- called: the turn is the wake phrase alone.
- backchannel: the speech that interrupted a reply was only a backchannel.
"""

Origin = Literal["spoken", "greeting", "announcement", "requested", "repeated", "resumed"]
"""Cause of a reply.

- spoken: speech of the user.
- greeting: the start of the conversation.
- announcement: a timer or another event without user input.
- requested: a request of the client, for example typed text.
- repeated: the last reply is said again.
- resumed: the rest of an interrupted reply is said.
"""

DropReason = AbandonReason | Literal["went on", "same words", "other words"]
"""Reason for dropping an attempt: its turn ended, the user continued, or later words were the same or others."""

Acceptable = Literal["draft", "early", "settled"]
"""Stability that a requested transcript must have.

- draft: it may lack the last word. A reply is only prepared from it.
- early: it has all words so far. They may still change.
- settled: it does not change any more, however short the silence is, because the turn is over for good.
"""

# ---- events ----


@dataclass(frozen=True, slots=True)
class FrameProcessed:
    """Reports the VAD result of one microphone frame, which ends at `at`.

    Frames arrive every 20 ms and also serve as the machine's clock.
    """

    at: Samples
    vad: VadResult


@dataclass(frozen=True, slots=True)
class InterimTranscript:
    """Reports the interim transcript of the open segment.

    Attributes:
        has_wake_phrase: The transcript contains the wake phrase. It interrupts a reply in every mode.
        was_requested: The transcript answers a `RequestTranscript`. If the speech has ended, no better one follows.
        is_echo: The words were the reply's own, picked up from the loudspeaker. The transcript is then empty.
        after_question: The last sentence of the reply that was heard is a question, so "yeah" is an answer.
        ignorable: The transcript is empty, and only the first word was examined: the probability that it begins a
            backchannel or an echo, or is no word; see `ignorable_probability`. None: there is a transcript.
    """

    at: Samples
    transcript: Transcript
    has_wake_phrase: bool = False
    was_requested: bool = False
    is_echo: bool = False
    after_question: bool = False
    ignorable: float | None = None


@dataclass(frozen=True, slots=True)
class DraftTranscript:
    """Reports the words of a decode that was made while the user speaks.

    Attributes:
        transcript: A draft. It may lack the last words up to `transcript.until`, and all that is said after it.
        sentence_end: Probability, 0..1, that a sentence ends after its last word.
    """

    at: Samples
    transcript: Transcript
    sentence_end: float


@dataclass(frozen=True, slots=True)
class EndOfTurnScored:
    """Reports an estimate, made during a silence, of whether the turn is over."""

    at: Samples
    segment: SegmentId
    estimate: EndOfTurnEstimate


@dataclass(frozen=True, slots=True)
class TranscriptExpected:
    """Reports that a transcript for the current attempt follows: its first one, or a later one that may be better.

    Attributes:
        reply: The id of the transcript. The first one has the id of the attempt. If a later one has other words, they
            begin an attempt with this id.
        settled: It will not change any more. A turn is only committed with such a transcript.
    """

    at: Samples
    reply: ReplyId
    settled: bool


@dataclass(frozen=True, slots=True)
class FinalTranscript:
    """Reports a final transcript for an attempt.

    Attributes:
        ignored_because: Why the transcript is not answered; "" if it is answered. A transcript that is ignored has no
            text. One with text, a backchannel or words to somebody else, is only ignored if it interrupted a reply.
    """

    at: Samples
    reply: ReplyId
    transcript: Transcript
    ignored_because: Literal["", "overheard", "called", "backchannel"] = ""


@dataclass(frozen=True, slots=True)
class TranscriptFailed:
    """Reports that speech recognition failed or timed out. The reply then tells the user so."""

    at: Samples
    reply: ReplyId
    segment: SegmentId


@dataclass(frozen=True, slots=True)
class PlaybackProgress:
    """Reports how much of the reply the user has heard.

    Attributes:
        words_heard: The number of complete words that were played.
        audible: Some sound of the reply was played.
    """

    at: Samples
    reply: ReplyId
    words_heard: int
    audible: bool


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """Reports that the reply has ended: it was played completely, or it failed and said so."""

    at: Samples
    reply: ReplyId


@dataclass(frozen=True, slots=True)
class ReplyRequested:
    """Requests a reply that no user speech caused.

    What happens depends on the origin:

    - greeting: said if nobody speaks now; otherwise never.
    - announcement: said as soon as nobody speaks.
    - requested: answers the history as it is, including typed text. It replaces the current reply.
    - repeated: says the last reply again. It replaces the current reply, unless a new one is about to begin.
    - resumed: says the rest of an interrupted reply, in response to `ResumeReply`.

    Attributes:
        text: The text to say; "" for "requested".
        after_current_reply: The current reply is complete as generated so far. It is played to its end before this one.
    """

    at: Samples
    origin: Literal["greeting", "announcement", "requested", "repeated", "resumed"]
    text: str = ""
    after_current_reply: bool = False


@dataclass(frozen=True, slots=True)
class InputCommitted:
    """The client ends the turn.

    Attributes:
        after_current_reply: The current reply is not interrupted; see `ReplyRequested`.
    """

    at: Samples
    after_current_reply: bool = False


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """The push-to-talk key is pressed. It ends a reply; a turn that was released just before continues."""

    at: Samples


@dataclass(frozen=True, slots=True)
class InputCleared:
    """The client discards the current input."""

    at: Samples


@dataclass(frozen=True, slots=True)
class ReplyCancelled:
    """The client cancels the current reply.

    Attributes:
        including_request: Also cancels a reply that was requested while the transcript was still pending.
    """

    at: Samples
    including_request: bool = False


ReportedEvent = (
    FrameProcessed | InterimTranscript | DraftTranscript | EndOfTurnScored | FinalTranscript | TranscriptFailed
    | PlaybackProgress | ReplyEnded | ReplyRequested | InputCommitted | KeyPressed | InputCleared | ReplyCancelled
)  # fmt: skip
"""The events that a session reports. A trace holds these; the others follow from them."""

Event = ReportedEvent | TranscriptExpected

# ---- effects ----


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """Starts transcription at position `segment`, which lies before the onset by the pre-roll.

    Attributes:
        end: Its end, if it has ended already: later audio belongs to the next turns. None: it continues.
    """

    segment: SegmentId
    onset: Samples
    end: Samples | None = None


@dataclass(frozen=True, slots=True)
class EndSegment:
    """Ends the audio of the open segment: later audio belongs to the next turns. Its transcript is still pending."""

    segment: SegmentId
    end: Samples


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """Reports that a user turn has started. The open segment belongs to it."""

    turn: int
    onset: Samples


@dataclass(frozen=True, slots=True)
class Transcribe:
    """Requests transcripts of the segment for this attempt, until one has settled or the attempt is dropped.

    The recognizer's adapter, `assistant/pipeline/transcript_requests.py`, announces each one by `TranscriptExpected`.

    Attributes:
        has_draft: The attempt began with a draft before the silence, so the first transcript is a later one.
    """

    reply: ReplyId
    segment: SegmentId
    speech_end: Samples
    accepts: Acceptable = "early"
    has_draft: bool = False


@dataclass(frozen=True, slots=True)
class RequestTranscript:
    """Requests the words of unconfirmed speech or of an overlap. An `InterimTranscript` delivers them.

    Attributes:
        segment: The segment.
        speech_end: The end of the speech, or the newest audio.
        so_far: The speech continues, so a transcript of low confidence is not requested again in a better quality.
        first_word: It has just begun, so its first word is examined instead, if the recognizer can.
    """

    segment: SegmentId
    speech_end: Samples
    so_far: bool = False
    first_word: bool = False


@dataclass(frozen=True, slots=True)
class PrepareReply:
    """Starts the reply to `text`. It stays silent until `CommitTurn`.

    Attributes:
        text: All words of the turn.
        new_text: The words that are not in the history yet; "" answers the history as it is.
        transcript_lost: There is no transcript; the reply says so.
        text_is_reply: `text` is the reply itself; otherwise it is what the reply answers.
        foreseen: The user still speaks. The words are expected to be all.
    """

    reply: ReplyId
    text: str
    new_text: str = ""
    transcript_lost: bool = False
    text_is_reply: bool = False
    foreseen: bool = False


@dataclass(frozen=True, slots=True)
class PlayListeningSound:
    """Plays a listening sound in a pause of the user's turn, which goes on. The reply replaces it."""

    turn: int


@dataclass(frozen=True, slots=True)
class StopListeningSound:
    """Stops the listening sound at once, if it still plays: the user goes on."""

    turn: int


@dataclass(frozen=True, slots=True)
class EndOfTurn:
    """Reports the decision that the turn is over. The reply may still wait for the transcript."""

    turn: int


@dataclass(frozen=True, slots=True)
class CommitTurn:
    """Commits an answered turn: writes its words to the history and lets the prepared reply play.

    A turn that gets no reply is committed by `CommitWithoutReply` instead.

    Attributes:
        text: All words of the turn.
        new_text: The words that are not in the history yet.
        speech_end: The end of the user's speech; None if nobody spoke.
        low_confidence: The recognizer reports low confidence in the words.
        submitted: The client ended the turn. It is in the history even without words.
    """

    reply: ReplyId
    text: str
    new_text: str
    speech_end: Samples | None
    low_confidence: bool = False
    origin: Origin = "spoken"
    submitted: bool = False


@dataclass(frozen=True, slots=True)
class CommitWithoutReply:
    """Commits an unanswered turn: writes its words to the history and starts no reply.

    This happens where the client requests replies itself (`TurnSettings.answers` is off), and for speech that may not
    interrupt the current reply. A turn that gets a reply is committed by `CommitTurn` instead.
    """

    turn: int
    text: str
    new_text: str
    speech_end: Samples
    low_confidence: bool = False


@dataclass(frozen=True, slots=True)
class CloseSegment:
    """Closes a segment.

    Attributes:
        turn: The turn in which it was recorded.
        used: Its transcript was used; False: it contained no speech for the assistant.
    """

    segment: SegmentId
    turn: int
    used: bool = True


@dataclass(frozen=True, slots=True)
class DropAttempt:
    """Cancels an attempt that was not committed."""

    reply: ReplyId
    reason: DropReason


@dataclass(frozen=True, slots=True)
class RetractReply:
    """Cancels a committed reply of which no complete word was heard. Its turn continues."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class InterruptReply:
    """Cancels a reply that was being heard. The history keeps it up to the last complete word.

    Attributes:
        continues_turn: The user spoke right after the reply began: they had only paused and continue their turn.
    """

    reply: ReplyId
    reason: Literal["voice", "requested", "stuck", "client"] = "voice"
    continues_turn: bool = False


OverlapEvidence = Literal[
    "words", "first word", "speech", "long speech", "no words in time", "backchannel", "words to others",
    "unsure words", "no words", "echo", "silence",
]  # fmt: skip
"""Evidence that decides an overlap. "speech": there was enough. "silence": it ended before words were requested."""


@dataclass(frozen=True, slots=True)
class OverlapDecided:
    """Reports what decided an overlap. Only where words decide; see `OverlapThresholds.words_after_ms`.

    Attributes:
        interrupts: The reply ends. The effects after this one say how.
        evidence: What decided it.
    """

    reply: ReplyId
    interrupts: bool
    evidence: OverlapEvidence

    @property
    def description(self) -> str:
        """The decision and its evidence, as in traces."""
        return f"{'interrupts' if self.interrupts else 'ignored'}: {self.evidence}"


@dataclass(frozen=True, slots=True)
class HoldPlayback:
    """Delays the first sound of a reply, because the user may be resuming."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class ReleasePlayback:
    """Lets a delayed reply play: the user did not resume, or the delay has reached its limit."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class DuckReply:
    """Lowers the volume of the reply at once, because the user may be interrupting."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class UnduckReply:
    """Restores the volume of the reply, because the overlap was not an interruption."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class TurnDiscarded:
    """Ends a turn without a reply.

    Attributes:
        submitted: The client ended the turn. It is in the history even without words.
    """

    turn: int
    at: Samples
    speech_end: Samples
    reason: AbandonReason
    submitted: bool = False


@dataclass(frozen=True, slots=True)
class ResumeReply:
    """False interruption: requests that the rest of this reply is said."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class IdleTimedOut:
    """Reports that nobody has spoken for the idle timeout after a heard reply.

    Attributes:
        heard_at: Where that reply ended.
        answered: A reply follows, which asks whether they are still there.
    """

    heard_at: Samples
    at: Samples
    answered: bool


DirectEffect = (
    OpenSegment | EndSegment | CloseSegment | TurnStarted | RequestTranscript | PrepareReply | PlayListeningSound
    | StopListeningSound | EndOfTurn | CommitTurn | CommitWithoutReply | DropAttempt | RetractReply | InterruptReply
    | HoldPlayback | ReleasePlayback | DuckReply | UnduckReply | TurnDiscarded | ResumeReply | OverlapDecided
    | IdleTimedOut
)  # fmt: skip
"""The effects that a session performs as they are."""

Effect = Transcribe | DirectEffect
Effects = tuple[Effect, ...]
