"""Which of several endpoints is asked. Pure; time and luck come in as values.

    latency   the least recent time to the first token; in the order given until it is known
    geo       the same; the nearest by coordinates until it is known
    ordered   in the order given
    weighted  by lot, as heavy as their weights

A lower tier goes before a higher one, whatever the policy; an endpoint that failed waits until its breaker lets it be
tried again, and is asked all the same where nobody else is left.
"""

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from llm.chat import Why
from llm.routing.breaker import Breaker
from llm.routing.health import Health
from llm.routing.hedging import HedgeBudget, Question, patience_s

Policy = Literal["latency", "geo", "ordered", "weighted"]

UNKNOWN_S = 0.5
"""What an endpoint is taken for until it was measured."""

EARTH_RADIUS_KM = 6371.0

S_PER_KM = 1.5 / 100_000
"""Of a round trip: light in glass makes 100 km and back in a millisecond, and cables run half as far again."""

SWITCH_SHARE, SWITCH_S = 0.85, 0.02
"""Another endpoint takes over only where it is quicker by both: a share of the time, and a difference one may hear."""

STALE_S = 20.0
STALE_FAR_S = 300.0
FAR = 2.0
"""How long after its last answer an endpoint is looked at again: one that took twice as long as the best, seldom."""

TRIAL_EVERY = 50
"""Where the budget never suffices for asking twice out of curiosity, every so many questions one goes to an endpoint
that was not measured lately."""


@dataclass(frozen=True, slots=True)
class GeoPoint:
    """A point of the earth, in degrees."""

    latitude: float
    longitude: float

    def distance_km(self, other: "GeoPoint") -> float:
        """Along the surface."""
        north, other_north = math.radians(self.latitude), math.radians(other.latitude)
        east = math.radians(other.longitude - self.longitude)
        half = math.sin((other_north - north) / 2) ** 2
        half += math.cos(north) * math.cos(other_north) * math.sin(east / 2) ** 2
        return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is known of one endpoint before it was asked.

    Attributes:
        name: As in the configuration.
        tier: 1 is asked first; the next where nobody of it can be asked.
        weight: For the policy `weighted`; 0: only where nobody else can be asked.
        place: Where it stands; None: not known.
        price_in_per_million: Of prompt tokens; 0: free, or not known.
        price_out_per_million: Of the answer's.
        patience_s: How long it is waited for at the least before another is asked in its place, and before another is
            asked too as long as it has never answered; 0: as its own times say.
    """

    name: str
    tier: int = 1
    weight: float = 1.0
    place: GeoPoint | None = None
    price_in_per_million: float = 0.0
    price_out_per_million: float = 0.0
    patience_s: float = 0.0

    def price(self, prompt_tokens: int, answer_tokens: int) -> float:
        """In the currency of its prices."""
        return (prompt_tokens * self.price_in_per_million + answer_tokens * self.price_out_per_million) / 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question begins.

    Attributes:
        first: Who is asked.
        why: "look": to see whether it has become better.
        rival: Who is asked at the same time, to see that; None: nobody.
    """

    first: int
    why: Why = "first"
    rival: int | None = None


