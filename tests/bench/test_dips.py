"""Tests where decoding would begin at dips, and whether it covers the speech."""

import numpy as np

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult
from bench.dips import ending


def frames_of(*course: float, fades_at: int) -> list[tuple[Frame, VadResult]]:
    """Returns a frame for each probability. From `fades_at` on, a possible end is reported, dated 20 ms earlier."""
    found = []
    for place, probability in enumerate(course):
        start = Samples(place * FRAME_SAMPLES)
        fading = Samples((fades_at - 1) * FRAME_SAMPLES) if place >= fades_at else None
        found.append(
            (Frame(start, np.zeros(FRAME_SAMPLES, np.int16)), VadResult(True, Samples(0), probability, fading))
        )
    return found


def test_only_a_dip_after_the_end_covers_all_speech() -> None:
    late = frames_of(*[1.0] * 30, 0.7, 0.6, 0.4, 0.2, fades_at=33)
    whole = ending(late, 0, samples_of_ms(600), [0.8])
    assert whole is not None
    assert (whole.sooner_ms, whole.dips) == (60.0, 0)
    lacking = ending(late, 0, samples_of_ms(640), [0.8])
    assert lacking is not None
    assert (lacking.sooner_ms, lacking.dips) == (0.0, 1)


def test_speech_without_end_has_no_ending() -> None:
    assert ending(frames_of(*[1.0] * 40, fades_at=50), 0, samples_of_ms(600), [0.8]) is None
