"""Verdicts on whose voice speech is."""

import pytest
from support.conversations.voices import between, voice

from assistant.speakers.focus import VoiceFocus
from assistant.speakers.thresholds import THRESHOLDS
from assistant.speakers.voiceprint import Voiceprint

ANN, BOB = voice(0), voice(1)


def focused() -> VoiceFocus:
    focus = VoiceFocus("first")
    focus.learn([(ANN, 2.0)])
    return focus


def test_until_a_voice_is_known_every_verdict_is_unsure() -> None:
    assert VoiceFocus("first").judge([BOB]) == "unsure"
    assert VoiceFocus("enrolled").judge([BOB]) == "unsure"


def test_first_turn_is_the_voice_that_it_listens_to() -> None:
    focus = focused()
    assert (focus.judge([ANN]), focus.judge([BOB])) == ("own", "other")


def test_short_first_turn_is_not_learned() -> None:
    focus = VoiceFocus("first")
    focus.learn([(ANN, THRESHOLDS.min_first_s - 0.1)])
    assert not focus.voices


def test_later_turns_of_the_voice_are_learned_and_others_not() -> None:
    focus = focused()
    focus.learn([(BOB, 5.0)])
    assert focus.similarity(BOB) == pytest.approx(0)
    focus.learn([(between(ANN, BOB, 0.9), 5.0)])
    assert focus.similarity(BOB) > 0.2


def test_enrolled_voices_are_those_that_count_and_do_not_change() -> None:
    focus = VoiceFocus("enrolled", [Voiceprint("Ada", ANN, 30.0)])
    focus.learn([(BOB, 5.0)])
    assert (focus.judge([ANN]), focus.judge([BOB])) == ("own", "other")


def test_more_speech_needs_a_higher_similarity() -> None:
    speech = between(ANN, BOB, (THRESHOLDS.other[0] + THRESHOLDS.other[1]) / 2)
    assert focused().judge([speech]) == "unsure"
    assert focused().judge([speech, speech]) == "other"


def test_only_the_last_windows_count() -> None:
    assert focused().judge([BOB] * 10 + [ANN] * THRESHOLDS.max_windows) == "own"


def test_one_window_is_another_voice_only_far_below() -> None:
    focus, speech = focused(), between(ANN, BOB, (THRESHOLDS.other[0] + THRESHOLDS.other[1]) / 2)
    assert [focus.judge([speech]), focus.judge([speech, speech])] == ["unsure", "other"]


def test_first_voice_is_let_go_after_ignored_turns_of_one_voice() -> None:
    focus = focused()
    ignored = [focus.let_go([(BOB, 2.0)]) for _ in range(THRESHOLDS.max_ignored)]
    assert ignored == [*[False] * (THRESHOLDS.max_ignored - 1), True]
    assert focus.voices == ()
    focus.learn([(BOB, 2.0)])
    assert focus.judge([BOB, BOB]) == "own"


def test_people_who_speak_in_turn_do_not_replace_the_first_voice() -> None:
    focus = focused()
    assert not any(focus.let_go([(person, 2.0)]) for _ in range(THRESHOLDS.max_ignored) for person in (BOB, voice(7)))


def test_answered_turn_keeps_the_first_voice() -> None:
    focus = focused()
    for _ in range(2 * THRESHOLDS.max_ignored):
        assert not focus.let_go([(BOB, 2.0)])
        focus.learn([(ANN, 2.0)])


def test_voice_that_says_the_wake_phrase_becomes_the_first() -> None:
    focus = focused()
    focus.learn([(BOB, 2.0)])
    assert focus.judge([BOB, BOB]) == "other"
    focus.learn([(BOB, 2.0)], called=True)
    assert focus.judge([BOB, BOB]) == "own"


def test_enrolled_voices_are_never_let_go() -> None:
    focus = VoiceFocus("enrolled", [Voiceprint("Ada", ANN, 30.0)])
    assert not any(focus.let_go([(BOB, 2.0)]) for _ in range(9))
