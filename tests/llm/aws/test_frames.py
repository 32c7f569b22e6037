"""AWS's event stream, split at any position and damaged."""

import struct
from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.services.aws_server import event, fault, frame, part

from llm.aws import frames as aws_frames
from llm.aws.frames import EventStreamMessage, EventStreamReader
from llm.errors import LlmBroken

STREAM = event("messageStart", role="assistant") + part("é😀".encode() * 9) + fault("throttlingException") + part(b"")


def read(*pieces: bytes) -> list[EventStreamMessage]:
    reader = EventStreamReader("near")
    frames = [found for piece in pieces for found in reader.feed(piece)]
    reader.end()
    return frames


def test_messages_have_names_kinds_and_payloads() -> None:
    start, text, problem, empty = read(STREAM)
    assert (start.kind, start.name) == ("event", "messageStart")
    assert (text.name, text.payload) == ("PayloadPart", "é😀".encode() * 9)
    assert (problem.kind, problem.name) == ("exception", "throttlingException")
    assert empty.payload == b""
    (error,) = read(frame("InternalError", b"", kind="error", **{":error-message": "x"}))
    assert (error.kind, error.name, error.headers[":error-message"]) == ("error", "InternalError", "x")


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_packet_boundaries_do_not_matter(cuts: list[int]) -> None:
    edges = sorted({0, len(STREAM), *cuts})
    assert read(*(STREAM[start:stop] for start, stop in pairwise(edges))) == read(STREAM)


@given(st.integers(0, len(STREAM) - 1), st.integers(1, 255))
def test_changed_byte_is_detected(at: int, change: int) -> None:
    damaged = bytearray(STREAM)
    damaged[at] ^= change
    with pytest.raises(LlmBroken) as caught:
        read(bytes(damaged))
    assert caught.value.retryable


@given(st.binary(max_size=200))
def test_noise_is_broken_or_incomplete(noise: bytes) -> None:
    reader = EventStreamReader("near")
    with pytest.raises(LlmBroken, match="'near'"):
        list(reader.feed(noise + b"\0" * 12))


@given(st.binary(max_size=40), st.integers(0, 60), st.integers(0, 60))
def test_wrong_lengths_with_valid_checksums_are_broken(data: bytes, total: int, head: int) -> None:
    start = struct.pack("!II", total, head)
    message = start + struct.pack("!I", crc32(start)) + data
    reader = EventStreamReader("near")
    try:
        assert len(list(reader.feed(message + struct.pack("!I", crc32(message))))) <= 1
    except LlmBroken:
        return


def test_body_ending_inside_message_is_broken() -> None:
    with pytest.raises(LlmBroken, match="inside a frame"):
        read(STREAM[:-3])


def test_oversized_message_is_broken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_frames, "MAX_FRAME_BYTES", 100)
    with pytest.raises(LlmBroken, match="more than 100 bytes"):
        read(part(b"x" * 200)[:150])
    assert len(read(part(b"x") * 9)) == 9


def test_endless_stream_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_frames, "MAX_STREAM_BYTES", 100)
    with pytest.raises(LlmBroken, match="max_tokens"):
        read(part(b"x"), part(b"x"), part(b"x"))
