"""Simulates routing between several endpoints over thousands of turns with faults, against naive strategies.

    python -m bench.language_models.routing [--turns 3000] [--seed 7] [--all]

The decisions are those of the program (`hedged_request.py` and `endpoint_selection.py` of `llm/routing`). Endpoints and
time are simulated; there is no network. Prints the share of turns that were lost or took over 500 ms to the first
token, and the share of unused tokens; with --all also a table for each story.
"""

import argparse
import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assistant.trace.waterfall import nearest_rank
from llm.chat import ChatEvent, EndpointTried, RequestSent, Token
from llm.errors import LlmError, LlmTooSlow, LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Policy, Routing
from llm.routing.hedged_request import AskEndpoint, CloseRequest, Effect, Fail, HedgedRequest, PassOn
from llm.routing.hedging import HedgeBudget

PROMPT_TOKENS = 600
ANSWER_TOKENS = 40
TURN_EVERY_S = 8.0
DEADLINE_S = 8.0
LATE_S = 0.5

Fate = float | Literal["refused", "silent"]
"""Result of a request: seconds to the first token, a refused connection, or no answer at all."""

Nature = Callable[[float, random.Random], Fate]
"""Behaviour of an endpoint: the result of a request at a time. Times are fractions of the story, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Story:
    """Behaviour of all endpoints over time, in the order of the configuration."""

    name: str
    natures: Sequence[Nature]


def steady(typical_s: float) -> Nature:
    """Returns latencies that scatter by a factor, occasionally a large one, as those of real services."""
    return lambda _at, rng: typical_s * rng.lognormvariate(0.0, 0.15)


def slow_now_and_then(typical_s: float, share: float, slow_s: float) -> Nature:
    """Delays a share of the answers by `slow_s`."""
    usual = steady(typical_s)

    def nature(time_s: float, rng: random.Random) -> Fate:
        took = usual(time_s, rng)
        assert isinstance(took, float)
        return took + (slow_s if rng.random() < share else 0.0)

    return nature


def during(begin: float, end: float, then: Nature, otherwise: Nature) -> Nature:
    """Behaves like `then` from `begin` to `end` of the story, and like `otherwise` outside."""
    return lambda time_s, rng: (then if begin <= time_s < end else otherwise)(time_s, rng)


def _dead(fate: Fate) -> Nature:
    return lambda _at, _rng: fate


def _flapping(typical_s: float, periods: int) -> Nature:
    usual = steady(typical_s)
    return lambda time_s, rng: "refused" if int(time_s * 2 * periods) % 2 else usual(time_s, rng)


NEAR, MIDDLE, FAR = steady(0.10), steady(0.15), steady(0.25)

STORIES = (
    Story("all is well", (NEAR, MIDDLE, FAR)),
    Story("5 % of the nearest are 1500 ms late", (slow_now_and_then(0.10, 0.05, 1.5), MIDDLE, FAR)),
    Story("the nearest degrades to 900 ms for a third", (during(0.33, 0.67, steady(0.9), NEAR), MIDDLE, FAR)),
    Story("the nearest refuses for a third", (during(0.33, 0.67, _dead("refused"), NEAR), MIDDLE, FAR)),
    Story("the nearest is silent for a third", (during(0.33, 0.67, _dead("silent"), NEAR), MIDDLE, FAR)),
    Story("the nearest flaps", (_flapping(0.10, 20), MIDDLE, FAR)),
    Story(
        "all refuse for a tenth",
        tuple(during(0.45, 0.55, _dead("refused"), usual) for usual in (NEAR, MIDDLE, FAR)),
    ),
    Story("a nearer one comes up half-way", (FAR, MIDDLE, during(0.0, 0.5, _dead("refused"), steady(0.08)))),
)


@dataclass(slots=True)
class Tally:
    """Results of the turns of one story.

    Attributes:
        first_tokens_s: Times to the first token of the answered turns.
        lost: Turns without an answer.
        tokens: Tokens of all answers, prompts included.
        in_vain: Unused tokens requested in addition, by hedges and by cancelled requests.
        hedged: Unused tokens requested in addition by hedges alone.
        by: Endpoint that answered, turn by turn; "" for none.
    """

    first_tokens_s: list[float] = field(default_factory=list)
    lost: int = 0
    tokens: int = 0
    in_vain: int = 0
    hedged: int = 0
    by: list[str] = field(default_factory=list)

    @property
    def late_share(self) -> float:
        """Returns the share of turns that were lost or took over 500 ms."""
        late = sum(took_s > LATE_S for took_s in self.first_tokens_s) + self.lost
        return late / max(1, len(self.by))

    @property
    def extra_share(self) -> float:
        """Returns the unused tokens as a share of the answers' tokens."""
        return self.in_vain / max(1, self.tokens)

    def quantile_ms(self, share: float) -> float:
        """Returns a quantile of the times to the first token, by nearest rank."""
        return nearest_rank(self.first_tokens_s, 100 * share) * 1000 if self.first_tokens_s else float("nan")


