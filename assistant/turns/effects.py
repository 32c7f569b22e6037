"""Defines the effects of the turn-taking machine in `assistant.turns.turn_taking`; its events: `events.py`.

Every `position` is one on the sample clock.
"""

from dataclasses import dataclass
from typing import Literal

from assistant.turns.events import AbandonReason, Acceptable, DropReason, Origin, ReplyId
from audio.stt import SegmentId
from audio.units import Samples


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
class TurnQueued:
    """Reports that a user turn has started while an earlier one waits for its transcript.

    `TurnStarted` follows when its segment opens, or `TurnDiscarded`.

    Only where sound alone decides; see `TurnSettings.sound_decides`.
    """

    turn: int
    onset: Samples


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """Reports that a user turn has ended for good. Its transcript follows, or its failure.

    Only where sound alone decides. Such a turn is in the history from here on, with or without words.
    """

    turn: int
    speech_end: Samples


@dataclass(frozen=True, slots=True)
class Transcribe:
    """Requests transcripts of the segment for this attempt, until one has settled or the attempt is dropped.

    The recognizer's adapter, `assistant/pipeline/transcript_requests.py`, announces each one by `TranscriptExpected`.

    Attributes:
        has_draft: The attempt began with a draft before the silence, so the first transcript is a later one.
    """

    reply_id: ReplyId
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
        text_is_reply: `text` is the reply itself, "" for a ring; otherwise it is what the reply answers.
        unrecognized: There was clear speech without a word that was recognized; the reply says so.
        foreseen: The user still speaks. The words are expected to be all.
    """

    reply_id: ReplyId
    text: str
    new_text: str = ""
    transcript_lost: bool = False
    text_is_reply: bool = False
    foreseen: bool = False
    unrecognized: bool = False

    @property
    def without_words(self) -> bool:
        """Whether no words were recognized; the reply says so."""
        return self.transcript_lost or self.unrecognized

    @property
    def rings(self) -> bool:
        """Whether the reply rings, and says what rings."""
        return self.text_is_reply and not self.text


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
        guessed: The recognizer took some of the words for noise, but the speech was clear.
        softly: The user may have only paused, so the first sound of the reply is soft.
        called: It has the wake phrase. Known only where voices are judged.
    """

    reply_id: ReplyId
    text: str
    new_text: str
    speech_end: Samples | None
    low_confidence: bool = False
    origin: Origin = "spoken"
    submitted: bool = False
    guessed: bool = False
    softly: bool = False
    called: bool = False


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

    reply_id: ReplyId
    reason: DropReason


@dataclass(frozen=True, slots=True)
class RetractReply:
    """Cancels a committed reply, because the user went on before a complete word of it was heard, or just after.

    Its turn continues.
    """

    reply_id: ReplyId


StopReason = Literal["voice", "requested", "stuck", "client"]
"""Reason for stopping a reply: the user spoke, another reply was requested, it made no progress, the client did it."""


@dataclass(frozen=True, slots=True)
class InterruptReply:
    """Cancels a reply that was being heard. The history keeps it up to the last complete word."""

    reply_id: ReplyId
    reason: StopReason = "voice"


OverlapEvidence = Literal[
    "words", "first word", "speech", "long speech", "no words in time", "backchannel", "words to others",
    "unsure words", "no words", "echo", "silence", "other voice",
]  # fmt: skip
"""Evidence that decides an overlap. "speech": there was enough. "silence": it ended before words were requested."""


@dataclass(frozen=True, slots=True)
class OverlapDecided:
    """Reports what decided an overlap. Only where words decide; see `OverlapThresholds.words_after_ms`.

    Attributes:
        interrupts: The reply ends. The effects after this one say how.
        evidence: What decided it.
    """

    reply_id: ReplyId
    interrupts: bool
    evidence: OverlapEvidence

    @property
    def description(self) -> str:
        """The decision and its evidence, as in traces."""
        return f"{'interrupts' if self.interrupts else 'ignored'}: {self.evidence}"


@dataclass(frozen=True, slots=True)
class HoldPlayback:
    """Delays the first sound of a reply, or stops its sound where it is, because the user may be resuming."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class ReleasePlayback:
    """Lets a held reply play, from the same sample: the user did not resume, or the hold has reached its limit."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class DuckReply:
    """Lowers the volume of the reply at once, because the user may be interrupting."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class UnduckReply:
    """Restores the volume of the reply, because the overlap was not an interruption."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class TurnDiscarded:
    """Ends a turn without a reply.

    Attributes:
        submitted: The client ended the turn. It is in the history even without words.
        clear_speech: It was clear speech, so the user is told that no word was recognized.
    """

    turn: int
    position: Samples
    speech_end: Samples
    reason: AbandonReason
    submitted: bool = False
    clear_speech: bool = False


@dataclass(frozen=True, slots=True)
class ResumeReply:
    """False interruption: requests that the rest of this reply is said."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class IdleTimedOut:
    """Reports that nobody has spoken for the idle timeout after a heard reply.

    Attributes:
        heard_at: Where that reply ended.
        answered: A reply follows, which asks whether they are still there.
    """

    heard_at: Samples
    position: Samples
    answered: bool


DirectEffect = (
    OpenSegment | EndSegment | CloseSegment | TurnStarted | TurnQueued | TurnEnded | RequestTranscript | PrepareReply
    | PlayListeningSound | StopListeningSound | EndOfTurn | CommitTurn | CommitWithoutReply | DropAttempt
    | RetractReply | InterruptReply | HoldPlayback | ReleasePlayback | DuckReply | UnduckReply | TurnDiscarded
    | ResumeReply | OverlapDecided | IdleTimedOut
)  # fmt: skip
"""The effects that a session performs as they are."""

Effect = Transcribe | DirectEffect
Effects = tuple[Effect, ...]
