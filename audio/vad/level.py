"""Keeps the levels of the last 0.64 s in blocks of 5 ms, which date onsets precisely."""

import math

import numpy as np

from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, Pcm, Samples

BLOCK_SAMPLES = MIC_RATE_HZ * 5 // 1000
BLOCKS_PER_FRAME = FRAME_SAMPLES // BLOCK_SAMPLES
HISTORY_BLOCKS = 32 * BLOCKS_PER_FRAME
MAX_FRAMES = 10
"""Largest number of frames that one call of `take` accepts."""
SILENCE_DB = -100.0

# Levels are measured on x[n] - x[n-4]. This filter removes DC, attenuates 50 Hz hum by 22 dB, and wind and traffic
# strongly. From 300 Hz on, where speech differs from room noise, it passes within a few dB. It costs one subtraction.
_LAG_SAMPLES = 4
_POWER_OF_ENERGY = 1 / (BLOCK_SAMPLES * FULL_SCALE**2)


class LevelHistory:
    """Levels in dBFS of the last HISTORY_BLOCKS blocks. Allocated once.

    Attributes:
        frame_db: Level of the newest frame, dBFS.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Resets all state."""
        self.frame_db = SILENCE_DB
        self._levels_db = np.full(HISTORY_BLOCKS, SILENCE_DB, dtype=np.float32)
        self._samples = np.zeros(_LAG_SAMPLES + MAX_FRAMES * FRAME_SAMPLES, dtype=np.float32)
        self._end = Samples(0)
        self._fresh = True

    def take(self, pcm: Pcm, end: Samples) -> list[float]:
        """Appends the next frames, at most MAX_FRAMES, which end at `end`; returns the level of each in dBFS."""
        samples = self._samples[: _LAG_SAMPLES + len(pcm)]
        samples[_LAG_SAMPLES:] = pcm
        if self._fresh:  # extend the first sample backwards, so that there is no step from zero
            samples[:_LAG_SAMPLES] = samples[_LAG_SAMPLES]
            self._fresh = False
        blocks = (samples[_LAG_SAMPLES:] - samples[:-_LAG_SAMPLES]).reshape(-1, BLOCK_SAMPLES)
        samples[:_LAG_SAMPLES] = samples[-_LAG_SAMPLES:]
        # One einsum for all blocks and Python floats from here on: most of numpy's cost is per call.
        powers = [energy * _POWER_OF_ENERGY + 1e-10 for energy in np.einsum("ij,ij->i", blocks, blocks).tolist()]
        levels_db = self._levels_db
        levels_db[: -len(powers)] = levels_db[len(powers) :]
        levels_db[-len(powers) :] = [10 * math.log10(power) for power in powers]
        frames_db = [
            10 * math.log10(sum(powers[start : start + BLOCKS_PER_FRAME]) / BLOCKS_PER_FRAME)
            for start in range(0, len(powers), BLOCKS_PER_FRAME)
        ]
        self.frame_db = frames_db[-1]
        self._end = end
        return frames_db

    def onset(self, raw: Samples, threshold_db: float, reach_samples: int, gap_samples: int) -> Samples:
        """Returns the start of the sound that contains `raw`.

        Args:
            raw: Where the detector reported the onset.
            threshold_db: Level above which a block counts as sound, dBFS.
            reach_samples: How far before `raw` to search.
            gap_samples: A quiet gap up to this length (a plosive's closure) does not end the sound.
        """
        newest = self._block(raw)
        onset, quiet = raw, 0
        for block in range(newest - 1, max(newest - reach_samples // BLOCK_SAMPLES, 0) - 1, -1):
            if self._levels_db[block] > threshold_db:
                onset, quiet = self._position(block), 0
            else:
                quiet += BLOCK_SAMPLES
                if quiet > gap_samples:
                    break
        return onset

    def last_sound(self, since: Samples, until: Samples, threshold_db: float) -> Samples | None:
        """Returns the end of the last 20 ms in [since, until) above `threshold_db`, or None."""
        powers = np.power(10.0, self._levels_db[self._block(since) : self._block(until)] / 10)
        if len(powers) < BLOCKS_PER_FRAME:
            return None
        means_db = 10 * np.log10(np.convolve(powers, np.full(BLOCKS_PER_FRAME, 1 / BLOCKS_PER_FRAME), "valid"))
        loud = np.flatnonzero(means_db > threshold_db)
        if len(loud) == 0:
            return None
        return self._position(self._block(since) + int(loud[-1]) + BLOCKS_PER_FRAME)

    def _block(self, position: int) -> int:
        back = (self._end - position) // BLOCK_SAMPLES
        return min(max(HISTORY_BLOCKS - back, 0), HISTORY_BLOCKS)

    def _position(self, block: int) -> Samples:
        return Samples(self._end - (HISTORY_BLOCKS - block) * BLOCK_SAMPLES)
