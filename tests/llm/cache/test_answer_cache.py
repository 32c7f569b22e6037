"""Lookups, and what happens when the store or the embedder fails."""

import asyncio
import logging
import threading
from pathlib import Path

import pytest
from support.clocks.virtual_time import run_virtual
from support.engines.cache_parts import LetterEmbedder, MemoryStore, inline_cache

from llm.cache import CacheEntry, Vector
from llm.cache.answer_cache import FIND_TIMEOUT_S, MAX_LATE, MAX_WAITING, PAUSE_S, PROBLEM, AnswerCache, Lookup
from llm.cache.english import ENGLISH
from llm.cache.sqlite_store import SqliteStore


async def filled(cache: AnswerCache, *requests: str) -> None:
    await cache.load()
    for request in requests:
        cache.remember("s", request, f"The answer to {request}", "near")


@pytest.mark.parametrize(
    ("asked", "outcome", "detail"),
    [
        ("what is the capital of france", "exact", ""),
        ("Um, what's the capital of France, please?", "exact", ""),
        ("Tell me the capital of France.", "similar", "0."),
        ("What is the capital of Peru?", "miss", ""),
        ("Who is the capital of France?", "miss", ""),
    ],
)
def test_lookup_finds_the_same_request_only(asked: str, outcome: str, detail: str) -> None:
    async def scene() -> Lookup:
        cache = inline_cache(MemoryStore())
        await filled(cache, "What is the capital of France?")
        return await cache.look_up("s", asked)

    found = run_virtual(scene())
    assert found.outcome == outcome
    assert found.detail.startswith(detail)
    assert (found.entry is not None) == (outcome in {"exact", "similar"})


def test_similar_request_of_another_meaning_is_vetoed() -> None:
    async def scene() -> list[Lookup]:
        cache = inline_cache(MemoryStore())
        await filled(cache, "What is the matrix?", "What is the largest moon of Saturn?")
        return [
            await cache.look_up("s", text) for text in ("What is a matrix?", "What are the largest moons of Saturn?")
        ]

    assert [(found.outcome, found.detail) for found in run_virtual(scene())] == [
        ("vetoed", "article"),
        ("vetoed", "number"),
    ]


def test_embedding_below_the_threshold_vetoes() -> None:
    async def scene() -> Lookup:
        cache = inline_cache(MemoryStore(), LetterEmbedder(threshold=0.999))
        await filled(cache, "How tall is Mount Everest?")
        return await cache.look_up("s", "What is the height of Mount Everest?")

    found = run_virtual(scene())
    assert found.outcome == "vetoed"
    assert found.detail.startswith("similarity 0.")


def test_request_is_embedded_only_if_one_of_its_form_is_stored() -> None:
    embedder = LetterEmbedder()

    async def scene() -> None:
        cache = inline_cache(MemoryStore(), embedder)
        await filled(cache, "What is the capital of France?")
        embedder.embedded.clear()
        await cache.look_up("s", "How do vaccines work?")
        await cache.look_up("s", "What is the capital of France?")

    run_virtual(scene())
    assert embedder.embedded == []


def test_other_scope_has_other_answers() -> None:
    async def scene() -> Lookup:
        cache = inline_cache(MemoryStore())
        await filled(cache, "What is the capital of France?")
        return await cache.look_up("other", "What is the capital of France?")

    assert run_virtual(scene()).outcome == "miss"


def test_without_embedding_model_only_the_same_words_match() -> None:
    async def scene() -> tuple[str, list[str]]:
        cache = inline_cache(MemoryStore(), LetterEmbedder(missing=True))
        problem = await cache.load()
        cache.remember("s", "What is the capital of France?", "Paris.", "near")
        asked = ("Tell me the capital of France.", "What is the capital of France?")
        assert cache.detail == "same words only"
        return problem, [(await cache.look_up("s", text)).outcome for text in asked]

    problem, outcomes = run_virtual(scene())
    assert problem.startswith("only the same words match, because")
    assert outcomes == ["miss", "exact"]


def test_failing_store_is_logged_once_and_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()

    async def scene() -> list[str]:
        cache = inline_cache(store)
        await filled(cache, "What is the capital of France?")
        store.fails = True
        outcomes: list[str] = []
        for wait_s in (0, 1, PAUSE_S, PAUSE_S):
            await asyncio.sleep(wait_s)
            outcomes.append((await cache.look_up("s", "What is the capital of France?")).outcome)
        store.fails = False
        for wait_s in (1, PAUSE_S):
            await asyncio.sleep(wait_s)
            outcomes.append((await cache.look_up("s", "What is the capital of France?")).outcome)
        return outcomes

    with caplog.at_level(logging.WARNING):
        assert run_virtual(scene()) == ["failed", "paused", "failed", "failed", "paused", "exact"]
    logged = [record.getMessage() for record in caplog.records]
    assert logged == [
        "the answer cache memory cannot be used (it is lost); the language model is asked instead",
        "the answer cache works again",
    ]


class DefectiveEmbedder(LetterEmbedder):
    """Fails in a way that nobody expects."""

    def embed(self, text: str) -> Vector:
        raise ZeroDivisionError(text)


