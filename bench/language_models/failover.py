"""Measures failover between three endpoints on real sockets: an outage, slow answers, and a minute of silence.

    python -m bench.language_models.failover [--scenes death tail silence] [--turns 1000] [--at-once 8] [--silence-s 60]

The servers are `bench.controlled_llm` with 100, 150 and 200 ms to the first token, in this process. The client is the
program's own router. Prints one table. Times are from the question to the first token.
"""

import argparse
import asyncio
import random
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

from assistant.trace.waterfall import nearest_rank
from bench.controlled_llm import Answer, ControlledLlm, LlmBehaviour
from llm.chat import EndpointTried, Message, Token
from llm.errors import LlmError
from llm.openai.chat import OpenAIChat
from llm.routing.endpoint_selection import Endpoint, Policy, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router

SCENES = ("death", "tail", "silence")
TTFTS_MS = (100.0, 150.0, 200.0)
QUESTION = (Message("system", "You are terse. " * 40), Message("user", "what is the tallest mountain"))
USUAL = LlmBehaviour(tokens_per_s=1000.0, reply="Mount Everest, by its height above the sea.")


class Served:
    """One endpoint, which can be killed.

    Attributes:
        url: Base URL.
        answers: Log of answers.
    """

    def __init__(self, behaviour: LlmBehaviour, seed: int) -> None:
        self.answers: list[Answer] = []
        self.url = ""
        self._llm = ControlledLlm(behaviour, self.answers.append, seed=seed)
        self._open: set[asyncio.StreamWriter] = set()
        self._quiet = asyncio.Event()
        self._listener: asyncio.Server | None = None

    async def start(self) -> None:
        """Listens on a free port of loopback."""
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}/v1"

    def configure(self, behaviour: LlmBehaviour) -> None:
        """Changes the settings for new requests."""
        self._llm.behaviour = behaviour

    def kill(self) -> None:
        """Simulates the death of the process: open connections break, new ones are refused."""
        if self._listener is not None:
            self._listener.close()
        for writer in self._open:
            writer.transport.abort()

    async def shut_down(self) -> None:
        """Kills the endpoint and waits until its tasks have ended."""
        self.kill()
        if self._open:
            async with asyncio.timeout(5):
                await self._quiet.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self._quiet.clear()
        try:
            await self._llm.serve(reader, writer)
        finally:
            self._open.discard(writer)
            if not self._open:
                self._quiet.set()


@dataclass(slots=True)
class Turns:
    """Results of the turns of one scene.

    Attributes:
        first_tokens_s: Time to the first token of each answered turn, in order.
        lost: Turns that ended in an error.
        in_vain: Tokens requested in addition and not used.
        tokens: Tokens of all answers, prompts included, as the budget counts.
        tried: Attempts as the trace would hold them.
    """

    first_tokens_s: list[float] = field(default_factory=list)
    lost: int = 0
    in_vain: int = 0
    tokens: int = 0
    tried: list[EndpointTried] = field(default_factory=list)

    def quantile_ms(self, share: float) -> float:
        """Returns a quantile of the times to the first token, by nearest rank."""
        return nearest_rank(self.first_tokens_s, 100 * share) * 1000

    @property
    def extra_share(self) -> float:
        """Returns the unused tokens as a share of the answers' tokens."""
        return self.in_vain / max(1, self.tokens)


@asynccontextmanager
async def served(behaviours: Sequence[LlmBehaviour]) -> AsyncGenerator[list[Served]]:
    """Runs servers with these settings while the block runs."""
    servers = [Served(behaviour, seed) for seed, behaviour in enumerate(behaviours, 1)]
    try:
        for server in servers:
            await server.start()
        yield servers
    finally:
        for server in servers:
            await server.shut_down()


@asynccontextmanager
async def routed(
    servers: Sequence[Served], *, policy: Policy = "latency", hedge_share: float = 0.1
) -> AsyncGenerator[Router]:
    """Provides a router over the servers, with open connections, while the block runs."""
    models = [OpenAIChat(f"endpoint {number}", server.url, "m") for number, server in enumerate(servers, 1)]
    endpoints = [Endpoint(model.name) for model in models]
    routing = Routing(endpoints, policy, HedgeBudget(hedge_share), random.Random(1).random)
    router = Router(models, routing, first_token_timeout_s=8.0)
    try:
        await router.load()
        yield router
    finally:
        await router.aclose()


