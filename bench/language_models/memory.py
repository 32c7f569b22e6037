"""Measures the memory: time of a search, what it adds to a request, and the prefix that consecutive requests share.

    python -m bench.language_models.memory [--pairs 300] [--facts 500 5000] [--no-embedding]

1. Search by words, alone, and by meaning with a known embedding.
2. Requests in pairs, one with the facts and one without, to a model that answers at once: time to the first token. The
   difference is what the memory adds to a reply that is not prepared before the end of the turn; interval by bootstrap.
3. A conversation of 20 questions about facts: bytes of a request that the next one does not repeat.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import numpy as np

from assistant.memory.fact_index import FactIndex
from assistant.memory.facts import MAX_FACTS, ConversationFacts, Fact, UserFacts
from assistant.memory.notes import is_standing
from assistant.memory.recalling_chat import Recall, RecallingChat
from assistant.setup.answering.answer_cache import fact_embedder
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Message, Token

WHO = tuple(
    "daughter son mother father brother sister aunt uncle cousin friend neighbour colleague boss teacher".split()
)
WHAT = ("lives in", "is called", "works in", "likes", "was born in", "has a house in", "travels to", "dreams of")
WHERE = tuple("Rome Oslo Paris Berlin Madrid Vienna Prague Lisbon Dublin Athens Warsaw Zurich Lyon Turin".split())
WARM_UP = 20
QUESTIONS = 20


class InstantModel:
    """A model that answers at once."""

    name, detail = "instant", ""

    def __init__(self) -> None:
        self.last: Sequence[Message] = ()

    async def load(self) -> None:
        """Loads nothing."""

    async def stream(self, messages: Sequence[Message], _options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Keeps the request and answers."""
        self.last = messages
        yield Token("Good.")
        yield Finished("stop")

    async def aclose(self) -> None:
        """Closes nothing."""


def made_facts(count: int) -> UserFacts:
    """Returns facts about the people whom a user knows."""
    rng = random.Random(1)
    user, kept = UserFacts("bench"), []
    for number in range(count):
        text = f"my {rng.choice(WHO)} {number} {rng.choice(WHAT)} {rng.choice(WHERE)}"
        kept.append(Fact(str(number), text, f"2026-11-{number % 28 + 1:02}"))
    user.adopt(kept, enabled=True)
    user.index.update({fact.key: fact.text for fact in kept})
    for fact in kept:
        is_standing(fact)
    return user


def question(rng: random.Random) -> str:
    """Returns a question that facts answer."""
    return f"What did I say about my {rng.choice(WHO)}, who {rng.choice(WHAT)} {rng.choice(WHERE)}?"


def search_ms(index: FactIndex, pairs: int) -> list[float]:
    """Returns the times of searches by words."""
    rng = random.Random(2)
    times = []
    for _ in range(pairs):
        text = question(rng)
        began_s = time.perf_counter()
        index.by_words(text, 3)
        times.append((time.perf_counter() - began_s) * 1000)
    return times


def meaning_ms(index: FactIndex, pairs: int) -> list[float]:
    """Returns the times of comparisons of a known embedding with those of all facts, which are random here."""
    rng = np.random.default_rng(3)
    for key, text in index.without_vector():
        vector = rng.standard_normal(384, dtype=np.float32)
        index.add_vector(key, text, vector / np.linalg.norm(vector))
    times = []
    for _ in range(pairs):
        vector = rng.standard_normal(384, dtype=np.float32)
        began_s = time.perf_counter()
        index.by_meaning(vector / np.linalg.norm(vector), 3)
        times.append((time.perf_counter() - began_s) * 1000)
    return times


async def first_token_ms(chat: RecallingChat, messages: Sequence[Message]) -> float:
    """Returns the time to the first token."""
    began_s = time.perf_counter()
    async with aclosing(chat.stream(messages)) as events:
        async for _event in events:
            break
    return (time.perf_counter() - began_s) * 1000


async def added_ms(user: UserFacts, recall: Recall, pairs: int) -> list[float]:
    """Returns what the memory adds to each request, compared with the same request without it."""
    rng, differences = random.Random(4), []
    facts = ConversationFacts(user, "")
    for number in range(pairs + WARM_UP):
        messages = [Message("system", "Be brief."), Message("user", question(rng))]
        arms = [RecallingChat(InstantModel(), InstantModel(), given, recall) for given in (lambda: facts, lambda: None)]
        recall.prepare(str(messages[-1].content)[:-8])  # interim words, while the user speaks
        await asyncio.sleep(0.005 if recall.embedder is None else 0.05)
        order = [0, 1] if number % 2 else [1, 0]
        times = {arm: await first_token_ms(arms[arm], messages) for arm in order}
        if number >= WARM_UP:
            differences.append(times[0] - times[1])
        recall.turn_ended()
    return differences


async def unshared_bytes(user: UserFacts, recall: Recall) -> list[int]:
    """Returns how many bytes of each request are not the beginning of the next one."""
    model, rng = InstantModel(), random.Random(5)
    chat = RecallingChat(model, model, lambda: ConversationFacts(user, ""), recall)
    messages, before, lost = [Message("system", "Be brief.")], b"", []
    for _ in range(QUESTIONS):
        messages.append(Message("user", question(rng)))
        await first_token_ms(chat, messages)
        sent = "\n".join(f"{message.role}: {message.content}" for message in model.last).encode()
        shared = next((place for place, pair in enumerate(zip(before, sent, strict=False)) if pair[0] != pair[1]), None)
        lost.append(0 if shared is None else len(before) - shared)
        before = sent
        messages.append(Message("assistant", "Good."))
    return lost


def interval(values: Sequence[float], draws: int = 1000) -> tuple[float, float]:
    """Returns the 95 % interval of the median, by bootstrap."""
    rng = np.random.default_rng(6)
    medians = np.median(rng.choice(np.asarray(values), (draws, len(values))), axis=1)
    return float(np.quantile(medians, 0.025)), float(np.quantile(medians, 0.975))


def shown(times: Sequence[float]) -> str:
    """Returns p50 and p95."""
    return f"p50 {statistics.median(times):.2f} ms, p95 {float(np.quantile(times, 0.95)):.2f} ms"


async def measure(options: argparse.Namespace) -> None:
    """Measures and prints."""
    embedder = None if options.no_embedding else fact_embedder()
    if embedder is not None:
        await asyncio.to_thread(embedder.load)
        await asyncio.to_thread(embedder.embed, "warm up")
    for count in options.facts:
        user = made_facts(count)
        print(f"{count} facts: search by words: {shown(search_ms(user.index, options.pairs))}")
        print(f"  search by meaning, embedding known: {shown(meaning_ms(user.index, options.pairs))}")
        if count > MAX_FACTS:
            continue
        for name, recall in (("words", Recall()), ("words and embedding", Recall(embedder))):
            if name != "words" and embedder is None:
                continue
            added = await added_ms(user, recall, options.pairs)
            low, high = interval(added)
            print(f"  added to a request, {name}: {shown(added)}; p50 {low:.2f} to {high:.2f} (n = {len(added)})")
        lost = sum(await unshared_bytes(user, Recall()))
        print(f"  bytes that the next request does not begin with: {lost} in {QUESTIONS} requests")


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--facts", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--no-embedding", action="store_true")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
