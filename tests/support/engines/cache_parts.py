"""Parts of an answer cache for tests: a synthetic embedder, a store in memory, and a thread that is none."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from llm.cache import CacheEntry, CacheStoreError, Vector
from llm.cache.answer_cache import AnswerCache
from llm.cache.eligibility import lexicon_of

T = TypeVar("T")


class InlineExecutor(Executor):
    """Runs each call at once, so that virtual time does not pass it."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as a future does
            future.set_exception(error)
        return future


@dataclass(slots=True)
class LetterEmbedder:
    """Embeds a text as its counts of letter pairs: similar words are near each other."""

    name: str = "letters"
    threshold: float = 0.3
    missing: bool = False
    embedded: list[str] = field(default_factory=list)

    def load(self) -> None:
        if self.missing:
            raise CacheStoreError("similar requests need a package that is not installed")

    def embed(self, text: str) -> Vector:
        self.embedded.append(text)
        vector = np.zeros(256, np.float32)
        for first, second in pairwise(text):
            vector[(ord(first) * 31 + ord(second)) % 256] += 1
        return vector / max(1.0, float(np.linalg.norm(vector)))


@dataclass(slots=True)
class MemoryStore:
    """Keeps entries in a list. `fails`: every call raises."""

    name: str = "memory"
    fails: bool = False
    kept: list[CacheEntry] = field(default_factory=list)

    def _check(self) -> None:
        if self.fails:
            raise CacheStoreError("the answer cache memory cannot be used (it is lost)")

    def find(self, scope: str, form: str, words: str) -> list[CacheEntry]:
        self._check()
        return [entry for entry in self.kept if (entry.scope, entry.form) == (scope, form)]

    def store_entry(self, entry: CacheEntry) -> None:
        self._check()
        self.kept = [*(one for one in self.kept if one.id != entry.id), entry]

    def used(self, entry: CacheEntry) -> None:
        self._check()
        self.kept = [replace(one, hits=one.hits + 1) if one.id == entry.id else one for one in self.kept]

    def entries(self) -> list[CacheEntry]:
        self._check()
        return self.kept

    def forget(self, ids: Sequence[str]) -> int:
        self._check()
        before = len(self.kept)
        self.kept = [entry for entry in self.kept if entry.id not in ids]
        return before - len(self.kept)

    def close(self) -> None:
        pass


def inline_cache(store: MemoryStore, embedder: LetterEmbedder | None = None, language: str = "en") -> AnswerCache:
    """Returns a cache without a thread, for virtual time."""
    lexicon = lexicon_of(language)
    assert lexicon is not None
    return AnswerCache(store, embedder or LetterEmbedder(), lexicon, language, lambda: 1.0, thread=InlineExecutor())
