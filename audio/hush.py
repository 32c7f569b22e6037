"""Whether a block of sound is no louder than the room has been: then nobody has begun to speak in it."""

import numpy as np
import numpy.typing as npt

_LOUDER = 1.8
"""5 dB. The spread of noise that keeps its level varies by a fifth from block to block: this is 3 dB above its mean."""

_SILENT = 24
"""A spread of ±12 in 32768, -69 dBFS: what a good converter adds to nothing."""

_RISE = 1.01
_RISE_AT_LEAST = 1
"""A block. A room that becomes twice as loud is known after a second, and so is one of a spread of 100 at first."""


class Hush:
    """Follows the spread (largest sample less smallest) of a room in which nobody speaks. Pure; not thread-safe.

    It falls at once and rises slowly: what somebody says too softly for the detector, or a reply in the loudspeaker,
    does not pass for the room.
    """

    def __init__(self) -> None:
        self._room = 0.0

    def holds(self, block: npt.NDArray[np.int16]) -> bool:
        """Take the next block, int16 (n,), n > 0, in which nobody is known to speak: is it no louder than the room?"""
        # The ufuncs themselves: the methods of an array that call them are half of the price.
        spread = int(np.maximum.reduce(block)) - int(np.minimum.reduce(block))
        self._room = min(spread, self._room * _RISE + _RISE_AT_LEAST)
        return spread <= max(_SILENT, _LOUDER * self._room)
