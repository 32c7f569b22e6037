"""The messages of telephone media streams, and the keys that a caller presses."""

import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.phone import messages
from web.phone.keypad import ENTRY_PAUSE_S, MAX_KEYS, Keypad
from web.phone.messages import UNNAMED, Connected, Dtmf, Mark, Media, PhoneError, Start, Stop, Unknown, parse

FORMAT = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
FRAME = base64.b64encode(bytes(160)).decode()


def start(**changes: object) -> str:
    fields: dict[str, Any] = {"streamSid": "MZ1", "accountSid": "AC1", "callSid": "CA1", "tracks": ["inbound"]}
    fields |= {"customParameters": {"token": "secret"}, "mediaFormat": FORMAT}
    return json.dumps({"event": "start", "sequenceNumber": "1", "streamSid": "MZ1", "start": fields | changes})


def media(**changes: object) -> str:
    fields = {"track": "inbound", "chunk": "1", "timestamp": "5", "payload": FRAME} | changes
    return json.dumps({"event": "media", "sequenceNumber": "3", "streamSid": "MZ1", "media": fields})


def test_messages_of_a_call_are_parsed() -> None:
    assert parse('{"event":"connected","protocol":"Call","version":"1.0.0"}') == Connected()
    assert parse(start()) == Start("MZ1", "CA1", "secret")
    assert parse(media()) == Media(FRAME)
    assert parse('{"event":"dtmf","streamSid":"MZ1","dtmf":{"track":"inbound_track","digit":"#"}}') == Dtmf("#")
    assert parse('{"event":"mark","streamSid":"MZ1","mark":{"name":"m1"}}') == Mark("m1")
    assert parse('{"event":"stop","streamSid":"MZ1","stop":{"accountSid":"AC1","callSid":"CA1"}}') == Stop()


def test_messages_to_the_provider_have_its_framing() -> None:
    assert json.loads(messages.media("MZ1", FRAME)) == {
        "event": "media",
        "streamSid": "MZ1",
        "media": {"payload": FRAME},
    }
    assert json.loads(messages.mark("MZ1", "m1")) == {"event": "mark", "streamSid": "MZ1", "mark": {"name": "m1"}}
    assert json.loads(messages.clear("MZ1")) == {"event": "clear", "streamSid": "MZ1"}


def test_other_events_and_tracks_are_unknown() -> None:
    assert parse('{"event":"transcription"}') == Unknown("transcription")
    assert parse(media(track="outbound")) == Unknown("media of another track")
    assert parse('{"event":"dtmf","dtmf":{"digit":"w"}}') == Unknown("dtmf of no key")
    assert parse('{"event":"\\u001b[2J"}') == Unknown("of an unprintable name")


@pytest.mark.parametrize("call_id", ["+15550100", "CA 1", "CA\n1", "C" * 65, 5, None, ""])
def test_call_id_that_is_no_id_is_not_kept(call_id: object) -> None:
    parsed = parse(start(callSid=call_id))
    assert isinstance(parsed, Start)
    assert parsed.call_id == UNNAMED


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[" * 8000, "not JSON"),
        ("[]", "no event"),
        ('{"event":5}', "no event"),
        ('{"event":"media"}', "media has no object 'media'"),
        (media(payload=None), "payload is missing"),
        (media(payload="AAA"), "not base64"),
        (media(payload="@@@@"), "not base64"),
        (media(payload='AA"}'), "not base64"),
        (media(payload="AAAA" * 3000), "at most 8000"),
        (media(payload="A" * 20_000), "at most 16384"),
        (start(streamSid=None), "streamSid"),
        (start(streamSid='MZ"1'), "streamSid"),
        (start(mediaFormat=FORMAT | {"encoding": "audio/x-l16"}), "mediaFormat"),
        (start(mediaFormat=FORMAT | {"sampleRate": 16000}), "mediaFormat"),
        (start(mediaFormat=FORMAT | {"channels": 2}), "mediaFormat"),
        (start(mediaFormat=None), "mediaFormat"),
        ('{"event":"start","start":5}', "no object 'start'"),
        ('{"event":"dtmf","dtmf":{"digit":7}}', "dtmf.digit"),
        ('{"event":"mark","mark":{}}', "mark.name"),
    ],
)
def test_malformed_message_is_an_error_that_says_why(text: str, why: str) -> None:
    with pytest.raises(PhoneError, match=why):
        parse(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
EVENTS = ("connected", "start", "media", "dtmf", "mark", "stop", "other")


@given(st.sampled_from(EVENTS), st.dictionaries(st.sampled_from((*EVENTS, "streamSid")), json_values))
def test_any_json_is_a_message_or_an_error(event: str, fields: dict[str, object]) -> None:
    with suppress(PhoneError):
        parse(json.dumps({**fields, "event": event}))


# ---- keys ----


def entries(keypad: Keypad, keys: str, every_s: float = 0.3) -> list[str]:
    done = [keypad.press(key, number * every_s) for number, key in enumerate(keys)]
    return [entry for entry in done if entry is not None]


def test_entry_ends_after_a_pause() -> None:
    keypad = Keypad()
    assert entries(keypad, "123") == []
    assert keypad.due_s == pytest.approx(0.6 + ENTRY_PAUSE_S)
    assert keypad.check(0.5 + ENTRY_PAUSE_S) is None
    assert keypad.check(0.6 + ENTRY_PAUSE_S) == "123"
    assert keypad.due_s is None
    assert keypad.check(99.0) is None


@pytest.mark.parametrize(("keys", "ended"), [("12#34#", ["12", "34"]), ("*1#", ["*1"]), ("#", ["#"])])
def test_hash_key_ends_the_entry_at_once(keys: str, ended: list[str]) -> None:
    assert entries(Keypad(), keys) == ended


def test_entry_has_a_limit() -> None:
    assert entries(Keypad(), "7" * (2 * MAX_KEYS)) == ["7" * MAX_KEYS] * 2
