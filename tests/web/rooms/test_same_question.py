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


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("What time is it?", "Turn off the light in the bath."),
        ("What time is it?", ""),
        ("", ""),
        ("Turn on the light.", "Turn off the light."),
        ("Turn the light on.", "Turn off the light."),
        ("Set a timer for ten minutes.", "set a timer for five minutes"),
        ("Set a timer for sixty minutes.", "set a timer for sixteen minutes"),
        ("Lock the door.", "Unlock the door."),
        ("Schalte das Licht ein.", "Schalte das Licht aus."),
        ("Call Anna.", "Call Anne."),
        ("Stop.", "Stop the music in the bath."),
    ],
)
def test_other_words_at_the_same_time_are_another_question(text: str, other: str) -> None:
    for one, two in ((text, other), (other, text)):
        asked = questions()
        asked.judge(replace(IN_KITCHEN, text=one), 11.5)
        assert asked.judge(replace(IN_HALL, text=two), 11.6) == Verdict("answers")


@pytest.mark.parametrize(
    ("near", "far"),
    [
        ("Set a timer for ten minutes, please.", "set a timer for ten minutes"),
        ("What's the weather tomorrow?", "what's weather tomorrow"),
        ("Turn on the living room lamp.", "turn on the livingroom lamp"),
    ],
)
def test_words_that_the_far_microphone_has_lost_do_not_matter(near: str, far: str) -> None:
    asked = questions()
    asked.judge(replace(IN_KITCHEN, text=near), 11.5)
    assert asked.judge(replace(IN_HALL, text=far), 11.6) == Verdict("yields", KITCHEN)


@pytest.mark.parametrize(("began_s", "ended_s"), [(10.5, 11.2), (10.0, 10.7), (9.5, 11.2)])
def test_same_words_of_another_rhythm_are_another_question(began_s: float, ended_s: float) -> None:
    asked = questions()
    asked.judge(IN_KITCHEN, 11.5)
    assert asked.judge(replace(IN_HALL, began_s=began_s, ended_s=ended_s), 11.6) == Verdict("answers")


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
