"""Where the sound has just become weak, as it does when a word ends. Pure, a running state.

While somebody speaks there are one to two a second; what they are worth is in docs/stt.md.
"""

from collections import deque

import numpy as np

from audio.units import MIC_RATE_HZ, Pcm

BLOCK_SAMPLES = MIC_RATE_HZ * 10 // 1000

DEPTH_DB = 20.0
"""How far below the louder parts of the last 0.6 s."""

_WEAK_BLOCKS = 3
_MEMORY_BLOCKS = 60
_LOUDER_PART = 0.8
_SURE_BLOCKS = 30

_SILENCE = 1.0
"""Added to the power of a block, in steps of PCM16 squared: digital silence is not endlessly far below a room."""


class Dips:
    """Whether the sound is in one. Not thread-safe.

    Attributes:
        since: Where the sound that is weak now was found to be, in samples from the beginning; None while it is loud.
    """

    def __init__(self) -> None:
        self.since: int | None = None
        self._fed = 0
        self._rest = np.zeros(0, np.int16)
        self._powers: deque[float] = deque(maxlen=_MEMORY_BLOCKS)
        self._weak = 0

    def feed(self, pcm: Pcm) -> None:
        """The next samples, int16, shape (n,), any length."""
        sound = np.concatenate([self._rest, pcm])
        whole = len(sound) // BLOCK_SAMPLES * BLOCK_SAMPLES
        self._rest = sound[whole:]
        blocks = sound[:whole].astype(np.float64).reshape(-1, BLOCK_SAMPLES)
        for power in np.mean(blocks**2, axis=1).tolist():
            self._take(power + _SILENCE)

    def _take(self, power: float) -> None:
        self._fed += BLOCK_SAMPLES
        self._powers.append(power)
        if len(self._powers) < _SURE_BLOCKS:
            return
        louder = sorted(self._powers)[int(len(self._powers) * _LOUDER_PART)]
        self._weak = self._weak + 1 if power < louder * 10 ** (-DEPTH_DB / 10) else 0
        if self._weak == 0:
            self.since = None
        elif self._weak == _WEAK_BLOCKS:
            self.since = self._fed
