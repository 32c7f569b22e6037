"""Hedging asks a second endpoint within a budget that is never exceeded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import named_cases

from llm.routing.health import Health
from llm.routing.hedging import UNMEASURED_DELAY_S, WINDOW, HedgeBudget, Question, hedge_delay_s, patience_s


def of(*times_s: float) -> Health:
    health = Health()
    for took_s in times_s:
        health.first_token(0.0, took_s)
    return health


def test_hedge_delay_is_bounded_90th_percentile() -> None:
    assert hedge_delay_s(Health()) == UNMEASURED_DELAY_S
    assert hedge_delay_s(of(*[0.1] * 20)) == pytest.approx(0.15)  # without variation: 1.5 times the usual time
    assert hedge_delay_s(of(*[0.17] * 5, *[0.1] * 20)) == pytest.approx(0.17)
    assert hedge_delay_s(of(*[1.6] * 5, *[0.1] * 20)) == pytest.approx(0.175)  # a slow period
    assert hedge_delay_s(of(*[0.02] * 20)) == pytest.approx(0.06)


def test_patience_exceeds_hedge_delay() -> None:
    for health in (Health(), of(0.02), of(0.1), of(1.0)):
        assert patience_s(health) > 1.5 * hedge_delay_s(health)


def test_configured_times_apply_until_measured() -> None:
    assert (hedge_delay_s(Health(), 5.0), patience_s(Health(), 5.0)) == (5.0, 5.0)
    assert hedge_delay_s(of(1.0), 5.0) == hedge_delay_s(of(1.0))
    assert patience_s(of(1.0), 5.0) == 5.0, "that is never less than was wished"
    assert patience_s(of(2.0), 5.0) == 8.0


def test_first_hedge_is_an_advance() -> None:
    budget = HedgeBudget(0.1)
    first = budget.ask(100)
    assert budget.may_hedge(first, 100)
    budget.hedge(first, 100)
    for _ in range(18):
        assert not budget.may_hedge(budget.ask(100), 100)
    assert budget.may_hedge(budget.ask(100), 100)


def test_advance_is_not_for_exploration() -> None:
    budget = HedgeBudget(0.5)
    assert not budget.may_hedge(budget.ask(100), 10, exploring=True)
    assert budget.affords(10)


def test_advance_returns_if_hedge_was_not_sent() -> None:
    budget = HedgeBudget(0.1)
    first = budget.ask(100)
    budget.hedge(first, 108)
    assert not budget.affords(108)
    budget.settle(first, 0)
    assert budget.affords(108)


def test_question_is_hedged_at_most_once() -> None:
    budget = HedgeBudget(1.0)
    question = budget.ask(100)
    budget.hedge(question, 50)
    assert not budget.may_hedge(question, 50)


def test_share_of_zero_permits_no_hedge() -> None:
    budget = HedgeBudget(0.0)
    for _ in range(100):
        assert not budget.may_hedge(budget.ask(10), 0)


def test_old_tokens_do_not_count_for_budget() -> None:
    budget = HedgeBudget(0.1)
    budget.ask(1_000_000)
    budget.hedge(budget.ask(10), 0)  # the advance
    last = [budget.ask(10) for _ in range(WINDOW)][-1]
    assert budget.may_hedge(last, 100)
    assert not budget.may_hedge(last, 101)


def test_tokens_count_only_once() -> None:
    budget = HedgeBudget(0.1)
    first, early, *_ = [budget.ask(10) for _ in range(20)]
    budget.ask(10_000)
    budget.hedge(first, 1)  # the advance
    budget.hedge(early, 900)  # it was still running when the long question arrived
    last = [budget.ask(10) for _ in range(WINDOW - 5)][-1]
    assert not budget.may_hedge(last, 900)  # the long question is among the last hundred, the hedge is not
    assert budget.may_hedge(last, 200)


@named_cases(
    ("share", "explores"),
    {
        "no budget": (0.0, False),
        "2 %": (0.02, False),
        "3 %": (0.03, False),
        "4 %": (0.04, True),
        "10 %": (0.1, True),
    },
)
def test_small_budget_permits_no_exploration(share: float, explores: bool) -> None:
    budget = HedgeBudget(share)
    questions = [budget.ask(1000) for _ in range(10 * WINDOW)]
    assert budget.explores == budget.may_hedge(questions[-1], 10, exploring=True) == explores


def test_unsent_hedge_costs_nothing() -> None:
    budget = HedgeBudget(0.5)
    budget.ask(100)
    question = budget.ask(100)
    budget.hedge(question, 60)
    budget.settle(question, 0)
    assert (budget.hedges, budget.extra_tokens) == (0, 0)
    assert budget.may_hedge(question, 60)


def test_hedge_beyond_budget_raises() -> None:
    budget = HedgeBudget(0.1)
    budget.hedge(budget.ask(100), 100)
    with pytest.raises(ValueError, match="beyond the budget"):
        budget.hedge(budget.ask(100), 100)


@pytest.mark.parametrize("share", [-0.1, 1.1], ids=["negative", "above one"])
def test_invalid_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="hedge_share"):
        HedgeBudget(share)


STEPS = st.lists(
    st.tuples(
        st.integers(1, 2000),  # prompt
        st.integers(0, 300),  # answer
        st.integers(0, 2100),  # estimated cost of a hedge
        st.floats(0, 1),  # actual share of that cost
        st.booleans(),  # exploring
    ),
    max_size=300,
)


@given(st.sampled_from([0.02, 0.1, 0.25, 0.5]), STEPS)
def test_budget_is_never_exceeded(share: float, steps: list[tuple[int, int, int, float, bool]]) -> None:
    budget, asked = HedgeBudget(share), list[Question]()
    for prompt, answer, extra, part, exploring in steps:
        question = budget.ask(prompt)
        asked.append(question)
        if budget.may_hedge(question, extra, exploring=exploring):
            budget.hedge(question, extra, exploring=exploring)
            check(budget, asked)
            budget.settle(question, int(part * extra))
        budget.answered(question, answer)
        check(budget, asked)


def check(budget: HedgeBudget, asked: list[Question]) -> None:
    assert budget.questions == len(asked)
    assert budget.hedges == sum(question.hedged for question in asked)
    assert budget.extra_tokens == sum(question.extra_tokens for question in asked)
    assert budget.tokens == sum(question.tokens for question in asked)
    assert budget.hedges <= max(1, budget.share * budget.questions)
    assert budget.hedges == 1 or budget.extra_tokens <= budget.share * budget.tokens
    assert sum(question.hedged for question in asked[-WINDOW:]) <= budget.share * WINDOW
