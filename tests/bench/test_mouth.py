"""Tests the generated microphone sound of clips and room noise."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench.mouth import FADE, Mouth

ROOM = np.arange(100, dtype=np.int16)
OTHER = np.full(64, -500, np.int16)


def test_room_noise_repeats_without_seam() -> None:
    mouth = Mouth(ROOM)
    taken = np.concatenate([mouth.take(70), mouth.take(70)])
    assert taken.tolist() == [*range(100), *range(40)]


def test_clip_begins_at_returned_position() -> None:
    mouth = Mouth(ROOM)
    mouth.take(480)
    clip = np.full(10 * FADE, 9000, np.int16)
    at = mouth.say(clip)
    taken = mouth.take(12 * FADE)
    assert at == 480
    assert (taken[FADE : 9 * FADE] == 9000).all()
    assert np.abs(taken[10 * FADE :]).max() < 100  # the room again


def test_rooms_are_crossfaded() -> None:
    mouth = Mouth(np.full(64, 500, np.int16))
    mouth.enter(OTHER)
    taken = mouth.take(2 * FADE)
    assert np.abs(np.diff(taken.astype(int))).max() <= 2
    assert (taken[FADE:] == -500).all()


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=12))
def test_stream_is_independent_of_block_size(sizes: list[int]) -> None:
    def spoken() -> Mouth:
        mouth = Mouth(ROOM)
        mouth.enter(OTHER)
        mouth.say(np.full(3000, 1234, np.int16))
        return mouth

    pieces = spoken()
    taken = np.concatenate([pieces.take(size) for size in sizes])
    assert pieces.taken == sum(sizes)
    assert taken.tolist() == spoken().take(sum(sizes)).tolist()
