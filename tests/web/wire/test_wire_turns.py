"""Whole turns: the events sent to a client, compared with golden lists."""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from support.conversations.answered_turn import ANSWERED
from support.protocol.wire_client import REPLY, Client, line

from assistant.events import (
    AnnouncementStarted,
    ChunkSpoken,
    FunctionCalled,
    InterimWords,
    ItemForgotten,
    LanguageChanged,
    ListsChanged,
    MarkupWritten,
    McpApprovalRequested,
    McpCallEnded,
    McpCallStarted,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SilenceTimedOut,
    SpeechDiscarded,
    SpeechStarted,
    TimersChanged,
    TurnFinished,
    UserTurnCommitted,
    WakeWordHeard,
    WordsTimed,
)
from assistant.history.cut_to_heard import TimedWord
from assistant.history.items import AssistantMessage, FunctionCallItem, FunctionOutput, Item, ItemId, UserMessage
from assistant.history.mcp_items import McpApprovalRequest, McpCall, McpFailure, McpListTools
from assistant.home import ServiceCall
from assistant.skills.lists.items import ListItem
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.turns.events import ReplyId
from audio.formats.g711 import decode_alaw, decode_ulaw
from web.wire.incoming.commands import ClearOutput, CreateItem, DeleteItem, RetrieveItem, TruncateItem, UpdateSession
from web.wire.items.item_order import MAX_ITEMS, ItemOrder
from web.wire.outgoing.responses import MAX_RESPONSES
from web.wire.outgoing.server_events import SERVER_EVENTS
from web.wire.values.session_config import AudioFormat, Extensions, SessionConfig

USER, ASSISTANT, SECOND = ItemId("item_u"), ItemId("item_a"), ItemId("item_u2")
AGAIN = ReplyId(1, 2)
NEXT = ReplyId(2, 1)
HEARD = UserMessage(USER, "what time is it", spoken=True)
QUIET = SessionConfig(voice="amy", extensions=Extensions(events=False))
SOUND = np.arange(-3, 3, dtype=np.int16)
RECORD = replace(ANSWERED, stages={}, events=(), attempts=1)


def sent(
    reply_id: ReplyId = REPLY, *, error: str | None = None, incomplete: str | None = None, tokens: int | None = None
) -> ReplySent:
    return ReplySent(reply_id, "not looked at", error, incomplete, tokens, tokens)


def asked(client: Client) -> None:
    """The user speaks, and the reply begins."""
    client.tell(
        SpeechStarted(1, 119.6, USER),
        UserTurnCommitted(1, HEARD.text, False, HEARD, 1020.4, "spoken"),
        ReplyStarted(REPLY, ASSISTANT, spoken=True),
    )


def spoken_turn(client: Client) -> None:
    client.tell(
        InterimWords("what", low_confidence=True),
        SpeechStarted(1, 119.6, USER),
        InterimWords("what time", low_confidence=False),
        UserTurnCommitted(1, HEARD.text, False, HEARD, 1020.4, "spoken"),
        ReplyStarted(REPLY, ASSISTANT, spoken=True),
        ChunkSpoken(REPLY, "It is noon."),
        MarkupWritten(REPLY, "It is **noon**."),
        WordsTimed(
            REPLY, (TimedWord("It", 0.04, 120.0, estimated=False), TimedWord("is", 120.0, 200.06, estimated=True))
        ),
    )
    client.sound(2400)
    client.tell(ChunkSpoken(REPLY, " Lunch?"))
    client.sound(13_000)
    client.tell(sent(tokens=7), TurnFinished(RECORD))


def interrupted_mid_reply(client: Client) -> None:
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is noon."))
    client.sound(2400)
    client.do(lambda wire: wire.duck(REPLY, lower=True))
    client.tell(ReplyStopped(REPLY, "It is", 80.7, "voice"), SpeechStarted(2, 2000.0, SECOND))
    late = client.sound(2400)
    assert late == []


