"""The state with which a gateway continues a conversation that began at another one. Versioned, compressed. Pure.

It holds the history with the words that were heard; a reply that was being played is cut. The client's settings are in
it, and the timers that belong to this conversation alone. Speech of the user that has no transcript yet is lost.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assistant.config.mcp_hosts import NO_HOSTS
from assistant.history.history import HistorySnapshot
from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    SoundPart,
    SystemMessage,
    TextPart,
    ToolUse,
    UserMessage,
)
from assistant.history.mcp_items import McpApprovalRequest, McpApprovalResponse, McpCall, McpFailure, McpListTools
from assistant.history.summary import Summary
from assistant.skills.lists.items import ListItem
from assistant.skills.timers.stored_timers import StoredTimer
from assistant.tools.client_mcp import ClientServer, ToolFilter
from llm.chat import CallExtra, Function, FunctionCall, Image
from web.handover.codec import Codec, CodecError
from web.wire.values.session_config import (
    AudioFormat,
    Extensions,
    Keeping,
    PromptReference,
    SemanticVad,
    ServerVad,
    SessionConfig,
    Tracing,
    Truncation,
)

VERSION = 14
"""Version of the format. A change of any class of a snapshot needs another one: a test holds the fields. Version 3 has
the end of its validity beside it, version 4 tells clients of the beta, version 5 has the source of a function,
version 6 has lists, version 7 calls the client's choice of turn events `turn_events`, version 8 has withdrawn replies,
version 9 has speakers, version 10 has wake words, version 11 has languages, version 12 has rooms, version 13 knows of
a client's home, and version 14 has planned commands."""

MAX_BYTES = 4_000_000
"""Longest compressed snapshot; beyond it the images of the conversation are left out."""
COMPRESSED_IMAGE = 0.75
"""Size of an image's data after compression, as a share: base64 has 6 bits in a byte."""
MAX_TEXT_BYTES = 64_000_000
"""Longest snapshot before its compression."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A conversation at one moment.

    Attributes:
        session_id: Id of the session for its client.
        config: The client's settings, without the hosts of MCP servers, which each gateway has in its own settings.
        history: The history.
        last_turn: Number of the last turn, so that ids of replies are not used twice.
        timers: What is set in this conversation alone. The timers of a gateway's user are not in it.
        lists: Likewise: its items of lists and notes.
        is_guest: Whether the session was opened with a client secret.
    """

    session_id: str
    config: SessionConfig
    history: HistorySnapshot
    last_turn: int = 0
    timers: tuple[StoredTimer, ...] = ()
    lists: tuple[ListItem, ...] = ()
    is_guest: bool = False


_LINE_END = b"\n"
"""Stands before the data of each image. JSON of the codec and base64 have none."""


class SnapshotError(Exception):
    """A snapshot is too long, or cannot be read."""


CODEC = Codec(
    Snapshot,
    HistorySnapshot,
    Summary,
    UserMessage,
    TextPart,
    SoundPart,
    Image,
    SystemMessage,
    AssistantMessage,
    ToolUse,
    FunctionCall,
    CallExtra,
    FunctionCallItem,
    FunctionOutput,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpFailure,
    StoredTimer,
    ListItem,
    SessionConfig,
    AudioFormat,
    ServerVad,
    SemanticVad,
    Extensions,
    Truncation,
    PromptReference,
    Tracing,
    Keeping,
    Function,
    ClientServer,
    ToolFilter,
)


def encoded(snapshot: Snapshot) -> bytes:
    """Returns the snapshot, compressed. Raises SnapshotError if it is too long even without images."""
    plain = replace(
        snapshot,
        config=_portable(snapshot.config),
        # The next gateway lists the tools of MCP servers itself.
        history=_with_items(
            snapshot.history, [item for item in snapshot.history.items if type(item) is not McpListTools]
        ),
    )
    data = [image.data for image in _images_of(plain.history)]
    plain = replace(plain, history=_with_images(plain.history, [""] * len(data)))
    if sum(map(len, data)) * COMPRESSED_IMAGE > MAX_BYTES or len(packed := _packed(plain, data)) > MAX_BYTES:
        packed = _packed(plain)
    if len(packed) > MAX_BYTES:
        raise SnapshotError(f"the conversation has {len(packed)} bytes; the limit is {MAX_BYTES}")
    return packed


def decoded(packed: bytes) -> Snapshot:
    """Returns the snapshot. Raises SnapshotError."""
    snapshot, data = _unpacked(packed)
    if not isinstance(snapshot, Snapshot):
        raise SnapshotError("this is no conversation")
    return replace(snapshot, history=_with_images(snapshot.history, data)) if data else snapshot


def encoded_config(config: SessionConfig) -> bytes:
    """Returns a client's settings, compressed. Raises SnapshotError."""
    return _packed(_portable(config))


def decoded_config(packed: bytes) -> SessionConfig:
    """Returns a client's settings, without the hosts of MCP servers. Raises SnapshotError."""
    config, _ = _unpacked(packed)
    if not isinstance(config, SessionConfig):
        raise SnapshotError("these are no settings")
    return config


def _packed(value: Snapshot | SessionConfig, images: Sequence[str] = ()) -> bytes:
    """Returns JSON, and the data of each image after a line end, compressed.

    Encoding 8 MB of images as JSON would hold the interpreter, and with it the event loop, for 20 ms.
    """
    packing = zlib.compressobj(1)
    try:
        parts = [packing.compress(CODEC.encode(value))]
    except CodecError as error:
        raise SnapshotError(str(error)) from error
    parts += [packing.compress(_LINE_END + data.encode()) for data in images]
    return b"".join([*parts, packing.flush()])


def _unpacked(packed: bytes) -> tuple[object, list[str]]:
    """Returns the object and the data of its images, if they were packed."""
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(packed, MAX_TEXT_BYTES)
        if not unpacking.eof:
            raise SnapshotError("it is too long or incomplete")
        json, *images = text.split(_LINE_END)
        return CODEC.decode(json), [data.decode() for data in images]
    except (zlib.error, CodecError, UnicodeDecodeError) as error:
        raise SnapshotError(str(error)) from error


def _portable(config: SessionConfig) -> SessionConfig:
    """Returns the settings without what belongs to one gateway: its hosts, and the id in its file of conversations.

    A client sends its home again when it resumes.
    """
    keeping = None if config.keeping is None else replace(config.keeping, conversation="")
    return replace(config, mcp_hosts=NO_HOSTS, keeping=keeping, home=None)


def _with_items(history: HistorySnapshot, items: list[Item]) -> HistorySnapshot:
    return replace(history, items=tuple(items))


def _images_of(history: HistorySnapshot) -> list[Image]:
    messages = (item for item in history.items if isinstance(item, UserMessage))
    return [part for message in messages for part in message.parts if isinstance(part, Image)]


def _with_images(history: HistorySnapshot, data: Sequence[str]) -> HistorySnapshot:
    """Returns the history with this data in its images, in order. Raises SnapshotError if their numbers differ."""
    images = len(_images_of(history))
    if images != len(data):
        raise SnapshotError(f"the conversation has {images} images, and the data of {len(data)}")
    left = iter(data)
    return _with_items(history, [_filled(item, left) for item in history.items])


def _filled(item: Item, data: Iterator[str]) -> Item:
    if not isinstance(item, UserMessage) or not any(isinstance(part, Image) for part in item.parts):
        return item
    parts = [replace(part, data=next(data)) if isinstance(part, Image) else part for part in item.parts]
    return replace(item, parts=tuple(parts))
