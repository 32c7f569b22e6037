"""The level history: levels of 5 ms blocks and positions in it."""

import numpy as np
import pytest

from audio.units import FRAME_SAMPLES, Pcm, Samples
from audio.vad.level import MAX_FRAMES, LevelHistory

START = 1_000_000


def history_of(pcm: Pcm, start: int = START) -> LevelHistory:
    history = LevelHistory()
    for at in range(0, len(pcm), FRAME_SAMPLES):
        history.take(pcm[at : at + FRAME_SAMPLES], Samples(start + at + FRAME_SAMPLES))
    return history


def burst(frames: int, begin: int, end: int) -> Pcm:
    """1 kHz between two samples, silence around."""
    pcm = np.zeros(frames * FRAME_SAMPLES)
    at = np.arange(begin, end)
    pcm[begin:end] = 8_000 * np.sin(2 * np.pi * at / 16)
    return pcm.astype(np.int16)


def test_onset_is_found_within_one_block() -> None:
    history = history_of(burst(20, 2_000, 4_000))
    onset = history.onset(Samples(START + 3_000), -60, reach_samples=3_200, gap_samples=480)
    assert abs(onset - START - 2_000) <= 80


def test_onset_search_is_limited_by_reach_and_gap() -> None:
    pcm = burst(20, 1_000, 2_000) + burst(20, 3_000, 5_000)
    history = history_of(pcm)
    raw = Samples(START + 4_000)
    assert abs(history.onset(raw, -60, reach_samples=480, gap_samples=1_600) - START - 3_520) <= 80
    assert abs(history.onset(raw, -60, reach_samples=6_400, gap_samples=480) - START - 3_000) <= 80
    assert abs(history.onset(raw, -60, reach_samples=6_400, gap_samples=1_600) - START - 1_000) <= 80


def test_positions_before_history_are_clipped() -> None:
    history = history_of(burst(60, 0, 60 * FRAME_SAMPLES))
    oldest = START + 60 * FRAME_SAMPLES - 32 * FRAME_SAMPLES
    assert history.onset(Samples(oldest + 800), -60, reach_samples=100_000, gap_samples=480) == oldest


@pytest.mark.parametrize(("hz", "at_most_db"), [(0, -90), (50, -28)], ids=["DC offset", "50 Hz hum"])
def test_dc_offset_and_hum_are_attenuated(hz: int, at_most_db: float) -> None:
    at_s = np.arange(50 * FRAME_SAMPLES) / 16_000
    pcm = (10_000 * np.cos(2 * np.pi * hz * at_s)).round().astype(np.int16)
    assert history_of(pcm).frame_db <= at_most_db


def test_voice_frequencies_pass() -> None:
    assert history_of(burst(5, 0, 5 * FRAME_SAMPLES)).frame_db == pytest.approx(-12.3, abs=1)


def test_several_frames_at_once_give_identical_levels() -> None:
    pcm = np.random.default_rng(3).normal(0, 900, 60 * FRAME_SAMPLES).astype(np.int16)
    single, several = LevelHistory(), LevelHistory()
    at, frames = 0, 1
    while at < len(pcm):
        end = min(at + frames * FRAME_SAMPLES, len(pcm))
        one_by_one = []
        for begin in range(at, end, FRAME_SAMPLES):
            single.take(pcm[begin : begin + FRAME_SAMPLES], Samples(begin + FRAME_SAMPLES))
            one_by_one.append(single.frame_db)
        assert several.take(pcm[at:end], Samples(end)) == one_by_one
        assert several.frame_db == single.frame_db
        for threshold_db in range(-60, -20):
            asked = Samples(end - 100), threshold_db, 9_000, 480
            assert several.onset(*asked) == single.onset(*asked)
            assert several.last_sound(Samples(0), Samples(end), threshold_db) == single.last_sound(
                Samples(0), Samples(end), threshold_db
            )
        at, frames = end, frames % MAX_FRAMES + 1