def test_defect_is_a_failure_without_words(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> list[Lookup]:
        cache = inline_cache(MemoryStore())
        await filled(cache, "How tall is Mount Everest?")
        cache._embedder = DefectiveEmbedder()
        found = [await cache.look_up("s", "What is the height of Mount Everest?")]
        await cache.aclose()
        return [*found, await cache.look_up("s", "How tall is Mount Everest?")]

    with caplog.at_level(logging.WARNING):
        failed, closed = run_virtual(scene())
    assert failed.outcome == "failed"
    assert failed.detail == PROBLEM
    assert [record.getMessage() for record in caplog.records] == [
        "the answer cache memory failed (ZeroDivisionError); the language model is asked instead"
    ]
    assert closed.outcome == "paused"


@pytest.mark.parametrize(
    ("language", "stored", "asked", "why"),
    [
        ("de", "Was ist der Kiefer?", "Was ist die Kiefer?", "article"),
        ("de", "Was ist ein Leiter?", "Was ist eine Leiter?", "article"),
        ("fr", "Qu'est-ce que la tour ?", "Qu'est-ce que le tour ?", "article"),
        ("de", "Hilft der Arzt dem Lehrer?", "Hilft dem Arzt der Lehrer?", "roles"),
        ("en", "What is Polish?", "What is polish?", "case"),
        ("en", "Where does turkey come from?", "Where does Turkey come from?", "case"),
    ],
)
def test_gender_and_capital_letters_veto(language: str, stored: str, asked: str, why: str) -> None:
    async def scene() -> list[Lookup]:
        cache = inline_cache(MemoryStore(), language=language)
        await filled(cache, stored)
        return [await cache.look_up("s", text) for text in (asked, stored)]

    other, same = run_virtual(scene())
    assert (other.outcome, other.detail) == ("vetoed", why)
    assert same.outcome == "exact"


def test_same_words_are_embedded_once() -> None:
    embedder = LetterEmbedder()

    async def scene() -> list[str]:
        cache = inline_cache(MemoryStore(), embedder)
        await filled(cache, "How tall is Mount Everest?")
        asked = ["What is the height of Mount Everest?", "what is the height of mount everest"]
        return [(await cache.look_up("s", text)).outcome for text in asked]

    assert run_virtual(scene()) == ["similar", "similar"]
    assert embedder.embedded == ["how tall is mount everest", "what is the height of mount everest"]


class SlowEmbedder(LetterEmbedder):
    """Embeds only when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def embed(self, text: str) -> Vector:
        self.released.wait(20)
        return super().embed(text)


def test_lookup_does_not_wait_for_an_embedding_of_another_conversation() -> None:
    embedder = SlowEmbedder()

    async def scene() -> tuple[str, str]:
        cache = AnswerCache(MemoryStore(), embedder, ENGLISH, "en", lambda: 1.0)
        embedder.released.set()
        await filled(cache, "How tall is Mount Everest?")
        await cache.settle()
        embedder.released.clear()
        cache.remember("s", "What is the capital of Peru?", "Lima.", "near")
        exact = await cache.look_up("s", "How tall is Mount Everest?")
        similar = await cache.look_up("s", "What is the height of Mount Everest?")
        embedder.released.set()
        await cache.aclose()
        return exact.outcome, similar.outcome

    assert asyncio.run(scene()) == ("exact", "late")


class HangingStore(MemoryStore):
    """Hangs until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def find(self, scope: str, form: str, words: str) -> list[CacheEntry]:
        self.released.wait(20)
        return []


def test_hanging_store_delays_a_request_only_shortly() -> None:
    store = HangingStore()

    async def scene() -> tuple[list[Lookup], float]:
        cache = AnswerCache(store, LetterEmbedder(), ENGLISH, "en", lambda: 1.0)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        found = [await cache.look_up("s", "How do vaccines work?") for _ in range(MAX_LATE + 2)]
        took_s = loop.time() - began_s
        store.released.set()
        await cache.aclose()
        return found, took_s

    found, took_s = asyncio.run(scene())
    assert [one.outcome for one in found] == ["late", "late", "failed", "paused", "paused"]
    assert found[2].detail == PROBLEM
    assert MAX_LATE * FIND_TIMEOUT_S <= took_s < 20


def test_waiting_answers_are_bounded(tmp_path: Path) -> None:
    released = threading.Event()
    store = SqliteStore(tmp_path / "a.sqlite3", max_entries=1000, max_age_s=1000, now_s=lambda: 1.0)

    async def scene() -> int:
        cache = AnswerCache(store, None, ENGLISH, "en", lambda: 1.0)
        cache._thread.submit(released.wait, 20)
        for number in range(MAX_WAITING + 20):
            cache.remember("s", f"How tall is tower {number}?", "High.", "near")
        released.set()
        await cache.settle()
        stored = await asyncio.wrap_future(cache._thread.submit(store.entries))
        await cache.aclose()
        return len(stored)

    assert asyncio.run(scene()) == MAX_WAITING
