"""What happens in a conversation, told to whoever shows it: a terminal, a page, a client on the wire.

In the order in which a turn brings them; everything about a reply comes between its `ReplyStarted` and its `ReplySent`
or `ReplyStopped`, and a reply's sound goes to the speaker, not through here.
"""

from dataclasses import dataclass
from typing import Literal

from assistant.history.items import FunctionCallItem, Item, ItemId, UserMessage
from assistant.history.spoken_transcript import TimedWord
from assistant.trace.record import TurnRecord
from assistant.turns.events import AbandonReason, Origin, ReplyId


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Somebody began to speak and has the floor (dated back: `at_ms` on the microphone's line).

    Attributes:
        item: What the words will be in the history, if there are any.
    """

    turn: int
    at_ms: float
    item: ItemId


@dataclass(frozen=True, slots=True)
class InterimWords:
    """Words so far of what is being said; before or after the `SpeechStarted` they belong to."""

    text: str
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class SpeechDiscarded:
    """The speech that started was nothing to answer: no words, cleared by the client, or given up.

    Attributes:
        at_ms: Where it ended on the microphone's line.
        item: What entered the history all the same, because the client ended the turn; it has no words.
    """

    turn: int
    at_ms: float
    reason: AbandonReason
    item: UserMessage | None = None


@dataclass(frozen=True, slots=True)
class UserTurnCommitted:
    """The turn is over; these are its words (`rough`: as good as a guess).

    Attributes:
        text: All words of the turn, those of earlier items that it continues included.
        item: What entered the history with it; None where nothing did (a greeting, a person who went on without words).
        speech_end_ms: On the microphone's line; None where nobody spoke.
        answered: The assistant has the floor: `ReplyStarted` follows. False where the client wants to decide that.
        lost: The recognizer failed: there may have been words.
    """

    turn: int
    text: str
    low_confidence: bool
    item: Item | None
    speech_end_ms: float | None
    origin: Origin
    answered: bool = True
    lost: bool = False


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """The gate of a reply is open.

    Attributes:
        item: What its words will be in the history.
        spoken: It comes as sound; else only as text.
    """

    reply: ReplyId
    item: ItemId
    spoken: bool


@dataclass(frozen=True, slots=True)
class ChunkSpoken:
    """A unit of the reply goes to the speaker; of a reply that is not spoken, a piece of its text."""

    reply: ReplyId
    text: str


@dataclass(frozen=True, slots=True)
class WordsTimed:
    """The next words of a reply, as their sound goes to the speaker."""

    reply: ReplyId
    words: tuple[TimedWord, ...]


@dataclass(frozen=True, slots=True)
class FunctionCalled:
    """The model calls a function of the client's; it is in the history already."""

    reply: ReplyId
    item: FunctionCallItem


@dataclass(frozen=True, slots=True)
class ReplySent:
    """Everything of the reply has been handed to the speaker, which may still be playing it.

    Attributes:
        text: Of the whole reply.
        error: What went wrong on the way; None if nothing did.
        incomplete: The service's word for why it stopped early ("length", "content_filter"), else None.
        prompt_tokens: As the service counts, else None.
        completion_tokens: As the service counts, else None.
        cached_tokens: How much of the prompt the service had read before; None where it does not say.
    """

    reply: ReplyId
    text: str
    error: str | None
    incomplete: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ReplyStopped:
    """The reply was cancelled or interrupted, before or after its `ReplySent`; or its end was `unheard`, for want of
    a loudspeaker.

    Attributes:
        heard: What of it was heard and is remembered.
        heard_ms: How much of its sound was played.
        prompt_tokens: As of `ReplySent`, where the service had told before the cut; so are the others.
    """

    reply: ReplyId
    heard: str
    heard_ms: float
    reason: Literal["voice", "went on", "requested", "stuck", "client", "unheard"]
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ItemForgotten:
    """There are far too many items: this one is not in the history any longer."""

    item: ItemId


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """Everything about the turn is known."""

    record: TurnRecord


@dataclass(frozen=True, slots=True)
class Problem:
    """Something went wrong that the person should know of: one sentence.

    Attributes:
        private: It holds words of the conversation: for nobody else.
    """

    text: str
    private: bool = False


SessionEvent = (
    SpeechStarted | InterimWords | SpeechDiscarded | UserTurnCommitted | ReplyStarted | ChunkSpoken | WordsTimed
    | FunctionCalled | ReplySent | ReplyStopped | ItemForgotten | TurnFinished | Problem
)  # fmt: skip
