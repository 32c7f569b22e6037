"""Measures the silence at the end of a segment: a decode that lacks it lacks no words. No I/O, no clock."""

import numpy as np

from audio.units import FULL_SCALE, MIC_RATE_HZ, Pcm, Samples

BLOCK_SAMPLES = MIC_RATE_HZ * 20 // 1000

_FLOOR_BLOCKS = 5
"""The room level is the quietest 100 ms of the segment so far; the segment starts 300 ms before speech."""

_KEPT_BLOCKS = 50

_ABOVE_FLOOR_DB = 6.0
_BELOW_PEAK_DB = 25.0
"""A final "s" or "f" is up to 20 dB weaker than the vowels; silence is below that and near the room level."""

_INAUDIBLE = (10 ** (-70 / 20)) ** 2
"""Power at -70 dBFS: a lower limit, because digital silence has no level to compare with."""


class TrailingSilence:
    """Tracks the length of the silence at the end. Not thread-safe."""

    def __init__(self) -> None:
        self._rest = np.zeros(0, np.float32)
        self._powers: list[float] = []
        self._floor = np.inf
        self._peak = 0.0

    def feed(self, pcm: Pcm) -> None:
        """Appends samples, int16, shape (n,), any length."""
        sound = np.concatenate([self._rest, pcm.astype(np.float32) / FULL_SCALE])
        whole = len(sound) // BLOCK_SAMPLES * BLOCK_SAMPLES
        self._rest = sound[whole:]
        for power in np.mean(sound[:whole].reshape(-1, BLOCK_SAMPLES) ** 2, axis=1).tolist():
            self._powers = [*self._powers[1 - _KEPT_BLOCKS :], power]
            self._peak = max(self._peak, power)
            if len(self._powers) >= _FLOOR_BLOCKS:
                self._floor = min(self._floor, sum(self._powers[-_FLOOR_BLOCKS:]) / _FLOOR_BLOCKS)

    @property
    def samples(self) -> Samples:
        """Length of the trailing silence in samples, at most 1 s; an incomplete block counts as silent."""
        limit = max(
            min(self._floor * 10 ** (_ABOVE_FLOOR_DB / 10), self._peak * 10 ** (-_BELOW_PEAK_DB / 10)), _INAUDIBLE
        )
        blocks = 0
        for power in reversed(self._powers):
            if power > limit:
                break
            blocks += 1
        return Samples(blocks * BLOCK_SAMPLES + len(self._rest)) if blocks else Samples(0)
