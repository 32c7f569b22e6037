"""Where a decode would have been begun, and what of the speech it would have had."""

import numpy as np

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult
from bench.dips import ending


def heard(*course: float, fades_at: int) -> list[tuple[Frame, VadResult]]:
    """A frame for each probability; the detector fades, dating the end 20 ms before, from that frame on."""
    found = []
    for place, probability in enumerate(course):
        start = Samples(place * FRAME_SAMPLES)
        fading = Samples((fades_at - 1) * FRAME_SAMPLES) if place >= fades_at else None
        found.append(
            (Frame(start, np.zeros(FRAME_SAMPLES, np.int16)), VadResult(True, Samples(0), probability, fading))
        )
    return found


def test_a_dip_after_the_end_has_all_of_it_and_one_before_has_not() -> None:
    late = heard(*[1.0] * 30, 0.7, 0.6, 0.4, 0.2, fades_at=33)
    whole = ending(late, 0, samples_of_ms(600), [0.8])
    assert whole is not None
    assert (whole.sooner_ms, whole.dips) == (60.0, 0)
    lacking = ending(late, 0, samples_of_ms(640), [0.8])
    assert lacking is not None
    assert (lacking.sooner_ms, lacking.dips) == (0.0, 1)


def test_speech_that_does_not_end_has_no_ending() -> None:
    assert ending(heard(*[1.0] * 40, fades_at=50), 0, samples_of_ms(600), [0.8]) is None
