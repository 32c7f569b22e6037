"""Measures the answer cache: hits, false hits, and how soon a stored answer is heard.

    python -m bench.language_models.cache [--runs 50] [--entries 5000] [--no-embedding] [--no-rates] [--no-voice]

1. The pairs of bench/language_models/cache_pairs.tsv: share of paraphrases that hit, and of other pairs that hit
   wrongly, with the upper bound at 95 % confidence. "Embedding alone" shows what the lexical gate prevents.
2. Lookups in a full SQLite store: processor time and elapsed time.
3. From the final transcript to the first audio: lookup, text chunk, voice. The language model is a fake that needs
   300 ms to its first token. The settings choose the voice.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from assistant.config.loading import load_settings
from assistant.setup.answering.answer_cache import remembered
from assistant.setup.build import local_now
from assistant.setup.voices import factory as voices
from assistant.setup.voices.choice import voice_candidates
from assistant.text.chunker import Chunker
from assistant.trace.waterfall import nearest_rank
from audio.tts import Voice
from bench.language_models.cache_pairs import Pair, of_parts, read, upper_bound
from llm.cache import CacheEntry, CacheStore, Embedder
from llm.cache.answer_cache import AnswerCache
from llm.cache.cached_chat import CachedChat
from llm.cache.e5_embedder import E5Embedder
from llm.cache.english import ENGLISH
from llm.cache.form import form_of
from llm.cache.sqlite_store import SqliteStore
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Message, Token

FIRST_TOKEN_S = 0.3
PAUSE_S = 0.05

NEW = "similar, not seen before"
DRAFTED = "similar, looked up before on a draft"
ANSWER = "The tower is three hundred and thirty metres high, with its antenna. It was built for a fair."


# ---- hits and false hits ----


@dataclass(frozen=True, slots=True)
class Rates:
    """Counts of some pairs: paraphrases and their hits, other pairs and their hits, which are false."""

    same: int
    hits: int
    others: int
    false_hits: int

    @property
    def hit_rate(self) -> float:
        """Share of the paraphrases that hit."""
        return self.hits / self.same if self.same else 0.0

    @property
    def bound(self) -> float:
        """Upper bound of the false-hit rate at 95 % confidence."""
        return upper_bound(self.false_hits, self.others) if self.others else 1.0


def rates(pairs: Sequence[Pair], hits: Callable[[Pair], bool]) -> Rates:
    """Counts the pairs that hit by this rule."""
    same, others = [pair for pair in pairs if pair.same], [pair for pair in pairs if not pair.same]
    return Rates(len(same), sum(map(hits, same)), len(others), sum(map(hits, others)))


def similarities(pairs: Sequence[Pair], embedder: Embedder) -> dict[Pair, float]:
    """Returns the cosine similarity of each pair; 1 for the same words."""
    vectors = {words: embedder.embed(words) for pair in pairs for words in pair.words}
    return {pair: float(vectors[pair.words[0]] @ vectors[pair.words[1]]) for pair in pairs}


def print_rates(pairs: Sequence[Pair], embedder: Embedder | None) -> None:
    """Prints the rates by language and part, for the shipped settings and for the embedding alone."""
    similarity = {} if embedder is None else similarities(pairs, embedder)
    threshold = 0.0 if embedder is None else embedder.threshold

    def shipped(pair: Pair) -> bool:
        near = pair.words[0] == pair.words[1] or similarity.get(pair, 1.0) >= threshold
        return near and not pair.refusal

    rules: list[tuple[str, Callable[[Pair], bool]]] = [
        ("shipped", shipped),
        ("gate alone", lambda pair: not pair.refusal),
    ]
    if embedder is not None:
        rules.append((f"embedding alone, {threshold:g}", lambda pair: similarity[pair] >= threshold))
    print("| rule | pairs | paraphrases that hit | false hits | upper bound (95 %) |\n|---|---|---|---|---|")
    for name, rule in rules:
        groups = [(language, [pair for pair in pairs if pair.language == language]) for language in ("en", "de", "fr")]
        groups += [(f"part {part}", of_parts(pairs, part)) for part in "abcdef"]
        for group, chosen in [*groups, ("all", list(pairs))]:
            if chosen:
                rate = rates(chosen, rule)
                print(
                    f"| {name} | {group} | {rate.hits} of {rate.same} ({rate.hit_rate:.0%}) | "
                    f"{rate.false_hits} of {rate.others} | {rate.bound:.2%} |"
                )
    if embedder is not None:
        print("\n| threshold | paraphrases that hit | embedding alone: false hits |\n|---|---|---|")
        for step in (0.90, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97):
            kept = rates(pairs, lambda pair, step=step: not pair.refusal and similarity[pair] >= step)  # type: ignore[misc]
            alone = rates(pairs, lambda pair, step=step: similarity[pair] >= step)  # type: ignore[misc]
            print(f"| {step:g} | {kept.hit_rate:.0%} | {alone.false_hits} of {alone.others} |")


# ---- time ----


def _nothing() -> None:
    """Does nothing before a run."""


async def timed(
    work: Callable[[], Awaitable[object]], runs: int, before: Callable[[], None] = _nothing
) -> tuple[list[float], list[float]]:
    """Returns elapsed and processor times in ms of each run. Each waits first, as turns do."""
    elapsed, used = [], []
    for _ in range(runs):
        before()
        await asyncio.sleep(PAUSE_S)
        began_s, cpu_s = time.perf_counter(), time.process_time()
        await work()
        elapsed.append((time.perf_counter() - began_s) * 1000)
        used.append((time.process_time() - cpu_s) * 1000)
    return elapsed, used


def row(name: str, elapsed: Sequence[float], used: Sequence[float]) -> str:
    """Returns a line of the table of times."""
    p50, p95 = nearest_rank(list(elapsed), 50), nearest_rank(list(elapsed), 95)
    return f"| {name} | {p50:.1f} | {p95:.1f} | {min(elapsed):.1f} | {statistics.median(used):.1f} |"


def fill(store: CacheStore, entries: int, embedder: Embedder | None) -> None:
    """Stores many answers to requests of their own forms."""
    vector = None if embedder is None else embedder.embed("how tall is a tower")
    for number in range(entries):
        words = f"how tall is tower {number}"
        form = form_of(words, ENGLISH).key
        store.store_entry(
            CacheEntry(f"id{number}", "other", form, words, "en", words, ANSWER, "near", time_s(), vector)
        )


def time_s() -> float:
    """Returns the age clock of the store."""
    return local_now().timestamp()


class FakeModel:
    """A language model that needs `FIRST_TOKEN_S` to its first token."""

    name = "fake"
    detail = ""

    async def load(self) -> None:
        """Does nothing."""

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields the answer."""
        await asyncio.sleep(FIRST_TOKEN_S)
        for number, word in enumerate(ANSWER.split(" ")):
            yield Token(f" {word}" if number else word)
            await asyncio.sleep(0.02)
        yield Finished("stop")

    async def aclose(self) -> None:
        """Does nothing."""


