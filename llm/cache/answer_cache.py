"""Looks up and stores answers. All conversations share it.

Store and embedder block, so each has a thread of its own. A request waits `FIND_TIMEOUT_S` at most for the store. Only
if that has found a similar request, it waits for the embedding, too. Then, and whenever the store fails, the language
model is asked.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from llm.cache import CacheEntry, CacheStore, CacheStoreError, Embedder, Vector, entry_id
from llm.cache.form import form_of, normalized_words, without_frame
from llm.cache.gate import case_differs, veto
from llm.cache.lexicon import Lexicon
from llm.chat import CacheOutcome

T = TypeVar("T")

log = logging.getLogger(__name__)

FIND_TIMEOUT_S = 0.05
"""Longest wait for the store, in seconds. It usually takes 1 ms."""

EMBED_TIMEOUT_S = 0.15
"""Longest wait for an embedding, in seconds. It takes 10 to 30 ms of processor time, and usually leads to a hit."""

MAX_VECTORS = 64
"""Embeddings that are kept in memory: words are looked up again when a draft of the transcript becomes final."""

PROBLEM = "the answer cache cannot be used, so the language model answers; `repartee cache stats` shows what is wrong"
"""Shown to the user. The log says more, such as paths and addresses, which clients of a server must not learn."""

MAX_LATE = 3
"""Late lookups in a row after which the store is taken for broken. One alone may be due to a busy machine."""

PAUSE_S = 30.0
"""After a failure the language model is asked directly for this time, in seconds."""

CLOSE_TIMEOUT_S = 1.0
MAX_WAITING = 64
"""Answers that may wait to be stored. Further ones are not stored."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """The result of a lookup.

    Attributes:
        detail: Similarity, the reason of a veto or exclusion, or the problem; without words of the conversation.
        entry: The stored answer, for "exact" and "similar".
    """

    outcome: CacheOutcome
    detail: str = ""
    entry: CacheEntry | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of a lookup.

    Attributes:
        words: The normalized words of the request.
        exact: The answer to the same words.
        similar: Requests that the lexical gate takes for the same.
        veto: Why the gate refused the first other one.
    """

    words: str
    exact: CacheEntry | None = None
    similar: tuple[CacheEntry, ...] = ()
    veto: str = ""


