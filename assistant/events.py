"""Session events: what happens in a conversation, for the terminal, the web page or a client.

The events of a turn come in the order below. All events of a reply come between its `ReplyStarted` and its `ReplySent`
or `ReplyStopped`. Audio is not an event: it goes to the speaker.
"""

from dataclasses import dataclass
from typing import Literal

from assistant.history.cut_to_heard import TimedWord
from assistant.history.items import FunctionCallItem, Item, ItemId, UserMessage
from assistant.history.mcp_items import McpApprovalRequest, McpCall
from assistant.skills.lists.items import ListItem
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.trace.record import TurnRecord
from assistant.turns.events import AbandonReason, Origin, ReplyId

Floor = Literal["starting", "listening", "hearing", "thinking", "speaking", "muted", "closed", "asleep", "typing"]
"""State of the conversation in one word. closed: no push-to-talk key is held. asleep: waiting for the wake phrase.
typing: there is no microphone."""


@dataclass(frozen=True, slots=True)
class WakeWordHeard:
    """A wake word was detected by its sound, so the conversation is awake.

    Attributes:
        word: Name of the wake word.
        at_ms: Its end on the microphone's time line.
        level_dbfs: Its mean level.
    """

    word: str
    at_ms: float
    level_dbfs: float = -100.0


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The user started to speak, and a turn has begun.

    Attributes:
        turn: Number of the turn.
        at_ms: Onset on the microphone's time line, before the time of detection.
        item: Id that the user message will have in the history, if there are any words.
    """

    turn: int
    at_ms: float
    item: ItemId


@dataclass(frozen=True, slots=True)
class InterimWords:
    """Interim transcript of the current speech. It may come before the `SpeechStarted` of that speech, or after it."""

    text: str
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The user's turn has ended for good, before its words are known. Only where sound alone decides.

    `UserTurnCommitted` or `SpeechDiscarded` follows with the transcript. Until then, the next turns may begin and end.

    Attributes:
        turn: Number of the turn.
        at_ms: End of the speech on the microphone's time line.
        item: The user message, which is in the history without words.
    """

    turn: int
    at_ms: float
    item: UserMessage


@dataclass(frozen=True, slots=True)
class SpeechDiscarded:
    """The speech gave nothing to answer: no words, cleared by the client, or abandoned.

    Attributes:
        turn: Number of the turn.
        at_ms: End of the speech on the microphone's time line.
        reason: Why it was discarded.
        item: A user message without words that entered the history because the client ended the turn; else None.
    """

    turn: int
    at_ms: float
    reason: AbandonReason
    item: UserMessage | None = None


@dataclass(frozen=True, slots=True)
class SilenceTimedOut:
    """The user has said nothing for the idle timeout after a heard reply. A reply that prompts them follows.

    Attributes:
        item: The user message without words that stands for the silence in the history.
        heard_at_ms: End of the reply on the microphone's time line.
        at_ms: The time of the timeout.
    """

    item: UserMessage
    heard_at_ms: float
    at_ms: float


@dataclass(frozen=True, slots=True)
class UserTurnCommitted:
    """The user's turn is over and committed.

    Attributes:
        turn: Number of the turn.
        text: All words of the turn, including those of earlier items that it continues.
        low_confidence: Whether the recognizer's words are little more than a guess.
        item: The history item added with it; None where none was (a greeting, a continuation without words).
        speech_end_ms: End of the speech on the microphone's time line; None for a turn without speech.
        origin: What caused the turn.
        answered: Whether `ReplyStarted` follows. False where the client decides about replies.
        lost: Whether the recognizer failed, so that there may have been words.
    """

    turn: int
    text: str
    low_confidence: bool
    item: Item | None
    speech_end_ms: float | None
    origin: Origin
    answered: bool = True
    lost: bool = False

    @property
    def speaker(self) -> str:
        """Label of who spoke; "" if that is unknown."""
        return self.item.speaker if isinstance(self.item, UserMessage) else ""


@dataclass(frozen=True, slots=True)
class LanguageChanged:
    """The user speaks another language from this turn on, and so does the assistant.

    Attributes:
        turn: Number of the turn.
        language: Code of the language.
        voice: Name of the voice that speaks it.
    """

    turn: int
    language: str
    voice: str


@dataclass(frozen=True, slots=True)
class AnnouncementStarted:
    """The reply that is about to start says an announcement of another program.

    Attributes:
        reply_id: Turn and attempt.
        text: The announcement.
    """

    reply_id: ReplyId
    text: str


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """The reply is committed and may play.

    Attributes:
        reply_id: Turn and attempt.
        item: Id that its message will have in the history.
        spoken: Whether it comes as audio; else only as text.
    """

    reply_id: ReplyId
    item: ItemId
    spoken: bool


