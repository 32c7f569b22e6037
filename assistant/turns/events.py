"""What turn taking is told, and what it wants done: the vocabulary of `assistant.turns.machine`."""

from dataclasses import dataclass
from typing import Literal

from assistant.end_of_turn.estimator import EndOfTurnEstimate
from audio.stt import SegmentId, Transcript
from audio.units import Samples
from audio.vad import VadResult


@dataclass(frozen=True, slots=True, order=True)
class ReplyId:
    """An attempt at answering a turn. Everything bound for the speaker carries one."""

    turn: int
    attempt: int


AbandonReason = Literal["no words", "noise", "stuck", "requested", "cleared", "overheard", "called", "backchannel"]
"""Why a turn ends without an answer. noise: its words are a guess, and nothing in it was surely a voice; overheard: not
meant for the assistant; called: the wake phrase alone; backchannel: it only shows that somebody listens to
the reply that it cut."""

Origin = Literal["spoken", "greeting", "announcement", "requested", "repeated", "resumed"]
"""What a reply answers: speech, nothing (a greeting, a timer that rings, the last reply once more, or its rest), or
a request of a client's (typed text, say)."""

DropReason = AbandonReason | Literal["went on", "same words", "other words"]
"""Why an attempt is abandoned."""

# ---- events ----


@dataclass(frozen=True, slots=True)
class FrameProcessed:
    """One frame of the microphone went by; `at` is its end. Also the clock: it comes every 20 ms."""

    at: Samples
    vad: VadResult


@dataclass(frozen=True, slots=True)
class InterimTranscript:
    """Words so far of the open segment.

    Attributes:
        called: The wake phrase is among them: they take the floor, whatever may interrupt otherwise.
        asked: `RequestTranscript` asked for them, and no better ones will come.
        echo: They were the reply's own, come back through a loudspeaker, and are none.
    """

    at: Samples
    transcript: Transcript
    has_wake_phrase: bool = False
    was_requested: bool = False
    is_echo: bool = False


@dataclass(frozen=True, slots=True)
class EndOfTurnScored:
    """How likely the turn is over, as far as is known at this moment of a silence."""

    at: Samples
    segment: SegmentId
    estimate: EndOfTurnEstimate


@dataclass(frozen=True, slots=True)
class FinalTranscript:
    """The words an attempt asked for.

    Attributes:
        void: Why they are none to be answered; "" if they are. Without a text in any case, but for a backchannel: it is
            only void where it cut a reply.
    """

    at: Samples
    reply: ReplyId
    transcript: Transcript
    ignored_because: Literal["", "overheard", "called", "backchannel"] = ""


@dataclass(frozen=True, slots=True)
class TranscriptFailed:
    """Speech to text failed or took too long; the person will be told."""

    at: Samples
    reply: ReplyId
    segment: SegmentId


