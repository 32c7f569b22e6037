"""Keeps sealed conversations in Redis. Needs the extra `redis`.

The hash `repartee:conversation:HASH` has the fields `version`, `owner` and `sealed`. The owner is the running
conversation that may write. A claim takes `sealed` away and sets the owner in one step, so that exactly one gateway
gets each snapshot; the earlier owner notices when it next writes. Every call has a time limit.

`repartee:secret:HASH` is the sealed session settings of a client secret, until it expires.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

from audio.extra import installing
from web.handover.loop_time_limit import loop_time_limit
from web.handover.sealing import token_hash

PREFIX = "repartee:conversation:"
SECRETS = "repartee:secret:"
TIMEOUT_S = 0.5
"""Longest wait for a connection and an answer of Redis, without the time in which the event loop does not run."""
BACKSTOP = 10
"""The package's own limits are this many times longer: they count a loop that is held."""
MAX_CONNECTIONS = 8
"""Connections of one gateway to Redis; further calls wait for one."""

Refused = Literal["none", "other_version"]
"""Reason for which nothing was claimed: there is no snapshot, or it is of another version."""

_PUT = """
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'version', ARGV[2], 'sealed', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
"""
_CLAIM = """
local sealed = redis.call('HGET', KEYS[1], 'sealed')
if not sealed then return {'none', ''} end
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[2] then return {'other_version', ''} end
redis.call('HDEL', KEYS[1], 'sealed')
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'claimed', sealed}
"""
_RENEW = """
local owner = redis.call('HGET', KEYS[1], 'owner')
if not owner then return 2 end
if owner ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""
_DROP = """
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class StoreError(Exception):
    """Redis cannot be used. The text names the kind of error; it has no address and no password."""


class HandoverStore:
    """The conversations of all gateways. Not thread-safe: use it on one event loop."""

    def __init__(self, url: str, password: str | None, *, keep_s: float, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first use. Raises StoreError without the extra.

        Args:
            url: Address, as in redis://127.0.0.1:6379/0.
            password: Password of the server; None: it has none.
            keep_s: How long a conversation is kept after its last write.
            timeout_s: Longest wait of a call.
        """
        try:
            from redis.asyncio import BlockingConnectionPool, Redis  # noqa: PLC0415 - an extra
            from redis.asyncio.retry import Retry  # noqa: PLC0415
            from redis.backoff import NoBackoff  # noqa: PLC0415
            from redis.exceptions import RedisError  # noqa: PLC0415
        except ImportError as error:
            raise StoreError(f"server.redis_url needs the package redis: {installing('redis')}") from error
        self._error: type[Exception] = RedisError
        self._timeout_s = timeout_s
        self._keep_ms = max(1, round(keep_s * 1000))
        pool: Any = BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=BACKSTOP * timeout_s,
            # Without retries, which would wait for seconds.
            retry=Retry(NoBackoff(), 0),
            socket_timeout=BACKSTOP * timeout_s,
            socket_connect_timeout=BACKSTOP * timeout_s,
            **({} if password is None else {"password": password}),
        )
        self._redis: Any = Redis.from_pool(pool)
        self._put, self._claim = self._redis.register_script(_PUT), self._redis.register_script(_CLAIM)
        self._renew, self._drop = self._redis.register_script(_RENEW), self._redis.register_script(_DROP)

    async def put(self, token: str, owner: str, version: int, sealed: bytes) -> bool:
        """Writes a conversation. Returns False if another owner has taken it. Raises StoreError."""
        async with self._limit():
            return bool(await self._put(keys=[_key(token)], args=[owner, version, sealed, self._keep_ms]))

    async def claim(self, token: str, owner: str, version: int) -> bytes | Refused:
        """Takes a conversation for a new owner, or returns why there is none. Raises StoreError."""
        async with self._limit():
            outcome, sealed = await self._claim(keys=[_key(token)], args=[owner, version, self._keep_ms])
        if outcome == b"claimed":
            return bytes(sealed)
        return "other_version" if outcome == b"other_version" else "none"

    async def keeps(self, token: str, version: int) -> bool:
        """Returns whether `claim` would find a conversation now. Changes nothing. Raises StoreError."""
        async with self._limit():
            kept_version = await self._redis.hget(_key(token), "version")
            sealed = await self._redis.hexists(_key(token), "sealed")
        return bool(sealed) and kept_version == str(version).encode()

    async def renew(self, token: str, owner: str) -> Literal["renewed", "missing", "taken"]:
        """Lets a conversation be kept on. `missing`: Redis does not have it. Raises StoreError."""
        async with self._limit():
            found = await self._renew(keys=[_key(token)], args=[owner, self._keep_ms])
        return "renewed" if found == 1 else "missing" if found == 2 else "taken"

    async def drop(self, token: str, owner: str) -> None:
        """Deletes a conversation that is over, unless another owner has taken it. Raises StoreError."""
        async with self._limit():
            await self._drop(keys=[_key(token)], args=[owner])

    async def put_secret(self, value: str, version: int, sealed: bytes, keep_s: float) -> None:
        """Keeps the settings of a client secret until it expires. Raises StoreError."""
        async with self._limit():
            await self._redis.set(_secret_key(value, version), sealed, px=max(1, round(keep_s * 1000)))

    async def secret(self, value: str, version: int) -> bytes | None:
        """Returns the settings of a client secret; None if it is unknown or has expired. Raises StoreError."""
        async with self._limit():
            found: bytes | None = await self._redis.get(_secret_key(value, version))
        return found

    async def ping(self) -> None:
        """Checks that Redis answers. Raises StoreError."""
        async with self._limit():
            await self._redis.ping()

    async def aclose(self) -> None:
        """Closes the connections within the time limit."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._redis.aclose()
        except (self._error, OSError, TimeoutError):
            return

    @asynccontextmanager
    async def _limit(self) -> AsyncGenerator[None]:
        try:
            async with loop_time_limit(self._timeout_s):
                yield
        except (self._error, OSError, ValueError, TypeError) as error:  # TimeoutError is an OSError
            cause = error.__cause__ or error.__context__  # as of a connection that failed for a refused password
            raise StoreError(type(cause if isinstance(cause, self._error) else error).__name__) from error


def _key(token: str) -> str:
    return PREFIX + token_hash(token)


def _secret_key(value: str, version: int) -> str:
    return f"{SECRETS}{version}:{token_hash(value)}"
