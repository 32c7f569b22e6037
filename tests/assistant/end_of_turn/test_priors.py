"""Tests of the shifts from the speaker's pauses and from the last question."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.end_of_turn.estimator import OFTEN, SELDOM
from assistant.end_of_turn.priors import (
    HALF_LIFE_DAYS,
    MAX_TURNS,
    PauseCounts,
    SpeakerPauseStats,
    answer_shift,
)
from assistant.end_of_turn.questions import question_of


def stats_after(pauses_ms: list[float], turns: int) -> SpeakerPauseStats:
    habits = SpeakerPauseStats()
    for pause_ms in pauses_ms:
        habits = habits.with_pause(pause_ms)
    for _ in range(turns):
        habits = habits.with_turn()
    return habits


def test_unknown_speaker_has_prior_mean() -> None:
    assert SpeakerPauseStats().shift == stats_after([400.0], turns=1).shift == 0.0


def test_frequent_pauses_lower_estimate() -> None:
    assert stats_after([1200.0, 900.0, 1500.0, 800.0, 1000.0, 1100.0], turns=2).shift < -0.3


def test_pause_of_current_turn_lowers_estimate_and_rest_of_turn_restores_it() -> None:
    once = SpeakerPauseStats().with_pause(400.0)
    assert once.with_pause(400.0).shift < once.shift < 0
    assert once.with_turn().shift == 0.0


def test_later_turns_count_more_than_earlier_ones() -> None:
    paused_first = turns(*[True] * 10, *[False] * 10)
    paused_last = turns(*[False] * 10, *[True] * 10)
    assert paused_last.shift < paused_first.shift
    assert turns(*[True] * 10, *[False] * 60).shift == pytest.approx(turns(*[False] * 70).shift, abs=0.05)


def test_turns_without_pauses_raise_estimate() -> None:
    assert stats_after([], turns=10).shift > 0.3


def turns(*paused: bool) -> SpeakerPauseStats:
    """Returns the stats after turns with and without a pause of 500 ms."""
    habits = SpeakerPauseStats()
    for one in paused:
        habits = (habits.with_pause(500.0) if one else habits).with_turn()
    return habits


def test_one_pausing_turn_counts_more_for_unknown_speaker() -> None:
    stranger, once = SpeakerPauseStats().pausing, turns(True).pausing
    assert stranger < SELDOM < once < OFTEN < turns(True, True).pausing
    assert turns(*[False] * 10, True).pausing < SELDOM
    assert turns(True, *[False] * 4).pausing < SELDOM


def test_current_turn_counts_after_its_pause_was_taken_for_its_end() -> None:
    assert SpeakerPauseStats().with_pause(500.0).pausing == SpeakerPauseStats().pausing
    cut = turns(False).with_return(700.0)
    assert cut.pausing == turns(True).pausing
    assert turns(False).with_pause(250.0).with_turn().pausing == turns(False, False).pausing, (
        "250 ms is too short to count"
    )


def test_only_last_twelve_turns_count() -> None:
    assert turns(*[True] * 30, *[False] * 12).pausing == turns(*[False] * 12).pausing


def test_return_after_commit_counts_as_pause_in_that_turn() -> None:
    went_on = turns(False, True).with_return(900.0)
    paused = turns(False).with_pause(500.0).with_pause(900.0)
    assert went_on == replace(paused, cut=True, before=turns(False, True))
    assert went_on.pausing == went_on.with_turn().pausing == turns(False, True).pausing


def test_return_after_maximum_turn_is_no_pause() -> None:
    assert replace(turns(False, False).with_return(-40.0), before=None) == turns(False)
    assert turns(True).with_return(-40.0).with_turn() == turns(True), "the earlier pause still counts"


def test_return_after_long_silence_is_no_pause() -> None:
    asked = turns(False, False).with_return(7000.0)
    assert (asked.pausing, asked.shift) == (turns(False).pausing, turns(False).shift)


def test_pauses_of_discarded_speech_do_not_count() -> None:
    before = SpeakerPauseStats().with_pause(400).with_turn()
    assert before.with_pause(400).without_turn() == before


@pytest.mark.parametrize(
    "before", [turns(), turns(True), turns(False, True, False)], ids=["no turns", "one pause", "three turns"]
)
@pytest.mark.parametrize("pause_ms", [-40.0, 900.0, 7000.0], ids=["overlapping", "900 ms pause", "7 s pause"])
def test_discarded_speech_restores_previous_stats(before: SpeakerPauseStats, pause_ms: float) -> None:
    assert before.with_return(pause_ms).without_turn() == before


@given(st.floats(0, 1000), st.floats(0, 40), st.floats(-1e9, 1e9))
def test_kept_counts_fade_and_keep_their_rate(pauses: float, turns: float, age_s: float) -> None:
    faded = PauseCounts(pauses, turns).after(age_s)
    assert faded.turns <= min(turns, MAX_TURNS)
    assert faded.pauses <= pauses
    assert faded.pauses * turns == pytest.approx(faded.turns * pauses)
    assert faded.is_plausible


def test_month_old_habit_counts_half() -> None:
    assert PauseCounts(12.0, 8.0).after(HALF_LIFE_DAYS * 86400) == PauseCounts(6.0, 4.0)


def test_kept_counts_stay_when_a_turn_is_continued() -> None:
    kept = PauseCounts(6.0, 4.0)
    known = SpeakerPauseStats().with_counts(kept)
    assert known.counts == kept
    assert known.shift < SpeakerPauseStats().shift
    late = SpeakerPauseStats().with_turn().with_counts(kept)
    assert late.with_return(900.0).counts == known.with_turn().with_return(900.0).counts


def test_short_silence_is_no_pause() -> None:
    assert stats_after([120.0], turns=0) == SpeakerPauseStats()


@given(st.lists(st.floats(0, 60_000), max_size=80), st.integers(0, 200))
def test_stats_are_bounded(pauses_ms: list[float], turns: int) -> None:
    habits = stats_after(pauses_ms, turns)
    assert habits.turns < 20
    assert -2 <= habits.shift <= 2
    assert len(habits.recent) <= 12
    assert 0 < habits.pausing < 1


@text_cases(
    ("said", "expected"),
    [
        ("", "anything"),
        ("It is half past nine.", "anything"),
        ("Done. Anything else?", "yes or no"),
        ("Shall I turn it off?", "yes or no"),
        ("Okay, would you like milk?", "yes or no"),
        ("I found two. Which one do you mean?", "a phrase"),
        ("Is it late? It is half past nine.", "anything"),
        ("?", "a phrase"),
    ],
)
def test_question_determines_expected_answer(said: str, expected: str) -> None:
    assert question_of(said).expected == expected


def test_expected_answer_raises_estimate() -> None:
    assert answer_shift("yes or no", "yes please") > answer_shift("a phrase", "the kitchen") > 0
    assert answer_shift("anything", "yes") == 0
    assert answer_shift("yes or no", "i was thinking about") == 0
    assert answer_shift("a phrase", "") == 0
