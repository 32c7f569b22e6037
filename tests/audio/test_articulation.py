"""Tests of the score that tells the beginning of words from hums."""

import numpy as np
import pytest

from audio.articulation import SPAN_MS, ArticulationTrack, features
from audio.articulation_weights import MEANS, WEIGHTS
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, samples_of_ms
from audio.vad import VadResult

ONSET = Samples(FRAME_SAMPLES + 40)


def hum(seconds: float = 1.0) -> Pcm:
    """Returns a sound of 150 Hz with harmonics that swells and fades every 300 ms."""
    t = np.arange(int(seconds * MIC_RATE_HZ)) / MIC_RATE_HZ
    wave = sum(np.sin(2 * np.pi * 150 * harmonic * t) / harmonic for harmonic in range(1, 20))
    return np.asarray(5000 * wave * (0.05 + np.abs(np.sin(np.pi * t / 0.3))), np.int16)


def chopped(pcm: Pcm) -> Pcm:
    """Returns the sound with closures of 40 ms and noise bursts between them."""
    changed = pcm.copy()
    noise = np.random.default_rng(3).normal(0, 3000, len(pcm)).astype(np.int16)
    for start in range(0, len(pcm), 1920):
        changed[start : start + 640] //= 100
        changed[start + 640 : start + 1280] = noise[start + 640 : start + 1280]
    return changed


def scores(pcm: Pcm, probability: float = 1.0) -> list[float | None]:
    track, found = ArticulationTrack(), []
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
        track.push(frame, VadResult(True, ONSET, probability))
        found.append(track.score(ONSET))
    return found


def test_score_is_computed_once_when_the_span_is_complete() -> None:
    found = scores(hum())
    [place] = [place for place, score in enumerate(found) if score is not None]
    assert 0 <= (place + 1) * FRAME_SAMPLES - ONSET - samples_of_ms(SPAN_MS) < FRAME_SAMPLES


def test_articulated_sound_scores_higher_than_hum() -> None:
    [even] = [score for score in scores(hum(), 0.6) if score is not None]
    [changing] = [score for score in scores(chopped(hum()), 0.9) if score is not None]
    assert 0 <= even < 0.8, "the threshold of turn taking"
    assert even < changing <= 1


def test_old_onset_has_no_score() -> None:
    track = ArticulationTrack()
    for start in range(samples_of_ms(200), samples_of_ms(400), FRAME_SAMPLES):
        track.push(Frame(Samples(start), np.zeros(FRAME_SAMPLES, np.int16)), VadResult(True, Samples(0), 1.0))
    assert track.score(Samples(samples_of_ms(80))) is None


@pytest.mark.parametrize("pcm", [np.zeros(5280, np.int16), np.full(5280, -32768, np.int16)], ids=["silence", "clipped"])
def test_features_of_any_sound_are_finite(pcm: Pcm) -> None:
    found = features(pcm, [0.5] * 16)
    assert found.shape == MEANS.shape == WEIGHTS.shape
    assert np.isfinite(found).all()


def test_features_do_not_depend_on_the_level() -> None:
    loud = chopped(hum(0.33))
    quiet = (loud.astype(np.float64) / 4).round().astype(np.int16)
    assert features(quiet, [0.9] * 16) == pytest.approx(features(loud, [0.9] * 16), abs=0.4)