async def ask(router: Router, turns: Turns) -> None:
    """Asks one question and reads its answer to the end."""
    loop = asyncio.get_running_loop()
    began_s, first_s = loop.time(), None
    try:
        async with aclosing(router.stream(QUESTION)) as events:
            async for event in events:
                if isinstance(event, EndpointTried):
                    turns.tried.append(event)
                    turns.in_vain += event.extra_tokens
                elif isinstance(event, Token) and first_s is None:
                    first_s = loop.time() - began_s
    except LlmError:
        turns.lost += 1
    else:
        assert first_s is not None
        turns.first_tokens_s.append(first_s)
    turns.tokens = router.routing.budget.tokens


def behaviours(nearest: LlmBehaviour = USUAL) -> list[LlmBehaviour]:
    """Returns the settings of the three endpoints; `nearest` replaces those of the nearest one."""
    return [replace(behaviour, ttft_ms=ms) for behaviour, ms in zip((nearest, USUAL, USUAL), TTFTS_MS, strict=True)]


async def dying(*, silently: bool = False, count: int = 10) -> Turns:
    """Runs turns in sequence; the nearest endpoint dies midway."""
    turns = Turns()
    async with served(behaviours()) as servers, routed(servers) as router:
        for turn in range(count):
            if turn == count // 2:
                if silently:
                    servers[0].configure(replace(USUAL, fault="stall-after:0"))
                else:
                    servers[0].kill()
            await ask(router, turns)
    return turns


async def slow_now_and_then(count: int, at_once: int, *, hedge_share: float = 0.1) -> Turns:
    """Runs concurrent conversations; the nearest endpoint delays 5 % of its answers by 1500 ms."""
    turns = Turns()
    slow = replace(USUAL, slow_rate=0.05, slow_ms=1500.0)
    async with served(behaviours(slow)) as servers, routed(servers, hedge_share=hedge_share) as router:

        async def converse() -> None:
            for _ in range(count // at_once):
                await ask(router, turns)

        async with asyncio.TaskGroup() as conversations:
            for _ in range(at_once):
                conversations.create_task(converse())
    return turns


async def after_silence(silence_s: float, *, warm: bool, connect_ms: float = 150.0) -> tuple[Turns, Turns]:
    """Runs turns without pauses, then one after a silence. `warm`: connections are opened 0.5 s before it.

    The servers drop idle connections after 5 s, and opening one takes `connect_ms`.
    """
    usual, first = Turns(), Turns()
    far = [replace(behaviour, connect_ms=connect_ms) for behaviour in behaviours()]
    async with served(far) as servers, routed(servers) as router:
        for _ in range(5):
            await ask(router, usual)
        await asyncio.sleep(silence_s)
        if warm:
            async with asyncio.timeout(5):
                await router.load()
            await asyncio.sleep(0.5)
        await ask(router, first)
    return usual, first


def row(name: str, turns: Turns) -> str:
    """Returns one row of the table."""
    times = [f"{turns.quantile_ms(share):.0f}" for share in (0.5, 0.99, 1.0)]
    cells = (name, str(len(turns.first_tokens_s)), str(turns.lost), *times, f"{turns.extra_share:.1%}")
    return "| " + " | ".join(cells) + " |"


async def run(scenes: Collection[str], count: int, at_once: int, silence_s: float) -> None:
    """Plays the scenes and prints the table."""
    print("| scene | answered | lost | p50 ms | p99 ms | longest ms | wasted tokens |\n|---|---|---|---|---|---|---|")
    if "death" in scenes:
        print(row("the nearest of three dies in the middle of ten turns", await dying()))
        print(row("the same, but it falls silent", await dying(silently=True)))
    if "tail" in scenes:
        print(row("5 % of the nearest 1500 ms late, hedged", await slow_now_and_then(count, at_once)))
        print(row("the same, not hedged", await slow_now_and_then(count, at_once, hedge_share=0.0)))
    if "silence" in scenes:
        usual, warm = await after_silence(silence_s, warm=True)
        _, cold = await after_silence(silence_s, warm=False)
        print(row("turns without a pause, 150 ms to connect", usual))
        print(row(f"the first after {silence_s:g} s of silence", warm))
        print(row("the same, connections not kept warm", cold))


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=SCENES, help="scenes to run, a minute each")
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--silence-s", type=float, default=60.0)
    options = parser.parse_args()
    asyncio.run(run(options.scenes, options.turns, options.at_once, options.silence_s))


if __name__ == "__main__":
    main()
