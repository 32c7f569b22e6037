"""The times at which a reply became audible, and the part of it that was played."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.level import audible_onset
from audio.units import REPLY_RATE_HZ
from web.remote.sound.reply_playback import ReplyPlayback


def reply(silence_ms: int = 100, tone_ms: int = 400) -> np.ndarray:
    tone = np.sin(np.arange(24 * tone_ms) * 0.2) * 8000
    return np.concatenate([np.zeros(24 * silence_ms), tone]).astype(np.int16)


@given(st.integers(0, 300), st.lists(st.integers(1, 4000), min_size=1, max_size=20), st.integers(100, 1000))
def test_onset_time_does_not_depend_on_block_sizes(silence_ms: int, pieces: list[int], block: int) -> None:
    pcm = reply(silence_ms)
    onset = audible_onset(pcm, REPLY_RATE_HZ)
    assert onset is not None
    played, at, n = ReplyPlayback(), 0, 0
    while at < len(pcm):
        size = pieces[n % len(pieces)]
        played.came(pcm[at : at + size], 5.0 + at / REPLY_RATE_HZ)
        at, n = at + size, n + 1
    said, first = 0, 0
    while first < len(pcm):
        total = min(len(pcm), first + block)
        said += played.took(total, 10.0 + first / REPLY_RATE_HZ, finished=total == len(pcm))
        first = total
    assert said == 1
    assert played.audible_s == pytest.approx(10.0 + onset / REPLY_RATE_HZ)
    assert played.device_ms is not None
    assert 5000 - 4000 / 24 - 1 <= played.device_ms <= 5000 + 4000 / 24 + 1
    assert played.heard_ms(0.0) == pytest.approx(len(pcm) / 24)


def test_heard_ms_is_what_has_left_the_loudspeaker() -> None:
    played = ReplyPlayback()
    played.came(reply(), 1.0)
    played.took(2400, 2.0, finished=False)
    assert played.heard_ms(1.5) == 0
    assert played.heard_ms(2.05) == pytest.approx(50)
    assert played.heard_ms(9.0) == pytest.approx(100)


def test_reports_are_due_ten_times_a_second() -> None:
    played = ReplyPlayback()
    assert [played.report_due(at) for at in (0.0, 0.05, 0.1, 0.15, 0.21)] == [True, False, True, False, True]


def test_silent_reply_never_becomes_audible() -> None:
    played = ReplyPlayback()
    played.came(np.zeros(4800, np.int16), 0.0)
    assert not played.took(4800, 1.0, finished=True)
    assert played.audible_s is None


def test_missing_loudspeaker_is_tracked() -> None:
    played = ReplyPlayback()
    played.came(reply(), 0.0)
    played.took(2400, 1.0, finished=False)
    assert played.lost_at is None
    played.took(4800, math.inf, finished=False)
    played.took(7200, math.inf, finished=False)
    assert played.lost_at == 2400
    played.took(8400, 2.0, finished=False)
    assert played.lost_at is None
    played.took(12_000, math.inf, finished=False)
    played.took(12_000, math.inf, finished=True)
    assert played.lost_at == 8400
