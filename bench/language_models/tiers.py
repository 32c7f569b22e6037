"""Measures the score that chooses a small or a large model, and what the choice costs and saves.

    python -m bench.language_models.tiers [--half judge] [--wrong] [--at-once 4] [--small-ms 100] [--large-ms 500]
        [--tokens 600 40] [--small-price 0.1 0.4] [--large-price 2.5 10]

Prints the confusion table of the labelled requests (bench/language_models/tiers_utterances.txt), by language, then asks
all of them on real sockets: `bench.controlled_llm` with the times to the first token of a small and a large model, and
the program's own router. Prices are per million prompt and answer tokens; `--tokens` are those of a turn.
"""

import argparse
import asyncio
import random
from collections.abc import Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from assistant.trace.waterfall import nearest_rank
from bench.controlled_llm import LlmBehaviour
from bench.language_models.failover import Served, served
from llm.chat import AnsweringEndpoint, Escalated, Message, Size, Token
from llm.openai.chat import OpenAIChat
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.request_size import request_size
from llm.routing.router import Router
from llm.routing.sized_answer import SizeRules

FILE = Path(__file__).with_name("tiers_utterances.txt")

Half = Literal["make", "judge"]

REPLY = "The short answer is yes. The reason is simple enough."
REFUSAL = "I'm sorry, but I don't know that."
SYSTEM = Message("system", "You are a voice assistant. Answer in one to three short sentences.")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled request.

    Attributes:
        language: "en", "de", "fr" or "es".
        label: Size of the model that should answer.
        text: The request.
        before: The user's turn before it; "" for none.
        half: Whether it makes the score or judges it.
    """

    language: str
    label: Size
    text: str
    before: str
    half: Half

    @property
    def messages(self) -> tuple[Message, ...]:
        """The request as the router gets it."""
        earlier = (Message("user", self.before), Message("assistant", "Here is an answer.")) if self.before else ()
        return (SYSTEM, *earlier, Message("user", self.text))

    @property
    def chosen(self) -> Size:
        """The size that the score chooses."""
        return request_size(self.messages, self.language).size


def labelled(text: str) -> list[Labelled]:
    """Returns the requests of the file. Of each language and label, the odd ones make the score."""
    requests: list[Labelled] = []
    seen: dict[tuple[str, str], int] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        language, label, rest = line.split(" ", 2)
        seen[language, label] = number = seen.get((language, label), 0) + 1
        before, _, request_text = rest.rpartition(" >> ")
        size: Size = "large" if label == "large" else "small"
        requests.append(Labelled(language, size, request_text, before, "make" if number % 2 else "judge"))
    return requests


@dataclass(slots=True)
class Confusion:
    """Counts requests by their label and the size that was chosen."""

    small_as_small: int = 0
    small_as_large: int = 0
    large_as_small: int = 0
    large_as_large: int = 0

    def add_request(self, label: Size, chosen: Size) -> None:
        """Counts one request."""
        name = f"{label}_as_{chosen}"
        setattr(self, name, getattr(self, name) + 1)

    @property
    def right(self) -> int:
        """Number of requests that got the size of their label."""
        return self.small_as_small + self.large_as_large

    @property
    def total(self) -> int:
        """Number of requests."""
        return self.right + self.small_as_large + self.large_as_small


def confusion(requests: Iterable[Labelled]) -> Confusion:
    """Returns the confusion table of the requests."""
    table = Confusion()
    for request in requests:
        table.add_request(request.label, request.chosen)
    return table


def confusion_rows(requests: Sequence[Labelled]) -> Iterable[str]:
    """Yields the confusion table as Markdown: a row for each half and, of the half that judges, for each language."""
    yield "| requests | small as small | small as large | large as small | large as large | right |"
    yield "|---|---|---|---|---|---|"
    rows: list[tuple[str, list[Labelled]]] = [
        (f"half that {half}s", [request for request in requests if request.half == half]) for half in get_args(Half)
    ]
    judging = rows[-1][1]
    rows += [
        (f"of it, {code}", [request for request in judging if request.language == code])
        for code in ("en", "de", "fr", "es")
    ]
    for name, chosen in rows:
        table = confusion(chosen)
        counts = (table.small_as_small, table.small_as_large, table.large_as_small, table.large_as_large)
        yield f"| {name} | {' | '.join(map(str, counts))} | {table.right / max(1, table.total):.1%} |"


# ---- time and cost ----


@dataclass(frozen=True, slots=True)
class Costs:
    """Prices per million tokens, prompt and answer, and the tokens of a turn."""

    small: tuple[float, float]
    large: tuple[float, float]
    tokens: tuple[int, int]

    def turn(self, size: str) -> float:
        """Returns the price of a turn."""
        prices = self.small if size == "small" else self.large
        return sum(price * tokens for price, tokens in zip(prices, self.tokens, strict=True)) / 1_000_000


@dataclass(slots=True)
class Outcome:
    """The results of one strategy."""

    first_ms: dict[Size, list[float]] = field(default_factory=lambda: {"small": [], "large": []})
    by_large: dict[Size, int] = field(default_factory=lambda: {"small": 0, "large": 0})
    cost: float = 0.0

    def row(self, name: str) -> str:
        """Returns one row of the table."""
        times = [f"{nearest_rank(values, percent):.0f}" for values in self.first_ms.values() for percent in (50, 95)]
        total = sum(map(len, self.first_ms.values()))
        shares = [f"{self.by_large[size] / len(self.first_ms[size]):.0%}" for size in get_args(Size)]
        return f"| {name} | {' | '.join([*times, *shares])} | {1000 * self.cost / total:.3f} |"


async def ask_all(
    servers: Sequence[Served],
    names: Collection[str],
    requests: Sequence[Labelled],
    costs: Costs,
    at_once: int,
    *,
    bridge: bool = False,
) -> Outcome:
    """Asks all requests, some at once, with the endpoints of these names."""
    outcome = Outcome()
    sizes: tuple[Size, ...] = get_args(Size)
    used = [(size, server) for size, server in zip(sizes, servers, strict=True) if size in names]
    routers = {
        language: Router(
            [OpenAIChat(size, server.url, "m") for size, server in used],
            Routing(
                [Endpoint(size, size=size if len(used) > 1 else None) for size, _ in used],
                "ordered",
                HedgeBudget(0.0),
                random.Random(1).random,
            ),
            first_token_timeout_s=8.0,
            sizes=SizeRules(language, bridge=bridge),
        )
        for language in dict.fromkeys(request.language for request in requests)
    }
    left = list(requests)

    async def converse() -> None:
        while left:
            request = left.pop()
            await ask(routers[request.language], request, costs, outcome)

    async with asyncio.TaskGroup() as conversations:
        for _ in range(at_once):
            conversations.create_task(converse())
    for router in routers.values():
        await router.aclose()
    return outcome


async def ask(router: Router, request: Labelled, costs: Costs, outcome: Outcome) -> None:
    """Asks one request and reads its answer to the end."""
    loop = asyncio.get_running_loop()
    began_s, first_s, by = loop.time(), None, ""
    async with aclosing(router.stream(request.messages)) as events:
        async for event in events:
            if isinstance(event, AnsweringEndpoint):
                by = event.by
            elif isinstance(event, Escalated):
                outcome.cost += costs.turn("small")  # its words were not used, or are the first sentence
            elif isinstance(event, Token) and first_s is None:
                first_s = loop.time() - began_s
    assert first_s is not None, "every request is answered"
    outcome.first_ms[request.label].append(first_s * 1000)
    outcome.by_large[request.label] += by == "large"
    outcome.cost += costs.turn(by)


async def run(requests: Sequence[Labelled], ttfts_ms: Sequence[float], costs: Costs, at_once: int) -> None:
    """Asks the requests with each strategy and prints the table."""
    print(
        "| strategy | small: p50 ms | p95 ms | large: p50 ms | p95 ms | small by large | large by large "
        "| cost of 1000 turns |\n|---|---|---|---|---|---|---|---|"
    )
    usual = [LlmBehaviour(ttft_ms=ms, tokens_per_s=60.0, reply=REPLY) for ms in ttfts_ms]
    strategies = (("small alone", {"small"}), ("large alone", {"large"}), ("by score", {"small", "large"}))
    async with served(usual) as servers:
        for name, used in strategies:
            print((await ask_all(servers, used, requests, costs, at_once)).row(name), flush=True)
        bridged = await ask_all(servers, {"small", "large"}, requests, costs, at_once, bridge=True)
        print(bridged.row("by score, with `bridge`"))
        servers[0].configure(LlmBehaviour(ttft_ms=ttfts_ms[0], tokens_per_s=60.0, reply=REFUSAL))
        missed = [request for request in requests if request.chosen == "small"]
        declined = await ask_all(servers, {"small", "large"}, missed, costs, at_once)
        times = [ms for values in declined.first_ms.values() for ms in values]
        print(
            f"\nIf the small model declines all {len(missed)} of its requests: first token of the large one after "
            f"{nearest_rank(times, 50):.0f} ms (p50), {nearest_rank(times, 95):.0f} ms (p95)."
        )


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=get_args(Half), default="judge", help="half of the requests that is asked")
    parser.add_argument("--wrong", action="store_true", help="list the wrong ones of the half that makes the score")
    parser.add_argument("--score-only", action="store_true", help="print the confusion table alone")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--small-ms", type=float, default=100.0)
    parser.add_argument("--large-ms", type=float, default=500.0)
    parser.add_argument("--tokens", type=int, nargs=2, default=(600, 40))
    parser.add_argument("--small-price", type=float, nargs=2, default=(0.1, 0.4))
    parser.add_argument("--large-price", type=float, nargs=2, default=(2.5, 10.0))
    options = parser.parse_args()
    requests = labelled(FILE.read_text(encoding="utf-8"))
    print("\n".join(confusion_rows(requests)))
    for request in (
        request for request in requests if options.wrong and request.half == "make" and request.chosen != request.label
    ):
        size = request_size(request.messages, request.language)
        print(f"{request.language} {request.label}: {request.text} ({size.why})")
    if options.score_only:
        return
    print()
    costs = Costs(tuple(options.small_price), tuple(options.large_price), tuple(options.tokens))
    half = [request for request in requests if request.half == options.half]
    asyncio.run(run(half, (options.small_ms, options.large_ms), costs, options.at_once))


if __name__ == "__main__":
    main()