def routed(story: Story, turns: int, seed: int, *, policy: Policy = "latency", hedge_share: float = 0.1) -> Tally:
    """Runs the story with the program's own decisions."""
    rng = random.Random(seed)
    endpoints = [Endpoint(f"endpoint {number}") for number in range(1, 1 + len(story.natures))]
    routing = Routing(endpoints, policy, HedgeBudget(hedge_share), random.Random(seed + 1).random)
    tally = Tally()
    for turn in range(turns):
        _Turn(routing, story.natures, turn / turns, rng, tally).hold(1000.0 + turn * TURN_EVERY_S)
    tally.hedged = routing.budget.extra_tokens
    return tally


class _Turn:
    """One question on virtual time."""

    def __init__(
        self, routing: Routing, natures: Sequence[Nature], start_s: float, rng: random.Random, tally: Tally
    ) -> None:
        self._routing, self._natures, self._start_s, self._rng, self._tally = routing, natures, start_s, rng, tally
        self._due: list[tuple[float, int, ChatEvent | LlmError]] = []
        self._closed: set[int] = set()
        self._first_s: float | None = None
        self._by = ""
        self._failed = False

    def hold(self, began_s: float) -> None:
        """Runs from the question to the end of its answer."""
        contest = HedgedRequest(self._routing, PROMPT_TOKENS, began_s + DEADLINE_S)
        now_s = began_s
        self._perform(contest.begin(now_s), now_s, began_s)
        while not self._failed and self._first_s is None:
            wake_s = contest.wake_s
            if self._due and (wake_s is None or self._due[0][0] <= wake_s):
                now_s, number, what = heapq.heappop(self._due)
                if number in self._closed:
                    continue
                if isinstance(what, LlmError):
                    effects = contest.failed(number, what, now_s)
                else:
                    effects = contest.on_event(number, what, now_s)
                self._perform(effects, now_s, began_s)
            else:
                assert wake_s is not None, "an answer that never comes has a deadline"
                now_s = wake_s
                self._perform(contest.tick(now_s), now_s, began_s)
        contest.close(now_s)
        self._routing.budget.answered(contest.question, ANSWER_TOKENS - 1 if self._first_s is not None else 0)
        self._tally.by.append(self._by)
        if self._first_s is None:
            self._tally.lost += 1
        else:
            self._tally.first_tokens_s.append(self._first_s)
            self._tally.tokens += PROMPT_TOKENS + ANSWER_TOKENS

    def _perform(self, effects: Sequence[Effect], now_s: float, began_s: float) -> None:
        for effect in effects:
            match effect:
                case AskEndpoint(number):
                    self._ask(number, now_s)
                case CloseRequest(number):
                    self._closed.add(number)
                case PassOn(EndpointTried() as tried):
                    self._tally.in_vain += tried.extra_tokens
                    self._by = tried.endpoint if tried.outcome == "answered" else self._by
                case PassOn(Token()):
                    self._first_s = now_s - began_s
                case Fail():
                    self._failed = True
                case PassOn():
                    pass

    def _ask(self, number: int, now_s: float) -> None:
        fate = self._natures[number](self._start_s, self._rng)
        if fate == "refused":
            error = LlmUnreachable("", "refused", spoken="", retryable=True)
            heapq.heappush(self._due, (now_s + 0.002, number, error))
            return
        heapq.heappush(self._due, (now_s + 0.001, number, RequestSent(None)))
        if fate == "silent":
            heapq.heappush(self._due, (now_s + DEADLINE_S, number, LlmTooSlow("", "silent", spoken="", retryable=True)))
        else:
            assert isinstance(fate, float)
            heapq.heappush(self._due, (now_s + fate, number, Token("Yes.")))


