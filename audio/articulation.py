"""Estimates from the first 320 ms of a sound whether words begin, or a hum, a laugh or a short word of assent. No I/O.

Words change their spectrum and level quickly, and the VAD is sure of them; "mhm", "wow", "ah" and a laugh are more
even. All features are relative to the sound itself, between 250 and 3500 Hz, as a telephone passes them.
Weights: `bench/turn_taking_articulation.py`. Data and results: docs/lab/turn-taking.md, "Overlaps".
"""

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from audio.articulation_weights import INTERCEPT, MEANS, WEIGHTS
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, Pcm, Samples, samples_of_ms
from audio.vad import VadResult

Floats = npt.NDArray[np.float64]

SPAN_MS = 320.0
"""Length of the sound that is scored, in ms from its onset."""

_SPAN = samples_of_ms(SPAN_MS)
_WINDOW, _HOP, _FFT = 400, 160, 512
_KEPT_FRAMES = 40
"""Frames that are kept: 800 ms. The detector reports an onset within 250 ms."""

_BANDS, _LOWEST_HZ, _HIGHEST_HZ = 24, 250.0, 3500.0
_REGIONS = (slice(0, 8), slice(8, 16), slice(16, _BANDS))
_RANGE_DB = 45.0
_DIP_DB = 8.0
_CEPSTRA = 7


def _mel(hz: npt.NDArray[np.float64] | float) -> Floats:
    return np.asarray(2595 * np.log10(1 + np.asarray(hz) / 700), np.float64)


def _bands() -> Floats:
    """Returns triangular filters, shape (_BANDS, _FFT // 2 + 1)."""
    edges = 700 * (10 ** (np.linspace(_mel(_LOWEST_HZ), _mel(_HIGHEST_HZ), _BANDS + 2) / 2595) - 1)
    bins = np.fft.rfftfreq(_FFT, 1 / MIC_RATE_HZ)[np.newaxis]
    rising = (bins - edges[:-2, np.newaxis]) / (edges[1:-1] - edges[:-2])[:, np.newaxis]
    falling = (edges[2:, np.newaxis] - bins) / (edges[2:] - edges[1:-1])[:, np.newaxis]
    return np.maximum(0, np.minimum(rising, falling))


_FILTERS = _bands()
_HANN = np.hanning(_WINDOW)
_COSINES = np.cos(np.pi * np.arange(1, _CEPSTRA + 1)[:, np.newaxis] * (np.arange(_BANDS) + 0.5) / _BANDS) * math.sqrt(
    2 / _BANDS
)


class ArticulationTrack:
    """Keeps the newest frames with their speech probabilities. Not thread-safe."""

    def __init__(self) -> None:
        self._frames: deque[tuple[Frame, float]] = deque(maxlen=_KEPT_FRAMES)

    def push(self, frame: Frame, vad_result: VadResult) -> None:
        """Takes the next frame."""
        self._frames.append((frame, vad_result.probability))

    def score(self, onset: Samples) -> float | None:
        """Returns the probability of words, 0..1, if the newest frame completes the span after `onset`; else None."""
        if not self._frames or not 0 <= self._frames[-1][0].end - onset - _SPAN < FRAME_SAMPLES:
            return None
        kept = [(frame, probability) for frame, probability in self._frames if frame.end > onset - _HOP]
        if kept[0][0].start > onset - _HOP:
            return None  # the onset is older than the kept frames
        sound = np.concatenate([frame.pcm for frame, _ in kept])[onset - _HOP - kept[0][0].start :]
        spoken = [probability for frame, probability in kept if frame.end > onset]
        logit = INTERCEPT + float((features(sound[: _SPAN + _HOP], spoken) - MEANS) @ WEIGHTS)
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def features(sound: Pcm, probabilities: Sequence[float]) -> Floats:
    """Returns the features of a sound.

    Args:
        sound: int16, shape (n,), 16 kHz, from 10 ms before the onset.
        probabilities: Speech probability of each frame from the onset on.
    """
    hops = (len(sound) - _WINDOW) // _HOP + 1
    windows = np.lib.stride_tricks.sliding_window_view(sound / FULL_SCALE, _WINDOW)[::_HOP][:hops] * _HANN
    powers = np.abs(np.fft.rfft(windows, _FFT)) ** 2 @ _FILTERS.T + 1e-9
    bands_db, level_db = 10 * np.log10(powers), 10 * np.log10(powers.sum(axis=1))
    bands_db = np.maximum(bands_db, bands_db.max() - _RANGE_DB)
    level_db -= level_db.max()
    found = [float(bands_db[:, region].std(axis=0).mean()) for region in _REGIONS]
    for hops_apart in (1, 4):
        change = np.abs(bands_db[hops_apart:] - bands_db[:-hops_apart])
        found += [float(change[:, region].mean()) for region in _REGIONS]
    shape = bands_db - bands_db.mean(axis=1, keepdims=True)
    turned = np.abs(shape[5:] - shape[:-5]).mean(axis=1)
    found += [float(turned.mean()), float(turned.max()), float(np.percentile(turned, 75))]
    first, middle, last = (part.mean(axis=0) for part in np.array_split(bands_db @ _COSINES.T, 3))
    found += [*np.abs(middle - first).tolist(), *np.abs(last - middle).tolist()]
    found += [
        float(level_db[-4:].mean()),
        float(level_db[-8:].max()),
        float(np.argmax(level_db)) / hops,
        float(level_db.mean()),
        float(np.abs(np.diff(level_db)).mean()),
        float(_dips(level_db.tolist())),
        float(np.mean(probabilities)),
        min(probabilities),
        probabilities[-1],
        max(probabilities),
    ]
    return np.array(found)


def _dips(level_db: Sequence[float]) -> int:
    """Returns how often the level falls and rises again by `_DIP_DB`: closures and syllables."""
    dips, peak, bottom, falling = 0, -math.inf, math.inf, False
    for level in level_db:
        if falling:
            bottom = min(bottom, level)
            if level > bottom + _DIP_DB:
                dips, falling, peak = dips + 1, False, level
        else:
            peak = max(peak, level)
            if level < peak - _DIP_DB:
                falling, bottom = True, level
    return dips
