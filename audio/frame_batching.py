"""Batches frames of silence, because several frames at once cost less processor time than one by one."""

import numpy as np
import numpy.typing as npt

MAX_BATCH_S = 0.16
"""Longest batch of silence, in seconds: eight frames, five windows of Silero (docs/lab/experiments.md)."""

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


class FrameBatcher:
    """Tracks the level of the room in silence. No I/O, no clock; not thread-safe.

    The level is the spread of a block: its largest sample minus its smallest. The room estimate falls at once and rises
    slowly, so that soft undetected speech or a reply in the loudspeaker does not count as room noise.
    """

    def __init__(self) -> None:
        self._room = 0.0

    def max_wait_s(self, block: npt.NDArray[np.int16], block_s: float) -> float:
        """Returns how many seconds of audio, this block included, may be batched; 0 if it is louder than the room.

        Args:
            block: int16, shape (n,), n > 0, captured while nobody is known to speak.
            block_s: Duration of the block in seconds.
        """
        return 0.0 if self.is_loud(block, block_s) else MAX_BATCH_S

    def is_loud(self, block: npt.NDArray[np.int16], block_s: float) -> bool:
        """Returns whether a block is louder than the room.

        Adapts the estimate of the room; speech raises it slowly, and the next quiet block lowers it at once.
        """
        # Calls the ufuncs directly: the array methods that wrap them cost half of the time.
        spread = int(np.maximum.reduce(block)) - int(np.minimum.reduce(block))
        frames = block_s * _FRAMES_PER_S
        self._room = min(spread, self._room * _ROOM_RISE**frames + _ROOM_MIN_RISE * frames)
        return spread > max(_SILENT_SPREAD, _LOUDER_RATIO * self._room)