# ---- naive strategies ----


def first_only(story: Story, turns: int, seed: int) -> Tally:
    """Always asks the first endpoint."""
    return _naive(story, turns, seed, lambda _turn, _rng: [0])


def round_robin(story: Story, turns: int, seed: int) -> Tally:
    """Asks the endpoints in turn; tries the next one after a refusal or the deadline."""
    count = len(story.natures)
    return _naive(story, turns, seed, lambda turn, _rng: [(turn + step) % count for step in range(count)])


def in_order(story: Story, turns: int, seed: int) -> Tally:
    """Asks the first endpoint; tries the next one after a refusal or the deadline."""
    return _naive(story, turns, seed, lambda _turn, _rng: list(range(len(story.natures))))


def all_at_once(story: Story, turns: int, seed: int) -> Tally:
    """Sends every question to every endpoint; the first token wins."""
    rng, tally = random.Random(seed), Tally()
    for turn in range(turns):
        fates = [nature(turn / turns, rng) for nature in story.natures]
        times_s = [fate for fate in fates if isinstance(fate, float)]
        _book(tally, min(times_s, default=None), "somebody", (sum(fate != "refused" for fate in fates) - 1))
    return tally


def _naive(story: Story, turns: int, seed: int, choose: Callable[[int, random.Random], list[int]]) -> Tally:
    rng, tally = random.Random(seed), Tally()
    for turn in range(turns):
        waited_s, in_vain = 0.0, 0
        for number in choose(turn, rng):
            fate = story.natures[number](turn / turns, rng)
            if isinstance(fate, float):
                _book(tally, waited_s + fate, f"endpoint {number + 1}", in_vain)
                break
            waited_s += 0.002 if fate == "refused" else DEADLINE_S
            in_vain += fate == "silent"
        else:
            _book(tally, None, "", in_vain)
    return tally


def _book(tally: Tally, first_s: float | None, by: str, in_vain: int) -> None:
    tally.in_vain += max(0, in_vain) * PROMPT_TOKENS
    tally.by.append("" if first_s is None else by)
    if first_s is None:
        tally.lost += 1
    else:
        tally.first_tokens_s.append(first_s)
        tally.tokens += PROMPT_TOKENS + ANSWER_TOKENS


WAYS: dict[str, Callable[[Story, int, int], Tally]] = {
    "latency, hedged": routed,
    "latency, no hedges": lambda story, turns, seed: routed(story, turns, seed, hedge_share=0.0),
    "ordered, hedged": lambda story, turns, seed: routed(story, turns, seed, policy="ordered"),
    "the first only": first_only,
    "in order": in_order,
    "in turn": round_robin,
    "all at once": all_at_once,
}
"""Strategies; the first three are the program's."""


def table(story: Story, turns: int, seed: int) -> str:
    """Returns the table of one story in Markdown."""
    lines = [
        f"**{story.name}**\n",
        "| strategy | over 500 ms | lost | p50 ms | p99 ms | wasted tokens |",
        "|---|---|---|---|---|---|",
    ]
    for name, way in WAYS.items():
        tally = way(story, turns, seed)
        cells = (
            name,
            f"{tally.late_share:.1%}",
            str(tally.lost),
            f"{tally.quantile_ms(0.5):.0f}",
            f"{tally.quantile_ms(0.99):.0f}",
            f"{tally.extra_share:.1%}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def summary(turns: int, seed: int) -> str:
    """Returns the summary of all stories: late or lost turns, and unused tokens."""
    lines = ["| " + " | ".join(("", *WAYS)) + " |", "|---" * (1 + len(WAYS)) + "|"]
    for story in STORIES:
        tallies = [way(story, turns, seed) for way in WAYS.values()]
        cells = [f"{tally.late_share:.1%}, {tally.extra_share:.1%}" for tally in tallies]
        lines.append("| " + " | ".join((story.name, *cells)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--all", action="store_true", help="also print a table for each story")
    options = parser.parse_args()
    print(summary(options.turns, options.seed))
    for story in STORIES if options.all else ():
        print(table(story, options.turns, options.seed))


if __name__ == "__main__":
    main()
