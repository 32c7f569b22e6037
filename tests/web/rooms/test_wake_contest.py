"""The satellite that answers after the wake word, if several have heard it."""

from hypothesis import given
from hypothesis import strategies as st

from web.rooms.wake_contest import LOUDER_DB, WINDOW_S, SatelliteId, WakeContest

KITCHEN, HALL, BATH = SatelliteId(1), SatelliteId(2), SatelliteId(3)


def test_single_satellite_leads_at_once() -> None:
    contest = WakeContest()
    assert contest.hear(KITCHEN, -50, 1.0) is None
    assert contest.leader == KITCHEN


def test_softer_satellite_yields() -> None:
    contest = WakeContest()
    contest.hear(KITCHEN, -20, 1.0)
    assert contest.hear(HALL, -30, 1.1) == HALL
    assert contest.leader == KITCHEN


def test_louder_satellite_replaces_the_first() -> None:
    contest = WakeContest()
    contest.hear(KITCHEN, -30, 1.0)
    assert contest.hear(HALL, -20, 1.1) == KITCHEN
    assert contest.leader == HALL


def test_first_satellite_answers_at_nearly_the_same_level() -> None:
    contest = WakeContest()
    contest.hear(KITCHEN, -30, 1.0)
    assert contest.hear(HALL, -30 + LOUDER_DB - 0.1, 1.1) == HALL


def test_satellite_that_has_yielded_does_not_lead() -> None:
    contest = WakeContest()
    contest.hear(KITCHEN, -20, 1.0)
    contest.hear(HALL, -30, 1.1)
    assert contest.hear(HALL, -5, 1.2) == HALL


def test_word_after_the_window_is_another_word() -> None:
    contest = WakeContest()
    contest.hear(KITCHEN, -20, 1.0)
    assert contest.hear(HALL, -30, 1.0 + WINDOW_S + 0.01) is None
    assert contest.leader == HALL


def test_next_satellite_leads_if_the_leader_has_left() -> None:
    contest = WakeContest()
    contest.hear(KITCHEN, -20, 1.0)
    contest.leave(KITCHEN)
    assert contest.leader is None
    assert contest.hear(HALL, -30, 1.1) is None


WORDS = st.lists(
    st.tuples(st.integers(1, 6).map(SatelliteId), st.floats(-90, 0), st.floats(0, 0.4)), min_size=1, max_size=20
)


@given(WORDS)
def test_exactly_one_satellite_is_left_of_a_word(heard: list[tuple[SatelliteId, float, float]]) -> None:
    contest, now_s = WakeContest(), 0.0
    awake: set[SatelliteId] = set()
    window_began_s: float | None = None
    for satellite, level_dbfs, later_s in heard:
        now_s += later_s
        if window_began_s is None or now_s - window_began_s > WINDOW_S:
            awake, window_began_s = set(), now_s
        awake.add(satellite)
        yielding = contest.hear(satellite, level_dbfs, now_s)
        if yielding is not None:
            assert yielding in awake
            awake.remove(yielding)
        assert awake == {contest.leader}


@given(st.lists(st.floats(-90, 0), min_size=1, max_size=6, unique=True))
def test_no_satellite_is_much_louder_than_the_leader(levels: list[float]) -> None:
    contest = WakeContest()
    for number, level_dbfs in enumerate(levels):
        contest.hear(SatelliteId(number), level_dbfs, number * 0.05)
    assert contest.leader is not None
    assert levels[contest.leader] > max(levels) - LOUDER_DB