def interrupted_after_it_was_sent(client: Client) -> None:
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is noon."))
    client.sound(2400)
    client.tell(sent(), ReplyStopped(REPLY, "It is", 80.7, "voice"), SpeechStarted(2, 2000.0, SECOND))


def went_on(client: Client) -> None:
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is noon."))
    client.sound(480)
    more = UserMessage(SECOND, "in Rome", spoken=True, continues=True)
    client.tell(
        ReplyStopped(REPLY, "", 0.0, "went on"),
        SpeechStarted(1, 1500.0, SECOND),
        UserTurnCommitted(1, "what time is it in Rome", False, more, 2100.0, "spoken"),
        ReplyStarted(AGAIN, ItemId("item_a2"), spoken=True),
        ChunkSpoken(AGAIN, "It is one."),
        sent(AGAIN),
    )


def text_only(client: Client) -> None:
    create = {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "hi"}]}}  # fmt: skip
    client.send(create)
    command = client.commands[-1]
    assert isinstance(command, CreateItem)
    typed = UserMessage(USER, "hi", spoken=False)
    client.do(lambda wire: wire.item_created(command, typed))
    client.send({"type": "response.create", "response": {"output_modalities": ["text"], "metadata": {"k": "v"}}})
    client.tell(
        UserTurnCommitted(1, "hi", False, None, None, "requested"),
        ReplyStarted(REPLY, ASSISTANT, spoken=False),
        ChunkSpoken(REPLY, "Hello"),
        ChunkSpoken(REPLY, " there."),
        sent(),
    )
    responses = [event["response"] for event in client.events if "response" in event]
    assert [(r["metadata"], r["output_modalities"]) for r in responses] == [({"k": "v"}, ["text"])] * 2


def function_call(client: Client) -> None:
    asked(client)
    call = FunctionCallItem(ItemId("item_f"), "call_1", "get_time", '{"zone":"Rome"}')
    client.tell(FunctionCalled(REPLY, call), sent())
    client.send({"type": "conversation.item.create", "previous_item_id": "item_f", "item": {
        "type": "function_call_output", "call_id": "call_1", "output": "13:00"}})  # fmt: skip
    command = client.commands[-1]
    assert isinstance(command, CreateItem)
    client.do(lambda wire: wire.item_created(command, FunctionOutput(ItemId("item_o"), "call_1", "13:00")))
    client.send({"type": "response.create"})
    client.tell(
        UserTurnCommitted(2, "", False, None, None, "requested"),
        ReplyStarted(NEXT, ASSISTANT, spoken=True),
        ChunkSpoken(NEXT, "It is one."),
        FunctionCalled(NEXT, FunctionCallItem(ItemId("item_g"), "call_2", "log", "{}")),
        sent(NEXT),
    )


def nothing_said(client: Client) -> None:
    client.tell(SpeechStarted(1, 100.0, USER), SpeechDiscarded(1, 90.0, "no words"))


def manual(client: Client) -> None:
    client.send(
        {"type": "session.update", "session": {"type": "realtime", "audio": {"input": {"turn_detection": None}}}}
    )
    update = client.commands[-1]
    assert isinstance(update, UpdateSession)
    client.do(lambda wire: wire.session_updated())
    client.tell(SpeechStarted(1, 100.0, USER))
    client.send({"type": "input_audio_buffer.commit", "event_id": "mine_1"})
    client.tell(UserTurnCommitted(1, HEARD.text, False, HEARD, 1000.0, "spoken", answered=False))
    client.send({"type": "response.create"})
    client.tell(ReplyStarted(REPLY, ASSISTANT, spoken=True), ChunkSpoken(REPLY, "Noon."), sent())
    client.tell(SpeechStarted(2, 3000.0, SECOND))
    client.send({"type": "input_audio_buffer.commit", "event_id": "mine_2"})
    client.tell(SpeechDiscarded(2, 3100.0, "no words", UserMessage(SECOND, "", spoken=True)))
    client.send({"type": "input_audio_buffer.clear"})
    client.do(lambda wire: wire.input_cleared())


