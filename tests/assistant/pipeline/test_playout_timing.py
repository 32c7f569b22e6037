"""Tests of the time at which a reply becomes audible."""

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


def new_timing(*, filled_blocks: int = 0, silent_blocks: int = 0) -> PlayoutTiming:
    """Returns a PlayoutTiming with audio: a wait announcement, then a reply that begins with silence."""
    timing = PlayoutTiming(TurnTrace(1), 1)
    timing.add_wait_announcement(filled_blocks * BLOCK)
    timing.add_audio(np.zeros(silent_blocks * BLOCK, np.int16))
    timing.add_audio(SOUND)
    return timing


def played(timing: PlayoutTiming, blocks: int, first_block: int = 0, *, gone: bool = False, last: bool = False) -> None:
    """Plays `blocks` device blocks; sample 0 leaves at 1 s. `gone`: there is no loudspeaker."""
    for number in range(first_block, first_block + blocks):
        leaves_at_s = math.inf if gone else 1 + number / 100
        end, finished = (number + 1) * BLOCK, last and number == first_block + blocks - 1
        timing.on_played(number * BLOCK, ReplySamples(end), leaves_at_s, finished=finished)


@pytest.mark.parametrize(
    ("filled_blocks", "silent_blocks"),
    [(0, 0), (0, 7), (7, 0), (3, 4)],
    ids=["immediate", "after silence", "after inserted audio", "after both"],
)
def test_playout_starts_at_the_first_sustained_sound(filled_blocks: int, silent_blocks: int) -> None:
    timing = new_timing(filled_blocks=filled_blocks, silent_blocks=silent_blocks)
    played(timing, filled_blocks + silent_blocks)
    assert timing.audible_at_s is None
    played(timing, 1, filled_blocks + silent_blocks)
    assert (
        timing.audible_at_s == timing.trace.playout_start_s == pytest.approx(1 + (filled_blocks + silent_blocks) / 100)
    )


def test_playout_span_starts_at_first_audio_or_commit() -> None:
    timing = new_timing()
    timing.trace.span(1, Span("tts", "tts", 0.2, 0.7))
    timing.trace.span(1, Span("commit", "endpoint_wait", 0.2, 0.9))
    played(timing, 2)
    assert timing.trace.end_of(1, "playout") == 1.0
    timing.trace.committed_attempt, timing.trace.speech_end_s = 1, 0.2
    assert timing.trace.stages()["playout"].ms == pytest.approx(100)


def test_client_measurement_is_split_into_transport_and_playout() -> None:
    timing = new_timing()
    timing.trace.span(1, Span("tts", "tts", 0.2, 0.7))
    timing.on_client_latency(1.5, 0.3)
    assert timing.audible_at_s == 1.5
    assert timing.trace.end_of(1, "transport") == pytest.approx(1.2)
    played(timing, 20)
    timing.on_client_latency(9.0, 0.3)
    assert timing.audible_at_s == timing.trace.playout_start_s == 1.5  # the first measurement counts


def test_reply_without_loudspeaker_has_no_latency() -> None:
    async def main() -> PlayoutTiming:
        timing = new_timing()
        played(timing, 40, gone=True, last=True)
        return timing

    timing = asyncio.run(main())
    assert (timing.audible_at_s, timing.trace.no_latency_reason) == (None, "no loudspeaker")
    assert timing.unheard == [(0, 40 * BLOCK)]


def test_reply_is_audible_from_the_return_of_the_loudspeaker() -> None:
    async def main() -> PlayoutTiming:
        timing = new_timing()
        played(timing, 5, gone=True)
        played(timing, 5, first_block=5)
        return timing

    timing = asyncio.run(main())
    assert timing.audible_at_s == pytest.approx(1.05)
    assert timing.unheard == [(0, 5 * BLOCK)]
