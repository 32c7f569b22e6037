"""How loud the last two thirds of a second were, in 5 ms blocks: the fine ruler that onsets are dated with."""

import math

import numpy as np

from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, Pcm, Samples

BLOCK_SAMPLES = MIC_RATE_HZ * 5 // 1000
BLOCKS_PER_FRAME = FRAME_SAMPLES // BLOCK_SAMPLES
HISTORY_BLOCKS = 32 * BLOCKS_PER_FRAME
MOST_FRAMES = 10
"""That can be taken at once."""
SILENCE_DB = -100.0

# Levels are of x[n] - x[n-4]: nothing of a DC offset, 22 dB less of 50 Hz hum and much less of wind and traffic,
# while 300 Hz and up, where a voice is told from a room, pass within a few dB. Costs one subtraction.
_LAG_SAMPLES = 4
_POWER_OF_ENERGY = 1 / (BLOCK_SAMPLES * FULL_SCALE**2)


class LevelHistory:
    """Levels in dBFS of the last HISTORY_BLOCKS blocks. Allocated once.

    Attributes:
        frame_db: Level of the newest frame.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything heard."""
        self.frame_db = SILENCE_DB
        self._levels_db = np.full(HISTORY_BLOCKS, SILENCE_DB, dtype=np.float32)
        self._samples = np.zeros(_LAG_SAMPLES + MOST_FRAMES * FRAME_SAMPLES, dtype=np.float32)
        self._end = Samples(0)
        self._fresh = True

    def take(self, pcm: Pcm, end: Samples) -> list[float]:
        """Take the samples of the next frames, at most MOST_FRAMES, which end at `end`; the level of each in dBFS."""
        samples = self._samples[: _LAG_SAMPLES + len(pcm)]
        samples[_LAG_SAMPLES:] = pcm
        if self._fresh:  # before the first sample lies that sample, not a step up from zero
            samples[:_LAG_SAMPLES] = samples[_LAG_SAMPLES]
            self._fresh = False
        blocks = (samples[_LAG_SAMPLES:] - samples[:-_LAG_SAMPLES]).reshape(-1, BLOCK_SAMPLES)
        samples[:_LAG_SAMPLES] = samples[-_LAG_SAMPLES:]
        # One call for the sums of all blocks, and floats from here on: of numpy's price most is per call.
        powers = [energy * _POWER_OF_ENERGY + 1e-10 for energy in np.einsum("ij,ij->i", blocks, blocks).tolist()]
        levels_db = self._levels_db
        levels_db[: -len(powers)] = levels_db[len(powers) :]
        levels_db[-len(powers) :] = [10 * math.log10(power) for power in powers]
        frames_db = [
            10 * math.log10(sum(powers[at : at + BLOCKS_PER_FRAME]) / BLOCKS_PER_FRAME)
            for at in range(0, len(powers), BLOCKS_PER_FRAME)
        ]
        self.frame_db = frames_db[-1]
        self._end = end
        return frames_db

    def onset(self, raw: Samples, threshold_db: float, reach_samples: int, gap_samples: int) -> Samples:
        """The first sound of the stretch that holds `raw`.

        Args:
            raw: Where the detector says that speech began.
            threshold_db: What counts as sound.
            reach_samples: How far before `raw` to look at most.
            gap_samples: A quiet gap as long as this (a plosive's closure) is still inside the stretch.
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
        """The end of the last 20 ms in [since, until) that were above `threshold_db`; None where none were."""
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
