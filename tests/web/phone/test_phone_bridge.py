"""The translation between a telephone media stream and the Realtime protocol."""

import base64
import json
from typing import Any

import pytest

from web.phone.bridge import PhoneBridge
from web.phone.keypad import ENTRY_PAUSE_S
from web.phone.messages import Dtmf, Mark, Media

Event = dict[str, Any]


class Call:
    """One call: what the bridge sent to both sides."""

    def __init__(self) -> None:
        self.bridge = PhoneBridge("MZ1")

    def to_phone(self) -> list[Event]:
        return _taken(self.bridge.to_phone)

    def to_session(self) -> list[Event]:
        return _taken(self.bridge.to_session)

    def event(self, kind: str, **fields: object) -> None:
        self.bridge.on_event(json.dumps({"type": kind, **fields}))

    def begin(self, reply: str = "resp_1") -> None:
        self.event("response.created", response={"id": reply})

    def sound(self, ms: int, reply: str = "resp_1", item: str = "item_1") -> None:
        delta = base64.b64encode(bytes(8 * ms)).decode()
        self.event("response.output_audio.delta", response_id=reply, item_id=item, delta=delta)

    def done(self, status: str = "completed", reply: str = "resp_1") -> None:
        self.event("response.done", response={"id": reply, "status": status})

    def returned(self, *names: str) -> None:
        for name in names:
            self.bridge.on_message(Mark(name), 0.0)

    def press(self, keys: str, at_s: float = 0.0) -> None:
        for key in keys:
            self.bridge.on_message(Dtmf(key), at_s)


def _taken(messages: Any) -> list[Event]:
    taken = [json.loads(text) for text in messages]
    messages.clear()
    return taken


def kinds(events: list[Event]) -> list[str]:
    return [event.get("event") or event["type"] for event in events]


def names(events: list[Event]) -> list[str]:
    return [event["mark"]["name"] for event in events if event["event"] == "mark"]


def played(reply: str, ms: float, *, finished: bool = False) -> Event:
    return {"type": "repartee.playout", "response_id": reply, "played_ms": ms, "finished": finished}


def test_audio_of_the_caller_is_appended() -> None:
    call = Call()
    call.bridge.on_message(Media("//8="), 0.0)
    assert call.to_session() == [{"type": "input_audio_buffer.append", "audio": "//8="}]


def test_mark_precedes_a_reply_and_follows_each_piece() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.sound(100)
    assert kinds(sent := call.to_phone()) == ["mark", "media", "mark", "media", "mark"]
    assert len(set(names(sent))) == 3
    assert all(message["streamSid"] == "MZ1" for message in sent)


def test_marks_report_what_was_heard() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.sound(50)
    begun, first, last = names(call.to_phone())
    call.returned(begun, first)
    assert call.to_session() == [played("resp_1", 0), played("resp_1", 100)]
    call.done()
    assert call.to_session() == []
    call.returned(last)
    assert call.to_session() == [played("resp_1", 150, finished=True)]


def test_reply_that_was_played_before_its_end_is_known_is_finished_then() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.returned(*names(call.to_phone()))
    call.to_session()
    call.done()
    assert call.to_session() == [played("resp_1", 100, finished=True)]


def test_missing_mark_is_made_up_by_the_next() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.sound(100)
    call.returned(names(call.to_phone())[-1])
    assert call.to_session() == [played("resp_1", 200)]


def test_interruption_clears_once_and_marks_of_cleared_audio_are_not_heard() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.sound(100)
    before = names(call.to_phone())
    call.returned(before[0])
    call.to_session()
    call.done("cancelled")
    call.event("conversation.item.truncated", item_id="item_1", audio_end_ms=60)
    assert call.to_phone() == [{"event": "clear", "streamSid": "MZ1"}]
    call.returned(*before[1:])
    assert call.to_session() == []


@pytest.mark.parametrize(
    ("event", "item", "told"),
    [
        ("conversation.item.truncated", "item_1", ["clear"]),
        ("conversation.item.deleted", "item_1", ["clear"]),
        ("conversation.item.deleted", "item_0", []),
    ],
    ids=["interrupted", "retracted", "another item is deleted"],
)
def test_reply_that_was_sent_and_still_plays_is_cleared(event: str, item: str, told: list[str]) -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.done()
    call.to_phone()
    call.event(event, item_id=item, audio_end_ms=60)
    assert kinds(call.to_phone()) == told


def test_reply_cut_by_a_token_limit_plays_to_its_end() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.done("incomplete")
    assert "clear" not in kinds(call.to_phone())


def test_other_reply_in_the_buffer_is_sent_again_after_a_clear() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.done()
    call.begin("resp_2")
    call.sound(40, "resp_2", "item_2")
    call.to_phone()
    call.event("conversation.item.truncated", item_id="item_1", audio_end_ms=60)
    again = call.to_phone()
    assert kinds(again) == ["clear", "mark", "media", "mark"]
    assert len(base64.b64decode(again[2]["media"]["payload"])) == 320
    call.returned(*names(again))
    assert call.to_session() == [played("resp_2", 0), played("resp_2", 40)]


# ---- keys ----


def test_keys_become_a_typed_turn_after_a_pause() -> None:
    call = Call()
    call.press("42", 1.0)
    assert call.to_session() == []
    assert call.bridge.due_s == 1.0 + ENTRY_PAUSE_S
    call.bridge.on_time(1.0 + ENTRY_PAUSE_S)
    create, respond = call.to_session()
    assert create["item"]["content"] == [{"type": "input_text", "text": "Keypad: 4 2"}]
    assert respond == {"type": "response.create"}
    assert call.bridge.due_s is None


def test_key_stops_the_reply() -> None:
    call = Call()
    call.begin()
    call.sound(100)
    call.press("4")
    assert kinds(call.to_session()) == ["response.cancel"]


def test_answer_to_keys_waits_for_the_end_of_another_response() -> None:
    call = Call()
    call.press("4#")
    call.to_session()
    call.event("error", error={"code": "conversation_already_has_active_response"})
    assert call.to_session() == []
    call.done(reply="resp_0")
    assert kinds(call.to_session()) == ["response.create"]


def test_answer_to_keys_is_requested_when_the_stopped_reply_is_over() -> None:
    call = Call()
    call.begin()
    call.press("4#")
    assert kinds(call.to_session()) == ["response.cancel", "conversation.item.create"]
    call.done("cancelled")
    assert kinds(call.to_session()) == ["response.create"]
