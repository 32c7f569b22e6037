"""When a reply was first heard."""

import asyncio
import math

import numpy as np
import pytest

from assistant.pipeline.playout_timing import PlayoutTiming
from assistant.pipeline.turn_trace import TurnTrace
from assistant.trace.latency import Span
from audio.units import REPLY_RATE_HZ, ReplySamples

BLOCK = REPLY_RATE_HZ // 100
"""10 ms."""

SOUND = np.full(40 * BLOCK, 10_000, np.int16)


def begun(*, filled_blocks: int = 0, silent_blocks: int = 0) -> PlayoutTiming:
    """One whose sound was made: what fills a wait, then the reply, silent at first."""
    start = PlayoutTiming(TurnTrace(1), 1)
    start.add_wait_announcement(filled_blocks * BLOCK)
    start.add_audio(np.zeros(silent_blocks * BLOCK, np.int16))
    start.add_audio(SOUND)
    return start


def played(start: PlayoutTiming, blocks: int, first_block: int = 0, *, gone: bool = False, last: bool = False) -> None:
    """So many blocks leave, the one with sample 0 at 1 s; `gone`: there is no loudspeaker."""
    for number in range(first_block, first_block + blocks):
        leaves_at_s = math.inf if gone else 1 + number / 100
        end, finished = (number + 1) * BLOCK, last and number == first_block + blocks - 1
        start.was_played(number * BLOCK, ReplySamples(end), leaves_at_s, finished=finished)


@pytest.mark.parametrize(("filled_blocks", "silent_blocks"), [(0, 0), (0, 7), (7, 0), (3, 4)])
def test_playout_starts_at_the_first_sustained_sound(filled_blocks: int, silent_blocks: int) -> None:
    start = begun(filled_blocks=filled_blocks, silent_blocks=silent_blocks)
    played(start, filled_blocks + silent_blocks)
    assert start.audible_at_s is None
    played(start, 1, filled_blocks + silent_blocks)
    assert start.audible_at_s == start.trace.playout_start_s == pytest.approx(1 + (filled_blocks + silent_blocks) / 100)


def test_playout_span_starts_at_first_audio_or_commit() -> None:
    start = begun()
    start.trace.span(1, Span("tts", "tts", 0.2, 0.7))
    start.trace.span(1, Span("commit", "endpoint_wait", 0.2, 0.9))
    played(start, 2)
    assert start.trace.end_of(1, "playout") == 1.0
    start.trace.committed_attempt, start.trace.speech_end_s = 1, 0.2
    assert start.trace.stages()["playout"].ms == pytest.approx(100)


def test_client_measurement_is_split_into_transport_and_playout() -> None:
    start = begun()
    start.trace.span(1, Span("tts", "tts", 0.2, 0.7))
    start.was_measured(1.5, 0.3)
    assert start.audible_at_s == 1.5
    assert start.trace.end_of(1, "transport") == pytest.approx(1.2)
    played(start, 20)
    start.was_measured(9.0, 0.3)
    assert start.audible_at_s == start.trace.playout_start_s == 1.5  # the first word on it counts


def test_reply_without_loudspeaker_has_no_latency() -> None:
    async def play() -> PlayoutTiming:
        start = begun()
        played(start, 40, gone=True, last=True)
        return start

    start = asyncio.run(play())
    assert (start.audible_at_s, start.trace.no_latency_reason) == (None, "no loudspeaker")
    assert start.unheard == [(0, 40 * BLOCK)]


def test_reply_is_audible_from_the_return_of_the_loudspeaker() -> None:
    async def play() -> PlayoutTiming:
        start = begun()
        played(start, 5, gone=True)
        played(start, 5, first_block=5)
        return start

    start = asyncio.run(play())
    assert start.audible_at_s == pytest.approx(1.05)
    assert start.unheard == [(0, 5 * BLOCK)]
