"""Tests of the push-to-talk key."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import PushToTalkThresholds
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

LOUD = np.full(FRAME_SAMPLES, 5000, np.int16)


def frame(number: int) -> Frame:
    return Frame(Samples(number * FRAME_SAMPLES), LOUD)


def at(number: int) -> Samples:
    return Samples(number * FRAME_SAMPLES)


def test_frames_pass_only_while_key_is_down() -> None:
    key = PushToTalk()
    assert not key.mute_or_pass(frame(0)).pcm.any()
    assert key.press(at(10))
    assert not key.mute_or_pass(frame(9)).pcm.any(), "frames before the press are silent"
    assert key.mute_or_pass(frame(10)).pcm is LOUD
    key.release(at(50))
    assert key.awaits_frames
    assert key.mute_or_pass(frame(49)).pcm is LOUD
    silent = key.mute_or_pass(frame(50))
    assert (silent.is_inserted, silent.start) == (True, at(50))
    assert not silent.pcm.any()


def test_turn_is_submitted_with_the_frame_of_the_release() -> None:
    key = PushToTalk()
    key.press(at(10))
    assert key.take_action(at(40), at(12)) is None
    key.release(at(50))
    assert key.take_action(at(49), at(12)) is None
    assert key.take_action(at(50), at(12)) == "submit"
    assert not key.awaits_frames
    assert key.take_action(at(51), at(12)) is None


def test_submission_waits_for_late_vad_onset() -> None:
    key = PushToTalk()
    key.press(at(0))
    key.release(at(50))
    assert key.take_action(at(50), None) is None
    assert key.take_action(at(55), at(48)) == "submit"
    key.press(at(100))
    key.release(at(150))
    assert key.take_action(Samples(at(150) + samples_of_ms(PushToTalkThresholds().vad_delay_ms)), None) == "submit"


def test_tap_is_no_turn() -> None:
    key = PushToTalk()
    key.press(at(0))
    key.release(Samples(samples_of_ms(PushToTalkThresholds().min_press_ms) - 1))
    assert key.take_action(at(10), at(1)) == "clear"


def test_tap_during_released_turn_submits_it() -> None:
    key = PushToTalk()
    key.press(at(100))
    key.release(at(102))
    assert key.take_action(at(102), at(10)) == "submit"


def test_key_bounce_is_ignored() -> None:
    key = PushToTalk()
    key.press(at(0))
    assert not key.press(at(5))
    key.release(at(50))
    assert key.press(at(51))
    assert key.held
    assert key.mute_or_pass(frame(52)).pcm is LOUD
    key.release(at(90))
    key.release(at(95))
    assert key.take_action(at(90), at(2)) == "submit"


def test_release_without_press_is_ignored() -> None:
    key = PushToTalk()
    key.release(at(3))
    assert key.take_action(at(30), at(2)) is None


def tail(*probabilities: float, pressed: int = 0) -> list[bool]:
    """Returns which frames after a release at frame 50 pass. The first probability belongs to the frame before it."""
    key, passed = PushToTalk(), []
    key.press(at(pressed))
    key.release(at(50))
    for number, probability in enumerate(probabilities, start=49):
        passed.append(bool(key.mute_or_pass(frame(number)).pcm.any()))
        key.add_vad_result(at(number + 1), VadResult(speaking=False, boundary=Samples(0), probability=probability))
        if key.take_action(at(number + 1), at(48)) is not None:
            break
    return passed[1:]


def test_word_at_release_passes_to_its_end() -> None:
    assert tail(0.9, 0.9, 0.9, 0.1, 0.9) == [True, True, True]
    assert tail(*[0.9] * 40) == [True] * 15, "at most 300 ms"


def test_word_at_release_passes_to_its_end_despite_new_press() -> None:
    key, passed = PushToTalk(), []
    key.press(at(0))
    key.release(at(50))
    key.press(at(60))
    for number, probability in enumerate([0.9] * 5 + [0.1] * 4 + [0.9] * 4, start=49):
        passed.append(bool(key.mute_or_pass(frame(number)).pcm.any()))
        key.add_vad_result(at(number + 1), VadResult(speaking=True, boundary=Samples(0), probability=probability))
    assert passed == [True] * 6 + [False] * 5 + [True] * 2


def test_silence_at_release_stops_frames() -> None:
    assert tail(0.1, 0.9, 0.9) == []
    assert tail(*[0.9] * 40, pressed=47) == [], "a tap is no turn"


@given(st.lists(st.tuples(st.sampled_from(["press", "release", "frame"]), st.integers(0, 3)), max_size=60))
def test_frames_pass_only_within_press_and_each_release_completes(steps: list[tuple[str, int]]) -> None:
    key, now, held = PushToTalk(), 0, False
    for what, ahead in steps:
        if what == "press":
            assert key.press(at(now + ahead)) == (not held)
            held = True
        elif what == "release":
            key.release(at(now + ahead))
            held = False
        else:
            heard = key.mute_or_pass(frame(now))
            now += 1
            due = key.take_action(at(now), None)
            if not held and not key.awaits_frames and due is None:
                assert not heard.pcm.any()
    if not held:
        for more in range(now, now + 20):
            if not key.awaits_frames:
                break
            key.take_action(at(more), None)
        assert not key.awaits_frames


def test_frames_between_release_and_new_press_are_silent() -> None:
    key = PushToTalk()
    key.press(at(0))
    key.release(at(50))
    assert key.press(at(58)), "the frame of the release is still to come, so the turn continues"
    assert [key.mute_or_pass(frame(number)).pcm.any() for number in (49, 50, 57, 58)] == [True, False, False, True]
    key.release(at(90))
    assert key.take_action(at(90), at(2)) == "submit"
    key.press(at(100))
    assert key.mute_or_pass(frame(100)).pcm is LOUD
