"""Blocks on their way from a card's thread to the event loop, in memory that was allocated once."""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Block:
    """One block.

    Attributes:
        pcm: int16, shape (n, channels): a view, good until the next block is taken.
        at_s: The time it was put in with.
    """

    pcm: npt.NDArray[np.int16]
    at_s: float


class BlockRing:
    """A ring of blocks for one thread that puts in and one that takes out: neither waits for the other.

    Each of the two counters is written by one side only, after the block was copied: that is all the order there
    has to be under Python's interpreter lock. When it is full, new blocks are dropped: the callback cannot wait, and
    what is already in must not be overwritten under the reader's hands.

    Attributes:
        dropped: Blocks that found no room; written by the side that puts in.
    """

    def __init__(self, blocks: int, most_samples: int, channels: int = 1) -> None:
        """Room for `blocks` blocks of at most `most_samples` samples per channel. Raises ValueError below 1."""
        if min(blocks, most_samples, channels) < 1:
            raise ValueError(f"a ring needs room: {blocks} blocks of {most_samples} samples on {channels} channels")
        self.dropped = 0
        self._pcm = np.zeros((blocks, most_samples, channels), np.int16)
        self._lengths = [0] * blocks
        self._at_s = [0.0] * blocks
        self._put = 0
        self._taken = 0

    def __len__(self) -> int:
        """Blocks that wait."""
        return self._put - self._taken

    def put(self, pcm: npt.NDArray[np.int16], at_s: float) -> bool:
        """Copy a block in: int16 (n, channels), n at most what the ring was made for. False: no room, dropped."""
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
        """What is in now, oldest first. Each block's room is given back when the next one is asked for."""
        for _ in range(len(self)):
            slot = self._taken % len(self._lengths)
            yield Block(self._pcm[slot, : self._lengths[slot]], self._at_s[slot])
            self._taken += 1
