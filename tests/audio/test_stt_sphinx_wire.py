import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.stt.sphinx_wire import (
    MAX_PAYLOAD_BYTES,
    HeardPayload,
    Kind,
    LoadOrder,
    LoadReport,
    SphinxMessage,
    Unframer,
    WireError,
    frame,
    pack_heard,
    pack_order,
    pack_report,
    unpack_heard,
    unpack_order,
    unpack_report,
)

U32 = st.integers(0, 2**32 - 1)
MESSAGES = st.lists(st.builds(SphinxMessage, st.sampled_from(Kind), U32, U32, st.binary(max_size=200)), max_size=8)


@given(MESSAGES, st.data())
def test_messages_survive_any_cutting(messages: list[SphinxMessage], data: st.DataObject) -> None:
    stream = b"".join(frame(message) for message in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    unframer = Unframer()
    received: list[SphinxMessage] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += unframer.receive(stream[start:end])
    assert received == messages


@given(st.binary(max_size=300))
def test_any_bytes_are_messages_or_a_wire_error(data: bytes) -> None:
    try:
        messages = list(Unframer().receive(data))
    except WireError:
        return
    assert data.startswith(b"".join(frame(message) for message in messages))


def test_invalid_length_is_refused_before_buffering() -> None:
    with pytest.raises(WireError, match="not a message"):
        list(Unframer().receive((MAX_PAYLOAD_BYTES + 1).to_bytes(4, "little") + bytes([Kind.AUDIO]) + bytes(8)))


def test_unknown_message_kind_is_refused() -> None:
    with pytest.raises(WireError, match="kind 99"):
        list(Unframer().receive(bytes(4) + bytes([99]) + bytes(8)))


def test_too_long_message_is_refused() -> None:
    with pytest.raises(WireError, match="too long"):
        frame(SphinxMessage(Kind.AUDIO, payload=bytes(MAX_PAYLOAD_BYTES + 1)))


@given(
    st.builds(HeardPayload, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.booleans(), st.text(max_size=50))
)
def test_heard(heard: HeardPayload) -> None:
    assert unpack_heard(pack_heard(heard)) == heard


@given(st.binary(max_size=40))
def test_any_bytes_are_heard_or_a_wire_error(payload: bytes) -> None:
    try:
        heard = unpack_heard(payload)
    except WireError:
        return
    assert unpack_heard(pack_heard(heard)) == heard


def test_load_order_and_report_survive_a_round_trip() -> None:
    order = LoadOrder(commands=["what time is it"], cmn="40,3")
    report = LoadReport(version="5", kept=1, left_out=0, missing=["lantern"])
    assert unpack_order(pack_order(order)) == order
    assert unpack_report(pack_report(report)) == report


@pytest.mark.parametrize("payload", [b"", b"[1]", b"\xff", b'"x"'], ids=["empty", "list", "invalid UTF-8", "text"])
def test_report_that_is_not_a_json_object_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        unpack_report(payload)