@dataclass(frozen=True, slots=True)
class PlaybackProgress:
    """The speaker reports: so many whole words of the reply were heard, and whether anything was."""

    at: Samples
    reply: ReplyId
    words_heard: int
    audible: bool


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The reply is over: played to its end, or failed and said so."""

    at: Samples
    reply: ReplyId


@dataclass(frozen=True, slots=True)
class ReplyRequested:
    """A reply without anybody having spoken.

    A greeting is said only while nobody speaks, else never; an announcement (a timer rings) as soon as nobody does; a
    request for an answer to the history as it stands (typed text is in it) takes the floor, and so does the last reply
    that is to be said again, unless another one is about to begin. The rest of a reply that was cut by nothing is said
    where `ResumeReply` asked for it.

    Attributes:
        text: What to say; "" for a request.
        behind: Nothing more of the reply under way is to be made or sent: it is played to its end, before this one.
    """

    at: Samples
    origin: Literal["greeting", "announcement", "requested", "repeated", "resumed"]
    text: str = ""
    behind: bool = False


@dataclass(frozen=True, slots=True)
class InputCommitted:
    """The client says that the turn is over.

    Attributes:
        behind: As of `Asked`: the reply that plays is not cut by it.
    """

    at: Samples
    behind: bool = False


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """The key is pressed that is held while one speaks: a reply ends here; a turn that was let go just now goes on."""

    at: Samples


@dataclass(frozen=True, slots=True)
class InputCleared:
    """The client says that what is being heard was nothing."""

    at: Samples


@dataclass(frozen=True, slots=True)
class ReplyCancelled:
    """The client wants no more of the reply.

    Attributes:
        request_too: Nor one that it asked for while the turn's words were still to come.
    """

    at: Samples
    including_request: bool = False


Event = (
    FrameProcessed | InterimTranscript | EndOfTurnScored | FinalTranscript | TranscriptFailed | PlaybackProgress
    | ReplyEnded | ReplyRequested | InputCommitted | KeyPressed | InputCleared | ReplyCancelled
)  # fmt: skip

# ---- effects ----


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """Begin to transcribe, from this position on (it lies in the past: the pre-roll)."""

    segment: SegmentId
    onset: Samples


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """Somebody has the floor who had it not before: the open segment is theirs, and belongs to this turn."""

    turn: int
    onset: Samples


@dataclass(frozen=True, slots=True)
class Transcribe:
    """Ask for the words so far of the segment, for this attempt.

    Attributes:
        early: They are asked for again when they have settled.
        draft: A draft will do, see `Transcript`.
    """

    reply: ReplyId
    segment: SegmentId
    speech_end: Samples
    early: bool = False
    draft: bool = False


@dataclass(frozen=True, slots=True)
class RequestTranscript:
    """Requests the words of speech that ended before it was certain; an `InterimTranscript` brings them."""

    segment: SegmentId
    speech_end: Samples


@dataclass(frozen=True, slots=True)
class PrepareReply:
    """Start the reply to `text`, held at its gate.

    Attributes:
        text: All words of the turn.
        added: Those of them that are not in the history yet; "" asks for an answer to the history as it stands.
        unheard: The words are lost: say so instead.
        recited: `text` is itself what is to be said.
    """

    reply: ReplyId
    text: str
    new_text: str = ""
    transcript_lost: bool = False
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class EndOfTurn:
    """The decision that the turn is over; the answer may still have to wait for its words."""

    turn: int


@dataclass(frozen=True, slots=True)
class CommitTurn:
    """Open the gate, remember what was said.

    Attributes:
        text: All words of the turn.
        added: Those that are not in the history yet.
        speech_end: None where nobody spoke.
        rough: The recognizer itself says that the words are a guess.
        submitted: The client ended the turn: it is in the history even if it has no words.
    """

    reply: ReplyId
    text: str
    new_text: str
    speech_end: Samples | None
    low_confidence: bool = False
    origin: Origin = "spoken"
    submitted: bool = False


@dataclass(frozen=True, slots=True)
class RecordTurn:
    """Remember what was said; whether it is answered is for the client to say."""

    turn: int
    text: str
    new_text: str
    speech_end: Samples
    low_confidence: bool = False


@dataclass(frozen=True, slots=True)
class CloseSegment:
    """The segment's words were used."""

    segment: SegmentId
    turn: int


@dataclass(frozen=True, slots=True)
class DiscardSegment:
    """The segment was nothing; it was heard during this turn."""

    segment: SegmentId
    turn: int


@dataclass(frozen=True, slots=True)
class DropAttempt:
    """Abandon an attempt that was never committed."""

    reply: ReplyId
    reason: DropReason


@dataclass(frozen=True, slots=True)
class RetractReply:
    """Cancel a committed reply of which no whole word was heard; its turn goes on."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class InterruptReply:
    """Cancel a reply that was being heard; remember it up to the last whole word.

    Attributes:
        went_on: It came while its listener was only pausing: they spoke up right behind its beginning.
    """

    reply: ReplyId
    reason: Literal["voice", "requested", "stuck", "client"] = "voice"
    continues_turn: bool = False


@dataclass(frozen=True, slots=True)
class HoldPlayback:
    """Nobody has heard anything of it, and somebody may be going on: its first sound waits."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class ReleasePlayback:
    """It was nothing, or takes too long to be known: the reply may sound."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class DuckReply:
    """Somebody may be interrupting: lower the reply at once."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class UnduckReply:
    """It was nothing: let the reply swell up again from where it is."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class TurnDiscarded:
    """The turn ends without an answer: there was voice but no words, nothing came for too long, or it is not wanted.

    Attributes:
        submitted: The client ended the turn: it is in the history even without words.
    """

    turn: int
    at: Samples
    speech_end: Samples
    reason: AbandonReason
    submitted: bool = False


@dataclass(frozen=True, slots=True)
class ResumeReply:
    """The voice that cut this reply said nothing, nor did anybody since: the rest of the reply is to be said."""

    reply: ReplyId


Effect = (
    OpenSegment | TurnStarted | Transcribe | RequestTranscript | PrepareReply | EndOfTurn | CommitTurn | RecordTurn
    | CloseSegment | DiscardSegment | DropAttempt | RetractReply | InterruptReply | HoldPlayback | ReleasePlayback
    | DuckReply | UnduckReply | TurnDiscarded | ResumeReply
)  # fmt: skip
Effects = tuple[Effect, ...]