@dataclass(frozen=True, slots=True)
class ChunkSpoken:
    """A text chunk of the reply goes to the speaker; if the reply is not spoken, a piece of its text."""

    reply_id: ReplyId
    text: str


@dataclass(frozen=True, slots=True)
class WordsTimed:
    """The next words of a reply, with their times, when their audio goes to the speaker."""

    reply_id: ReplyId
    words: tuple[TimedWord, ...]


@dataclass(frozen=True, slots=True)
class MarkupWritten:
    """The next piece of a spoken reply's text as the language model wrote it, with its Markdown.

    The first comes with the first `ChunkSpoken`; the text may be ahead of the words.
    """

    reply_id: ReplyId
    text: str


@dataclass(frozen=True, slots=True)
class FunctionCalled:
    """The LLM calls a function of the client. The call is already in the history."""

    reply_id: ReplyId
    item: FunctionCallItem


@dataclass(frozen=True, slots=True)
class McpApprovalRequested:
    """The LLM wants to call a tool of a client's MCP server. The request is already in the history."""

    reply_id: ReplyId
    item: McpApprovalRequest


@dataclass(frozen=True, slots=True)
class McpCallStarted:
    """A tool of a client's MCP server is called. The call is already in the history.

    Attributes:
        reply_id: The reply that makes the call; None for a call that was approved after its reply.
    """

    reply_id: ReplyId | None
    item: McpCall


@dataclass(frozen=True, slots=True)
class McpCallEnded:
    """The call has ended. `item` has its result."""

    reply_id: ReplyId | None
    item: McpCall


@dataclass(frozen=True, slots=True)
class ReplySent:
    """The complete reply was handed to the speaker, which may still be playing it.

    Attributes:
        reply_id: Turn and attempt.
        text: Text of the whole reply.
        error: What went wrong, or None.
        incomplete: Why the service stopped early ("length", "content_filter"), else None.
        prompt_tokens: Number of prompt tokens that the service reports; None if it reports none.
        completion_tokens: Number of tokens of the answer that the service reports; None if it reports none.
        cached_tokens: Number of prompt tokens that the service had cached; None if it reports none.
    """

    reply_id: ReplyId
    text: str
    error: str | None
    incomplete: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ReplyStopped:
    """The reply was cancelled or interrupted, before or after its `ReplySent`, or no loudspeaker played its end.

    Attributes:
        reply_id: Turn and attempt.
        heard: Text that was heard and stays in the history.
        heard_ms: Length of the audio that was played.
        reason: Why it stopped; "went on": the user did, and another reply will answer all they say; "unheard": no
            loudspeaker played its end.
        prompt_tokens: As in `ReplySent`, if the service had counted before the reply stopped.
        completion_tokens: As `prompt_tokens`.
        cached_tokens: As `prompt_tokens`.
    """

    reply_id: ReplyId
    heard: str
    heard_ms: float
    reason: Literal["voice", "went on", "requested", "stuck", "client", "unheard"]
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ItemForgotten:
    """An item was removed from the history, because there are too many, or because it is answered elsewhere."""

    item: ItemId


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is complete; this is its record."""

    record: TurnRecord


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that the user should know of, in one sentence.

    Attributes:
        text: The sentence.
        private: Whether it contains words of the conversation and must be shown to the user only.
        language: Code of the language in which the user seems to speak instead; "" if it is not about that.
    """

    text: str
    private: bool = False
    language: str = ""


@dataclass(frozen=True, slots=True)
class TimersChanged:
    """The timers, alarms and reminders of the user, in the order in which they ring."""

    timers: tuple[ShownTimer, ...]


@dataclass(frozen=True, slots=True)
class ListsChanged:
    """All items of the user's lists and notes, in order."""

    items: tuple[ListItem, ...]


SessionEvent = (
    SpeechStarted | InterimWords | SpeechEnded | SpeechDiscarded | SilenceTimedOut | UserTurnCommitted | ReplyStarted
    | ChunkSpoken | WordsTimed | MarkupWritten | FunctionCalled | McpApprovalRequested | McpCallStarted | McpCallEnded
    | ReplySent | ReplyStopped | ItemForgotten | TurnFinished | Problem | TimersChanged | ListsChanged
    | WakeWordHeard | LanguageChanged | AnnouncementStarted
)  # fmt: skip
