"""Passes audio blocks from a card's thread to the event loop in preallocated memory."""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Block:
    """A block of audio.

    Attributes:
        pcm: int16, shape (n, channels): a view, valid until the next block is taken.
        at_s: The time passed to `put_block`.
    """

    pcm: npt.NDArray[np.int16]
    at_s: float


class BlockRing:
    """A lock-free ring of blocks for one writing and one reading thread.

    Each of the two counters is written by one side only, after the block was copied; under the GIL this is sufficient
    order. When the ring is full, new blocks are dropped: the callback cannot wait, and queued blocks must not be
    overwritten while they are read.

    Attributes:
        dropped: Number of blocks that found no room. Written by the writing thread.
    """

    def __init__(self, blocks: int, max_samples: int, channels: int = 1) -> None:
        """Allocates `blocks` blocks of at most `max_samples` samples per channel. Raises ValueError below 1."""
        if min(blocks, max_samples, channels) < 1:
            raise ValueError(
                f"a ring needs at least 1 block, sample and channel, not {blocks}, {max_samples} and {channels}"
            )
        self.dropped = 0
        self._pcm = np.zeros((blocks, max_samples, channels), np.int16)
        self._lengths = [0] * blocks
        self._at_s = [0.0] * blocks
        self._put = 0
        self._taken = 0

    def __len__(self) -> int:
        """Returns the number of queued blocks."""
        return self._put - self._taken

    def put_block(self, pcm: npt.NDArray[np.int16], at_s: float) -> bool:
        """Copies a block in: int16 (n, channels), n up to `max_samples`. Returns False if it was dropped."""
        if self._put - self._taken == len(self._lengths):
            self.dropped += 1
            return False
        slot = self._put % len(self._lengths)
        self._pcm[slot, : len(pcm)] = pcm
        self._lengths[slot] = len(pcm)
        self._at_s[slot] = at_s
        self._put += 1
        return True

    def take(self) -> Generator[Block]:
        """Yields the queued blocks, oldest first. A block's memory is reused after the next one is requested."""
        for _ in range(len(self)):
            slot = self._taken % len(self._lengths)
            yield Block(self._pcm[slot, : self._lengths[slot]], self._at_s[slot])
            self._taken += 1
