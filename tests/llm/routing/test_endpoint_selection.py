"""Selection of the endpoint that is asked."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from llm.routing.endpoint_selection import STALE_S, TRIAL_EVERY, Endpoint, GeoPoint, Plan, Policy, Routing
from llm.routing.hedging import HedgeBudget

BERLIN, PARIS, TOKYO = GeoPoint(52.52, 13.40), GeoPoint(48.86, 2.35), GeoPoint(35.68, 139.69)
NOW_S = 1000.0


def routing(
    *endpoints: Endpoint,
    policy: Policy = "latency",
    share: float = 0.1,
    random_fraction: Callable[[], float] = lambda: 0.0,
    here: GeoPoint | None = None,
) -> Routing:
    return Routing(
        endpoints or (Endpoint("a"), Endpoint("b"), Endpoint("c")), policy, HedgeBudget(share), random_fraction, here
    )


def measured(route: Routing, *times_s: float | None, at_s: float = NOW_S) -> None:
    for health, took_s in zip(route.healths, times_s, strict=True):
        if took_s is not None:
            health.restart(at_s, took_s)


def fail(route: Routing, number: int, *, took_s: float = 1.0, at_s: float = NOW_S) -> None:
    route.breakers[number].failed(at_s, took_s, certain=True)


def plan(route: Routing, now_s: float = NOW_S) -> Plan:
    return route.plan(now_s, route.budget.ask(100), 108)


def test_great_circle_distance() -> None:
    assert BERLIN.distance_km(PARIS) == pytest.approx(878, rel=0.01)
    assert BERLIN.distance_km(TOKYO) == pytest.approx(8918, rel=0.01)
    assert GeoPoint(0, 179.5).distance_km(GeoPoint(0, -179.5)) == pytest.approx(111, rel=0.01)


def test_latency_uses_configured_order_until_measured() -> None:
    route = routing()
    assert route.order(NOW_S) == [0, 1, 2]
    measured(route, 0.3, 0.1, 0.2)
    assert route.order(NOW_S) == [1, 2, 0]


def test_favourite_is_replaced_only_by_clearly_faster_endpoint() -> None:
    route = routing()
    measured(route, 0.100, 0.110, 0.3)
    assert plan(route).first == 0
    measured(route, 0.110, 0.100, 0.3)
    assert plan(route).first == 0
    measured(route, 0.200, 0.100, 0.3)
    assert plan(route).first == 1


def test_geo_prefers_nearest_until_measured() -> None:
    places = (Endpoint("far", place=TOKYO), Endpoint("nowhere"), Endpoint("near", place=PARIS))
    route = routing(*places, policy="geo", here=BERLIN)
    assert route.order(NOW_S) == [2, 0, 1]
    measured(route, 0.1, None, 0.9)
    assert route.order(NOW_S)[0] == 0


def test_geo_requires_own_position() -> None:
    with pytest.raises(ValueError, match=r"llm\.latitude"):
        routing(policy="geo")


def test_ordered_ignores_measurements() -> None:
    route = routing(policy="ordered")
    measured(route, 0.9, 0.1, 0.2)
    assert route.order(NOW_S) == [0, 1, 2]
    fail(route, 0)
    assert route.order(NOW_S) == [1, 2, 0]


def test_weighted_selects_in_proportion_to_weight() -> None:
    endpoints = (Endpoint("a", weight=3), Endpoint("b", weight=1), Endpoint("reserve", weight=0))
    route = routing(*endpoints, policy="weighted", random_fraction=random.Random(1).random)
    drawn = Counter(route.order(NOW_S)[0] for _ in range(2000))
    assert drawn[0] / drawn[1] == pytest.approx(3, rel=0.15)
    assert drawn[2] == 0
    assert all(route.order(NOW_S)[-1] == 2 for _ in range(20))


def test_lower_tier_goes_first() -> None:
    route = routing(Endpoint("second", tier=2), Endpoint("first"), Endpoint("first too"))
    measured(route, 0.1, 0.9, 0.8)
    assert route.order(NOW_S) == [2, 1, 0]
    fail(route, 1)
    fail(route, 2)
    assert route.order(NOW_S)[0] == 0


def test_failed_endpoint_is_last_and_not_kept_warm() -> None:
    route = routing()
    fail(route, 0)
    assert route.order(NOW_S) == [1, 2, 0]
    assert route.next_few(NOW_S, 3) == [1, 2]
    assert route.usable(NOW_S, without=(1, 2)) is None
    assert route.usable(NOW_S + 6, without=(1, 2)) == 0


def test_first_to_recover_is_asked_if_all_failed() -> None:
    route = routing()
    for number, at_s in ((0, NOW_S), (1, NOW_S - 1), (2, NOW_S + 1)):
        fail(route, number, at_s=at_s)
    assert route.order(NOW_S + 1) == [1, 0, 2]
    assert route.next_few(NOW_S + 1, 2) == [1, 0]
    assert plan(route, NOW_S + 1) == Plan(1)


def test_fast_failing_endpoint_is_probed_with_a_turn() -> None:
    route = routing()
    measured(route, 0.1, 0.2, 0.3)
    fail(route, 0, took_s=0.002)
    assert plan(route, NOW_S + 1) == Plan(1)
    assert plan(route, NOW_S + 6) == Plan(0, "look")


def test_stale_endpoint_is_measured_within_budget() -> None:
    route = routing()
    measured(route, 0.1, 0.15, 0.9)
    later_s = NOW_S + STALE_S + 1
    plans = []
    for _ in range(200):
        route.healths[0].first_token(later_s, 0.1)
        question = route.budget.ask(100)
        found = route.plan(later_s, question, 108)
        plans.append(found)
        if found.parallel is not None:
            route.budget.hedge(question, 108, exploring=True)
        route.budget.answered(question, 50)
    raced = [found.parallel for found in plans if found.parallel is not None]
    assert set(raced) == {1}  # the slow endpoint is measured rarely
    assert 1 <= len(raced) <= 0.03 * len(plans)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.03], ids="share {}".format)
def test_small_budget_measures_with_occasional_turn(share: float) -> None:
    route = routing(share=share)
    measured(route, 0.1, 0.15, 0.2)
    firsts = [plan(route, NOW_S + STALE_S + 1) for _ in range(TRIAL_EVERY)]
    assert firsts.count(Plan(0)) == TRIAL_EVERY - 1
    assert firsts[-1].why == "look"


def test_weighted_probes_failed_endpoint_with_a_turn() -> None:
    """Beside a faster endpoint, a probe would lose, and the endpoint would never recover."""
    route = routing(Endpoint("a"), Endpoint("b"), Endpoint("reserve", weight=0), policy="weighted")
    measured(route, 0.1, 0.9, 0.1)
    fail(route, 1)
    assert plan(route, NOW_S + 6) == Plan(1, "look")
    route.breakers[1].succeeded(NOW_S + 6)
    fail(route, 2)
    assert plan(route, NOW_S + 6).first == 0


def doubtful(route: Routing, number: int = 0) -> None:
    """Makes the last result of an endpoint a loss against a hedge."""
    route.breakers[number].failed(NOW_S, 0.3, certain=False)
    route.budget.hedge(route.budget.ask(100), 108)


def test_doubtful_endpoint_is_avoided_without_hedge_budget() -> None:
    route = routing()
    measured(route, 0.1, 0.15, 0.2)
    doubtful(route)
    assert plan(route) == Plan(1)
    for _ in range(20):
        route.budget.ask(1000)
    assert plan(route) == Plan(0)


def test_slow_or_other_tier_is_no_alternative() -> None:
    for endpoints, times_s in (
        ((Endpoint("a"), Endpoint("b")), (0.1, 0.9)),
        ((Endpoint("a"), Endpoint("b", tier=2)), (0.1, 0.1)),
    ):
        route = routing(*endpoints)
        measured(route, *times_s)
        doubtful(route)
        assert plan(route) == Plan(0)


def test_routing_requires_an_endpoint() -> None:
    with pytest.raises(ValueError, match="no LLM endpoint"):
        Routing((), "latency", HedgeBudget(0.1), lambda: 0.0)


# ---- sizes ----

SMALL, LARGE = Endpoint("small", size="small"), Endpoint("large", size="large")


def test_endpoints_of_the_wanted_size_come_first_whatever_their_tier_and_time() -> None:
    route = routing(Endpoint("small 2", tier=2, size="small"), LARGE, SMALL, Endpoint("any"))
    measured(route, 0.1, 0.5, 0.3, 0.2)
    assert route.order(NOW_S, size="small") == [3, 2, 0, 1]
    assert route.order(NOW_S, size="large") == [3, 1, 2, 0]
    assert route.sized
    assert not routing().sized


def test_fallback_comes_after_the_other_size() -> None:
    route = routing(Endpoint("here", tier=10, fallback=True), LARGE)
    assert route.order(NOW_S, size="small") == [1, 0]


def test_each_size_has_its_favourite() -> None:
    route = routing(SMALL, LARGE, Endpoint("large 2", size="large"))
    measured(route, 0.1, 0.5, 0.52)
    assert route.plan(NOW_S, route.budget.ask(100), 108, "large").first == 1
    assert route.plan(NOW_S, route.budget.ask(100), 108, "small").first == 0
    measured(route, 0.1, 0.52, 0.51)
    assert route.plan(NOW_S, route.budget.ask(100), 108, "large").first == 1


def test_health_is_known_by_size() -> None:
    route = routing(SMALL, LARGE)
    assert route.has_healthy("large", NOW_S)
    fail(route, 1)
    assert not route.has_healthy("large", NOW_S)
    assert route.has_healthy("small", NOW_S)
    assert route.has_healthy("large", NOW_S + 60)  # it may be probed


def test_connections_of_both_sizes_stay_open() -> None:
    route = routing(SMALL, Endpoint("small 2", size="small"), Endpoint("small 3", size="small"), LARGE)
    assert 3 in route.next_few(NOW_S, 3)
    assert route.next_few(NOW_S, 3)[0] == 0