def greeting(client: Client) -> None:
    client.tell(
        UserTurnCommitted(1, "", False, None, None, "greeting"),
        ReplyStarted(REPLY, ASSISTANT, spoken=True),
        ChunkSpoken(REPLY, "Hello."),
        sent(),
    )


def failed(client: Client) -> None:
    asked(client)
    client.tell(
        ChunkSpoken(REPLY, "It"),
        Problem("The model did not answer."),
        sent(error="the model did not answer"),
        UserTurnCommitted(2, "", False, None, None, "announcement"),
        ReplyStarted(NEXT, SECOND, spoken=True),
        ReplyStopped(NEXT, "", 0.0, "stuck"),
    )


def incomplete(client: Client) -> None:
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is"), sent(incomplete="length"))
    client.tell(ReplyStarted(NEXT, SECOND, spoken=True), sent(NEXT, incomplete="content_filter"))
    client.tell(ReplyStarted(AGAIN, SECOND, spoken=True), sent(AGAIN, incomplete="model_length"))


def telephone(client: Client) -> None:
    client.send({"type": "session.update", "session": {"audio": {"output": {"format": {"type": "audio/pcmu"}}}}})
    update = client.commands[-1]
    assert isinstance(update, UpdateSession)
    assert update.config.output_format is AudioFormat.ULAW
    client.do(lambda wire: wire.session_updated())
    client.tell(ReplyStarted(REPLY, ASSISTANT, spoken=True))
    client.sound(480)
    client.sound(2400)
    client.sound(24_000)
    client.tell(sent())


def lost_words(client: Client) -> None:
    client.tell(
        SpeechStarted(1, 100.0, USER),
        UserTurnCommitted(1, "", False, UserMessage(USER, "", spoken=True), 900.0, "spoken", lost=True),
        ReplyStarted(REPLY, ASSISTANT, spoken=True),
        ChunkSpoken(REPLY, "I did not get that."),
        sent(),
    )


def items(client: Client) -> None:
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is noon."), sent())
    client.sound(0)
    for event in (
        {"type": "conversation.item.retrieve", "item_id": "item_u"},
        {"type": "conversation.item.truncate", "item_id": "item_a", "content_index": 0, "audio_end_ms": 300},
        {"type": "conversation.item.retrieve", "item_id": "item_a"},
        {"type": "conversation.item.delete", "item_id": "item_u"},
        {"type": "conversation.item.retrieve", "item_id": "item_u", "event_id": "mine"},
        {"type": "output_audio_buffer.clear"},
    ):
        client.send(event)
    heard, truncate, rest, delete, gone, clear = client.commands
    assert isinstance(heard, RetrieveItem)
    assert isinstance(truncate, TruncateItem)
    assert isinstance(rest, RetrieveItem)
    assert isinstance(delete, DeleteItem)
    assert isinstance(gone, RetrieveItem)
    assert isinstance(clear, ClearOutput)
    client.do(lambda wire: wire.item_retrieved(heard, HEARD))
    client.do(lambda wire: wire.item_truncated(truncate.item_id, truncate.audio_end_ms))
    client.do(lambda wire: wire.item_retrieved(rest, AssistantMessage(ASSISTANT, "It is", complete=False)))
    client.do(lambda wire: wire.item_deleted(delete.item_id))
    client.do(lambda wire: wire.item_retrieved(gone, None))
    client.do(lambda wire: wire.output_cleared(clear, REPLY))


def kept_with_markup(client: Client) -> None:
    client.send({"type": "session.update", "session": {"repartee": {"markup": True}}})
    client.do(lambda wire: wire.conversation_kept("c1", kept=True))
    answered = AssistantMessage(ASSISTANT, "Here is the code.", markup="```\nx\n```")
    client.do(lambda wire: wire.items_restored((HEARD, answered)))
    client.do(lambda wire: wire.reply_heard(answered))


def loudness(client: Client) -> None:
    client.send({"type": "session.update", "session": {"repartee": {"duck": True}}})
    asked(client)
    client.do(lambda wire: wire.duck(REPLY, lower=True))
    client.do(lambda wire: wire.duck(REPLY, lower=False))


