"""Parsing of server-sent events, split at any position."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.sse import Event, SseReader, StreamFormatError


def read(*pieces: bytes, reader: SseReader | None = None) -> list[Event]:
    reader = reader or SseReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + list(reader.end())


def data_of(*pieces: bytes) -> list[str]:
    return [event.data for event in read(*pieces)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("prefix", [b"data: ", b"data:", b""], ids=["space", "no space", "bare"])
def test_payload_in_every_variant(prefix: bytes, end: bytes) -> None:
    assert data_of(prefix + b'{"a": 1}' + end + end + prefix + b'{"b": 2}' + end) == ['{"a": 1}', '{"b": 2}']


def test_payload_is_dispatched_at_its_newline() -> None:
    reader = SseReader()
    assert list(reader.feed(b'data: {"a": 1}\n')) == [Event("", '{"a": 1}')]
    assert list(reader.feed(b"\n")) == []


def test_comments_blank_lines_and_other_fields_are_ignored() -> None:
    assert data_of(b"\xef\xbb\xbf: ping\n\n\n\nid: 7\nretry: 10\ndata\ndata:\n: ping\ndata: [DONE]\n\n") == ["[DONE]"]


def test_event_name_lasts_until_the_blank_line() -> None:
    assert read(b"event: error\ndata: {}\n\ndata: {}\n\n") == [Event("error", "{}"), Event("", "{}")]


@pytest.mark.parametrize("prefix", [b"data: ", b""], ids=["data", "bare"])
def test_pretty_printed_json_is_one_event(prefix: bytes) -> None:
    lines = [b"{", b'  "error": {', b'    "code": 1', b"  }", b"}", b""]
    body = b"\n".join(prefix + line if line else line for line in lines) + b'\ndata: {"b": 2}\n'
    first, second = data_of(body)
    assert "".join(first.split()) == '{"error":{"code":1}}'
    assert second == '{"b": 2}'


def test_last_line_needs_no_newline() -> None:
    assert data_of(b"data: [DONE]") == ["[DONE]"]


def test_web_page_is_refused() -> None:
    with pytest.raises(StreamFormatError, match="web page"):
        read(b"<!doctype html>\n<p>502\n")


@pytest.mark.parametrize("body", [b"data: " + b"x" * 95, b'data: {"a":\ndata: ' + b"1" * 90], ids=["line", "event"])
def test_line_and_event_size_are_limited(body: bytes) -> None:
    assert data_of(body)
    with pytest.raises(StreamFormatError, match="longer than 100 bytes"):
        read(body + b"xx" * 5, reader=SseReader(max_line_bytes=100))


def test_endless_line_is_refused_before_its_end() -> None:
    reader = SseReader(max_line_bytes=100)
    assert [event for _ in range(100) for event in reader.feed(b"x")] == []
    with pytest.raises(StreamFormatError):
        list(reader.feed(b"x"))


def test_endless_stream_is_refused() -> None:
    reader = SseReader(max_stream_bytes=1000)
    assert [event for _ in range(71) for event in reader.feed(b": keep-alive\n\n")] == []
    with pytest.raises(StreamFormatError, match="exceeds the limit for an answer"):
        list(reader.feed(b": keep-alive\n\n"))


LINES = st.sampled_from(
    [b"", b": ping", b'data: {"t": "\xc3\xa9\xf0\x9f\x98\x80"}', b'data:{"t":1}', b'{"t": 2}', b"data: [DONE]",
     b"event: error", b"data: {", b'data: "a": 1', b"data: }", b"data: \xff", b"nonsense"]
)  # fmt: skip


@given(
    lines=st.lists(LINES, max_size=12),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(0, 400), max_size=30),
)
def test_packet_boundaries_do_not_matter(lines: list[bytes], end: bytes, cuts: list[int]) -> None:
    body = b"".join(line + end for line in lines)
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    pieces = [body[start:stop] for start, stop in pairwise(edges)]
    assert read(*pieces) == read(body)
    assert read(*(bytes([byte]) for byte in body)) == read(body)


@given(st.binary(max_size=300))
def test_any_bytes_end_in_events_or_a_format_error(body: bytes) -> None:
    try:
        events = read(body)
    except StreamFormatError:
        return
    assert all(event.data for event in events)
