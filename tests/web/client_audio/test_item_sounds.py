"""The sound kept for retrieved items: limits, cuts, and the user's turns on the microphone line."""

import json

import numpy as np
import pytest

from assistant.history.items import ItemId
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm, Samples
from web.client_audio.item_sounds import (
    MAX_BYTES,
    MAX_ITEM_S,
    MAX_ITEMS,
    MAX_SPEECH_FRAMES,
    RECENT_FRAMES,
    ItemSounds,
    SpeechTape,
)
from web.wire.items.sound_encoding import with_sounds
from web.wire.values.session_config import SessionConfig

A, B = ItemId("a"), ItemId("b")


def sound(s: float, value: int = 1) -> Pcm:
    return np.full(round(24_000 * s), value, np.int16)


def kept_s(sounds: ItemSounds, item: ItemId) -> float | None:
    found = sounds.of(item).get(0)
    return None if found is None else len(found[0]) / found[1]


def test_reply_grows_and_is_cut_to_what_was_heard() -> None:
    sounds = ItemSounds()
    for value in (1, 2):
        sounds.add_reply(A, sound(0.5, value))
    assert kept_s(sounds, A) == 1.0
    sounds.cut(A, 750)
    pcm, rate_hz = sounds.of(A)[0]
    assert (len(pcm), rate_hz, pcm[0], pcm[-1]) == (18_000, 24_000, 1, 2)
    sounds.cut(A, 10_000)
    assert kept_s(sounds, A) == 0.75
    sounds.cut(A, 0)
    assert kept_s(sounds, A) is None


def test_replaced_sound_does_not_count() -> None:
    sounds = ItemSounds()
    for _ in range(10):
        sounds.keep_sound(A, 0, [sound(15)], 24_000)
    sounds.keep_sound(B, 0, [sound(15)], 24_000)
    assert (kept_s(sounds, A), kept_s(sounds, B)) == (15, 15)


def test_oldest_sound_is_dropped_beyond_the_limit() -> None:
    sounds = ItemSounds()
    items = [ItemId(f"i{number}") for number in range(5)]
    for item in items:
        sounds.keep_sound(item, 0, [sound(15)], 24_000)
    assert [kept_s(sounds, item) for item in items] == [None, 15, 15, 15, 15]
    assert [sounds.has(item) for item in items] == [False, True, True, True, True]
    for _ in range(16):
        sounds.add_reply(B, sound(1))
    assert [kept_s(sounds, item) for item in (*items, B)] == [None, None, 15, 15, 15, 16]
    assert 15 * 4 + 16 > MAX_BYTES / 48_000 > 15 * 3 + 16


def test_sound_that_is_too_long_is_absent_and_not_partly_kept() -> None:
    sounds = ItemSounds()
    sounds.keep_sound(A, 1, [sound(17)], 24_000)
    for _ in range(20):
        sounds.add_reply(A, sound(1))
    assert sounds.of(A) == {}
    assert not sounds.has(A)
    sounds.add_reply(B, sound(1))
    assert kept_s(sounds, B) == 1.0


def test_longest_sound_fits_into_a_message_that_common_clients_accept() -> None:
    item: dict[str, object] = {"role": "assistant", "content": [{"type": "output_audio", "transcript": "x" * 10_000}]}
    pcm = np.ones(round(MAX_ITEM_S * 24_000), np.int16)
    assert len(json.dumps(with_sounds(item, {0: (pcm, 24_000)}, SessionConfig()))) < 1 << 20


def test_deleted_sound_makes_room() -> None:
    sounds = ItemSounds()
    for part in range(4):
        sounds.keep_sound(A, part, [sound(16)], 24_000)
    sounds.forget(A)
    for part in range(4):
        sounds.keep_sound(B, part, [sound(16)], 24_000)
    assert sounds.of(A) == {}
    assert set(sounds.of(B)) == {0, 1, 2, 3}


def test_number_of_items_is_limited() -> None:
    sounds = ItemSounds()
    for number in range(MAX_ITEMS + 1):
        sounds.keep_sound(ItemId(f"i{number}"), 0, [sound(0.001)], 24_000)
    assert sounds.of(ItemId("i0")) == {}
    assert kept_s(sounds, ItemId("i1")) == pytest.approx(0.001)


def frames(first: int, count: int) -> list[Frame]:
    return [
        Frame(Samples(at * FRAME_SAMPLES), np.full(FRAME_SAMPLES, at, np.int16)) for at in range(first, first + count)
    ]


def test_tape_has_a_turn_from_before_its_onset_to_after_its_end() -> None:
    tape = SpeechTape()
    for frame in frames(0, 100):
        tape.add_frame(frame)
    tape.begin(1, 1000.0)  # reported late
    for frame in frames(100, 100):
        tape.add_frame(frame)
    assert [pcm[0] for pcm in tape.end(1, 3000.0)] == list(range(40, 160))
    assert tape.end(1, 3000.0) == []


def test_second_turn_may_begin_before_the_first_is_committed() -> None:
    tape = SpeechTape()
    tape.begin(1, 200.0)
    for frame in frames(0, 100):
        tape.add_frame(frame)
    tape.begin(2, 1500.0)
    tape.begin(2, 1900.0)  # goes on
    for frame in frames(100, 100):
        tape.add_frame(frame)
    assert [pcm[0] for pcm in tape.end(1, 800.0)] == list(range(50))
    assert [pcm[0] for pcm in tape.end(2, None)] == list(range(65, 200))


def test_tape_keeps_little_without_speech_and_nothing_of_an_endless_turn() -> None:
    tape = SpeechTape()
    for frame in frames(0, RECENT_FRAMES + 50):
        tape.add_frame(frame)
    tape.begin(1, 0.0)
    assert tape.end(1, None) == [], "its beginning is gone"
    tape.begin(2, 2500.0)
    for frame in frames(RECENT_FRAMES + 50, MAX_SPEECH_FRAMES + 1):
        tape.add_frame(frame)
    assert tape.end(2, None) == []