def listening_sound(client: Client) -> None:
    client.do(lambda wire: wire.listening_sound(SOUND))  # the client has not asked for it
    client.send({"type": "session.update", "session": {"repartee": {"listening_sounds": True}}})
    client.tell(SpeechStarted(1, 100.0, USER))
    client.do(lambda wire: wire.listening_sound(SOUND))
    client.do(lambda wire: wire.listening_sound_stopped())


def idle_timeout(client: Client) -> None:
    asked(client)
    client.sound(2400)
    client.tell(ChunkSpoken(REPLY, "It is noon."), sent(), TurnFinished(RECORD))
    prompt, item = ReplyId(2, 1), ItemId("item_4")
    client.tell(
        SilenceTimedOut(UserMessage(SECOND, "", spoken=True), 1500.4, 7500.4),
        UserTurnCommitted(2, "", False, None, None, "requested"),
        ReplyStarted(prompt, item, spoken=False),
        ChunkSpoken(prompt, "Are you still there?"),
        sent(prompt),
    )


def mcp_servers(client: Client) -> None:
    listed = McpListTools(ItemId("item_l"), "home")
    call = McpCall(ItemId("item_c"), "home", "weather", "{}", "home_weather", in_reply=True)
    request = McpApprovalRequest(ItemId("item_q"), "home", "add", "{}", "home_add", "1.1")
    client.do(lambda wire: wire.mcp.listing(listed))
    client.do(lambda wire: wire.mcp.listed(replace(listed, tools='[{"name": "weather", "input_schema": {}}]')))
    client.do(lambda wire: wire.mcp.listing(replace(listed, id=ItemId("item_m"))))
    client.do(lambda wire: wire.mcp.listed(replace(listed, id=ItemId("item_m")), "no connection"))
    asked(client)
    client.tell(McpCallStarted(REPLY, call), McpCallEnded(REPLY, replace(call, output="sunny")))
    client.tell(McpApprovalRequested(REPLY, request), sent())
    approved = replace(call, id=ItemId("item_d"), in_reply=False, request_id=request.id)
    failure = McpFailure("tool_execution_error", "the list is full")
    client.tell(McpCallStarted(None, approved), McpCallEnded(None, replace(approved, failure=failure)))


def timers(client: Client) -> None:
    client.tell(TimersChanged((ShownTimer(1, "timer", "pasta", "running", 600.0, 600.0),)))


def lists(client: Client) -> None:
    items = (ListItem("k1", "notes", "Call Anna", 1), ListItem("k2", "shopping", "milk", 2))
    client.tell(ListsChanged(items))
    client.tell(ListsChanged(()))


def choices(client: Client) -> None:
    client.do(lambda wire: wire.choices_pending(("voice",)))
    client.do(lambda wire: wire.choices_pending(()))


def woken(client: Client) -> None:
    client.tell(WakeWordHeard("okay_nabu", 812.5))


def other_language(client: Client) -> None:
    client.tell(LanguageChanged(2, "de", "thorsten"))


def kept(client: Client) -> None:
    client.do(lambda wire: wire.conversation_kept("conv_1", kept=True))
    client.do(lambda wire: wire.conversation_kept("", kept=False))


def home(client: Client) -> None:
    call = ServiceCall("light", "turn_on", ("light.kitchen",), (("brightness_pct", 40), ("rgb_color", (255, 0, 0))))
    client.do(lambda wire: wire.home_call("home_1", call))


def announcement(client: Client) -> None:
    client.tell(AnnouncementStarted(REPLY, "Dinner is ready."))


def yielded(client: Client) -> None:
    client.do(lambda wire: wire.yielded("Kitchen"))


SCENES: tuple[Callable[[Client], None], ...] = (
    spoken_turn, interrupted_mid_reply, interrupted_after_it_was_sent, went_on, text_only, function_call, nothing_said,
    manual, greeting, failed, incomplete, telephone, lost_words, items, loudness, listening_sound,
    idle_timeout, mcp_servers, kept, kept_with_markup, timers, lists, choices, woken, other_language, home,
    announcement, yielded,
)  # fmt: skip


