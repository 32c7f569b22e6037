"""The polyphase filter: its hold-back, pass band and stop band."""

import numpy as np
import pytest

from audio.polyphase import MAX_PHASES, Polyphase, phases

SIMPLE_HZ = [8_000, 24_000, 32_000, 48_000, 96_000]


def tone(hz: int, rate_hz: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.sin(2 * np.pi * hz * np.arange(rate_hz) / rate_hz).astype(np.float32)


def level_db(hz: int, from_hz: int, to_hz: int) -> float:
    """Returns the level of a tone after resampling, without its edges."""
    out = Polyphase(from_hz, to_hz).push_samples(tone(hz, from_hz))[to_hz // 10 : -to_hz // 10].astype(float)
    return float(20 * np.log10(np.sqrt(2 * (out**2).mean()) + 1e-9))


def test_common_rates_have_simple_ratio_except_44100() -> None:
    assert all(phases(rate_hz, 16_000) <= MAX_PHASES for rate_hz in SIMPLE_HZ)
    assert phases(44_100, 16_000) == 160


@pytest.mark.parametrize("rate_hz", SIMPLE_HZ, ids="{} Hz".format)
def test_less_than_4_ms_are_held_back(rate_hz: int) -> None:
    filtering, given = Polyphase(rate_hz, 16_000), 0
    for block in range(1, 100):
        given += len(filtering.push_samples(np.zeros(rate_hz // 50, np.float32)))
        assert 0 <= block * 320 - given < 0.004 * 16_000


@pytest.mark.parametrize(
    ("from_hz", "to_hz"),
    [(24_000, 16_000), (48_000, 16_000), (8_000, 16_000), (16_000, 24_000)],
    ids=["24 to 16 kHz", "48 to 16 kHz", "8 to 16 kHz", "16 to 24 kHz"],
)
def test_speech_passes_and_aliases_are_removed(from_hz: int, to_hz: int) -> None:
    band_hz = min(from_hz, to_hz) // 2
    for hz in (100, band_hz // 2, round(0.85 * band_hz)):
        assert level_db(hz, from_hz, to_hz) == pytest.approx(0.0, abs=0.4)
    if from_hz > to_hz:
        for hz in (round(1.08 * band_hz), round(1.4 * band_hz)):
            assert level_db(hz, from_hz, to_hz) < -65
    else:
        # Upsampling a tone must not leave its mirror image.
        out = (
            Polyphase(from_hz, to_hz)
            .push_samples(tone(1000, from_hz))[to_hz // 10 : to_hz // 10 + to_hz // 2]
            .astype(float)
        )
        spectrum = np.abs(np.fft.rfft(out * np.hanning(len(out))))  # 2 Hz a line
        spectrum[450:550] /= spectrum.max()
        assert np.delete(spectrum, np.arange(450, 550)).max() < 10 ** (-65 / 20) * len(out) / 4


def test_result_does_not_depend_on_block_sizes() -> None:
    sound = np.random.default_rng(1).normal(0, 0.1, 24_000).astype(np.float32)
    whole = Polyphase(24_000, 16_000).push_samples(sound)
    filtering = Polyphase(24_000, 16_000)
    pieces = [filtering.push_samples(sound[at : at + 7]) for at in range(0, len(sound), 7)]
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-6)