async def first_audio(chat: CachedChat, voice: Voice, request: str) -> None:
    """Asks, and waits for the first audio of the answer; then hears the whole answer."""
    messages = (Message("user", request),)
    chunker = Chunker()
    async with aclosing(chat.stream(messages)) as events:
        async for event in events:
            chunks = chunker.feed(event.text) if isinstance(event, Token) else ()
            if isinstance(event, Finished):
                chunks = chunker.finish()
            if chunks:
                async with aclosing(voice.speak(chunks[0].text)) as audio:
                    await anext(audio)
                return


async def store_answer(chat: CachedChat, voice: Voice, request: str) -> None:
    """Asks, speaks the whole answer, and reports it as heard."""
    messages = (Message("user", request),)
    chunker = Chunker()
    async for event in chat.stream(messages):
        chunks = chunker.feed(event.text) if isinstance(event, Token) else ()
        for chunk in chunker.finish() if isinstance(event, Finished) else chunks:
            async for _ in voice.speak(chunk.text):
                pass
    chat.heard(messages)


def make_voice() -> Voice:
    """Returns the voice that the default settings choose."""
    settings = load_settings(None, {}, ["tts.timeout_s=30"]).settings
    candidate = next(candidate for candidate in voice_candidates(settings) if not candidate.lacking)
    return remembered(voices.make_voice(settings, candidate))


async def print_times(runs: int, entries: int, embedder: Embedder | None, *, speak: bool) -> None:
    """Prints the times of lookups, and from the transcript to the first audio."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "a.sqlite3", max_entries=2 * entries, max_age_s=1e6, now_s=time_s)
        cache = AnswerCache(store, embedder, ENGLISH, "en", time_s)
        await cache.load()
        await asyncio.wrap_future(cache._thread.submit(fill, store, entries, embedder))
        stored, similar = "How tall is the Eiffel Tower?", "Tell me the height of the Eiffel Tower."
        cache.remember("s", stored, ANSWER, "near")
        await cache.settle()
        print(f"\n| lookup in {entries} answers | p50 ms | p95 ms | least ms | processor ms |\n|---|---|---|---|---|")
        asked = [("same words", stored), (NEW, similar), (DRAFTED, similar), ("none", "How do vaccines work?")]
        for name, request in asked:
            forget = cache._vector.cache_clear if name == NEW else _nothing
            print(row(name, *await timed(lambda request=request: cache.look_up("s", request), runs, forget)))  # type: ignore[misc]
        if speak:
            voice = make_voice()
            await voice.load()
            chat = CachedChat(FakeModel(), cache, "fake")
            print(f"\n| transcript to first audio, {voice.name} | p50 ms | p95 ms | least ms | processor ms |")
            print("|---|---|---|---|---|")
            slow = await timed(lambda: first_audio(chat, voice, stored), min(runs, 10))
            print(row("asked (fake model, 300 ms)", *slow))
            await store_answer(chat, voice, stored)
            await cache.settle()
            for name, request in asked[:3]:
                forget = cache._vector.cache_clear if name == NEW else _nothing
                print(row(name, *await timed(lambda request=request: first_audio(chat, voice, request), runs, forget)))  # type: ignore[misc]
            await voice.aclose()
        await cache.aclose()


def main() -> None:
    """Runs the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--entries", type=int, default=5000)
    parser.add_argument("--no-embedding", action="store_true", help="without the extra cache")
    parser.add_argument("--no-voice", action="store_true", help="no times to the first audio")
    parser.add_argument("--no-rates", action="store_true", help="times only")
    given = parser.parse_args()
    embedder = None if given.no_embedding else E5Embedder()
    if embedder is not None:
        embedder.load()
    if not given.no_rates:
        print_rates(read(), embedder)
    asyncio.run(print_times(given.runs, given.entries, embedder, speak=not given.no_voice))


if __name__ == "__main__":
    main()
