"""Looks up and stores answers. All conversations share it.

Store and embedder block, so they run in one thread of their own. A request never waits longer than `LOOKUP_TIMEOUT_S`:
then, and whenever the store fails, the language model is asked.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from llm.cache import CacheEntry, CacheStore, CacheStoreError, Embedder
from llm.cache.form import RequestForm, form_of, normalized_words, without_frame
from llm.cache.gate import veto
from llm.cache.lexicon import Lexicon
from llm.chat import CacheOutcome

T = TypeVar("T")

log = logging.getLogger(__name__)

LOOKUP_TIMEOUT_S = 0.2
"""Longest wait for a lookup, in seconds. It usually takes 1 ms, with an embedding 20 ms; a store gives up after 50."""

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


class AnswerCache:
    """Looks up and stores answers. Not thread-safe: call it on the event loop.

    Args:
        store: Keeps the answers.
        embedder: Embeds requests; None: only the same words match.
        lexicon: The language of the conversations.
        language: Its base language, such as "en".
        now_s: Returns the seconds since 1970.
        thread: Runs store and embedder, one call at a time; None: a thread of its own.
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
        return await asyncio.wrap_future(self._thread.submit(self._load))

    async def look_up(self, scope: str, request: str) -> Lookup:
        """Looks a request up. Never fails, and takes `LOOKUP_TIMEOUT_S` at most."""
        loop = asyncio.get_running_loop()
        if self._closed or loop.time() < self._paused_until_s:
            return Lookup("paused")
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                found = await asyncio.wrap_future(
                    self._thread.submit(self._guarded, lambda: self._look_up(scope, request))
                )
        except CacheStoreError as error:
            return Lookup("failed", self._failed(str(error), loop.time()))
        except TimeoutError:
            self._late += 1
            if self._late < MAX_LATE:
                return Lookup("late")
            what = f"the answer cache {self.name} did not answer within {LOOKUP_TIMEOUT_S * 1000:.0f} ms"
            return Lookup("failed", self._failed(what, loop.time()))
        self._late = 0
        if self._failure_logged:
            self._failure_logged = False
            log.warning("the answer cache works again")
        return found

    def remember(self, scope: str, request: str, answer: str, by: str) -> None:
        """Stores an answer in the background. Returns at once."""

        def store() -> None:
            words = self._words(request)
            form = form_of(words, self.lexicon).key
            vector = None if self._embedder is None else self._embedder.embed(words)
            one = uuid.uuid4().hex[:12]
            self._store.put(
                CacheEntry(one, scope, form, words, self.language, request, answer, by, self._now_s(), vector)
            )

        self._in_background(store)

    def used(self, entry: CacheEntry) -> None:
        """Records that a stored answer was heard. Returns at once."""
        self._in_background(lambda: self._store.used(entry))

    async def settle(self) -> None:
        """Waits until everything is stored. The caller sets the deadline."""
        await asyncio.wrap_future(self._thread.submit(int))

    async def aclose(self) -> None:
        """Closes the store. Idempotent; bounded in time."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.wrap_future(self._thread.submit(self._store.close))
        except (TimeoutError, CacheStoreError):
            pass  # it hangs, or is lost
        self._thread.shutdown(wait=False, cancel_futures=True)

    # ---- in the thread ----

    def _load(self) -> str:
        problem = ""
        if self._embedder is not None:
            try:
                self._embedder.load()
            except CacheStoreError as error:
                problem, self._embedder = f"only the same words match, because {error}", None
        try:
            self._store.entries()
        except CacheStoreError as error:
            problem = str(error)
        return problem

    def _guarded(self, work: Callable[[], T]) -> T:
        """Does work that raises nothing but CacheStoreError: a defect of store or model must not end a reply."""
        try:
            return work()
        except CacheStoreError:
            raise
        except Exception as error:
            raise CacheStoreError(f"the answer cache {self.name} failed ({type(error).__name__})") from error

    def _look_up(self, scope: str, request: str) -> Lookup:
        words = self._words(request)
        asked = form_of(words, self.lexicon)
        found = self._store.find(scope, asked.key)
        for entry in found:
            if entry.words == words:
                return Lookup("exact", "", entry)
        return self._similar(found, words, asked)

    def _similar(self, found: Sequence[CacheEntry], words: str, asked: RequestForm) -> Lookup:
        """Returns the stored answer to a request of the same form that gate and embedding take for the same."""
        embedder, vector, reason = self._embedder, None, ""
        if embedder is None:
            return Lookup("miss")
        for entry in found:
            if why := veto(form_of(entry.words, self.lexicon), asked, self.lexicon):
                reason = reason or why
            elif entry.vector is not None:
                vector = embedder.embed(words) if vector is None else vector
                similarity = float(entry.vector @ vector) if entry.vector.shape == vector.shape else 0.0
                if similarity >= embedder.threshold:
                    return Lookup("similar", f"{similarity:.3f}", entry)
                reason = reason or f"similarity {similarity:.3f}"
        return Lookup("vetoed", reason) if reason else Lookup("miss")

    def _words(self, request: str) -> str:
        return without_frame(normalized_words(request), self.lexicon)

    # ---- on the event loop ----

    def _in_background(self, work: Callable[[], None]) -> None:
        if self._closed or self._waiting >= MAX_WAITING:
            return
        loop = asyncio.get_running_loop()

        def finished(error: CacheStoreError | None) -> None:
            self._waiting -= 1
            if error is not None:
                self._failed(str(error), loop.time())

        def run() -> None:
            error = None
            try:
                self._guarded(work)
            except CacheStoreError as failure:
                error = failure
            if not loop.is_closed():
                loop.call_soon_threadsafe(finished, error)

        self._waiting += 1
        self._thread.submit(run)

    def _failed(self, what: str, now_s: float) -> str:
        """Pauses the cache. Returns the problem."""
        self._paused_until_s = now_s + PAUSE_S
        problem = f"{what}; the language model is asked instead"
        if not self._failure_logged:
            self._failure_logged = True
            log.warning("%s", problem)
        return problem
