"""Tests of the counts of the packet-level bench."""

import random

import numpy as np
import pytest

from audio.units import REPLY_RATE_HZ, Pcm
from bench.webrtc_packets import Course, Network, through


def tone(seconds: float) -> Pcm:
    at = np.arange(round(REPLY_RATE_HZ * seconds))
    wave: Pcm = (8000 * np.sin(at * 2 * np.pi * 310 / REPLY_RATE_HZ)).astype(np.int16)
    return wave


def test_nothing_waits_and_nothing_is_lost_in_a_good_network() -> None:
    course = Course()
    heard = through(tone(2.0), Network(0.0, 0.0, "as called"), random.Random(1), course)
    assert (course.lost, course.frames, len(course.waits_ms)) == (0, 100, 100)
    assert max(course.waits_ms) == pytest.approx(0.0)
    assert len(heard) == 2 * REPLY_RATE_HZ


@pytest.mark.parametrize("kind", ["as called", "without copies", "nothing"])
def test_lost_and_late_packets_are_counted(kind: str) -> None:
    course = Course()
    heard = through(tone(4.0), Network(10.0, 60.0, kind), random.Random(1), course)
    assert course.lost + len(course.waits_ms) == course.frames == 200
    assert 8 <= course.lost <= 35
    assert 0 < min(course.waits_ms) < max(course.waits_ms) < 300
    assert abs(len(heard) - 4 * REPLY_RATE_HZ) <= 4 * 480
