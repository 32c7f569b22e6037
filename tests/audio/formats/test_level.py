"""Levels and the audible onset: batch and streaming agree, and both match the definition."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.level import OnsetFinder, audible_onset, gain_for, mean_dbfs, rms_dbfs, soften
from audio.units import Pcm

RATE_HZ = 16_000
WINDOW = 160


def windows(pattern: str, size: int = WINDOW) -> Pcm:
    """One 10 ms window per character: "x" loud, "." just under the threshold, " " silent."""
    level = {"x": 400, ".": 163, " ": 0}
    return np.concatenate([np.full(size, level[c], np.int16) for c in pattern] or [np.zeros(0, np.int16)])


def by_definition(pcm: Pcm, rate_hz: int) -> int | None:
    """The definition in floats, without optimization."""
    window = rate_hz // 100
    sound = pcm[: pcm.size // window * window].astype(np.float64).reshape(-1, window) / 32768
    loud = np.sqrt((sound**2).mean(axis=1)) > 0.005
    for index in range(loud.size):
        if loud[index] and loud[index : index + 15].sum() >= 8:
            return index * window
    return None


class TestRms:
    def test_full_scale_square_wave_is_zero_dbfs(self) -> None:
        assert rms_dbfs(np.full(100, -32768, np.int16)) == 0.0

    def test_sine_is_three_decibels_below_peak(self) -> None:
        sine = np.rint(16384 * np.sin(np.arange(1600) * 2 * np.pi / 160)).astype(np.int16)
        assert rms_dbfs(sine) == pytest.approx(-9.03, abs=0.01)

    @pytest.mark.parametrize("pcm", [np.zeros(10, np.int16), np.zeros(0, np.int16)], ids=["silence", "empty"])
    def test_silence_and_empty_audio_are_minus_120(self, pcm: Pcm) -> None:
        assert rms_dbfs(pcm) == -120.0

    def test_mean_of_levels_averages_energy(self) -> None:
        assert mean_dbfs([-20.0, -20.0]) == pytest.approx(-20)
        assert mean_dbfs([0.0, -120.0]) == pytest.approx(-3.01, abs=0.01)
        assert mean_dbfs([]) == -np.inf


class TestOnset:
    @pytest.mark.parametrize(
        ("pattern", "window"),
        [
            pytest.param("xxxxxxxx", 0, id="eight loud"),
            pytest.param("  xxxxxxxx", 2, id="eight after two silent"),
            pytest.param("xxxxxxx", None, id="seven loud"),  # 70 ms
            pytest.param("x x x x x x x x", 0, id="eight of fifteen"),  # the eighth is the 15th window
            pytest.param("x x x x x x x  x", None, id="eight of sixteen"),  # the eighth is the 16th
            pytest.param("x              xxxxxxxx", 15, id="single window before"),  # a click, then speech
            pytest.param(
                "x xxxxxx       xx", 2, id="interrupted"
            ),  # the first is 150 ms away from the eighth, the second is not
            pytest.param("........xxxxxxxx", 8, id="eight after soft"),
            pytest.param("................", None, id="soft only"),
            pytest.param("", None, id="empty"),
        ],
    )
    def test_onset_needs_eight_of_fifteen_loud_windows(self, pattern: str, window: int | None) -> None:
        expected = None if window is None else window * WINDOW
        assert audible_onset(windows(pattern), RATE_HZ) == expected

    def test_level_at_threshold_is_not_loud(self) -> None:
        # 163.84 is 0.005 of full scale.
        assert audible_onset(np.full(3000, 163, np.int16), RATE_HZ) is None
        assert audible_onset(np.full(3000, 164, np.int16), RATE_HZ) == 0

    def test_largest_sample_does_not_overflow(self) -> None:
        assert audible_onset(np.full(3000, -32768, np.int16), RATE_HZ) == 0

    def test_incomplete_window_does_not_count(self) -> None:
        seven_and_a_half = np.full(WINDOW * 15 // 2, 400, np.int16)
        assert audible_onset(seven_and_a_half, RATE_HZ) is None

    @given(
        st.text(alphabet="x. ", max_size=40),
        st.integers(0, WINDOW - 1),
        st.lists(st.integers(0, 700), max_size=40),
        st.sampled_from([8000, RATE_HZ, 22_050, 24_000]),
    )
    def test_onset_does_not_depend_on_block_sizes(
        self, pattern: str, shift: int, cuts: list[int], rate_hz: int
    ) -> None:
        pcm = np.concatenate((np.zeros(shift, np.int16), windows(pattern, rate_hz // 100)))
        finder = OnsetFinder(rate_hz)
        answers = []
        at = 0
        for cut in cuts:
            answers.append(finder.feed(pcm[at : at + cut]))
            at += cut
        answers.append(finder.feed(pcm[at:]))
        expected = by_definition(pcm, rate_hz)
        assert audible_onset(pcm, rate_hz) == expected
        assert finder.finish() == expected
        assert {answer for answer in answers if answer is not None} <= {expected}

    def test_onset_is_known_after_80_ms(self) -> None:
        finder = OnsetFinder(RATE_HZ)
        assert finder.feed(windows("  xxxxxxx")) is None
        assert finder.feed(windows("x")) == 2 * WINDOW
        assert finder.feed(windows("  ")) == 2 * WINDOW

    def test_feed_after_finish_is_refused(self) -> None:
        finder = OnsetFinder(RATE_HZ)
        assert finder.finish() is None
        with pytest.raises(ValueError, match="create a new OnsetFinder"):
            finder.feed(windows("x"))

    def test_too_low_rate_is_refused(self) -> None:
        with pytest.raises(ValueError, match="99 Hz"):
            OnsetFinder(99)


class TestGain:
    def test_gain_brings_speech_to_target(self) -> None:
        speech = windows("xxxxxxxxxxxx")
        gain = gain_for(-20, speech, RATE_HZ)
        assert rms_dbfs(np.rint(speech * gain).astype(np.int16)) == pytest.approx(-20, abs=0.01)

    def test_pauses_do_not_affect_gain(self) -> None:
        assert gain_for(-20, windows("xx     xx   "), RATE_HZ) == pytest.approx(gain_for(-20, windows("xx"), RATE_HZ))

    @pytest.mark.parametrize(
        "pcm",
        [np.zeros(1000, np.int16), np.zeros(0, np.int16), np.ones(3, np.int16)],
        ids=["silence", "empty", "nearly silent"],
    )
    def test_gain_of_silence_is_one(self, pcm: Pcm) -> None:
        assert gain_for(-20, pcm, RATE_HZ) == 1.0

    @given(st.integers(1, 80), st.floats(-40, -6))
    def test_gain_is_inverse_to_level(self, factor: int, target_dbfs: float) -> None:
        speech = windows("xx .xx")
        assert gain_for(target_dbfs, speech * np.int16(factor), RATE_HZ) * factor == pytest.approx(
            gain_for(target_dbfs, speech, RATE_HZ)
        )


class TestSoften:
    def test_audio_below_knee_is_unchanged(self) -> None:
        sound = np.linspace(-0.6, 0.6, 1001, dtype=np.float32)
        assert np.array_equal(soften(sound), np.rint(sound * 32767).astype(np.int16))

    @given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=50))
    def test_peaks_are_limited_and_order_is_kept(self, values: list[float]) -> None:
        sound: npt.NDArray[np.float32] = np.sort(np.array(values, np.float32))
        out = soften(sound)
        assert np.abs(out.astype(int)).max() <= math.ceil(32767 * 10 ** (-1 / 20))
        assert (np.diff(out.astype(int)) >= 0).all()

    def test_input_is_not_modified(self) -> None:
        sound = np.array([2.0, -2.0], np.float32)
        soften(sound)
        assert sound.tolist() == [2.0, -2.0]