@dataclass(slots=True)
class Routing:
    """The endpoints of a process, by number, and what is known of them.

    Attributes:
        here: Where this machine stands, for `geo`.
        budget: For asking twice.
        luck: A number from 0 to below 1, by chance.
    """

    endpoints: Sequence[Endpoint]
    policy: Policy
    budget: HedgeBudget
    luck: Callable[[], float]
    here: GeoPoint | None = None
    healths: tuple[Health, ...] = field(init=False)
    breakers: tuple[Breaker, ...] = field(init=False)
    _favourite: int | None = None

    def __post_init__(self) -> None:
        """Raises ValueError: there is no endpoint, or what the policy needs is not known."""
        if not self.endpoints:
            raise ValueError("there is no endpoint to choose from: add one to [[llm.endpoints]]")
        if self.policy == "geo" and self.here is None:
            raise ValueError('policy "geo" needs llm.latitude and llm.longitude: where this machine stands')
        self.healths = tuple(Health() for _ in self.endpoints)
        self.breakers = tuple(Breaker() for _ in self.endpoints)

    def plan(self, now_s: float, question: Question, extra_tokens: int) -> Plan:
        """Whom to ask. `extra_tokens`: what asking a second one would cost."""
        best = self._favourite = self.order(now_s)[0]
        usable = self.breakers[best].closed(now_s)
        if usable and self.breakers[best].doubted and not self.budget.affords(extra_tokens):
            return Plan(self._instead_of(best, now_s))
        candidate = self._worth_a_look(now_s, best) if usable else None
        if candidate is None:
            return Plan(best)
        breaker = self.breakers[candidate]
        if breaker.wants_probe(now_s) and (breaker.cheap or self._was_better(candidate, best)):
            return Plan(candidate, "look")
        if self.budget.may_hedge(question, extra_tokens, exploring=True):
            return Plan(best, rival=candidate)
        trial = not self.budget.explores and self.budget.questions % TRIAL_EVERY == 0
        return Plan(candidate, "look") if trial else Plan(best)

    def order(self, now_s: float, without: Container[int] = ()) -> list[int]:
        """The endpoints to ask, the best first; those that failed lately last, the first to be tried again before."""
        left = [number for number in range(len(self.endpoints)) if number not in without]
        usable = [number for number in left if self.breakers[number].closed(now_s)]
        failing = [number for number in left if number not in usable]
        failing.sort(key=lambda number: self.breakers[number].opens_at_s())
        return [*self._by_policy(usable), *failing]

    def usable(self, now_s: float, without: Container[int] = ()) -> int | None:
        """The best that has not failed lately, or may be tried again; None: there is none left."""
        best = next(iter(self.order(now_s, without)), None)
        if best is None:
            return None
        breaker = self.breakers[best]
        return best if breaker.closed(now_s) or breaker.wants_probe(now_s) else None

    def next_few(self, now_s: float, most: int) -> list[int]:
        """Those that may be asked next: to be kept warm."""
        order = [number for number in self.order(now_s) if self.breakers[number].state(now_s) != "open"]
        return (order or self.order(now_s))[:most]

    def score_s(self, number: int) -> float:
        """The time to the first token that is to be expected."""
        health = self.healths[number]
        if health.typical_s is not None:
            return health.typical_s
        place = self.endpoints[number].place
        if self.policy != "geo" or self.here is None:
            return UNKNOWN_S
        return UNKNOWN_S + (S_PER_KM * self.here.distance_km(place) if place is not None else UNKNOWN_S)

    # ---- policies ----

    def _by_policy(self, usable: Iterable[int]) -> list[int]:
        tiers: dict[int, list[int]] = {}
        for number in usable:
            tiers.setdefault(self.endpoints[number].tier, []).append(number)
        ordered: list[int] = []
        for _, numbers in sorted(tiers.items()):
            ordered += self._within_a_tier(numbers, lead=not ordered)
        return ordered

    def _within_a_tier(self, numbers: list[int], *, lead: bool) -> list[int]:
        match self.policy:
            case "ordered":
                return numbers
            case "weighted":
                return self._drawn(numbers)
            case "latency" | "geo":
                by_score = sorted(numbers, key=lambda number: (self.score_s(number), number))
                return self._steady(by_score) if lead else by_score

    def _drawn(self, numbers: list[int]) -> list[int]:
        """By lot, one after the other; who weighs nothing comes last."""
        left, drawn = [number for number in numbers if self.endpoints[number].weight > 0], list[int]()
        while left:
            at = self.luck() * sum(self.endpoints[number].weight for number in left)
            for number in left:
                at -= self.endpoints[number].weight
                if at < 0:
                    break
            left.remove(number)
            drawn.append(number)
        return [*drawn, *(number for number in numbers if number not in drawn)]

    def _steady(self, by_score: list[int]) -> list[int]:
        """The favourite stays first until another is clearly quicker."""
        best, favourite = by_score[0], self._favourite
        if favourite in by_score and favourite is not None:
            ours_s, theirs_s = self.score_s(favourite), self.score_s(best)
            if theirs_s > SWITCH_SHARE * ours_s or ours_s - theirs_s < SWITCH_S:
                best = favourite
        return [best, *(number for number in by_score if number != best)]

    def _instead_of(self, doubted: int, now_s: float) -> int:
        """Whom to ask while the best may be silent again and no hedge is in hand: one that takes little longer.

        Little is half of what would be waited for in vain: one failure may also have been chance.
        """
        most_s = self.score_s(doubted) + patience_s(self.healths[doubted]) / 2
        for number in self.order(now_s, without=(doubted,)):
            breaker = self.breakers[number]
            alike = self.endpoints[number].tier == self.endpoints[doubted].tier
            if alike and breaker.closed(now_s) and not breaker.doubted and self.score_s(number) <= most_s:
                return number
        return doubted

    def _worth_a_look(self, now_s: float, best: int) -> int | None:
        """Who may have become better than the best: the one that was not measured for longest."""
        tier = self.endpoints[best].tier
        found = [
            number
            for number in range(len(self.endpoints))
            if number != best and self.endpoints[number].tier <= tier and self._is_due(now_s, number, best)
        ]
        return max(found, key=lambda number: self.healths[number].unmeasured_for_s(now_s), default=None)

    def _was_better(self, number: int, best: int) -> bool:
        """Before it failed. Then it is worth a turn of its own: it is given up as soon as another would be hedged."""
        if self.policy == "weighted":
            # By lot nobody is better; but beside a quicker one it would lose each time, and never come back.
            return self.endpoints[number].weight > 0
        typical_s = self.healths[number].typical_s
        by_order = self.policy == "ordered" and number < best
        return by_order or (typical_s is not None and typical_s <= self.score_s(best))

    def _is_due(self, now_s: float, number: int, best: int) -> bool:
        breaker, health = self.breakers[number], self.healths[number]
        unmeasured_for_s = health.unmeasured_for_s(now_s)
        if self.policy not in {"latency", "geo"}:
            return breaker.wants_probe(now_s)
        if not breaker.closed(now_s):
            hope = health.typical_s is None or breaker.cheap or self._was_better(number, best)
            return breaker.wants_probe(now_s) and (hope or unmeasured_for_s > STALE_FAR_S)
        far = health.typical_s is not None and health.typical_s > FAR * self.score_s(best)
        return unmeasured_for_s > (STALE_FAR_S if far else STALE_S)