DECLARING = (
    loudness, listening_sound, kept_with_markup, timers, lists, choices, woken, other_language, home,
    announcement, yielded,
)  # fmt: skip
"""Scenes in which the client declares extensions."""

GOLDEN_FILE = Path(__file__).with_name("wire_turns.txt")
"""Events of each scene; `PYTHONPATH=.:tests python tests/web/wire/test_wire_turns.py` writes the file."""


def wire_log(scene: Callable[[Client], None], config: SessionConfig | None = None) -> list[str]:
    client = Client(config)
    scene(client)
    return [line(event) for event in client.events[1:]]


def golden() -> dict[str, list[str]]:
    sections = GOLDEN_FILE.read_text(encoding="utf-8").split("## ")[1:]
    return {lines[0]: lines[1:] for lines in (section.strip().split("\n") for section in sections)}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_scene_matches_golden_events(scene: Callable[[Client], None]) -> None:
    assert wire_log(scene) == golden()[scene.__name__]


def test_scenes_cover_all_server_events() -> None:
    kinds = {"session.created"}
    for scene in SCENES:
        kinds |= {text.split()[0] for text in wire_log(scene)}
    assert kinds == set(SERVER_EVENTS)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_client_without_extensions_gets_all_standard_events(scene: Callable[[Client], None]) -> None:
    full = wire_log(scene)
    bare = [text for text in wire_log(scene, QUIET) if scene not in DECLARING or "repartee" not in text]
    assert bare == [text for text in full if not text.startswith("repartee.")]


def test_client_without_transcription_gets_no_transcripts() -> None:
    client = Client(SessionConfig(transcription=False))
    items(client)
    assert not [event for event in client.events if "transcription" in event["type"]]
    shown = [event["item"] for event in client.events if event["type"] == "conversation.item.retrieved"]
    assert shown[0]["content"] == [{"type": "input_audio", "transcript": None}]


def test_resumed_client_gets_history_and_reply_in_progress() -> None:
    client = Client(begin=False)
    call = FunctionCallItem(ItemId("item_f"), "call_1", "get_time", "{}")
    history = (
        HEARD,
        call,
        FunctionOutput(ItemId("item_o"), "call_1", "1"),
        AssistantMessage(SECOND, "It is", complete=False),
    )
    client.do(lambda wire: wire.begin(history, resumed=True))
    client.tell(ReplyStarted(REPLY, ASSISTANT, spoken=True), ChunkSpoken(REPLY, "It is noon."))
    client.sound(480)
    client.tell(ChunkSpoken(REPLY, " Lunch?"), sent())
    assert client.events[0]["session"]["repartee"]["resumed"] is True
    assert client.items == ["item_u", "item_f", "item_o", "item_u2", "item_a"]
    assert client.events[-1]["response"]["output"][0]["content"][0]["transcript"] == "It is noon. Lunch?"


def test_long_audio_is_split_without_loss() -> None:
    client = Client()
    asked(client)
    pcm = np.random.default_rng(1).integers(-32_768, 32_768, 24_000 * 3 + 7).astype(np.int16)
    events = client.do(lambda wire: wire.sound(REPLY, pcm))
    deltas = [base64.b64decode(event["delta"]) for event in events if event["type"] == "response.output_audio.delta"]
    assert max(map(len, deltas)) <= 24_000
    assert b"".join(deltas) == pcm.astype("<i2").tobytes()


@pytest.mark.parametrize("form", [AudioFormat.ULAW, AudioFormat.ALAW], ids=["u-law", "a-law"])
def test_telephone_audio_is_complete_and_similar(form: AudioFormat) -> None:
    client = Client(SessionConfig(output_format=form))
    asked(client)
    for _ in range(10):
        client.sound(2400)
    client.tell(sent())
    data = b"".join(
        base64.b64decode(event["delta"]) for event in client.events if event["type"] == "response.output_audio.delta"
    )
    decode = decode_ulaw if form is AudioFormat.ULAW else decode_alaw
    pcm = decode(data).astype(np.float64)
    assert len(pcm) == 8000
    spectrum = np.abs(np.fft.rfft(pcm))
    assert np.argmax(spectrum) == 500
    assert 5000 < np.std(pcm) < 6000


