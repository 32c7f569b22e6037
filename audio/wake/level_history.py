"""Keeps the energies of the last frames of a microphone, so that the level of speech is known once it has ended."""

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from audio.frame import Frame
from audio.level import SILENCE_DBFS
from audio.units import FRAME_SAMPLES, FULL_SCALE, Samples

KEPT_FRAMES = 750
"""Frames that are kept: 15 s, longer than most turns. The level of a longer turn is that of its end."""


@dataclass(slots=True)
class LevelHistory:
    """The energies of the last frames. Not thread-safe."""

    _energies: deque[tuple[Samples, float]] = field(default_factory=lambda: deque(maxlen=KEPT_FRAMES))

    def add_frame(self, frame: Frame) -> None:
        """Adds the next frame."""
        sound = frame.pcm.astype(np.float32)
        self._energies.append((frame.end, float(sound @ sound)))

    def level_dbfs(self, begin: Samples, end: Samples) -> float:
        """Returns the mean level of the sound between two positions, in dBFS."""
        energies = [energy for frame_end, energy in self._energies if begin < frame_end <= end]
        if not any(energies):
            return SILENCE_DBFS
        return max(SILENCE_DBFS, 10 * math.log10(sum(energies) / len(energies) / FRAME_SAMPLES / FULL_SCALE**2))
