"""When an endpoint that failed is asked again."""

from hypothesis import given
from hypothesis import strategies as st

from llm.routing.breaker import MAX_OPEN_S, OPEN_S, PROBE_S, RESET_AFTER_ANSWERS, RESET_AFTER_S, Breaker


def failed(breaker: Breaker, now_s: float, *, certain: bool = False) -> None:
    breaker.asked(now_s)
    breaker.failed(now_s, 1.0, certain=certain)


def test_one_doubtful_failure_is_chance_two_are_not() -> None:
    breaker = Breaker()
    failed(breaker, 0.0)
    assert breaker.closed(0.0)
    failed(breaker, 1.0)
    assert breaker.state(1.0) == "open"


def test_nobody_there_is_believed_at_once() -> None:
    breaker = Breaker()
    failed(breaker, 0.0, certain=True)
    assert breaker.state(0.0) == "open"


def test_an_endpoint_that_fails_now_and_then_opens_too() -> None:
    breaker = Breaker()
    for turn in range(6):
        if turn % 3 == 0:
            failed(breaker, float(turn))
        else:
            breaker.succeeded(float(turn))
    assert breaker.closed(6.0)
    failed(breaker, 6.0)
    assert breaker.state(6.0) == "open"


def test_one_question_tells_whether_it_has_recovered() -> None:
    breaker = Breaker()
    failed(breaker, 0.0, certain=True)
    assert not breaker.wants_probe(OPEN_S - 0.1)
    assert breaker.wants_probe(OPEN_S)
    breaker.asked(OPEN_S)
    assert not breaker.wants_probe(OPEN_S)
    assert breaker.wants_probe(OPEN_S + PROBE_S)
    breaker.succeeded(OPEN_S)
    assert breaker.closed(OPEN_S)


def test_a_question_taken_back_leaves_room_for_another() -> None:
    breaker = Breaker()
    failed(breaker, 0.0, certain=True)
    breaker.asked(OPEN_S)
    breaker.cancelled(OPEN_S)
    assert breaker.wants_probe(OPEN_S)


def test_a_question_from_before_it_opened_does_not_end_the_trial() -> None:
    breaker = Breaker()
    breaker.asked(0.0)
    failed(breaker, 0.1, certain=True)
    breaker.asked(OPEN_S + 1)
    breaker.cancelled(0.0)
    assert not breaker.wants_probe(OPEN_S + 1)


def test_after_a_recovery_one_failure_is_chance_again() -> None:
    breaker = Breaker()
    failed(breaker, 0.0)
    failed(breaker, 1.0)
    breaker.asked(1.0 + OPEN_S)
    breaker.succeeded(1.0 + OPEN_S)
    failed(breaker, 20.0)
    assert breaker.closed(20.0)


def test_it_stays_open_for_longer_each_time_and_calms_down() -> None:
    breaker, now_s, spells = Breaker(), 0.0, []
    for _ in range(8):
        failed(breaker, now_s, certain=True)
        spells.append(breaker.opens_at_s() - now_s)
        now_s = breaker.opens_at_s()
    assert spells == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
    breaker.succeeded(now_s)
    now_s += RESET_AFTER_S + 2 * MAX_OPEN_S
    failed(breaker, now_s, certain=True)
    assert breaker.opens_at_s() - now_s == OPEN_S


def test_a_refusal_told_at_once_is_cheap() -> None:
    breaker = Breaker()
    breaker.failed(0.0, 0.002, certain=True)
    assert breaker.failed_fast
    breaker.failed(1.0, 0.8, certain=True)
    assert not breaker.failed_fast


def test_what_was_under_way_when_it_opened_is_the_same_trouble() -> None:
    breaker = Breaker()
    breaker.failed(1.0, 0.4, certain=True)
    breaker.failed(1.1, 0.4, certain=True)
    breaker.failed(1.3, 0.4, certain=True)
    assert breaker.opens_at_s() == 1.0 + OPEN_S


def test_an_answer_that_was_under_way_when_it_opened_makes_it_a_false_alarm() -> None:
    breaker = Breaker()
    for at_s in (1.0, 3.0, 5.0):
        breaker.failed(at_s, 0.4, certain=True)
        assert breaker.opens_at_s() - at_s == OPEN_S
        breaker.succeeded(at_s - 0.1)
        assert breaker.closed(at_s)


def test_many_answers_make_the_next_spell_short_again() -> None:
    breaker = Breaker()
    for answers, spell_s in ((0, OPEN_S), (RESET_AFTER_ANSWERS - 1, 2 * OPEN_S), (RESET_AFTER_ANSWERS, OPEN_S)):
        now_s = breaker.opens_at_s()
        for _ in range(answers):
            breaker.succeeded(now_s)
        failed(breaker, now_s + 1.5, certain=True)
        assert breaker.opens_at_s() - now_s - 1.5 == spell_s


@given(st.lists(st.tuples(st.sampled_from(["asked", "ok", "failed", "surely", "let go"]), st.floats(0, 100))))
def test_nobody_is_shut_out_for_ever(steps: list[tuple[str, float]]) -> None:
    breaker, now_s = Breaker(), 0.0
    for what, later_s in steps:
        now_s += later_s
        match what:
            case "asked":
                breaker.asked(now_s)
            case "ok":
                breaker.succeeded(now_s)
            case "let go":
                breaker.cancelled(now_s)
            case _:
                breaker.failed(now_s, later_s, certain=what == "surely")
    now_s += MAX_OPEN_S + PROBE_S
    assert breaker.closed(now_s) or breaker.wants_probe(now_s)
