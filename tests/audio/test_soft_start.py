"""The soft start of a reply: when it begins, how it rises, and that it does not delay the audible onset."""

import numpy as np
import pytest

from audio.level import SOFT_START_DB, SOFT_START_MS, SoftStart, audible_onset
from audio.units import REPLY_RATE_HZ, Pcm

LENGTH = REPLY_RATE_HZ * SOFT_START_MS // 1000


def voiced(samples: int, amplitude: float = 6000.0) -> Pcm:
    """Returns a tone at a usual level of speech."""
    return (amplitude * np.sin(np.arange(samples) * 2 * np.pi * 150 / REPLY_RATE_HZ)).astype(np.int16)


@pytest.mark.parametrize("block", [100, 2400, 48_000], ids="blocks of {}".format)
def test_level_rises_from_first_audible_sample(block: int) -> None:
    ramp, quiet = SoftStart(REPLY_RATE_HZ), np.full(1000, 20, np.int16)
    pcm = np.concatenate([quiet, np.full(2 * LENGTH, 10_000, np.int16)])
    out = np.concatenate([ramp.apply(pcm[at : at + block]) for at in range(0, len(pcm), block)])
    assert (out[:1000] == quiet).all()
    assert out[1000] == pytest.approx(10_000 * 10 ** (SOFT_START_DB / 20), abs=1)
    assert out[1000 + LENGTH // 2] == pytest.approx(10_000 * 10 ** (SOFT_START_DB / 40), abs=1)
    assert (np.diff(out[1000 : 1000 + LENGTH]) >= 0).all()
    assert (out[1000 + LENGTH :] == 10_000).all()


def test_empty_chunk_stays_empty() -> None:
    ramp, empty = SoftStart(REPLY_RATE_HZ), np.zeros(0, np.int16)
    assert ramp.apply(empty).size == 0
    ramp.apply(np.full(100, 10_000, np.int16))
    assert ramp.apply(empty).size == 0


@pytest.mark.parametrize("rise_ms", [0, 50, 100])
def test_audible_onset_is_hardly_later(rise_ms: int) -> None:
    rise = np.minimum(1.0, np.arange(LENGTH) / max(1, rise_ms * 24))
    pcm = np.concatenate([np.zeros(2400), voiced(LENGTH) * rise]).astype(np.int16)
    before, after = audible_onset(pcm, REPLY_RATE_HZ), audible_onset(SoftStart(REPLY_RATE_HZ).apply(pcm), REPLY_RATE_HZ)
    assert before is not None
    assert after is not None
    assert after - before <= 20 * REPLY_RATE_HZ // 1000
