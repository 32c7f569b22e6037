"""The circuit breaker: when an endpoint that failed is asked again."""

from hypothesis import given
from hypothesis import strategies as st

from llm.routing.breaker import MAX_OPEN_S, OPEN_S, PROBE_S, RESET_AFTER_ANSWERS, RESET_AFTER_S, Breaker


def failed(breaker: Breaker, now_s: float, *, certain: bool = False) -> None:
    breaker.asked(now_s)
    breaker.failed(now_s, 1.0, certain=certain)


def test_two_doubtful_failures_open_breaker() -> None:
    breaker = Breaker()
    failed(breaker, 0.0)
    assert breaker.closed(0.0)
    failed(breaker, 1.0)
    assert breaker.state(1.0) == "open"


def test_certain_failure_opens_breaker_at_once() -> None:
    breaker = Breaker()
    failed(breaker, 0.0, certain=True)
    assert breaker.state(0.0) == "open"


def test_intermittent_failures_open_breaker() -> None:
    breaker = Breaker()
    for turn in range(6):
        if turn % 3 == 0:
            failed(breaker, float(turn))
        else:
            breaker.succeeded(float(turn))
    assert breaker.closed(6.0)
    failed(breaker, 6.0)
    assert breaker.state(6.0) == "open"


def test_half_open_breaker_permits_one_probe() -> None:
    breaker = Breaker()
    failed(breaker, 0.0, certain=True)
    assert not breaker.wants_probe(OPEN_S - 0.1)
    assert breaker.wants_probe(OPEN_S)
    breaker.asked(OPEN_S)
    assert not breaker.wants_probe(OPEN_S)
    assert breaker.wants_probe(OPEN_S + PROBE_S)
    breaker.succeeded(OPEN_S)
    assert breaker.closed(OPEN_S)


def test_cancelled_probe_permits_another() -> None:
    breaker = Breaker()
    failed(breaker, 0.0, certain=True)
    breaker.asked(OPEN_S)
    breaker.cancelled(OPEN_S)
    assert breaker.wants_probe(OPEN_S)


def test_older_cancelled_request_does_not_end_probe() -> None:
    breaker = Breaker()
    breaker.asked(0.0)
    failed(breaker, 0.1, certain=True)
    breaker.asked(OPEN_S + 1)
    breaker.cancelled(0.0)
    assert not breaker.wants_probe(OPEN_S + 1)


def test_recovery_resets_failure_count() -> None:
    breaker = Breaker()
    failed(breaker, 0.0)
    failed(breaker, 1.0)
    breaker.asked(1.0 + OPEN_S)
    breaker.succeeded(1.0 + OPEN_S)
    failed(breaker, 20.0)
    assert breaker.closed(20.0)


def test_open_time_doubles_and_resets() -> None:
    breaker, now_s, spells = Breaker(), 0.0, []
    for _ in range(8):
        failed(breaker, now_s, certain=True)
        spells.append(breaker.may_be_asked_at_s() - now_s)
        now_s = breaker.may_be_asked_at_s()
    assert spells == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
    breaker.succeeded(now_s)
    now_s += RESET_AFTER_S + 2 * MAX_OPEN_S
    failed(breaker, now_s, certain=True)
    assert breaker.may_be_asked_at_s() - now_s == OPEN_S


def test_fast_failure_has_shorter_maximum() -> None:
    breaker = Breaker()
    breaker.failed(0.0, 0.002, certain=True)
    assert breaker.failed_fast
    breaker.failed(1.0, 0.8, certain=True)
    assert not breaker.failed_fast


def test_requests_started_before_opening_are_ignored() -> None:
    breaker = Breaker()
    breaker.failed(1.0, 0.4, certain=True)
    breaker.failed(1.1, 0.4, certain=True)
    breaker.failed(1.3, 0.4, certain=True)
    assert breaker.may_be_asked_at_s() == 1.0 + OPEN_S


def test_answer_started_before_opening_is_false_alarm() -> None:
    breaker = Breaker()
    for at_s in (1.0, 3.0, 5.0):
        breaker.failed(at_s, 0.4, certain=True)
        assert breaker.may_be_asked_at_s() - at_s == OPEN_S
        breaker.succeeded(at_s - 0.1)
        assert breaker.closed(at_s)


def test_many_answers_reset_open_time() -> None:
    breaker = Breaker()
    for answers, spell_s in ((0, OPEN_S), (RESET_AFTER_ANSWERS - 1, 2 * OPEN_S), (RESET_AFTER_ANSWERS, OPEN_S)):
        now_s = breaker.may_be_asked_at_s()
        for _ in range(answers):
            breaker.succeeded(now_s)
        failed(breaker, now_s + 1.5, certain=True)
        assert breaker.may_be_asked_at_s() - now_s - 1.5 == spell_s


@given(st.lists(st.tuples(st.sampled_from(["asked", "ok", "failed", "surely", "let go"]), st.floats(0, 100))))
def test_breaker_never_stays_open_forever(steps: list[tuple[str, float]]) -> None:
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
