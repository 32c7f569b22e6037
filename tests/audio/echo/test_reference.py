"""The reference at the time of the microphone's samples: clock drift, gaps, late blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.echo.reference import ReferenceLine
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, s_of_samples

FRAME_S = s_of_samples(FRAME_SAMPLES)


def tone(begin_s: float, samples: int, rate_hz: int, hz: float = 440.0) -> Pcm:
    """A tone sampled at these times."""
    at_s = begin_s + np.arange(samples) / rate_hz
    wave: Pcm = np.rint(8000 * np.sin(2 * np.pi * hz * at_s)).astype(np.int16)
    return wave


def follow(rate_hz: int, block: int, ppm: float, seconds: float, jitter_s: float = 0.0) -> tuple[ReferenceLine, Pcm]:
    """A tone played by a card whose clock runs slow by `ppm`, read by a microphone whose clock is right."""
    line = ReferenceLine()
    random = np.random.default_rng(1)
    read: list[Pcm] = []
    told = 0
    pace = 1 + ppm * 1e-6
    for number in range(int(seconds / FRAME_S)):
        at_s = number * FRAME_S
        while told * pace / rate_hz < at_s + 3 * FRAME_S:
            leaves_s = told * pace / rate_hz
            line.push_block(
                tone(told / rate_hz, block, rate_hz), rate_hz, leaves_s + random.uniform(-jitter_s, jitter_s)
            )
            told += block
        read.append(line.read(at_s, FRAME_SAMPLES))
    return line, np.concatenate(read)


@pytest.mark.parametrize(
    ("rate_hz", "block"),
    [(24_000, 240), (48_000, 1024), (44_100, 441), (16_000, 320)],
    ids=["24000 Hz", "48000 Hz", "44100 Hz", "16000 Hz"],
)
def test_read_returns_audio_played_at_the_given_time(rate_hz: int, block: int) -> None:
    line, read = follow(rate_hz, block, 0.0, 2.0)
    expected = tone(0.0, len(read), MIC_RATE_HZ)
    assert np.abs(read[1600:].astype(int) - expected[1600:]).max() < 40  # of 8000: -46 dB
    assert (line.gaps, line.steps, line.late_samples) == (0, 0, 0)


@pytest.mark.parametrize("ppm", [-200.0, 200.0], ids="{} ppm".format)
def test_clock_drift_is_followed(ppm: float) -> None:
    line, read = follow(24_000, 240, ppm, 30.0)
    at_s = np.arange(len(read)) / MIC_RATE_HZ / (1 + ppm * 1e-6)
    expected = 8000 * np.sin(2 * np.pi * 440 * at_s)
    last = slice(-MIC_RATE_HZ, None)
    # 200 ppm are 6 ms in half a minute, two periods of the tone; what remains is the lag of the clock, under 0.3 ms.
    along = float(np.dot(read[last], expected[last]) / np.dot(expected[last], expected[last]))
    assert along > np.cos(2 * np.pi * 440 * 0.0003)
    seam = np.abs(np.diff(read[1600:].astype(int)))
    assert seam.max() < 1600  # a tone of 440 Hz rises by 1380 at most: no seam anywhere
    assert (line.gaps, line.steps, line.late_samples) == (0, 0, 0)


def test_jitter_of_card_times_causes_no_discontinuity() -> None:
    line, read = follow(24_000, 240, 0.0, 5.0, jitter_s=0.01)
    assert np.abs(np.diff(read[1600:].astype(int))).max() < 1600
    assert (line.gaps, line.steps) == (0, 0)


def test_gap_between_replies_is_silence() -> None:
    line = ReferenceLine()
    line.push_block(tone(0.0, 2400, 24_000), 24_000, 1.0)
    line.push_block(tone(0.0, 2400, 24_000), 24_000, 1.5)
    assert line.read(1.02, FRAME_SAMPLES).any()
    assert not any(line.read(at_s, FRAME_SAMPLES).any() for at_s in (1.2, 1.3, 1.4, 1.45))
    assert line.read(1.52, FRAME_SAMPLES).any()
    assert line.gaps == 1


def test_latency_change_is_followed() -> None:
    line = ReferenceLine()
    line.push_block(tone(0.0, 24_000, 24_000), 24_000, 1.0)
    line.push_block(tone(1.0, 24_000, 24_000), 24_000, 1.8)  # 200 ms earlier than expected
    assert line.steps == 1
    expected = tone(1.1, FRAME_SAMPLES, MIC_RATE_HZ)
    assert np.abs(line.read(1.9, FRAME_SAMPLES).astype(int) - expected).max() < 40


def test_late_reference_is_silence_and_counted() -> None:
    line = ReferenceLine()
    line.push_block(tone(0.0, 480, 16_000), 16_000, 0.0)
    read = line.read(0.02, FRAME_SAMPLES)
    assert read[:140].any()
    assert not read[180:].any()
    assert line.late_samples == 160
    assert not line.read(9.0, FRAME_SAMPLES).any()
    assert line.late_samples == 160  # the loudspeaker is silent: nothing is late


def test_reference_before_the_first_block_is_silence() -> None:
    line = ReferenceLine()
    line.push_block(np.zeros(0, np.int16), 24_000, 0.0)
    assert not line.read(5.0, FRAME_SAMPLES).any()
    assert line.ends_s is None


blocks = st.lists(
    st.tuples(st.integers(1, 3000), st.sampled_from([8000, 24_000, 44_100, 48_000]), st.floats(-1.0, 100.0)),
    max_size=20,
)


@given(blocks, st.lists(st.floats(-2.0, 105.0), max_size=20))
def test_any_input_and_read_time_is_accepted(told: list[tuple[int, int, float]], asked: list[float]) -> None:
    line = ReferenceLine()
    for samples, rate_hz, leaves_s in told:
        line.push_block(tone(0.0, samples, rate_hz), rate_hz, leaves_s)
        assert line.ends_s is not None
    for at_s in asked:
        assert line.read(at_s, FRAME_SAMPLES).shape == (FRAME_SAMPLES,)
    assert len(line._samples) == 2 * MIC_RATE_HZ
