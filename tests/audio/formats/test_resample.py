"""Resampling: positions, lengths, levels."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.resample import StreamResampler, mixdown, to_float, to_pcm
from audio.units import Pcm

RATES = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]


def bump(n: int, at: int, rate_hz: int) -> Pcm:
    """A smooth bump, 2 ms wide, centred at sample `at`; it survives any rate from 8 kHz on."""
    seconds = (np.arange(n) - at) / rate_hz
    shape: npt.NDArray[np.float64] = np.rint(20_000 * np.exp(-((seconds / 0.001) ** 2)))
    return shape.astype(np.int16)


def centre(pcm: Pcm) -> float:
    """Returns the position of a bump in samples."""
    weight = pcm.astype(float) ** 2
    return float((weight * np.arange(len(pcm))).sum() / weight.sum())


def in_blocks(resampler: StreamResampler, pcm: Pcm, n: int) -> Pcm:
    out = []
    for i in range(0, len(pcm), n):
        out.append(resampler.push_samples(pcm[i : i + n]))
        assert 0 <= resampler.received - resampler.given <= 0.062 * 24_000
    return np.concatenate([*out, resampler.flush()])


@pytest.mark.parametrize("rate_hz", RATES, ids="{} Hz".format)
def test_position_is_kept(rate_hz: int) -> None:
    sound = bump(rate_hz, rate_hz // 3, rate_hz)
    out = in_blocks(StreamResampler(rate_hz), sound, rate_hz // 50)
    assert len(out) == 16_000
    assert centre(out) == pytest.approx(rate_hz // 3 * 16_000 / rate_hz, abs=1.0)  # 1 sample: 0.06 ms
    assert out.max() == pytest.approx(20_000, rel=0.05)


@pytest.mark.parametrize("rate_hz", RATES, ids="{} Hz".format)
def test_position_is_kept_at_flush(rate_hz: int) -> None:
    at = rate_hz - rate_hz // 100  # 10 ms before the end: still held back when the flush comes
    out = in_blocks(StreamResampler(rate_hz), bump(rate_hz, at, rate_hz), rate_hz // 50)
    assert centre(out) == pytest.approx(at * 16_000 / rate_hz, abs=1.0)


@given(rate_hz=st.sampled_from(RATES), to_hz=st.sampled_from([16_000, 24_000]), blocks=st.lists(st.integers(0, 2000)))
def test_output_lengths_add_up(rate_hz: int, to_hz: int, blocks: list[int]) -> None:
    resampler = StreamResampler(rate_hz, to_hz)
    given_samples = 0
    for block in blocks:
        given_samples += len(resampler.push_samples(np.full(block, 1000, np.int16)))
        assert resampler.given == given_samples
    assert resampler.received == pytest.approx(sum(blocks) * to_hz / rate_hz, abs=0.5)
    expected = resampler.received
    assert given_samples + len(resampler.flush()) == expected
    assert resampler.received == resampler.given == 0


def test_flush_resets_resampler() -> None:
    sound = bump(4_410, 2_000, 44_100)
    resampler = StreamResampler(44_100)
    first = in_blocks(resampler, sound, 441)
    np.testing.assert_array_equal(first, in_blocks(resampler, sound, 441))


def test_same_rate_is_passed_through() -> None:
    sound = bump(500, 100, 16_000)
    assert StreamResampler(16_000).push_samples(sound) is sound


def test_loud_audio_is_clipped_without_wrapping() -> None:
    square = np.where(np.arange(4_800) // 60 % 2, 32_767, -32_768).astype(np.int16)
    out = in_blocks(StreamResampler(48_000), square, 960).astype(int)
    assert out.max() == 32_767
    assert out.min() == -32_768
    assert np.abs(np.diff(out)[np.abs(out[:-1]) > 32_000]).max() < 65_536


def test_mixdown_is_mean_of_channels() -> None:
    stereo = np.array([[100, 300], [-32_768, -32_768], [32_767, 32_767], [32_767, -32_768], [3, 0]], np.int16)
    np.testing.assert_array_equal(mixdown(stereo), [200, -32_768, 32_767, 0, 2])
    mono = stereo[:, :1]
    np.testing.assert_array_equal(mixdown(mono), mono[:, 0])
    assert mixdown(mono[:, 0]) is not None
    assert mixdown(np.zeros((7, 6), np.int16)).shape == (7,)


def test_every_int16_survives_float_conversion() -> None:
    every = np.arange(-32_768, 32_768).astype(np.int16)
    np.testing.assert_array_equal(to_pcm(to_float(every)), every)
    np.testing.assert_array_equal(to_pcm(np.array([2.0, -2.0], np.float32)), [32_767, -32_768])
