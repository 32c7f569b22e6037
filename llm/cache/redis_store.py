"""Keeps cached answers in Redis, for several processes or machines. Needs the extra `redis`.

Any Redis will do: the form of a request is its key, so no vector search is needed.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np

from declarations.extra import installing
from llm.cache import MAX_FOUND, STORE_TIMEOUT_S, CacheEntry, CacheStoreError, entry_id

PREFIX = "repartee:cache:"
_FIELDS = ("scope", "form", "words", "language", "request", "answer", "by", "created_s", "hits", "vector")


class RedisStore:
    """A CacheStore in Redis. Use it in one thread.

    Keys: `entry:ID` is a hash with the fields of an entry; `form:HASH` is the set of a form's ids; `used` sorts ids by
    their last use.

    Args:
        url: Address, as in redis://127.0.0.1:6379/0.
        max_entries: Beyond it, the least recently used entry is removed.
        max_age_s: Redis removes older entries.
        now_s: Returns the seconds since 1970.
        timeout_s: Longest wait for the connection and for each answer.
    """

    def __init__(
        self,
        url: str,
        *,
        max_entries: int,
        max_age_s: float,
        now_s: Callable[[], float],
        timeout_s: float = STORE_TIMEOUT_S,
    ) -> None:
        """Connects at the first use. Raises CacheStoreError without the extra."""
        try:
            from redis import Redis, RedisError  # noqa: PLC0415 - an extra
            from redis.backoff import NoBackoff  # noqa: PLC0415
            from redis.retry import Retry  # noqa: PLC0415
        except ImportError as error:
            raise CacheStoreError(f"cache.store redis needs the package redis: {installing('redis')}") from error
        self._error: type[Exception] = RedisError
        # Without retries, which would wait for seconds.
        self._redis: Any = Redis.from_url(
            url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, retry=Retry(NoBackoff(), 0)
        )
        self.name = f"redis {_without_secret(url)}"
        self._max_entries = max_entries
        self._max_age_s = max_age_s
        self._now_s = now_s

    def find(self, scope: str, form: str, words: str) -> list[CacheEntry]:
        """See `CacheStore`."""
        key, same = _form_key(scope, form), entry_id(scope, words)
        with self._reporting():
            ids = sorted((member.decode() for member in self._redis.smembers(key)), key=lambda member: member != same)[
                :MAX_FOUND
            ]
            entries = self._read(ids) if ids else []
            if gone := set(ids) - {member.id for member in entries}:
                self._redis.srem(key, *gone)
            return entries

    def store_entry(self, entry: CacheEntry) -> None:
        """See `CacheStore`."""
        fields: dict[str, Any] = {name: getattr(entry, name) for name in _FIELDS if name != "vector"}
        fields["vector"] = b"" if entry.vector is None else entry.vector.astype("<f4").tobytes()
        form_key, age_s = _form_key(entry.scope, entry.form), max(1, int(self._max_age_s))
        with self._reporting():
            pipe = self._redis.pipeline()
            pipe.hset(f"{PREFIX}entry:{entry.id}", mapping=fields)
            pipe.expire(f"{PREFIX}entry:{entry.id}", age_s)
            pipe.sadd(form_key, entry.id)
            pipe.expire(form_key, age_s)
            pipe.zadd(f"{PREFIX}used", {entry.id: self._now_s()})
            pipe.zcard(f"{PREFIX}used")
            count = int(pipe.execute()[-1])
            if count > self._max_entries:
                oldest = self._redis.zrange(f"{PREFIX}used", 0, count - self._max_entries - 1)
                self._remove([stored_id.decode() for stored_id in oldest])

    def used(self, entry: CacheEntry) -> None:
        """See `CacheStore`."""
        with self._reporting():
            if self._redis.exists(f"{PREFIX}entry:{entry.id}"):
                pipe = self._redis.pipeline()
                pipe.hincrby(f"{PREFIX}entry:{entry.id}", "hits", 1)
                pipe.zadd(f"{PREFIX}used", {entry.id: self._now_s()})
                pipe.execute()

    def entries(self) -> list[CacheEntry]:
        """See `CacheStore`."""
        with self._reporting():
            return self._read([stored_id.decode() for stored_id in self._redis.zrevrange(f"{PREFIX}used", 0, -1)])

    def forget(self, ids: Sequence[str]) -> int:
        """See `CacheStore`."""
        with self._reporting():
            return self._remove(ids)

    def close(self) -> None:
        """See `CacheStore`."""
        self._redis.close()

    def _remove(self, ids: Sequence[str]) -> int:
        removed = 0
        for entry in self._read(list(dict.fromkeys(ids))):
            pipe = self._redis.pipeline()
            pipe.srem(_form_key(entry.scope, entry.form), entry.id)
            pipe.zrem(f"{PREFIX}used", entry.id)
            pipe.delete(f"{PREFIX}entry:{entry.id}")
            removed += int(pipe.execute()[-1])
        return removed

    def _read(self, ids: Sequence[str]) -> list[CacheEntry]:
        """Returns the entries that still exist. Removes what is left of others, which Redis removed for their age."""
        pipe = self._redis.pipeline(transaction=False)
        for stored_id in ids:
            pipe.hgetall(f"{PREFIX}entry:{stored_id}")
        rows = pipe.execute()
        whole = {
            stored_id: row
            for stored_id, row in zip(ids, rows, strict=True)
            if all(name.encode() in row for name in _FIELDS)
        }
        if gone := [stored_id for stored_id in ids if stored_id not in whole]:
            self._redis.zrem(f"{PREFIX}used", *gone)
            self._redis.delete(*(f"{PREFIX}entry:{stored_id}" for stored_id in gone))
        return [_entry(stored_id, row) for stored_id, row in whole.items()]

    @contextmanager
    def _reporting(self) -> Generator[None]:
        try:
            yield
        except (self._error, OSError, ValueError, KeyError) as error:
            raise CacheStoreError(f"the answer cache {self.name} cannot be used ({type(error).__name__})") from error


def _entry(stored_id: str, row: Mapping[bytes, bytes]) -> CacheEntry:
    texts = [row[name.encode()].decode() for name in _FIELDS if name not in {"created_s", "hits", "vector"}]
    scope, form, words, language, request, answer, by = texts
    vector = np.frombuffer(row[b"vector"], "<f4") if row[b"vector"] else None
    return CacheEntry(
        stored_id,
        scope,
        form,
        words,
        language,
        request,
        answer,
        by,
        float(row[b"created_s"]),
        vector,
        int(row[b"hits"]),
    )


def _form_key(scope: str, form: str) -> str:
    return f"{PREFIX}form:{blake2b(f'{scope} {form}'.encode(), digest_size=16).hexdigest()}"


def _without_secret(url: str) -> str:
    """Returns an address without user name, password and options, which may hold a password, too."""
    scheme, _, rest = url.partition("?")[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