class AnswerCache:
    """Looks up and stores answers. Not thread-safe: call it on the event loop.

    Args:
        store: Keeps the answers.
        embedder: Embeds requests; None: only the same words match.
        lexicon: The language of the conversations.
        language: Its base language, such as "en".
        now_s: Returns the seconds since 1970.
        thread: Runs store and embedder; None: each has a thread of its own.
    """

    def __init__(
        self,
        store: CacheStore,
        embedder: Embedder | None,
        lexicon: Lexicon,
        language: str,
        now_s: Callable[[], float],
        *,
        thread: Executor | None = None,
    ) -> None:
        self.lexicon = lexicon
        self.language = language
        self._store = store
        self._embedder = embedder
        self._now_s = now_s
        self._thread = thread or ThreadPoolExecutor(1, "answer cache")
        self._embedding_thread = thread or ThreadPoolExecutor(1, "answer cache embedding")
        self._vector = lru_cache(MAX_VECTORS)(self._embed)
        self._waiting = 0
        self._paused_until_s = 0.0
        self._failure_logged = False
        self._late = 0
        self._closed = False

    @property
    def name(self) -> str:
        """Name of the store."""
        return self._store.name

    @property
    def detail(self) -> str:
        """One line for the screen: how requests are compared."""
        if self._embedder is None:
            return "same words only"
        return f"same words, or {self._embedder.name} from {self._embedder.threshold:g}"

    async def load(self) -> str:
        """Loads the embedder and opens the store. Returns what is wrong, "" if nothing is."""
        problem = await asyncio.wrap_future(self._embedding_thread.submit(self._load_embedder))
        return await asyncio.wrap_future(self._thread.submit(self._open_store)) or problem

    async def look_up(self, scope: str, request: str) -> Lookup:
        """Looks a request up. Never fails, and takes `FIND_TIMEOUT_S` and `EMBED_TIMEOUT_S` at most."""
        loop = asyncio.get_running_loop()
        if self._closed or loop.time() < self._paused_until_s:
            return Lookup("paused")
        try:
            async with asyncio.timeout(FIND_TIMEOUT_S):
                match = await self._run(self._thread, lambda: self._find(scope, request))
            async with asyncio.timeout(EMBED_TIMEOUT_S):
                outcome = await self._outcome(match)
        except CacheStoreError as error:
            return self._failed(str(error), loop.time())
        except TimeoutError:
            self._late += 1
            if self._late < MAX_LATE:
                return Lookup("late")
            return self._failed(f"the answer cache {self.name} did not answer in time", loop.time())
        self._late = 0
        if self._failure_logged:
            self._failure_logged = False
            log.warning("the answer cache works again")
        return outcome

    def remember(self, scope: str, request: str, answer: str, by: str) -> None:
        """Stores an answer in the background. Returns at once."""
        words = self._words(request)
        form = form_of(words, self.lexicon).key
        entry = CacheEntry(
            entry_id(scope, words), scope, form, words, self.language, request, answer, by, self._now_s()
        )

        def store_entry(vector: Vector | None) -> None:
            self._store.store_entry(replace(entry, vector=vector))

        if self._embedder is None:
            self._in_background(self._thread, lambda: store_entry(None))
        else:
            self._in_background(
                self._embedding_thread, lambda: self._thread.submit(store_entry, self._vector(words)).result()
            )

    def used(self, entry: CacheEntry) -> None:
        """Records that a stored answer was heard. Returns at once."""
        self._in_background(self._thread, lambda: self._store.used(entry))

    async def settle(self) -> None:
        """Waits until everything is stored. The caller sets the deadline."""
        for thread in (self._embedding_thread, self._thread):
            await asyncio.wrap_future(thread.submit(int))

    async def aclose(self) -> None:
        """Closes the store. Idempotent; bounded in time."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.settle()
                await self._run(self._thread, self._store.close)
        except (TimeoutError, CacheStoreError):
            pass  # it hangs, or is lost
        for thread in (self._embedding_thread, self._thread):
            thread.shutdown(wait=False, cancel_futures=True)

    # ---- in the threads ----

    def _load_embedder(self) -> str:
        if self._embedder is not None:
            try:
                self._embedder.load()
            except CacheStoreError as error:
                self._embedder = None
                return f"only the same words match, because {error}"
        return ""

    def _open_store(self) -> str:
        try:
            self._store.find("", "", "")
        except CacheStoreError as error:
            return str(error)
        return ""

    def _guarded(self, work: Callable[[], T]) -> T:
        """Does work that raises nothing but CacheStoreError: a defect of store or model must not end a reply."""
        try:
            return work()
        except CacheStoreError:
            raise
        except Exception as error:
            raise CacheStoreError(f"the answer cache {self.name} failed ({type(error).__name__})") from error

    def _find(self, scope: str, request: str) -> _Found:
        words = self._words(request)
        asked = form_of(words, self.lexicon)
        similar, reason = [], ""
        for entry in self._store.find(scope, asked.key, words):
            why = "case" if case_differs(entry.request, request, asked) else ""
            if not why and entry.words == words:
                return _Found(words, exact=entry)
            if why := why or veto(form_of(entry.words, self.lexicon), asked, self.lexicon):
                reason = reason or why
            elif entry.vector is not None:
                similar.append(entry)
        return _Found(words, None, tuple(similar), reason)

    def _embed(self, words: str) -> Vector:
        assert self._embedder is not None
        return self._embedder.embed(words)

    def _words(self, request: str) -> str:
        return without_frame(normalized_words(request), self.lexicon)

    # ---- on the event loop ----

    async def _run(self, thread: Executor, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(thread.submit(self._guarded, work))

    async def _outcome(self, match: _Found) -> Lookup:
        """Returns the same request, or the first whose embedding is near enough."""
        if match.exact is not None:
            return Lookup("exact", "", match.exact)
        reason, embedder = match.veto, self._embedder
        if embedder is None or not match.similar:
            return Lookup("vetoed", reason) if reason else Lookup("miss")
        vector = await self._run(self._embedding_thread, lambda: self._vector(match.words))
        for entry in match.similar:
            stored = entry.vector
            similarity = 0.0 if stored is None or stored.shape != vector.shape else float(stored @ vector)
            if similarity >= embedder.threshold:
                return Lookup("similar", f"{similarity:.3f}", entry)
            reason = reason or f"similarity {similarity:.3f}"
        return Lookup("vetoed", reason)

    def _in_background(self, thread: Executor, work: Callable[[], None]) -> None:
        if self._closed or self._waiting >= MAX_WAITING:
            return
        loop = asyncio.get_running_loop()

        def finished(error: CacheStoreError | None) -> None:
            self._waiting -= 1
            if error is not None and not self._closed:
                self._failed(str(error), loop.time())

        def run() -> None:
            error = None
            try:
                self._guarded(work)
            except CacheStoreError as failure:
                error = failure
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finished, error)

        self._waiting += 1
        thread.submit(run)

    def _failed(self, what: str, now_s: float) -> Lookup:
        """Pauses the cache."""
        self._paused_until_s = now_s + PAUSE_S
        if not self._failure_logged:
            self._failure_logged = True
            log.warning("%s; the language model is asked instead", what)
        return Lookup("failed", PROBLEM)
