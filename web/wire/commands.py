"""What a client asks for, in types: the vocabulary of `web.wire.parse`.

Every command has the `event_id` that the client gave it, None where it gave none: an error about it names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assistant.history.items import Item, ItemId
from assistant.turns.events import ReplyId
from llm.chat import Function
from web.wire.errors import ProtocolError
from web.wire.session_config import AudioFormat, Limit, Modality, SessionConfig


@dataclass(frozen=True, slots=True)
class UpdateSession:
    """The session's settings change.

    Attributes:
        config: What is in force now, as a whole.
        refused: Fields that were wrong, and changed nothing.
    """

    event_id: str | None
    config: SessionConfig
    refused: tuple[ProtocolError, ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """Sound for the input buffer.

    Attributes:
        audio: Whole samples: two bytes each, little-endian (pcm), or one byte each (pcmu, pcma). May be empty.
        format: What `audio` is: the session's input format when it came.
    """

    event_id: str | None
    audio: bytes
    format: AudioFormat


@dataclass(frozen=True, slots=True)
class CommitInput:
    """What is in the input buffer is a turn."""

    event_id: str | None


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Forget what is in the input buffer."""

    event_id: str | None


@dataclass(frozen=True, slots=True)
class CreateItem:
    """Put an item into the history.

    Attributes:
        item: Its id is "" where the client gave none: the core makes one.
        after: The item that it follows; ROOT: none, it is the first; None: the last.
    """

    event_id: str | None
    item: Item
    after: ItemId | None


@dataclass(frozen=True, slots=True)
class RetrieveItem:
    """Show an item of the history."""

    event_id: str | None
    item_id: ItemId


@dataclass(frozen=True, slots=True)
class DeleteItem:
    """Take an item out of the history."""

    event_id: str | None
    item_id: ItemId


@dataclass(frozen=True, slots=True)
class TruncateItem:
    """Of the assistant's item, only so much was heard."""

    event_id: str | None
    item_id: ItemId
    audio_end_ms: int


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """For one response only. None: as the session has it.

    Attributes:
        metadata: The client's own notes, which come back with the response.
    """

    instructions: str | None = None
    modality: Modality | None = None
    max_output_tokens: Limit | None = None
    tools: tuple[Function, ...] | None = None
    tool_choice: str | None = None
    output_format: AudioFormat | None = None
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class CreateResponse:
    """Answer now, from the history.

    Attributes:
        refused: Options that were wrong; the response is in these as the session has it.
    """

    event_id: str | None
    options: ResponseOptions
    refused: tuple[ProtocolError, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelResponse:
    """Stop answering.

    Attributes:
        reply: Which answer; None: the one under way.
    """

    event_id: str | None
    reply: ReplyId | None


@dataclass(frozen=True, slots=True)
class ClearOutput:
    """Drop what has not been played yet."""

    event_id: str | None


@dataclass(frozen=True, slots=True)
class PlayoutReport:
    """What the client has played of a reply.

    Attributes:
        played_ms: So much of its sound, from its first sample.
        finished: Nothing more of it will be played.
        latency_ms: From the last speech sample to the first audible one of the reply, as the client measured it.
        device_ms: The part of it that was spent in the client's buffer and device.
    """

    event_id: str | None
    reply: ReplyId
    played_ms: float
    finished: bool
    latency_ms: float | None
    device_ms: float | None


Command = (
    UpdateSession | Append | CommitInput | ClearInput | CreateItem | RetrieveItem | DeleteItem | TruncateItem
    | CreateResponse | CancelResponse | ClearOutput | PlayoutReport
)  # fmt: skip
