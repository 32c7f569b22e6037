"""What turn taking is told, and what it wants done: the vocabulary of `assistant.turns`."""

from dataclasses import dataclass
from typing import Literal

from assistant.turn_end.estimate import Estimate
from audio.stt import SegmentId, Words
from audio.units import Samples
from audio.vad import Voicing


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
class Heard:
    """One frame of the microphone went by; `at` is its end. Also the clock: it comes every 20 ms."""

    at: Samples
    voicing: Voicing


@dataclass(frozen=True, slots=True)
class Partial:
    """Words so far of the open segment.

    Attributes:
        called: The wake phrase is among them: they take the floor, whatever may interrupt otherwise.
        asked: `WordsWanted` asked for them, and no better ones will come.
        echo: They were the reply's own, come back through a loudspeaker, and are none.
    """

    at: Samples
    words: Words
    called: bool = False
    asked: bool = False
    echo: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """How likely the turn is over, as far as is known at this moment of a silence."""

    at: Samples
    segment: SegmentId
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Transcribed:
    """The words an attempt asked for.

    Attributes:
        void: Why they are none to be answered; "" if they are. Without a text in any case, but for a backchannel: it is
            only void where it cut a reply.
    """

    at: Samples
    reply: ReplyId
    words: Words
    void: Literal["", "overheard", "called", "backchannel"] = ""


@dataclass(frozen=True, slots=True)
class NotTranscribed:
    """Speech to text failed or took too long; the person will be told."""

    at: Samples
    reply: ReplyId
    segment: SegmentId


@dataclass(frozen=True, slots=True)
class Playing:
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
class Asked:
    """A reply without anybody having spoken.

    A greeting is said only while nobody speaks, else never; an announcement (a timer rings) as soon as nobody does; a
    request for an answer to the history as it stands (typed text is in it) takes the floor, and so does the last reply
    that is to be said again, unless another one is about to begin. The rest of a reply that was cut by nothing is said
    where `GoOn` asked for it.

    Attributes:
        text: What to say; "" for a request.
        behind: Nothing more of the reply under way is to be made or sent: it is played to its end, before this one.
    """

    at: Samples
    origin: Literal["greeting", "announcement", "requested", "repeated", "resumed"]
    text: str = ""
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Submitted:
    """The client says that the turn is over.

    Attributes:
        behind: As of `Asked`: the reply that plays is not cut by it.
    """

    at: Samples
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Pressed:
    """The key is pressed that is held while one speaks: a reply ends here; a turn that was let go just now goes on."""

    at: Samples


@dataclass(frozen=True, slots=True)
class Cleared:
    """The client says that what is being heard was nothing."""

    at: Samples


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The client wants no more of the reply.

    Attributes:
        request_too: Nor one that it asked for while the turn's words were still to come.
    """

    at: Samples
    request_too: bool = False


Event = (
    Heard | Partial | Judged | Transcribed | NotTranscribed | Playing | ReplyEnded | Asked | Submitted | Pressed
    | Cleared | Cancelled
)  # fmt: skip

# ---- effects ----


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """Begin to transcribe, from this position on (it lies in the past: the pre-roll)."""

    segment: SegmentId
    onset: Samples


@dataclass(frozen=True, slots=True)
class Started:
    """Somebody has the floor who had it not before: the open segment is theirs, and belongs to this turn."""

    turn: int
    onset: Samples


@dataclass(frozen=True, slots=True)
class Transcribe:
    """Ask for the words so far of the segment, for this attempt.

    Attributes:
        early: They are asked for again when they have settled.
        draft: A draft will do, see `Words`.
    """

    reply: ReplyId
    segment: SegmentId
    speech_end: Samples
    early: bool = False
    draft: bool = False


@dataclass(frozen=True, slots=True)
class WordsWanted:
    """A voice into a reply, or a silence, ended before it was sure to be one: its words, a `Partial`, are to tell."""

    segment: SegmentId
    speech_end: Samples


@dataclass(frozen=True, slots=True)
class Prepare:
    """Start the reply to `text`, held at its gate.

    Attributes:
        text: All words of the turn.
        added: Those of them that are not in the history yet; "" asks for an answer to the history as it stands.
        unheard: The words are lost: say so instead.
        recited: `text` is itself what is to be said.
    """

    reply: ReplyId
    text: str
    added: str = ""
    unheard: bool = False
    recited: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The decision that the turn is over; the answer may still have to wait for its words."""

    turn: int


@dataclass(frozen=True, slots=True)
class Commit:
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
    added: str
    speech_end: Samples | None
    rough: bool = False
    origin: Origin = "spoken"
    submitted: bool = False


@dataclass(frozen=True, slots=True)
class TakeDown:
    """Remember what was said; whether it is answered is for the client to say."""

    turn: int
    text: str
    added: str
    speech_end: Samples
    rough: bool = False


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
class Drop:
    """Abandon an attempt that was never committed."""

    reply: ReplyId
    why: DropReason


@dataclass(frozen=True, slots=True)
class Retract:
    """Cancel a committed reply of which no whole word was heard; its turn goes on."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Cancel a reply that was being heard; remember it up to the last whole word.

    Attributes:
        went_on: It came while its listener was only pausing: they spoke up right behind its beginning.
    """

    reply: ReplyId
    why: Literal["voice", "requested", "stuck", "client"] = "voice"
    went_on: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """Nobody has heard anything of it, and somebody may be going on: its first sound waits."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class Release:
    """It was nothing, or takes too long to be known: the reply may sound."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class Duck:
    """Somebody may be interrupting: lower the reply at once."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class Unduck:
    """It was nothing: let the reply swell up again from where it is."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class NothingSaid:
    """The turn ends without an answer: there was voice but no words, nothing came for too long, or it is not wanted.

    Attributes:
        submitted: The client ended the turn: it is in the history even without words.
    """

    turn: int
    at: Samples
    speech_end: Samples
    why: AbandonReason
    submitted: bool = False


@dataclass(frozen=True, slots=True)
class GoOn:
    """The voice that cut this reply said nothing, nor did anybody since: the rest of the reply is to be said."""

    reply: ReplyId


Effect = (
    OpenSegment | Started | Transcribe | WordsWanted | Prepare | Endpoint | Commit | TakeDown | CloseSegment
    | DiscardSegment | Drop | Retract | Interrupt | Hold | Release | Duck | Unduck | NothingSaid | GoOn
)  # fmt: skip
Effects = tuple[Effect, ...]
