"""Tests the generated microphone sound of clips and room noise."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench.conversations.microphone import FADE, MicrophoneSource

ROOM = np.arange(100, dtype=np.int16)
OTHER = np.full(64, -500, np.int16)


def test_room_noise_repeats_without_seam() -> None:
    microphone = MicrophoneSource(ROOM)
    taken = np.concatenate([microphone.take(70), microphone.take(70)])
    assert taken.tolist() == [*range(100), *range(40)]


def test_clip_begins_at_returned_position() -> None:
    microphone = MicrophoneSource(ROOM)
    microphone.take(480)
    clip = np.full(10 * FADE, 9000, np.int16)
    at = microphone.say(clip)
    taken = microphone.take(12 * FADE)
    assert at == 480
    assert (taken[FADE : 9 * FADE] == 9000).all()
    assert np.abs(taken[10 * FADE :]).max() < 100  # the room again


def test_rooms_are_crossfaded() -> None:
    microphone = MicrophoneSource(np.full(64, 500, np.int16))
    microphone.enter(OTHER)
    taken = microphone.take(2 * FADE)
    assert np.abs(np.diff(taken.astype(int))).max() <= 2
    assert (taken[FADE:] == -500).all()


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=12))
def test_stream_is_independent_of_block_size(sizes: list[int]) -> None:
    def spoken() -> MicrophoneSource:
        microphone = MicrophoneSource(ROOM)
        microphone.enter(OTHER)
        microphone.say(np.full(3000, 1234, np.int16))
        return microphone

    pieces = spoken()
    taken = np.concatenate([pieces.take(size) for size in sizes])
    assert pieces.taken == sum(sizes)
    assert taken.tolist() == spoken().take(sum(sizes)).tolist()
