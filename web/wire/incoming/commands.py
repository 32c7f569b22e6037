"""Types of a client's commands, the results of `web.wire.incoming.parse`.

Every command has the `event_id` of the client's event, or None. An error about the command names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assistant.history.items import Item, ItemId
from assistant.home import HomeFault
from assistant.home.client_home import SentState
from assistant.skills.ringing.shown_timers import TimerAction
from assistant.tools.client_mcp import ClientServer
from assistant.turns.events import ReplyId
from llm.chat import Function
from web.wire.items.response_input import InputItem
from web.wire.items.sound_field import Recording
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import AudioFormat, Limit, Modality, SessionConfig


@dataclass(frozen=True, slots=True)
class UpdateSession:
    """Changes the session's settings.

    Attributes:
        config: All settings after the change.
        refused: Errors of invalid fields, which changed nothing.
    """

    event_id: str | None
    config: SessionConfig
    refused: tuple[ProtocolError, ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """Appends audio to the input buffer.

    Attributes:
        audio: Whole samples: two bytes each, little-endian (pcm), or one byte each (pcmu, pcma). May be empty.
        format: Format of `audio`: the session's input format when the event arrived.
    """

    event_id: str | None
    audio: bytes
    format: AudioFormat


@dataclass(frozen=True, slots=True)
class CommitInput:
    """Commits the input buffer as a user turn."""

    event_id: str | None


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Clears the input buffer."""

    event_id: str | None


@dataclass(frozen=True, slots=True)
class CreateItem:
    """Adds an item to the history.

    Attributes:
        item: The item. Its id is "" if the client gave none; the session then creates one.
        after: The item that it follows; ROOT: it becomes the first; None: it becomes the last.
        recordings: The sound of its content parts, by index.
        written: Whether an assistant message is text and not audio.
        refused: Errors of invalid content parts, which the item does not have.
    """

    event_id: str | None
    item: Item
    after: ItemId | None
    recordings: Mapping[int, Recording] = field(default_factory=dict)
    written: bool = True
    refused: tuple[ProtocolError, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrieveItem:
    """Requests an item of the history."""

    event_id: str | None
    item_id: ItemId


@dataclass(frozen=True, slots=True)
class DeleteItem:
    """Deletes an item from the history."""

    event_id: str | None
    item_id: ItemId


@dataclass(frozen=True, slots=True)
class TruncateItem:
    """Truncates an assistant message to the part that was heard."""

    event_id: str | None
    item_id: ItemId
    audio_end_ms: int


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """Options of one response. None: the session's setting.

    Attributes:
        metadata: The client's own data, which is returned with the response.
        out_of_band: Whether the response is outside of the conversation.
        input: What the model sees instead of the conversation.
    """

    instructions: str | None = None
    modality: Modality | None = None
    max_output_tokens: Limit | None = None
    tools: tuple[Function, ...] | None = None
    tool_choice: str | None = None
    output_format: AudioFormat | None = None
    metadata: Mapping[str, str] | None = None
    out_of_band: bool = False
    input: tuple[InputItem, ...] | None = None
    mcp_servers: tuple[ClientServer, ...] | None = None


@dataclass(frozen=True, slots=True)
class CreateResponse:
    """Requests a response from the history.

    Attributes:
        refused: Errors of invalid options; the response uses the session's settings for these.
    """

    event_id: str | None
    options: ResponseOptions
    refused: tuple[ProtocolError, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelResponse:
    """Cancels a response.

    Attributes:
        reply_id: The reply to cancel; None: the one in progress.
    """

    event_id: str | None
    reply_id: ReplyId | None


@dataclass(frozen=True, slots=True)
class ClearOutput:
    """Drops audio that was not played yet."""

    event_id: str | None


@dataclass(frozen=True, slots=True)
class PlayoutReport:
    """Reports how much of a reply the client has played.

    Attributes:
        played_ms: Played audio, from the reply's first sample.
        finished: Whether no more of it will be played.
        latency_ms: Response latency that the client measured: last speech sample to first audible sample of the reply.
        device_ms: The part of it spent in the client's buffer and device.
    """

    event_id: str | None
    reply_id: ReplyId
    played_ms: float
    finished: bool
    latency_ms: float | None
    device_ms: float | None


@dataclass(frozen=True, slots=True)
class CancelBackground:
    """Cancels tool calls that run in the background."""

    event_id: str | None


@dataclass(frozen=True, slots=True)
class ChangeTimer:
    """Presses a button of a timer, alarm or reminder of `repartee.timers`."""

    event_id: str | None
    number: int
    action: TimerAction


@dataclass(frozen=True, slots=True)
class RemoveListItems:
    """Removes items of lists, or notes, of `repartee.lists`."""

    event_id: str | None
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndHomeCall:
    """Ends a `repartee.home.call`.

    Attributes:
        fault: The fault; None: the service was called.
        states: The states that changed.
    """

    event_id: str | None
    call_id: str
    fault: HomeFault | None
    states: tuple[SentState, ...]


@dataclass(frozen=True, slots=True)
class UpdateHomeStates:
    """Updates states of the client's home."""

    event_id: str | None
    states: tuple[SentState, ...]


@dataclass(frozen=True, slots=True)
class ReportWakeWord:
    """Reports that the client has heard its wake word with a detector of its own.

    Attributes:
        level_dbfs: Mean level of the word.
        audio_end_ms: Position in the sent sound at which what follows the word begins.
    """

    event_id: str | None
    level_dbfs: float
    audio_end_ms: float


Command = (
    UpdateSession | Append | CommitInput | ClearInput | CreateItem | RetrieveItem | DeleteItem | TruncateItem
    | CreateResponse | CancelResponse | ClearOutput | PlayoutReport | CancelBackground | ChangeTimer
    | RemoveListItems | EndHomeCall | UpdateHomeStates | ReportWakeWord
)  # fmt: skip
