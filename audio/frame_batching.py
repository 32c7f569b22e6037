"""Batches frames when latency does not matter: in silence, and in the middle of speech."""

from enum import Enum, auto

import numpy as np
import numpy.typing as npt

MAX_SILENCE_BATCH_S = 0.16
"""How long silence may be batched: eight frames, five windows of Silero.

Eight frames at once cost less CPU than one by one, because of the processor's caches (docs/lab/experiments.md).
"""

MAX_SPEECH_BATCH_S = 0.08
"""Longest batch in the middle of speech: four frames. Noise that follows speech may be as loud."""

_FRAMES_PER_S = 50

_LOUDER_RATIO = 1.5
"""Ratio of spreads (3.5 dB) above which audio is louder than the room.

The spread of steady noise varies by a fifth from block to block. Speech that is only this much louder than the room
is batched. With 5 dB this happened to a quarter of the onsets 5 dB above white noise, with 3.5 dB to a tenth.
"""

_SILENT_SPREAD = 24
"""Spread (±12 of 32768, -69 dBFS) of a good converter's own noise; up to this, audio is silent."""

_ROOM_RISE = 1.03
_ROOM_MIN_RISE = 5
"""Growth of the room estimate in 20 ms: a factor and a minimum step.

A room that becomes twice as loud is learned after half a second, and so is a spread of 100 after digital silence.
"""

_SOFTER_RATIO = 0.35
"""Ratio to the recent maximum (-9 dB) below which a word may be ending."""

_SPEECH_FALL = 0.98
"""Decay of the speech maximum in 20 ms. A speaker who becomes half as loud is learned after 0.7 s."""


class Batching(Enum):
    """Which audio must be delivered at once because it may cause a decision."""

    OFF = auto()
    SILENCE = auto()
    """No speech: deliver audio that is louder than the room."""
    SPEECH = auto()
    """Speech: deliver audio that is softer than the speech."""


class FrameBatcher:
    """Tracks the level of the room in silence and the level of speech. No I/O, no clock; not thread-safe.

    The level is the spread of a block: its largest sample minus its smallest. The room estimate falls at once and rises
    slowly, so that soft undetected speech or a reply in the loudspeaker does not count as room noise.
    """

    def __init__(self) -> None:
        self._room = 0.0
        self._speech = 0.0

    def max_wait_s(self, block: npt.NDArray[np.int16], block_s: float, batching: Batching) -> float:
        """Returns how many seconds of audio, this block included, may be batched; 0: deliver it now.

        Args:
            block: int16, shape (n,), n > 0.
            block_s: Duration of the block in seconds.
            batching: Which audio must be delivered at once.
        """
        if batching is Batching.OFF:
            return 0.0
        # Calls the ufuncs directly: the array methods that wrap them cost half of the time.
        spread = int(np.maximum.reduce(block)) - int(np.minimum.reduce(block))
        frames = block_s * _FRAMES_PER_S
        if batching is Batching.SILENCE:
            self._room = min(spread, self._room * _ROOM_RISE**frames + _ROOM_MIN_RISE * frames)
            return MAX_SILENCE_BATCH_S if spread <= max(_SILENT_SPREAD, _LOUDER_RATIO * self._room) else 0.0
        known = self._speech > 0
        self._speech = max(spread, self._speech * _SPEECH_FALL**frames)
        return MAX_SPEECH_BATCH_S if known and spread >= _SOFTER_RATIO * self._speech else 0.0