def test_response_may_have_its_own_format() -> None:
    client = Client()
    client.send({"type": "response.create", "response": {"audio": {"output": {"format": {"type": "audio/pcma"}}}}})
    client.tell(ReplyStarted(REPLY, ASSISTANT, spoken=True))
    client.sound(24_000)
    client.tell(sent())
    kinds = {event["response"]["audio"]["output"]["format"]["type"] for event in client.events if "response" in event}
    assert kinds == {"audio/pcma"}
    client.tell(ReplyStarted(NEXT, SECOND, spoken=True))
    assert client.events[-1]["response"]["audio"]["output"]["format"] == {"type": "audio/pcm", "rate": 24_000}


def test_metadata_of_refused_request_is_dropped() -> None:
    client = Client()
    client.send({"type": "response.create", "response": {"metadata": {"k": "v"}}, "event_id": "mine"})
    refused = client.commands[-1]
    events = client.do(lambda wire: wire.refuse(refused, "conversation_already_has_active_response"))
    assert events[0]["error"]["event_id"] == "mine"
    client.send({"type": "response.create", "response": {"metadata": {"k": "w"}}})
    client.do(lambda wire: wire.request_dropped())
    client.tell(ReplyStarted(REPLY, ASSISTANT, spoken=True))
    assert client.events[-1]["response"]["metadata"] is None


def test_spoken_turn_does_not_take_metadata_of_request() -> None:
    client = Client()
    client.send({"type": "response.create", "response": {"metadata": {"k": "v"}}})
    asked(client)
    assert client.events[-1]["response"]["metadata"] is None
    client.tell(
        sent(), UserTurnCommitted(2, "", False, None, None, "requested"), ReplyStarted(NEXT, SECOND, spoken=True)
    )
    assert client.events[-1]["response"]["metadata"] == {"k": "v"}


def test_typed_turn_sends_its_item_unless_known() -> None:
    client = Client(history=[UserMessage(USER, "hi", spoken=False)])
    known = client.tell(UserTurnCommitted(1, "hi", False, UserMessage(USER, "hi", spoken=False), None, "requested"))
    assert known == []
    new = client.tell(UserTurnCommitted(2, "ho", False, UserMessage(SECOND, "ho", spoken=False), None, "requested"))
    assert [event["type"] for event in new] == ["conversation.item.added", "conversation.item.done"]
    assert client.items == [USER, SECOND]


def test_late_and_unknown_events_are_not_sent() -> None:
    client = Client()
    asked(client)
    client.tell(sent())
    nothing = client.tell(
        ChunkSpoken(REPLY, "late"),
        ChunkSpoken(NEXT, "of nobody"),
        sent(NEXT),
        ReplyStopped(NEXT, "", 0.0, "voice"),
        ReplyStopped(REPLY, "", 0.0, "voice"),  # there is nothing to cut without words and audio
        WordsTimed(NEXT, (TimedWord("x", 0.0, 1.0, estimated=True),)),
        SpeechDiscarded(9, 0.0, "stuck"),
    )
    assert nothing == []
    assert client.sound(480) == []


def test_reply_is_cut_only_once() -> None:
    client = Client()
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is noon."), sent())
    first = client.tell(ReplyStopped(REPLY, "It", 40.0, "client"))
    assert [event["type"] for event in first] == ["conversation.item.truncated"]
    assert client.tell(ReplyStopped(REPLY, "It", 40.0, "client")) == []


