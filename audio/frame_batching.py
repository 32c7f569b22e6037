"""How much sound nobody waits for: in the midst of silence, and in the midst of speech."""

from enum import Enum, auto

import numpy as np
import numpy.typing as npt

HUSH_S = 0.16
"""How long hush may wait: eight frames, five windows of Silero. Eight at once cost less than one by one, for whatever a
frame goes through is cold in the processor's caches by the time of the next (docs/lab/experiments.md)."""

FLOW_S = 0.08
"""How long what is in the midst of speech may wait: four frames. A voice may also end in a noise that is as loud."""

_FRAMES_PER_S = 50

_LOUDER = 1.5
"""3.5 dB. The spread of noise that keeps its level varies by a fifth from block to block. A voice that is so little
louder than the room would wait: with 5 dB a quarter of the beginnings 5 dB above white noise did, with this a tenth."""

_SILENT = 24
"""A spread of ±12 in 32768, -69 dBFS: what a good converter adds to nothing."""

_RISE = 1.03
_RISE_AT_LEAST = 5
"""In 20 ms. A room that becomes twice as loud is known after half a second; a spread of 100 is, of nothing before."""

_SOFTER = 0.35
"""9 dB under the loudest of late: there a word may end."""

_FALL = 0.98
"""In 20 ms. Who speaks half as loud is known for it after 0.7 s."""


class Batching(Enum):
    """What has to come at once, for it may decide something."""

    OFF = auto()
    SILENCE = auto()
    """Nobody speaks: what is louder than the room."""
    SPEECH = auto()
    """Somebody is in the midst of speech: what is softer than that."""


class FrameBatcher:
    """Follows how loud a room is in which nobody speaks, and the speech in it. Pure; not thread-safe.

    By the spread of blocks: the largest sample less the smallest. That of the room falls at once and rises slowly: what
    somebody says too softly for the detector, or a reply in the loudspeaker, does not pass for the room.
    """

    def __init__(self) -> None:
        self._room = 0.0
        self._speech = 0.0

    def may_wait_s(self, block: npt.NDArray[np.int16], block_s: float, heed: Batching) -> float:
        """How much sound may wait together, with this block, int16 (n,), n > 0, that lasts `block_s`; 0: it may not."""
        if heed is Batching.OFF:
            return 0.0
        # The ufuncs themselves: the methods of an array that call them are half of the price.
        spread = int(np.maximum.reduce(block)) - int(np.minimum.reduce(block))
        frames = block_s * _FRAMES_PER_S
        if heed is Batching.SILENCE:
            self._room = min(spread, self._room * _RISE**frames + _RISE_AT_LEAST * frames)
            return HUSH_S if spread <= max(_SILENT, _LOUDER * self._room) else 0.0
        known = self._speech > 0
        self._speech = max(spread, self._speech * _FALL**frames)
        return FLOW_S if known and spread >= _SOFTER * self._speech else 0.0
