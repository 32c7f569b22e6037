"""Half duplex: the reply is muted, everything else passes."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.echo.half_duplex import LEAD_S, TAIL_S, HalfDuplex
from audio.units import FRAME_SAMPLES, s_of_samples

Sounding = npt.NDArray[np.bool_]

FRAME = np.full(FRAME_SAMPLES, 1000, np.int16)
RATE_HZ = 24_000
BLOCK = 240

# A reply as blocks of 10 ms, loud or not; how far ahead each is reported; when it begins.
replies = st.lists(st.booleans(), min_size=1, max_size=150)
aheads_s = st.floats(0.03, 0.4)
begins_s = st.floats(0.0, 1.0)


def scene(blocks: list[bool], ahead_s: float, begin_s: float) -> tuple[list[float], list[bool]]:
    """Returns the start of each frame and whether it passed."""
    gate = HalfDuplex()
    told = 0
    starts, passed = [], []
    for number in range(int((begin_s + len(blocks) * 0.01 + 1.0) / 0.02)):
        start_s = number * s_of_samples(FRAME_SAMPLES)
        while told < len(blocks) and begin_s + told * 0.01 < start_s + 0.02 + ahead_s:
            block = np.full(BLOCK, 3000 if blocks[told] else 0, np.int16)
            gate.add_reference(block, RATE_HZ, begin_s + told * 0.01)
            told += 1
        starts.append(start_s)
        passed.append(bool(gate.clean(FRAME, start_s).any()))
    return starts, passed


@given(replies, aheads_s, begins_s)
def test_frames_during_reply_are_muted(blocks: list[bool], ahead_s: float, begin_s: float) -> None:
    starts, passed = scene(blocks, ahead_s, begin_s)
    for number, loud in enumerate(blocks):
        begins, ends = begin_s + number * 0.01, begin_s + (number + 1) * 0.01
        touched = [came for start, came in zip(starts, passed, strict=True) if start < ends and start + 0.02 > begins]
        assert not (loud and any(touched))


@given(replies, aheads_s, begins_s)
def test_frames_away_from_reply_pass(blocks: list[bool], ahead_s: float, begin_s: float) -> None:
    starts, passed = scene(blocks, ahead_s, begin_s)
    loud_s = [begin_s + number * 0.01 for number, loud in enumerate(blocks) if loud]
    for start, came in zip(starts, passed, strict=True):
        near = any(at - LEAD_S - 0.021 < start < at + 0.011 + TAIL_S for at in loud_s)
        assert came or near


def test_mute_lasts_for_configured_tail() -> None:
    gate = HalfDuplex(tail_s=0.1)
    gate.add_reference(np.full(BLOCK, 3000, np.int16), RATE_HZ, 1.0)
    assert not gate.clean(FRAME, 1.1).any()
    assert gate.clean(FRAME, 1.1101).any()
    with pytest.raises(ValueError, match="tail_s must be at least 0 s, not -1"):
        HalfDuplex(tail_s=-1)


def test_inaudible_audio_does_not_mute() -> None:
    gate = HalfDuplex()
    gate.add_reference(np.full(BLOCK, -32, np.int16), RATE_HZ, 1.0)
    assert gate.clean(FRAME, 1.0) is FRAME


def test_negative_full_scale_counts_as_loud() -> None:
    gate = HalfDuplex()
    gate.add_reference(np.full(BLOCK, -32_768, np.int16), RATE_HZ, 1.0)
    assert not gate.clean(FRAME, 1.0).any()


def test_stored_spans_are_bounded() -> None:
    gate = HalfDuplex(tail_s=0.0)
    for number in range(1000):
        gate.add_reference(np.full(BLOCK, 3000, np.int16), RATE_HZ, number * 1.0)
    assert len(gate._spans) == 64
    assert not any(gate.clean(FRAME, number * 1.0).any() for number in range(1000))