@pytest.mark.parametrize("spoken", [True, False], ids=["spoken", "typed"])
def test_deleted_message_gets_no_more_item_events(*, spoken: bool) -> None:
    client = Client()
    client.tell(ReplyStarted(REPLY, ASSISTANT, spoken=spoken), ChunkSpoken(REPLY, "It is"))
    client.do(lambda wire: wire.item_deleted(ASSISTANT))
    rest = client.tell(ChunkSpoken(REPLY, " noon."), sent(), ReplyStopped(REPLY, "It", 40.0, "client"))
    assert [event["type"] for event in rest if event["type"].startswith("conversation.")] == []
    assert rest[-1]["response"]["output"][0]["id"] == ASSISTANT
    (event,) = client.do(lambda wire: wire.item_retrieved(RetrieveItem(None, ASSISTANT), None))
    assert event["error"]["code"] == "item_retrieve_invalid_item_id"


def test_retracted_reply_cannot_be_retrieved() -> None:
    client = Client()
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is noon."), ReplyStopped(REPLY, "", 0.0, "went on"))
    (event,) = client.do(lambda wire: wire.item_retrieved(RetrieveItem(None, ASSISTANT), None))
    assert event["error"]["code"] == "item_retrieve_invalid_item_id"


def test_forgotten_item_is_reported_as_deleted() -> None:
    client = Client(history=[HEARD])
    (event,) = client.tell(ItemForgotten(USER))
    assert event == {"type": "conversation.item.deleted", "item_id": USER}


def test_message_has_the_place_where_its_response_began() -> None:
    client = Client()
    asked(client)
    put_in: list[Item] = [
        UserMessage(ItemId("first"), "wait", spoken=False),
        UserMessage(ItemId("second"), "no", spoken=False),
    ]
    create = CreateItem(None, put_in[0], None)
    client.do(lambda wire: wire.item_created(create, put_in[0]))
    client.tell(ChunkSpoken(REPLY, "It is noon."), sent())
    client.do(lambda wire: wire.item_created(create, put_in[1]))
    assert client.items == [USER, ASSISTANT, "first", "second"]


def test_response_without_message_reserves_no_place() -> None:
    client = Client()
    asked(client)
    client.tell(FunctionCalled(REPLY, FunctionCallItem(ItemId("item_f"), "call_1", "f", "{}")), sent())
    item = UserMessage(ItemId("next"), "so", spoken=False)
    (added, _) = client.do(lambda wire: wire.item_created(CreateItem(None, item, None), item))
    assert added["previous_item_id"] == "item_f"
    assert client.items == [USER, "item_f", "next"]


def test_reply_missing_in_history_can_be_retrieved() -> None:
    client = Client()
    asked(client)
    client.tell(ChunkSpoken(REPLY, "It is noon."), ReplyStopped(REPLY, "", 0.0, "voice"))
    client.send({"type": "conversation.item.retrieve", "item_id": ASSISTANT})
    command = client.commands[-1]
    assert isinstance(command, RetrieveItem)
    (event,) = client.do(lambda wire: wire.item_retrieved(command, None))
    assert event["item"]["content"] == [{"type": "output_audio", "transcript": ""}]
    assert event["item"]["status"] == "incomplete"


def test_second_response_closes_the_first() -> None:
    client = Client()
    asked(client)
    events = client.tell(ChunkSpoken(REPLY, "It"), ReplyStarted(NEXT, SECOND, spoken=True))
    assert [event["type"] for event in events if event["type"].startswith("response.")][-2:] == [
        "response.done",
        "response.created",
    ]


@pytest.mark.parametrize(
    ("why", "reason"),
    [("voice", "turn_detected"), ("went on", "turn_detected"), ("requested", "client_cancelled"),
     ("client", "client_cancelled")], ids=['interrupted', 'user went on', 'new request', 'client cancelled'],
)  # fmt: skip
def test_cancelled_response_has_its_reason(
    why: Literal["voice", "went on", "requested", "client"], reason: str
) -> None:
    client = Client()
    asked(client)
    (event,) = client.tell(ReplyStopped(REPLY, "", 0.0, why))
    assert event["response"]["status_details"] == {"type": "cancelled", "reason": reason}


