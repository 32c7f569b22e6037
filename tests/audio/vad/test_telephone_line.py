"""Recognition of telephone lines and the correction of the sound and the scores."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm
from audio.vad.silero.telephone_line import SETTINGS, TelephoneLine, mirror_weights


def noise(seconds: float, *, up_to_hz: float, rms: float = 1_000.0) -> Pcm:
    """Noise from 300 Hz to `up_to_hz`."""
    count = round(seconds * MIC_RATE_HZ)
    spectrum = np.fft.rfft(np.random.default_rng(4).normal(0, 1, count))
    at_hz = np.fft.rfftfreq(count, 1 / MIC_RATE_HZ)
    spectrum[(at_hz < 300) | (at_hz > up_to_hz)] = 0
    wave = np.fft.irfft(spectrum, count)
    pcm: Pcm = (wave * rms / wave.std()).round().clip(-32_768, 32_767).astype(np.int16)
    return pcm


def listened(*sounds: Pcm) -> TelephoneLine:
    """A line after these sounds."""
    line = TelephoneLine()
    for pcm in sounds:
        for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            line.push_frame(pcm[start : start + FRAME_SAMPLES])
    return line


narrow = functools.partial(noise, up_to_hz=3_400)
wide = functools.partial(noise, up_to_hz=8_000)


def test_sound_up_to_3400_hz_is_a_telephone_line() -> None:
    assert listened(narrow(1)).is_narrow


def test_sound_up_to_8000_hz_is_no_telephone_line() -> None:
    assert not listened(wide(1)).is_narrow


def test_line_is_known_after_a_fifth_of_a_second_of_sound() -> None:
    assert not listened(narrow(0.12)).is_narrow
    assert listened(narrow(0.2)).is_narrow


@pytest.mark.parametrize("rms", [0, 5], ids=["digital silence", "quiet"])
def test_silence_tells_nothing_about_the_line(rms: float) -> None:
    assert not listened(narrow(2, rms=rms) if rms else np.zeros(32_000, np.int16)).is_narrow
    assert listened(narrow(1), np.zeros(64_000, np.int16)).is_narrow


def test_one_hiss_at_full_band_ends_a_telephone_line() -> None:
    assert not listened(narrow(1), wide(0.1)).is_narrow


def test_line_is_narrow_again_after_seconds_of_narrow_sound() -> None:
    assert listened(wide(0.5), narrow(30)).is_narrow


def test_reset_forgets_the_line() -> None:
    line = listened(narrow(1))
    line.reset()
    assert not line.is_narrow


def test_weights_mirror_the_spectrum() -> None:
    at = np.arange(1_600)
    tone = np.sin(2 * np.pi * 1_000 * at / MIC_RATE_HZ)
    amplitudes = np.abs(np.fft.rfft(tone * mirror_weights(len(at)))) * 2 / len(at)
    assert amplitudes[100] == pytest.approx(1, abs=1e-3)
    assert amplitudes[700] == pytest.approx(SETTINGS.mirror_gain, abs=1e-3)
    assert np.delete(amplitudes, [100, 700]).max() < 1e-3


def spoken_on() -> TelephoneLine:
    """A telephone line on which somebody just spoke."""
    line = listened(narrow(1))
    line.corrected(0.9, 512)
    return line


@pytest.mark.parametrize(("score", "meant"), [(0.0, 0.0), (0.22, 0.35), (0.35, 0.5), (0.62, 0.75), (1.0, 1.0)])
def test_correction_keeps_the_meaning_of_the_thresholds(score: float, meant: float) -> None:
    assert spoken_on().corrected(score, 512) == pytest.approx(meant, abs=0.01)


@given(st.floats(0, 1), st.floats(0, 1))
def test_correction_keeps_the_order_of_scores(one: float, other: float) -> None:
    low, high = sorted([one, other])
    line = spoken_on()
    assert low <= line.corrected(low, 512) <= line.corrected(high, 512) + 1e-12 <= 1 + 1e-9


def test_full_band_is_not_corrected() -> None:
    line = listened(wide(1))
    assert [line.corrected(score, 512) for score in (0.9, 0.4)] == [0.9, 0.4]


def test_scores_are_corrected_from_likely_speech_on() -> None:
    line = listened(narrow(1))
    assert line.corrected(0.45, 512) == 0.45
    assert line.corrected(0.5, 512) > 0.6
    assert line.corrected(0.45, 512) > 0.55


def test_scores_are_not_corrected_long_after_speech() -> None:
    line = spoken_on()
    assert line.corrected(0.4, SETTINGS.speaker_samples - 512) > 0.5
    assert line.corrected(0.4, 512) == 0.4


def test_reset_forgets_the_speaker() -> None:
    line = spoken_on()
    line.reset()
    for start in range(0, MIC_RATE_HZ, FRAME_SAMPLES):
        line.push_frame(narrow(1)[start : start + FRAME_SAMPLES])
    assert line.is_narrow
    assert line.corrected(0.4, 512) == 0.4
