"""One question that satellites in several rooms hear without a wake word."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.rooms.same_question import KEPT_S, SameQuestions, SpokenTurn, Verdict
from web.rooms.wake_contest import SatelliteId

KITCHEN, HALL = SatelliteId(1), SatelliteId(2)
IN_KITCHEN = SpokenTurn(KITCHEN, "What time is it?", 10.0, 11.2, -20.0)
IN_HALL = SpokenTurn(HALL, "what time is it", 10.15, 11.1, -30.0)


def questions(*, free: bool = True) -> SameQuestions:
    return SameQuestions(lambda _satellite: free)


def test_question_of_one_satellite_is_answered() -> None:
    assert questions().judge(IN_KITCHEN, 11.5) == Verdict("answers")


def test_softer_satellite_yields() -> None:
    asked = questions()
    asked.judge(IN_KITCHEN, 11.5)
    assert asked.judge(IN_HALL, 11.6) == Verdict("yields", KITCHEN)


def test_louder_satellite_takes_over() -> None:
    asked = questions()
    asked.judge(IN_HALL, 11.5)
    assert asked.judge(IN_KITCHEN, 11.6) == Verdict("takes over", HALL)
    assert asked.judge(replace(IN_HALL, satellite=SatelliteId(3)), 11.7) == Verdict("yields", KITCHEN)


def test_louder_satellite_yields_to_a_reply_that_is_heard() -> None:
    asked = questions(free=False)
    asked.judge(IN_HALL, 11.5)
    assert asked.judge(IN_KITCHEN, 11.6) == Verdict("yields", HALL)


@pytest.mark.parametrize("words", ["Turn off the light in the bath.", "", "How tall is the Eiffel Tower?"])
def test_other_words_at_the_same_time_are_another_question(words: str) -> None:
    asked = questions()
    asked.judge(IN_KITCHEN, 11.5)
    assert asked.judge(replace(IN_HALL, words=words), 11.6) == Verdict("answers")


def test_words_that_the_far_microphone_has_lost_do_not_matter() -> None:
    asked = questions()
    asked.judge(replace(IN_KITCHEN, words="Set a timer for ten minutes, please."), 11.5)
    assert asked.judge(replace(IN_HALL, words="set a timer for ten minutes"), 11.6) == Verdict("yields", KITCHEN)


@pytest.mark.parametrize("later_s", [1.0, 10.0])
def test_same_words_later_are_another_question(later_s: float) -> None:
    asked = questions()
    asked.judge(IN_KITCHEN, 11.5)
    later = replace(IN_HALL, began_s=IN_HALL.began_s + later_s, ended_s=IN_HALL.ended_s + later_s)
    assert asked.judge(later, 11.6 + later_s) == Verdict("answers")


def test_same_satellite_may_ask_twice() -> None:
    asked = questions()
    asked.judge(IN_KITCHEN, 11.5)
    assert asked.judge(IN_KITCHEN, 11.6) == Verdict("answers")


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(-60, 0)), min_size=1, max_size=12), st.booleans())
def test_one_of_the_satellites_answers(heard: list[tuple[int, float]], free: bool) -> None:
    asked = questions(free=free)
    answering: set[int] = set()
    for number, (satellite, level_dbfs) in enumerate(heard):
        if satellite in answering:
            continue  # its next turn would sound at another time
        verdict = asked.judge(
            replace(IN_KITCHEN, satellite=SatelliteId(satellite), level_dbfs=level_dbfs), 11.5 + number / 100
        )
        if verdict.result != "yields":
            answering.add(satellite)
        if verdict.result == "takes over" and verdict.other is not None:
            answering.remove(verdict.other)
        assert len(answering) == 1


def test_old_turns_are_forgotten() -> None:
    asked = questions()
    asked.judge(IN_KITCHEN, 11.5)
    assert asked.judge(IN_HALL, 11.2 + KEPT_S + 1) == Verdict("answers")
