"""Tells when a detector need not run its network, because the microphone has been quiet: muted, or digital silence."""

import numpy as np

from audio.units import FRAME_MS, Pcm
from audio.vad import POSSIBLE_SPEECH

QUIET_PEAK = 16
"""Largest sample of a quiet frame (-66 dBFS). No detector finds speech of this level: the network's probability is at
most 0.05 on the clips of the benches; at a peak of 64 it is up to 0.99."""

PERIOD_FRAMES = 8
"""Frames after which windows of 32 ms and frames of 20 ms end together, so that the windows stay where they were."""

HANGOVER_FRAMES = 480 // FRAME_MS
"""Quiet frames before the network rests: until then its state is that of silence."""


def is_quiet(pcm: Pcm) -> bool:
    """Returns whether no sample exceeds `QUIET_PEAK`."""
    # Calls the ufuncs directly: the array methods that wrap them cost half of the time.
    return bool(np.maximum.reduce(pcm) <= QUIET_PEAK and np.minimum.reduce(pcm) >= -QUIET_PEAK)


class QuietRest:
    """Decides whether the network rests. No I/O; not thread-safe.

    Attributes:
        rests: Whether it rests.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Resets all state."""
        self.rests = False
        self._quiet_frames = 0
        self._kept: list[Pcm] = []

    def rest(self, pcm: Pcm, *, quiet: bool) -> bool:
        """Processes the next frame while the network rests. Returns False if the network must run again."""
        self._kept.append(pcm.copy())
        self.rests = quiet
        return quiet

    def dropped_frames(self) -> int:
        """Drops frames that the network will not get, whole periods. Returns their number."""
        dropped = max(0, len(self._kept) - HANGOVER_FRAMES) // PERIOD_FRAMES * PERIOD_FRAMES
        del self._kept[:dropped]
        return dropped

    def take_kept(self) -> list[Pcm]:
        """Returns the frames since the network began to rest, except for those dropped, and forgets them."""
        kept, self._kept, self._quiet_frames = self._kept, [], 0
        return kept

    def note_run(self, probability: float, *, quiet: bool, whole: bool, speaking: bool) -> None:
        """Notes a frame for which the network ran. `whole`: a window ended with it."""
        calm = quiet and not speaking and probability < POSSIBLE_SPEECH
        self._quiet_frames = self._quiet_frames + 1 if calm else 0
        self.rests = whole and self._quiet_frames >= HANGOVER_FRAMES
