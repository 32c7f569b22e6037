"""Simulates thousands of turns: guarantees of the routing under any endpoint faults."""

import pytest

from bench.language_models.routing import (
    STORIES,
    Story,
    Tally,
    during,
    first_only,
    in_order,
    round_robin,
    routed,
    steady,
    table,
)

TURNS = 2000
SEED = 11
BY_NAME = {story.name: story for story in STORIES}
DYING = ("the nearest refuses for a third", "the nearest is silent for a third")


def story(name: str) -> Story:
    return BY_NAME[name]


def test_nearest_endpoint_answers_without_faults() -> None:
    tally = routed(story("all is well"), TURNS, SEED)
    assert tally.by.count("endpoint 1") > 0.97 * TURNS
    assert tally.quantile_ms(0.99) < first_only(story("all is well"), TURNS, SEED).quantile_ms(0.99) + 5


@pytest.mark.parametrize("turn", range(2, 11), ids="silent from turn {}".format)
def test_early_silent_endpoint_delays_one_turn(turn: int) -> None:
    silent = during((turn - 1) / 10, 1.0, lambda _at, _luck: "silent", steady(0.10))
    tallies = [routed(Story("", (silent, steady(0.15), steady(0.20))), 10, seed) for seed in range(20)]
    assert not any(tally.lost for tally in tallies)
    longest_s = sorted(max(tally.first_tokens_s) for tally in tallies)
    assert longest_s[10] < 0.33  # 0.55 without an available hedge
    assert longest_s[-1] < 0.7  # the hedge was spent by chance before, once in twenty


def test_short_conversation_has_few_late_turns() -> None:
    one = story("5 % of the nearest are 1500 ms late")
    assert sum(routed(one, 200, seed).late_share for seed in range(12)) / 12 < 0.002


@pytest.mark.parametrize("one", STORIES, ids=lambda one: one.name)
def test_hedging_stays_within_budget(one: Story) -> None:
    for share in (0.0, 0.02, 0.1):
        tally = routed(one, TURNS, SEED, hedge_share=share)
        assert tally.hedged <= share * tally.tokens
        assert tally.extra_share <= share + 0.05  # including abandoned requests: one at a time, and rare


def test_hedging_removes_slow_tail() -> None:
    one = story("5 % of the nearest are 1500 ms late")
    tally = routed(one, TURNS, SEED)
    assert tally.quantile_ms(0.99) < 400
    assert tally.extra_share <= 0.1
    assert first_only(one, TURNS, SEED).late_share > 0.03 > 0.01 > tally.late_share


@pytest.mark.parametrize("name", DYING)
def test_dead_endpoint_loses_no_turn_and_is_used_again(name: str) -> None:
    tally = routed(story(name), TURNS, SEED)
    assert tally.lost == 0
    assert tally.late_share < 0.005
    middle, end = tally.by[int(0.4 * TURNS) : int(0.66 * TURNS)], tally.by[-TURNS // 5 :]
    assert middle.count("endpoint 2") > 0.95 * len(middle)
    assert end.count("endpoint 1") > 0.9 * len(end)


def test_degraded_endpoint_is_avoided_and_used_again() -> None:
    tally = routed(story("the nearest degrades to 900 ms for a third"), TURNS, SEED)
    assert tally.late_share < 0.005
    assert tally.by[-TURNS // 5 :].count("endpoint 1") > 0.9 * TURNS / 5


def test_flapping_endpoint_loses_no_turn() -> None:
    tally = routed(story("the nearest flaps"), TURNS, SEED)
    assert tally.lost == 0
    assert tally.late_share < 0.005


def test_turns_are_lost_only_while_all_endpoints_are_dead() -> None:
    tally = routed(story("all refuse for a tenth"), TURNS, SEED)
    assert tally.lost <= 0.101 * TURNS
    assert tally.by[int(0.56 * TURNS) :].count("") == 0


def test_new_nearer_endpoint_is_used() -> None:
    tally = routed(story("a nearer one comes up half-way"), TURNS, SEED)
    assert tally.by[int(0.6 * TURNS) :].count("endpoint 3") > 0.9 * 0.4 * TURNS


def test_faults_without_hedges_lose_no_turn() -> None:
    for one in STORIES:
        if one.name != "all refuse for a tenth":
            tally = routed(one, TURNS, SEED, hedge_share=0.0)
            assert tally.lost == 0
            assert tally.late_share < 0.03


def test_naive_strategies_are_worse() -> None:
    silent = story("the nearest is silent for a third")
    ways = {"first": first_only, "order": in_order, "turn": round_robin}
    late: dict[str, Tally] = {name: way(silent, TURNS, SEED) for name, way in ways.items()}
    assert all(tally.late_share > 0.1 for tally in late.values())


def test_table_has_line_for_each_strategy() -> None:
    assert table(STORIES[0], 50, SEED).count("\n| ") == 8
