"""The input of the speaker embedder equals that of the package's librosa front end."""

from itertools import pairwise

import numpy as np
import pytest

from audio.speaker_embedding.mel import MELS, WINDOW_FRAMES, WINDOW_SAMPLES, log_mel, mel_windows

TIMES_S = np.arange(1000) / 16_000
TONES = (8000 * (np.sin(2 * np.pi * 440 * TIMES_S) + 0.3 * np.sin(2 * np.pi * 2500 * TIMES_S))).astype(np.int16)

LIBROSA = (
    -2.9881, -3.2679, -2.8449, -3.4689, 0.2832, 1.1127, 0.2026, -3.4824, -3.3896, -3.8623, -3.7779, -4.1822, -4.1603,
    -4.3894, -4.5221, -4.5818, -4.7957, -4.8514, -4.9212, -4.9814, -4.9899, -4.9208, -4.7452, -4.4685, -0.6883, -0.4313,
    -4.4033, -4.7343, -5.052, -5.261, -5.4335, -5.5771, -5.6985, -5.7935, -5.8867, -5.9591, -6.0216, -6.0735, -6.1098,
    -6.1357,
)  # fmt: skip
"""First frame of TONES by librosa 0.11, as the package open-voicefilter-lite 0.2.0 calls it."""


def test_log_mel_equals_that_of_librosa() -> None:
    mel = log_mel(TONES)
    assert mel.shape == (4, MELS)
    assert mel[0] == pytest.approx(LIBROSA, abs=1e-3)


def test_short_sound_has_no_frame_and_one_padded_window() -> None:
    assert log_mel(TONES[:511]).shape == (0, MELS)
    windows = mel_windows(TONES[:511])
    assert windows.shape == (1, WINDOW_FRAMES, MELS)
    assert not windows.any()


@pytest.mark.parametrize(("samples", "windows"), [(WINDOW_SAMPLES - 1, 1), (WINDOW_SAMPLES, 1), (32_000, 3)])
def test_windows_overlap_by_half(samples: int, windows: int) -> None:
    sound = np.random.default_rng(1).normal(0, 2000, samples).astype(np.int16)
    found = mel_windows(sound)
    assert found.shape == (windows, WINDOW_FRAMES, MELS)
    for first, second in pairwise(found):
        assert np.array_equal(first[WINDOW_FRAMES // 2 :], second[: WINDOW_FRAMES // 2])
