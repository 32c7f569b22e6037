"""What turn taking is told, and what it wants done: the vocabulary of `assistant.turns`."""

from dataclasses import dataclass
from typing import Literal

from audio.stt import SegmentId, Words
from audio.units import Samples
from audio.vad import Voicing


@dataclass(frozen=True, slots=True, order=True)
class ReplyId:
    """An attempt at answering a turn. Everything bound for the speaker carries one."""

    turn: int
    attempt: int


AbandonReason = Literal["no words", "stuck", "typed"]
"""Why a turn ends without an answer."""

DropReason = AbandonReason | Literal["went on"]
"""Why an attempt is abandoned."""

# ---- events ----


@dataclass(frozen=True, slots=True)
class Heard:
    """One frame of the microphone went by; `at` is its end. Also the clock: it comes every 20 ms."""

    at: Samples
    voicing: Voicing


@dataclass(frozen=True, slots=True)
class Partial:
    """Words so far of the open segment."""

    at: Samples
    words: Words


@dataclass(frozen=True, slots=True)
class Transcribed:
    """The words an attempt asked for."""

    at: Samples
    reply: ReplyId
    words: Words


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
    typed message takes the floor.
    """

    at: Samples
    origin: Literal["greeting", "announcement", "typed"]
    text: str


Event = Heard | Partial | Transcribed | NotTranscribed | Playing | ReplyEnded | Asked

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
    """Ask for the words so far of the segment, for this attempt."""

    reply: ReplyId
    segment: SegmentId
    speech_end: Samples


@dataclass(frozen=True, slots=True)
class Prepare:
    """Start the reply to `text`, held at its gate.

    Attributes:
        unheard: The words are lost: say so instead.
        recited: `text` is itself what is to be said.
    """

    reply: ReplyId
    text: str
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
        speech_end: None where nobody spoke.
        rough: The recognizer itself says that the words are a guess.
    """

    reply: ReplyId
    text: str
    speech_end: Samples | None
    rough: bool = False
    origin: Literal["spoken", "greeting", "announcement", "typed"] = "spoken"


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
    """Cancel a reply that was being heard; remember it up to the last whole word."""

    reply: ReplyId
    why: Literal["voice", "typed", "stuck"] = "voice"


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
    """The turn ends without an answer: there was voice but no words, or nothing came for too long."""

    turn: int
    at: Samples
    speech_end: Samples
    why: AbandonReason


Effect = (
    OpenSegment | Started | Transcribe | Prepare | Endpoint | Commit | CloseSegment | DiscardSegment
    | Drop | Retract | Interrupt | Duck | Unduck | NothingSaid
)  # fmt: skip
Effects = tuple[Effect, ...]
