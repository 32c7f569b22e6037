"""Large appends are decoded in steps, and are otherwise as small ones."""

import base64
import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks.stopwatch import slowness

from web.wire.incoming.base64_steps import STEP_CHARS, Base64Steps
from web.wire.incoming.commands import Append, Command
from web.wire.incoming.event_limits import outline_of
from web.wire.incoming.parse import Reader
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import SessionConfig

SOUND = os.urandom(3 * STEP_CHARS)
AUDIO = base64.b64encode(SOUND).decode()
STEP_S = 0.02
"""Limit of the processor time of a step; it takes 1 to 4 ms."""


def read_in_steps(message: str) -> tuple[Command | ProtocolError, int, float]:
    """Returns the command, the number of steps, and the longest processor time of one."""
    steps, count, longest_s = Reader(SessionConfig(), "en").read_in_steps(message), 0, 0.0
    while True:
        began_s = time.thread_time()
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count, longest_s
        finally:
            longest_s = max(longest_s, time.thread_time() - began_s)
        count += 1


def append(audio: str, **fields: object) -> str:
    return json.dumps({"type": "input_audio_buffer.append", **fields})[:-1] + f', "audio": "{audio}"}}'


@pytest.mark.parametrize(
    "escaped",
    [AUDIO, AUDIO.replace("/", "\\/"), AUDIO.replace("+", "\\u002b").replace("/", "\\/")],
    ids=["plain", "slashes escaped", "plus signs escaped"],
)
def test_large_append_is_decoded_in_steps(escaped: str) -> None:
    command, count, longest_s = read_in_steps(append(escaped, event_id="e"))
    assert isinstance(command, Append)
    assert (command.event_id, command.audio) == ("e", SOUND)
    assert count > len(AUDIO) // STEP_CHARS
    assert longest_s < STEP_S * max(1.0, slowness())


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(append(AUDIO + "!"), id="no base64"),
        pytest.param(append(AUDIO[:-5]), id="incomplete"),
        pytest.param(append("AAA=" + AUDIO), id="padding within"),
        pytest.param(append(AUDIO + "AAA=" + "AAAA"), id="something behind the padding"),
        pytest.param(append(AUDIO + "\\n"), id="line break"),
        pytest.param(append(AUDIO + "\\"), id="string without an end"),
        pytest.param(append(AUDIO + "AA=="), id="half a sample"),
        pytest.param(append(AUDIO, other=1), id="unknown field"),
        pytest.param(append(AUDIO, event_id=1), id="wrong type"),
        pytest.param(append("A" * (24 << 20)), id="too long"),
    ],
)
def test_error_of_a_large_append_is_that_of_a_small_one(message: str) -> None:
    found, _, _ = read_in_steps(message)
    assert found == Reader(SessionConfig(), "en").read(message)
    assert isinstance(found, ProtocolError)


@given(st.binary(max_size=60), st.lists(st.integers(0, 90), max_size=8), st.booleans())
def test_pieces_may_end_anywhere(data: bytes, cuts: list[int], escaped: bool) -> None:
    text = base64.b64encode(data).decode()
    text = text.replace("+", "\\u002B").replace("/", "\\/") if escaped else text
    steps, ends = Base64Steps(), sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    assert b"".join(map(steps.feed, pieces)) + steps.finish() == data


def test_outline_leaves_out_base64_only() -> None:
    long = "A" * 100_000
    assert outline_of(f'{{"audio":"{long}","x":"a b"}}') == '{"audio":"","x":"a b"}'
    assert outline_of(f'{{"url":"data:image/png;base64,{long}"}}') == '{"url":""}'
    for kept in (f'{{"text":"{"word " * 20_000}"}}', "[" + "1," * 100_000 + "1]", "[" * 100_000, "{" * 100_000):
        assert outline_of(kept) == kept
