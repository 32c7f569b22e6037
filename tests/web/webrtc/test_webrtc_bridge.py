"""Events of WebRTC calls: what differs from a WebSocket."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from web.http_api.errors import ApiError
from web.webrtc.bridge import CallBridge
from web.webrtc.offer import check_offer, with_redundancy

OFFER = """v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
t=0 0
m=audio 9 UDP/TLS/RTP/SAVPF 111
a=ice-ufrag:abcd
a=ice-pwd:abcdefghijklmnopqrstuvwx
a=fingerprint:sha-256 AA
a=rtpmap:111 opus/48000/2
m=application 9 UDP/DTLS/SCTP webrtc-datachannel
""".replace("\n", "\r\n")


def text(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields}, separators=(",", ":"))


def told(bridge: CallBridge) -> list[dict[str, Any]]:
    events = [json.loads(one) for one in bridge.to_client]
    bridge.to_client.clear()
    return events


def asked(bridge: CallBridge) -> list[dict[str, Any]]:
    events = [json.loads(one) for one in bridge.to_session]
    bridge.to_session.clear()
    return events


def with_reply(ms: int = 400) -> CallBridge:
    bridge = CallBridge()
    delta = base64.b64encode(np.ones(24 * ms, "<i2").tobytes()).decode()
    bridge.on_event(text("response.output_audio.delta", response_id="r", item_id="i", delta=delta))
    return bridge


def test_sound_of_a_reply_is_not_sent_as_an_event() -> None:
    bridge = with_reply()
    assert told(bridge) == []
    assert bridge.next_frame(0.0) is not None
    (started,) = told(bridge)
    assert (started["type"], started["response_id"]) == ("output_audio_buffer.started", "r")


def test_reply_is_stopped_when_all_of_it_was_sent() -> None:
    bridge = with_reply(40)
    bridge.on_event(text("response.done", response={"id": "r", "status": "completed"}))
    for number in range(10):
        bridge.next_frame(number * 0.02)
    kinds = [event["type"] for event in told(bridge)]
    assert kinds == ["response.done", "output_audio_buffer.started", "output_audio_buffer.stopped"]
    reports = asked(bridge)
    assert [report["type"] for report in reports] == ["repartee.playout"] * len(reports)
    assert (reports[-1]["played_ms"], reports[-1]["finished"]) == (40.0, True)


@pytest.mark.parametrize(
    "event",
    [
        text("response.done", response={"id": "r", "status": "cancelled"}),
        text("conversation.item.truncated", item_id="i", audio_end_ms=100),
        text("conversation.item.deleted", item_id="i"),
    ],
)
def test_interruption_clears_the_output_once(event: str) -> None:
    bridge = with_reply()
    bridge.next_frame(0.0)
    bridge.on_event(event)
    bridge.on_event(text("output_audio_buffer.cleared", response_id="r"))  # the answer to the client's own clear
    assert [one["type"] for one in told(bridge)].count("output_audio_buffer.cleared") == 1
    assert bridge.next_frame(0.02) is None


@pytest.mark.parametrize("direction", ["output", "input"], ids=["conversation", "transcription"])
@pytest.mark.parametrize(("form", "began"), [("audio/pcm", True), ("audio/pcmu", False)])
def test_session_in_another_format_does_not_go_on_over_webrtc(direction: str, form: str, *, began: bool) -> None:
    bridge = CallBridge()
    bridge.on_event(text("session.created", session={"audio": {direction: {"format": {"type": form}}}}))
    assert (bridge.began, bridge.refused is None) == (began, began)


def test_event_that_is_too_long_for_the_channel_becomes_an_error() -> None:
    (error,) = [json.loads(CallBridge().too_long(text("conversation.item.retrieved", item={})))]
    assert error["error"]["code"] == "message_too_large"
    assert "conversation.item.retrieved" in error["error"]["message"]


def test_append_is_refused_by_name() -> None:
    bridge = CallBridge()
    bridge.on_message(text("input_audio_buffer.append", audio="", event_id="mine"))
    (event,) = told(bridge)
    assert event["error"]["code"] == "not_supported"
    assert event["error"]["event_id"] == "mine"
    assert asked(bridge) == []


def test_other_sound_format_is_refused_and_the_rest_of_the_update_takes_effect() -> None:
    bridge = CallBridge()
    audio = {"output": {"format": {"type": "audio/pcmu"}, "speed": 1.2}, "input": {"format": {"type": "audio/pcm"}}}
    bridge.on_message(text("session.update", session={"instructions": "Be short.", "audio": audio}))
    (event,) = told(bridge)
    assert event["error"]["param"] == "session.audio.output.format"
    (update,) = asked(bridge)
    assert update["session"]["instructions"] == "Be short."
    assert update["session"]["audio"] == {"output": {"speed": 1.2}, "input": {"format": {"type": "audio/pcm"}}}


def test_client_with_extensions_keeps_the_calls_own_reports() -> None:
    bridge = CallBridge()
    bridge.on_message(text("session.update", session={"repartee": {"playout": False}}))
    assert asked(bridge)[0]["session"]["repartee"]["playout"] is True
    assert bridge.resumable
    bridge.on_message(text("repartee.playout", response_id="r", played_ms=9e9, finished=True, latency_ms=500))
    (report,) = asked(bridge)
    assert (report["played_ms"], report["finished"], report["latency_ms"]) == (0.0, False, 500)


@pytest.mark.parametrize("events", [True, False])
def test_client_that_declared_the_extensions_before_can_resume(events: bool) -> None:
    bridge = CallBridge()
    session = {"audio": {"input": {"format": {"type": "audio/pcm"}}}, "repartee": {"events": events}}
    bridge.on_event(text("session.created", session=session))
    assert bridge.resumable == events


TOO_COSTLY = text("session.update", session={"repartee": {}, "tools": [[]] * 30_000})
WRONG_TYPE = text("session.update", session={"audio": {"input": {"format": {"type": []}}}})


@pytest.mark.parametrize(
    "message",
    ["", "{", "[]", '"append"', '{"type": 3, "append": 1}', "[" * 100_000 + "append", TOO_COSTLY, WRONG_TYPE],
    ids=["empty", "cut", "list", "string", "type is a number", "deep", "too costly", "format of a wrong type"],
)
def test_malformed_and_costly_messages_are_left_to_the_session(message: str) -> None:
    bridge = CallBridge()
    bridge.on_message(message)
    assert list(bridge.to_session) == [message]
    assert not bridge.resumable


# ---- offers ----


def test_usual_offer_is_accepted() -> None:
    check_offer(OFFER)


@pytest.mark.parametrize(
    ("offer", "code"),
    [
        ("", "invalid_offer"),
        ("hello", "invalid_offer"),
        (OFFER.replace("m=audio", "m=video"), "invalid_offer"),
        (OFFER + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n", "not_supported"),
        (OFFER.replace("opus", "PCMU"), "not_supported"),
        (OFFER.replace("a=fingerprint", "a=x"), "invalid_offer"),
        (OFFER.replace("a=ice-ufrag", "a=x"), "invalid_offer"),
        (OFFER + "a=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\n" * 100, "invalid_offer"),
        (OFFER + "a=x\r\n" * 30_000, "invalid_offer"),
    ],
)
def test_wrong_offer_is_refused_before_anything_is_set_up(offer: str, code: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_offer(offer)
    assert refused.value.code == code
    assert refused.value.param == "sdp"


def test_answer_asks_for_redundant_frames() -> None:
    answer, payload_type = with_redundancy(OFFER + "a=fmtp:111 minptime=10\r\n")
    assert payload_type == 111
    assert answer.count("a=fmtp:111") == 1
    assert "useinbandfec=1" in answer


# ---- out-of-band responses ----


def play(bridge: CallBridge, response: str, ms: int, level: int) -> None:
    delta = base64.b64encode(np.full(24 * ms, level, "<i2").tobytes()).decode()
    bridge.on_event(text("response.output_audio.delta", response_id=response, item_id=f"i{response}", delta=delta))


def frames(bridge: CallBridge, count: int) -> list[int]:
    """Returns the level of each frame; 0 for silence."""
    sent = [bridge.next_frame(number * 0.02) for number in range(count)]
    assert all(frame is None or frame.min() == frame.max() for frame in sent), "two responses in one frame"
    return [0 if frame is None else int(frame[0]) for frame in sent]


def begin_beside(bridge: CallBridge, response: str = "o") -> None:
    bridge.on_event(text("response.created", response={"id": response, "conversation_id": None}))


def done(bridge: CallBridge, response: str) -> None:
    bridge.on_event(text("response.done", response={"id": response, "status": "completed"}))


def test_out_of_band_response_waits_until_the_reply_is_over() -> None:
    bridge = CallBridge()
    begin_beside(bridge)
    play(bridge, "r", 40, 1)
    play(bridge, "o", 40, 2)
    done(bridge, "o")
    assert frames(bridge, 3) == [1, 1, 0]  # the reply is not complete
    play(bridge, "r", 20, 1)
    done(bridge, "r")
    assert frames(bridge, 4) == [1, 2, 2, 0]


def test_reply_pauses_an_out_of_band_response() -> None:
    bridge = CallBridge()
    begin_beside(bridge)
    play(bridge, "o", 100, 2)
    done(bridge, "o")
    assert frames(bridge, 2) == [2, 2]
    play(bridge, "r", 40, 1)
    done(bridge, "r")
    assert frames(bridge, 6) == [1, 1, 2, 2, 2, 0]
    starts = [event["response_id"] for event in told(bridge) if event["type"] == "output_audio_buffer.started"]
    assert starts == ["o", "r"]


def test_waiting_sound_of_out_of_band_responses_is_limited() -> None:
    bridge = CallBridge()
    begin_beside(bridge)
    play(bridge, "r", 20, 1)
    for _ in range(130):
        play(bridge, "o", 1000, 2)
    assert "output_audio_buffer.cleared" in [event["type"] for event in told(bridge)]
    done(bridge, "r")
    assert frames(bridge, 2) == [1, 0]
