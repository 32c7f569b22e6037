"""The form of a conversation that is handed over, and its seal."""

import hashlib
import re
import typing
import zlib
from dataclasses import fields, is_dataclass, replace
from enum import Enum

import pytest

from assistant.config.mcp_hosts import McpHosts
from assistant.history.history import HistorySnapshot
from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SoundPart,
    SystemMessage,
    TextPart,
    ToolUse,
    UserMessage,
)
from assistant.history.mcp_items import McpApprovalRequest, McpApprovalResponse, McpCall, McpFailure, McpListTools
from assistant.history.summary import Summary
from assistant.home import Device, HomeState
from assistant.home.client_home import SentHome
from assistant.skills.timers.stored_timers import StoredTimer
from assistant.tools.client_mcp import ClientServer, ToolFilter
from llm.chat import CallExtra, Function, FunctionCall, Image
from web.handover import snapshot as snapshot_module
from web.handover.codec import Codec, CodecError
from web.handover.sealing import Seal, SealError
from web.handover.snapshot import CODEC, VERSION, Snapshot, SnapshotError, decoded, encoded
from web.wire.values.session_config import (
    AudioFormat,
    Extensions,
    Keeping,
    PromptReference,
    ServerVad,
    SessionConfig,
    Tracing,
    Truncation,
)

FIELDS_OF_VERSION = {
    1: "86f37caf8b774e88",
    2: "e623e54329207c6a",
    3: "e623e54329207c6a",
    4: "7575cf5d2099b942",
    5: "e42a2478d7566923",
    6: "4a9d2e83c911eebc",
    7: "f203279d258891bf",
    8: "f20dc269fda9eec8",
    9: "5e5ff3f405f104e5",
    10: "40f406a9855161f6",
    11: "4cfae5f5c1dea51d",
    12: "d5bdb3dbf405b7af",
    13: "182263bf2ab57d57",
    14: "0534fb7b21786a1b",
}
"""A digest of the classes and fields of each version. If it differs, add a version: gateways of two may run at once."""

TOKEN, SECRET = "a resume token", "a secret of all gateways"


def item(number: int) -> ItemId:
    return ItemId(f"item_{number}")


CALL = FunctionCall("call_1", "look_up", '{"what": 1}', CallExtra("near", '{"signature": "x"}'))
ITEMS: tuple[Item, ...] = (
    SystemMessage(item(1), "Speak English."),
    UserMessage(item(2), "half a pair \ud83d", spoken=True, continues=True, speaker="S2", language="de"),
    UserMessage.of_parts(item(3), (TextPart("look"), SoundPart(None), Image("image/png", "AAAA", 1, 2))),
    AssistantMessage(item(4), "Ten.", complete=False, tool_uses=(ToolUse(CALL, "10", 3, 1, 2),), markup="**Ten.**"),
    FunctionCallItem(item(5), "call_2", "close", "{}"),
    FunctionOutput(item(6), "call_2", "closed"),
    McpApprovalRequest(item(7), "files", "read", "{}", "files_read"),
    McpApprovalResponse(item(8), item(7), approve=True),
    McpCall(item(9), "files", "read", "{}", "files_read", failure=McpFailure("http_error", "gone", 410)),
)
CONFIG = SessionConfig(
    instructions="Be brief.",
    output_format=AudioFormat.ULAW,
    turn_detection=ServerVad(silence_duration_ms=400),
    tools=(Function("close", "Closes it.", "{}", is_trusted=False, mode="wait"),),
    extensions=Extensions(events=True, wake_phrase="hey you", wake_word="alexa", room="Kitchen"),
    truncation=Truncation("retention_ratio", 0.3, 900),
    prompt=PromptReference("p", (("a", "b"),), "text"),
    tracing=Tracing("flow", metadata='{"a": 1}'),
    mcp_servers=(
        ClientServer(
            "files", "https://files.example", (("authorization", "x"),), never=ToolFilter(), shown_allowed=["a"]
        ),
    ),
    keeping=Keeping("x" * 32),
    chosen_voice="anna",
    words=False,
)
HISTORY = HistorySnapshot(ITEMS, (item(1),), Summary("They spoke.", frozenset({item(0)})), 12)
TIMER = StoredTimer("", 300.0, "tea", 1_800_000_000.5, None, None, 0, "The tea is ready.", room="Kitchen")
FULL = Snapshot("sess_1", CONFIG, HISTORY, last_turn=4, timers=(TIMER,), is_guest=True)


def test_snapshot_survives_encoding() -> None:
    assert decoded(encoded(FULL)) == FULL


def test_no_automatic_detection_differs_from_the_default() -> None:
    manual = replace(FULL, config=replace(CONFIG, turn_detection=None, prompt=None))
    assert decoded(encoded(manual)) == manual


def test_what_belongs_to_one_gateway_is_left_out() -> None:
    local = replace(
        FULL,
        config=replace(
            CONFIG, mcp_hosts=McpHosts.of("files.example"), keeping=Keeping("x" * 32, "20260101-000000-abcd")
        ),
        history=replace(HISTORY, items=(*ITEMS, McpListTools(item(10), "files"))),
    )
    assert decoded(encoded(local)) == FULL


