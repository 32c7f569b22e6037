"""The threshold of the detectors that have one."""

import numpy as np
import pytest

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import DEFAULT_THRESHOLD, AdjustableVad, Vad
from audio.vad.cascade.detector import CascadeVad
from audio.vad.hysteresis import HysteresisSettings
from audio.vad.silero.detector import SETTINGS, SileroVad
from audio.vad.silero.network import SileroNetwork
from audio.vad.webrtc.detector import WebrtcVad


class ConstantNetwork(SileroNetwork):
    """Scores every window alike."""

    def __init__(self, probability: float) -> None:
        self.probability = probability

    def run(self, window, h, c):  # type: ignore[no-untyped-def]
        return self.probability, h, c


def speaks(vad: Vad, frames: int = 40) -> bool:
    noise = np.random.default_rng(0).normal(0, 3000, (frames, FRAME_SAMPLES)).astype(np.int16)
    results = [vad.process(Frame(Samples(n * FRAME_SAMPLES), pcm)) for n, pcm in enumerate(noise)]
    return any(result.speaking for result in results)


@pytest.mark.parametrize(("probability", "threshold", "speaking"), [
    (0.6, 0.5, True), (0.6, 0.7, False), (0.3, 0.5, False), (0.3, 0.25, True), (0.05, 0.0, False), (0.97, 1.0, True),
])  # fmt: skip
def test_detector_opens_at_its_threshold(probability: float, threshold: float, speaking: bool) -> None:
    vad = SileroVad(ConstantNetwork(probability))
    vad.set_threshold(threshold)
    assert speaks(vad) is speaking


def test_default_threshold_changes_nothing() -> None:
    scores = SETTINGS.hysteresis
    assert scores.at_threshold(DEFAULT_THRESHOLD) is scores
    changed: HysteresisSettings = scores.at_threshold(0.8)
    assert changed.close_score == pytest.approx(0.56)
    assert (changed.open_samples, changed.hold_samples) == (scores.open_samples, scores.hold_samples)


def test_detectors_with_a_threshold_are_told_apart() -> None:
    network = ConstantNetwork(0.0)
    assert isinstance(SileroVad(network), AdjustableVad)
    assert isinstance(CascadeVad(network), AdjustableVad)
    assert not isinstance(WebrtcVad(), AdjustableVad)
