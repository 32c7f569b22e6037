"""Positions in the sent audio, mapped to the microphone line."""

from hypothesis import given
from hypothesis import strategies as st

from audio.units import FRAME_SAMPLES, Samples, ms_of_samples
from web.remote.sound.sent_audio_map import SentAudioMap


def test_audio_without_a_break_maps_directly() -> None:
    sent = SentAudioMap()
    for number in range(10):
        sent.add_samples(Samples(4800 + number * FRAME_SAMPLES), FRAME_SAMPLES)
    assert sent.ms == 200
    assert sent.captured(50.0) == 4800 + 800
    assert sent.captured(0.0) is None


def test_pause_is_not_part_of_sent_audio() -> None:
    sent = SentAudioMap()
    sent.add_samples(Samples(0), 1600)
    sent.add_samples(Samples(16_000), 1600)
    assert sent.captured(100.0) == 1600  # the last sample before the pause
    assert sent.captured(150.0) == 16_800


def test_audio_lost_with_connection_does_not_count_as_sent() -> None:
    sent = SentAudioMap()
    sent.add_samples(Samples(0), 1600)
    sent.add_samples(Samples(16_000), 1600)
    sent.drop_unreceived(50.0)
    assert sent.ms == 50
    sent.add_samples(Samples(32_000), 1600)
    assert sent.captured(60.0) == 32_160


def test_another_server_counts_from_the_beginning() -> None:
    sent = SentAudioMap()
    for number in range(300):  # more stretches than are kept
        sent.add_samples(Samples(number * 16_000), 1600)
    sent.drop_unreceived(0.0)
    assert sent.ms == 0
    sent.add_samples(Samples(9_000_000), 1600)
    assert sent.captured(50.0) == 9_000_800


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=40), st.data())
def test_every_sent_sample_maps_to_its_capture_position(runs: list[tuple[int, int]], data: st.DataObject) -> None:
    sent, line = SentAudioMap(), 0
    captured: list[int] = []
    for gap, frames in runs:
        line += gap * FRAME_SAMPLES
        for _ in range(frames):
            sent.add_samples(Samples(line), FRAME_SAMPLES)
            captured += range(line, line + FRAME_SAMPLES)
            line += FRAME_SAMPLES
    at = data.draw(st.integers(1, len(captured) - 1))
    found = sent.captured(ms_of_samples(at))
    assert found in {captured[at], captured[at - 1] + 1}
