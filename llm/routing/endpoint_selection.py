"""Selects the endpoint that is asked. No I/O, no clock; time and random numbers are arguments.

    latency   lowest recent time to the first token; configured order until it is known
    geo       the same; nearest by coordinates until it is known
    ordered   configured order
    weighted  at random, in proportion to the weights

Lower tiers come before higher ones under every policy. If the question is for a size of model, endpoints of that size
come before all others. An endpoint that failed waits until its breaker permits a retry; if no other endpoint is left,
it is asked anyway.
"""

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from llm.chat import Size, Why
from llm.routing.breaker import Breaker
from llm.routing.health import Health
from llm.routing.hedging import HedgeBudget, Question, patience_s

Policy = Literal["latency", "geo", "ordered", "weighted"]

UNKNOWN_S = 0.5
"""Assumed time to the first token of an endpoint that was not measured."""

EARTH_RADIUS_KM = 6371.0

S_PER_KM = 1.5 / 100_000
"""Round-trip time per kilometre: light in fibre covers 100 km and back in 1 ms, and cables are 1.5 times as long."""

SWITCH_SHARE, SWITCH_S = 0.85, 0.02
"""Another endpoint takes over only if it is faster by both thresholds: a share of the time, and an audible difference.
"""

STALE_S = 20.0
"""Time after which an endpoint without a new measurement is probed again."""

STALE_SLOW_S = 300.0
"""The same for a slow endpoint, see SLOW_FACTOR."""

SLOW_FACTOR = 2.0
"""An endpoint is slow if its time is more than this many times the best one's."""

TRIAL_EVERY = 50
"""Interval, in questions, of measurements with a real turn.

Applies if the budget never permits a second request for exploration. The question goes to an endpoint without a recent
measurement."""


