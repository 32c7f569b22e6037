"""The block ring between two threads."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.card.block_ring import BlockRing


@given(st.integers(1, 5), st.lists(st.integers(0, 7)))
def test_blocks_come_out_in_order_or_are_counted_as_dropped(room: int, course: list[int]) -> None:
    ring = BlockRing(room, 7)
    waiting: list[tuple[int, int]] = []
    dropped = 0
    for number, samples in enumerate(course):
        if samples == 0:
            taken = [(int(block.at_s), len(block.pcm)) for block in ring.take()]
            assert taken == waiting
            waiting.clear()
            continue
        kept = ring.put_block(np.full((samples, 1), number, np.int16), number)
        assert kept == (len(waiting) < room)
        waiting += [(number, samples)] if kept else []
        dropped += not kept
        assert len(ring) == len(waiting)
    assert ring.dropped == dropped


def test_one_thread_writes_while_another_reads() -> None:
    ring = BlockRing(8, 16, 2)
    blocks = 500

    def fill() -> None:
        for number in range(blocks):
            while not ring.put_block(np.full((number % 16 + 1, 2), number, np.int16), number):
                time.sleep(0)

    thread = threading.Thread(target=fill)
    thread.start()
    expected = 0
    while expected < blocks:
        for block in ring.take():
            assert block.at_s == expected
            assert block.pcm.shape == (expected % 16 + 1, 2)
            assert (block.pcm == np.int16(expected)).all()
            expected += 1
    thread.join()


def test_ring_without_capacity_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 block, sample and channel, not 0, 1 and 1"):
        BlockRing(0, 1)