def test_images_are_left_out_of_a_long_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_module, "MAX_BYTES", 3000)
    picture = Image("image/png", "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(200)), 1, 2)
    long = replace(FULL, history=replace(HISTORY, items=(UserMessage.of_parts(item(1), (picture, TextPart("look"))),)))
    (message,) = decoded(encoded(long)).history.items
    assert isinstance(message, UserMessage)
    assert message.parts == (replace(picture, data=""), TextPart("look"))
    monkeypatch.setattr(snapshot_module, "MAX_BYTES", 100)
    with pytest.raises(SnapshotError, match="the limit is 100"):
        encoded(long)


def test_several_images_keep_their_places() -> None:
    pictures = [Image("image/png", data, 1, 2) for data in ("AAAA", "", "BBBB")]
    items = tuple(UserMessage.of_parts(item(n), (TextPart("a\nb"), *pictures[n:])) for n in (0, 1))
    several = replace(FULL, history=replace(HISTORY, items=items))
    assert decoded(encoded(several)) == several


@pytest.mark.parametrize("number", [0, 2])
def test_other_number_of_images_is_refused(number: int) -> None:
    text = zlib.decompress(encoded(FULL)).partition(b"\n")[0]
    damaged = zlib.compress(text + b"\nAAAA" * number)
    if number:
        with pytest.raises(SnapshotError, match="the conversation has 1 images, and the data of 2"):
            decoded(damaged)
    else:
        assert decoded(damaged) != FULL, "they were left out"


@pytest.mark.parametrize("content", [b"", b"{}", encoded(FULL)[:-9], encoded(FULL)[:40]])
def test_damaged_snapshot_is_refused(content: bytes) -> None:
    with pytest.raises(SnapshotError):
        decoded(content)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[",
        b'{"": "Path"}',
        b'{"": "Image", "unknown": 1}',
        b'{"": "Image"}',
        b'{"id": 1}',
        b'{"": []}',
        b"[" * 9999,
    ],
)
def test_codec_makes_known_classes_only(text: bytes) -> None:
    with pytest.raises(CodecError):
        Codec(Image).decode(text)


def test_snapshot_that_is_another_object_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = encoded(FULL)
    monkeypatch.setattr(snapshot_module, "CODEC", Codec(Image))
    with pytest.raises(SnapshotError):
        decoded(other)


def test_every_class_of_a_snapshot_can_be_encoded() -> None:
    not_carried = {McpListTools, McpHosts, SentHome, HomeState, Device}
    assert _classes_in(Snapshot) - not_carried - set(CODEC.classes.values()) == set()


def test_changed_fields_need_another_version() -> None:
    shapes = [
        f"{name} {[(one.name, _bare(one.type)) for one in fields(made)] if is_dataclass(made) else list(made)}"  # type: ignore[call-overload]
        for name, made in sorted(CODEC.classes.items())
    ]
    digest = hashlib.sha256("\n".join(shapes).encode()).hexdigest()[:16]
    assert {VERSION: digest} == {VERSION: FIELDS_OF_VERSION[VERSION]}


def _bare(kind: object) -> str:
    """Returns a type's text without the names of modules, which may change."""
    return re.sub(r"\b[a-z_]\w*\.", "", str(kind))


def _classes_in(kind: object) -> set[type]:
    """Returns the dataclasses and enumerations that the fields of a type may hold."""
    found: set[type] = set()
    waiting: list[object] = [kind]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and (is_dataclass(one) or issubclass(one, Enum)):
            if one not in found:
                found.add(one)
                waiting += typing.get_type_hints(one).values() if is_dataclass(one) else ()
        else:
            waiting += typing.get_args(one)
    return found


# ---- the seal ----


def test_sealed_conversation_is_opened_with_the_same_secret() -> None:
    sealed = Seal(SECRET).close(TOKEN, 1, b"what was said")
    assert b"said" not in sealed
    assert Seal(SECRET).open(TOKEN, 1, sealed) == b"what was said"
    assert Seal(SECRET).close(TOKEN, 1, b"what was said") != sealed


@pytest.mark.parametrize(
    ("secret", "token", "version", "flipped"),
    [
        ("another secret of gateways", TOKEN, 1, None),
        (SECRET, "another token", 1, None),
        (SECRET, TOKEN, 2, None),
        (SECRET, TOKEN, 1, 0),
        (SECRET, TOKEN, 1, 12),
        (SECRET, TOKEN, 1, -1),
    ],
)
def test_changed_conversation_is_refused(secret: str, token: str, version: int, flipped: int | None) -> None:
    sealed = bytearray(Seal(SECRET).close(TOKEN, 1, b"what was said"))
    if flipped is not None:
        sealed[flipped] ^= 1
    with pytest.raises(SealError):
        Seal(secret).open(token, version, bytes(sealed))


@pytest.mark.parametrize("length", [0, 5, 12, 20])
def test_short_content_is_refused(length: int) -> None:
    with pytest.raises(SealError):
        Seal(SECRET).open(TOKEN, 1, bytes(length))