@dataclass(frozen=True, slots=True)
class GeoPoint:
    """A geographic position, in degrees."""

    latitude: float
    longitude: float

    def distance_km(self, other: "GeoPoint") -> float:
        """Returns the great-circle distance."""
        north, other_north = math.radians(self.latitude), math.radians(other.latitude)
        east = math.radians(other.longitude - self.longitude)
        half = math.sin((other_north - north) / 2) ** 2
        half += math.cos(north) * math.cos(other_north) * math.sin(east / 2) ** 2
        return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Configured properties of an endpoint.

    Attributes:
        name: As in the configuration.
        tier: The endpoints of tier 1 are asked first. Tier 2 is asked if no endpoint of tier 1 can be asked, and so on.
        weight: For policy `weighted`; 0: only if no other endpoint can be asked.
        place: Its position; None if unknown.
        price_in_per_million: Price of a million prompt tokens; 0: free or unknown.
        price_out_per_million: Price of a million answer tokens.
        patience_s: Minimum wait before another endpoint replaces it, and wait before a hedge while it has never
            answered; 0: derived from its measured times.
        fallback: Asked only after the others failed, never besides them, and reported when it answers.
        size: Size of its model; None: it is asked for either size.
        images: Whether its model takes images. If not, it is never asked about them.
    """

    name: str
    tier: int = 1
    weight: float = 1.0
    place: GeoPoint | None = None
    price_in_per_million: float = 0.0
    price_out_per_million: float = 0.0
    patience_s: float = 0.0
    fallback: bool = False
    size: Size | None = None
    images: bool = False

    def fits(self, size: Size | None) -> bool:
        """Returns whether it answers questions for this size of model. None: questions for any size."""
        return size is None or self.size in {None, size}

    def price(self, prompt_tokens: int, answer_tokens: int) -> float:
        """Returns the cost, in the currency of the prices."""
        return (prompt_tokens * self.price_in_per_million + answer_tokens * self.price_out_per_million) / 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """The first requests for a question.

    Attributes:
        first: Number of the endpoint that is asked.
        why: "first", or "look": a probe that measures whether the endpoint has become better.
        parallel: Number of an endpoint that is asked at the same time, to measure it; None for none.
    """

    first: int
    why: Why = "first"
    parallel: int | None = None


@dataclass(slots=True)
class Routing:
    """The endpoints of a process, by number, with their measurements.

    Attributes:
        here: Position of this machine, for `geo`.
        budget: Budget for second requests.
        random_fraction: Returns a random number in [0, 1).
    """

    endpoints: Sequence[Endpoint]
    policy: Policy
    budget: HedgeBudget
    random_fraction: Callable[[], float]
    here: GeoPoint | None = None
    healths: tuple[Health, ...] = field(init=False)
    breakers: tuple[Breaker, ...] = field(init=False)
    _favourites: dict[Size | None, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises ValueError if there is no endpoint, or if the policy lacks a setting."""
        if not self.endpoints:
            raise ValueError("there is no LLM endpoint to choose from: add one to [[llm.endpoints]]")
        if self.policy == "geo" and self.here is None:
            raise ValueError('policy "geo" needs llm.latitude and llm.longitude: set them to where this machine is')
        self.healths = tuple(Health() for _ in self.endpoints)
        self.breakers = tuple(Breaker() for _ in self.endpoints)

    @property
    def sized(self) -> bool:
        """Whether any endpoint has a size."""
        return any(endpoint.size is not None for endpoint in self.endpoints)

    def unfit(self, only: Size | None, *, images: bool) -> frozenset[int]:
        """Returns the endpoints that are not of this size (None: any), or take no images where some do."""
        return frozenset(
            number
            for number, endpoint in enumerate(self.endpoints)
            if (only is not None and endpoint.size != only) or (images and not endpoint.images)
        )

    def plan(
        self,
        now_s: float,
        question: Question,
        extra_tokens: int,
        size: Size | None = None,
        without: Container[int] = (),
    ) -> Plan:
        """Returns the first requests.

        Args:
            now_s: The time.
            question: The question.
            extra_tokens: Cost of a second request.
            size: Size of the model to ask; None: any.
            without: Endpoints that are not asked: they have another size, or take no images.
        """
        best = self._favourites[size] = self.order(now_s, without, size)[0]
        usable = self.breakers[best].closed(now_s)
        if usable and self.breakers[best].last_failed and not self.budget.affords(extra_tokens):
            return Plan(self._alternative_to(best, now_s, size, without))
        candidate = self._exploration_candidate(now_s, best, size, without) if usable else None
        if candidate is None:
            return Plan(best)
        breaker = self.breakers[candidate]
        if breaker.wants_probe(now_s) and (breaker.failed_fast or self._was_better(candidate, best, size)):
            return Plan(candidate, "look")
        if self.budget.may_hedge(question, extra_tokens, exploring=True):
            return Plan(best, parallel=candidate)
        trial = not self.budget.explores and self.budget.questions % TRIAL_EVERY == 0
        return Plan(candidate, "look") if trial else Plan(best)

    def order(self, now_s: float, without: Container[int] = (), size: Size | None = None) -> list[int]:
        """Returns the endpoints, the best first. Those with an open breaker come last, by the time of their retry."""
        left = [number for number in range(len(self.endpoints)) if number not in without]
        usable = [number for number in left if self.breakers[number].closed(now_s)]
        failing = [number for number in left if number not in usable]
        failing.sort(key=lambda number: self.breakers[number].may_be_asked_at_s())
        return [*self._by_policy(usable, size), *failing]

    def usable(self, now_s: float, without: Container[int] = (), size: Size | None = None) -> int | None:
        """Returns the best endpoint that has not failed lately or may be probed; None if there is none left."""
        best = next(iter(self.order(now_s, without, size)), None)
        return best if best is not None and self._may_be_asked(best, now_s) else None

    def has_healthy(self, size: Size, now_s: float) -> bool:
        """Returns whether an endpoint of this size has not failed lately or may be probed."""
        return any(
            endpoint.size == size and self._may_be_asked(number, now_s)
            for number, endpoint in enumerate(self.endpoints)
        )

    def next_few(self, now_s: float, max_count: int) -> list[int]:
        """Returns the endpoints that may be asked next, to keep their connections open."""
        orders = [self.order(now_s, size=size) for size in (("small", "large") if self.sized else (None,))]
        # The best of each size, then the second best of each.
        ranked = list(dict.fromkeys(number for numbers in zip(*orders, strict=True) for number in numbers))
        open_ones = [number for number in ranked if self.breakers[number].state(now_s) != "open"]
        return (open_ones or ranked)[:max_count]

    def score_s(self, number: int) -> float:
        """Returns the expected time to the first token."""
        health = self.healths[number]
        if health.typical_s is not None:
            return health.typical_s
        place = self.endpoints[number].place
        if self.policy != "geo" or self.here is None:
            return UNKNOWN_S
        return UNKNOWN_S + (S_PER_KM * self.here.distance_km(place) if place is not None else UNKNOWN_S)

    # ---- policies ----

    def _by_policy(self, usable: Iterable[int], size: Size | None) -> list[int]:
        ranks: dict[tuple[bool, bool, int], list[int]] = {}
        for number in usable:
            ranks.setdefault(self._rank(number, size), []).append(number)
        ordered: list[int] = []
        for _, numbers in sorted(ranks.items()):
            ordered += self._within_a_rank(numbers, size, lead=not ordered)
        return ordered

    def _rank(self, number: int, size: Size | None) -> tuple[bool, bool, int]:
        """Returns what comes before the policy: no fallback, the wanted size, a low tier."""
        endpoint = self.endpoints[number]
        return endpoint.fallback, not endpoint.fits(size), endpoint.tier

    def _may_be_asked(self, number: int, now_s: float) -> bool:
        breaker = self.breakers[number]
        return breaker.closed(now_s) or breaker.wants_probe(now_s)

    def _within_a_rank(self, numbers: list[int], size: Size | None, *, lead: bool) -> list[int]:
        match self.policy:
            case "ordered":
                return numbers
            case "weighted":
                return self._weighted_order(numbers)
            case "latency" | "geo":
                by_score = sorted(numbers, key=lambda number: (self.score_s(number), number))
                return self._keep_favourite(by_score, size) if lead else by_score

    def _weighted_order(self, numbers: list[int]) -> list[int]:
        """Returns the endpoints in random order, in proportion to their weights; those with weight 0 come last."""
        left, drawn = [number for number in numbers if self.endpoints[number].weight > 0], list[int]()
        while left:
            point = self.random_fraction() * sum(self.endpoints[number].weight for number in left)
            for number in left:
                point -= self.endpoints[number].weight
                if point < 0:
                    break
            left.remove(number)
            drawn.append(number)
        return [*drawn, *(number for number in numbers if number not in drawn)]

    def _keep_favourite(self, by_score: list[int], size: Size | None) -> list[int]:
        """Returns the order with the current favourite first, unless another endpoint is clearly faster."""
        best, favourite = by_score[0], self._favourites.get(size)
        if favourite in by_score and favourite is not None:
            ours_s, theirs_s = self.score_s(favourite), self.score_s(best)
            if theirs_s > SWITCH_SHARE * ours_s or ours_s - theirs_s < SWITCH_S:
                best = favourite
        return [best, *(number for number in by_score if number != best)]

    def _alternative_to(self, last_failed: int, now_s: float, size: Size | None, without: Container[int]) -> int:
        """Returns the endpoint to ask while the best one may be silent again and no hedge is affordable.

        The alternative's expected time may exceed that of the best one by at most half of the wait that a silent
        endpoint would cost: a single failure may have been chance.
        """
        max_s = self.score_s(last_failed) + patience_s(self.healths[last_failed]) / 2
        for number in self.order(now_s, without=(last_failed,), size=size):
            breaker = self.breakers[number]
            same_rank = number not in without and self._rank(number, size) == self._rank(last_failed, size)
            if same_rank and breaker.closed(now_s) and not breaker.last_failed and self.score_s(number) <= max_s:
                return number
        return last_failed

    def _exploration_candidate(self, now_s: float, best: int, size: Size | None, without: Container[int]) -> int | None:
        """Returns the endpoint that may have become better than the best: the one unmeasured for longest."""
        rank = self._rank(best, size)
        candidates = [
            number
            for number in range(len(self.endpoints))
            if number != best
            and number not in without
            and self._rank(number, size) <= rank
            and self._is_due(now_s, number, best, size)
        ]
        return max(candidates, key=lambda number: self.healths[number].unmeasured_for_s(now_s), default=None)

    def _was_better(self, number: int, best: int, size: Size | None) -> bool:
        """Returns whether the endpoint was better before it failed.

        It is then worth probing with a real turn, because it is given up as soon as another endpoint would be hedged.
        """
        if self.policy == "weighted":
            # Under `weighted`, no endpoint is better. A probe beside a faster one would always lose, and the
            # endpoint would never recover.
            return self.endpoints[number].weight > 0
        typical_s = self.healths[number].typical_s
        by_order = self.policy == "ordered" and number < best
        by_rank = self._rank(number, size) < self._rank(best, size)
        return by_order or by_rank or (typical_s is not None and typical_s <= self.score_s(best))

    def _is_due(self, now_s: float, number: int, best: int, size: Size | None) -> bool:
        breaker, health = self.breakers[number], self.healths[number]
        unmeasured_for_s = health.unmeasured_for_s(now_s)
        if self.policy not in {"latency", "geo"}:
            return breaker.wants_probe(now_s)
        if not breaker.closed(now_s):
            worthwhile = health.typical_s is None or breaker.failed_fast or self._was_better(number, best, size)
            return breaker.wants_probe(now_s) and (worthwhile or unmeasured_for_s > STALE_SLOW_S)
        far = health.typical_s is not None and health.typical_s > SLOW_FACTOR * self.score_s(best)
        return unmeasured_for_s > (STALE_SLOW_S if far else STALE_S)
