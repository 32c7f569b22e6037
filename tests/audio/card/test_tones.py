"""The tone that tells that no voice can speak."""

import numpy as np

from audio.tones import failure_tone
from audio.units import FULL_SCALE


def test_tone_is_softer_than_speech_and_begins_and_ends_without_a_click() -> None:
    pcm = failure_tone().astype(np.float64) / FULL_SCALE
    assert 0.05 < np.abs(pcm).max() < 0.15
    assert np.abs(pcm[[0, 1, -2, -1]]).max() < 0.001
    assert np.abs(np.diff(pcm)).max() < 0.03