TOKENS = {
    "total_tokens": 14,
    "input_tokens": 7,
    "output_tokens": 7,
    "input_token_details": {
        "text_tokens": 7,
        "audio_tokens": 0,
        "image_tokens": 0,
        "cached_tokens": 3,
        "cached_tokens_details": {"text_tokens": 3, "audio_tokens": 0, "image_tokens": 0},
    },
    "output_token_details": {"text_tokens": 7, "audio_tokens": 0},
}
ENDINGS: list[tuple[str, ReplySent | ReplyStopped]] = [
    ("completed", ReplySent(REPLY, "", None, None, 7, 7, 3)),
    ("incomplete", ReplySent(REPLY, "", None, "length", 7, 7, 3)),
    ("failed", ReplySent(REPLY, "", "torn", None, 7, 7, 3)),
    ("cancelled", ReplyStopped(REPLY, "", 0.0, "voice", 7, 7, 3)),
    ("cancelled", ReplyStopped(REPLY, "", 0.0, "client", 7, 7, 3)),
    ("failed", ReplyStopped(REPLY, "", 0.0, "stuck", 7, 7, 3)),
]


@pytest.mark.parametrize(("status", "end"), ENDINGS, ids=[f"{status} {n}" for n, (status, _) in enumerate(ENDINGS)])
@pytest.mark.parametrize("known", [True, False], ids=["counted", "not counted"])
def test_usage_is_always_an_object(status: str, end: ReplySent | ReplyStopped, *, known: bool) -> None:
    client = Client()
    asked(client)
    if not known:
        end = replace(end, prompt_tokens=None, completion_tokens=None, cached_tokens=None)
    response = client.tell(ChunkSpoken(REPLY, "It is noon."), end)[-1 if isinstance(end, ReplySent) else -2]["response"]
    assert response["status"] == status
    assert response["usage"] == (TOKENS if known else zeros(TOKENS))


def zeros(counts: dict[str, object]) -> dict[str, object]:
    return {name: zeros(inner) if isinstance(inner, dict) else 0 for name, inner in counts.items()}


def test_message_is_done_before_following_function_call() -> None:
    client = Client()
    asked(client)
    call = FunctionCallItem(ItemId("item_f"), "call_1", "set_lamp", "{}")
    events = client.tell(ChunkSpoken(REPLY, "Let me see."), FunctionCalled(REPLY, call), sent())
    items = [(event["type"], event["output_index"]) for event in events if "output_item" in event["type"]]
    assert items == [
        ("response.output_item.added", 0), ("response.output_item.done", 0),
        ("response.output_item.added", 1), ("response.output_item.done", 1),
    ]  # fmt: skip
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["message", "function_call"]


def test_text_messages_stay_text() -> None:
    client = Client()
    text_only(client)
    client.send({"type": "conversation.item.retrieve", "item_id": ASSISTANT})
    command = client.commands[-1]
    assert isinstance(command, RetrieveItem)
    (event,) = client.do(lambda wire: wire.item_retrieved(command, AssistantMessage(ASSISTANT, "Hello there.")))
    assert event["item"]["content"] == [{"type": "output_text", "text": "Hello there."}]


def test_oldest_responses_and_items_are_dropped() -> None:
    client = Client()
    for turn in range(1, 2 * MAX_RESPONSES):
        reply_id = ReplyId(turn, 1)
        client.tell(
            ReplyStarted(reply_id, ItemId(f"item_{turn}"), spoken=True), ChunkSpoken(reply_id, "x"), sent(reply_id)
        )
    assert client.tell(ReplyStopped(ReplyId(1, 1), "", 0.0, "voice")) == []
    order = ItemOrder()
    for number in range(MAX_ITEMS + 2):
        order.insert(ItemId(str(number)), written=True)
    assert ItemId("1") not in order
    assert not order.is_written(ItemId("1"))
    assert ItemId("2") in order
    assert order.before(ItemId("3")) == "2"


if __name__ == "__main__":
    SECTIONS = ["\n".join([f"## {scene.__name__}", *wire_log(scene)]) for scene in SCENES]
    GOLDEN_FILE.write_text("\n\n".join(SECTIONS) + "\n", encoding="utf-8")
