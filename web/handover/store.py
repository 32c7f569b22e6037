"""Keeps sealed conversations in Redis. Needs the extra `redis`.

The hash `repartee:conversation:HASH` has the fields `version`, `owner`, `sealed` and
`until`: the sealed time until which the record may be continued, whatever Redis keeps. The owner is the running
conversation that may write. Another gateway takes a conversation in two steps, so that exactly one gets it and a late
answer loses nothing: `claim` reads `sealed` and sets `claimant` for `CLAIM_S`, in which time no other claim succeeds;
`confirm` makes the claimant the owner. The earlier owner notices when it next writes. If it writes before that, the
claim is over, because the claimed snapshot is no longer the newest; `hold` ends it because the client is back. Every
call has a time limit.

`repartee:secret:HASH` is the sealed session settings of a client secret with its end, until it expires.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from declarations.extra import installing
from web.handover.sealing import token_hash

PREFIX = "repartee:conversation:"
SECRETS = "repartee:secret:"
ENDED = "repartee:ended:"
"""Marks a conversation that is over, as long as its record would be valid."""
TIMEOUT_S = 0.5
"""Longest wait for a connection and an answer of Redis, without the time in which the event loop does not run."""
BACKSTOP = 10
"""The package's own limits are this many times longer: they count a loop that is held."""
MAX_CONNECTIONS = 8
"""Connections of one gateway to Redis; further calls wait for one."""
MAX_WRITES = 6
"""Connections that write conversations. The others are for calls that a client waits for."""
CLAIM_S = 5.0
"""Time for which a claim that is not confirmed holds. A gateway confirms after milliseconds, unless it is killed."""

Refused = Literal["none", "other_version", "in_progress"]
"""Reason for which nothing was claimed: no snapshot, one of another version, or a claim that is not confirmed yet."""
Renewed = Literal["renewed", "missing", "taken"]
"""Result of keeping a conversation: it is kept on, is not in Redis, or was taken by another owner."""
_RENEWED: tuple[Renewed, ...] = ("taken", "renewed", "missing")
"""By the number that a script returns."""

_OWNED = """
local owner, claimant = unpack(redis.call('HMGET', KEYS[1], 'owner', 'claimant'))
if owner and owner ~= ARGV[1] and claimant ~= ARGV[1] then return 0 end
"""
"""Ends a script if the conversation is another one's. A claimant that goes on without an answer may write, too."""
_UNCLAIM = "redis.call('HDEL', KEYS[1], 'claimant', 'claimed_until_ms')\n"
_NOW = """
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
"""

_PUT = f"""{_OWNED}{_UNCLAIM}
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'version', ARGV[2], 'sealed', ARGV[3], 'until', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
"""
_CLAIM = f"""{_NOW}
local sealed, version, claimant, until_ms, valid_until =
  unpack(redis.call('HMGET', KEYS[1], 'sealed', 'version', 'claimant', 'claimed_until_ms', 'until'))
if not sealed or not valid_until or redis.call('EXISTS', KEYS[2]) == 1 then return {{'none', '', ''}} end
if version ~= ARGV[2] then return {{'other_version', '', ''}} end
if claimant and claimant ~= ARGV[1] and tonumber(until_ms) > now_ms then return {{'in_progress', '', ''}} end
redis.call('HSET', KEYS[1], 'claimant', ARGV[1], 'claimed_until_ms', now_ms + ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {{'claimed', sealed, valid_until}}
"""
_CONFIRM = f"""{_OWNED}{_UNCLAIM}
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""
_RELEASE = f"""
if redis.call('HGET', KEYS[1], 'claimant') == ARGV[1] then
{_UNCLAIM}end
return 1
"""
_RENEW = f"""{_OWNED}
if not owner then return 2 end
redis.call('HSET', KEYS[1], 'until', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""
_HOLD = f"""{_OWNED}{_NOW}
if not owner then return 2 end
redis.call('HSET', KEYS[1], 'claimant', ARGV[1], 'claimed_until_ms', now_ms + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""
_DROP = f"""{_OWNED}
redis.call('SET', KEYS[2], '', 'PX', ARGV[2])
return redis.call('DEL', KEYS[1])
"""


STEP_S = 0.05
"""The limit is counted in steps of this length. A step counts no more than that, however late the loop is."""


@asynccontextmanager
async def loop_time_limit(limit_s: float, progress: Callable[[], int] = lambda: 0) -> AsyncGenerator[None]:
    """Limits the time of the block. Raises TimeoutError.

    A loop that is held for longer than the limit reads an answer that has arrived meanwhile, where `asyncio.timeout`
    cancels the block first.

    Args:
        limit_s: The limit.
        progress: Returns a count. When it has changed, the limit begins again.
    """
    loop = asyncio.get_running_loop()
    steps = max(1, math.ceil(limit_s / STEP_S))
    timer: asyncio.TimerHandle | None = None

    def wait(left: int, before: int) -> None:
        nonlocal timer
        made = progress()
        if made != before:
            left = steps
        timer = loop.call_later(STEP_S, wait, left - 1, made) if left else None
        if not left:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        wait(steps, progress())
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()


class StoreError(Exception):
    """Redis cannot be used. The text names the kind of error; it has no address and no password."""


class HandoverStore:
    """The conversations of all gateways. Not thread-safe: use it on one event loop.

    Attributes:
        keep_s: How long a conversation is kept after its last write.
    """

    def __init__(
        self,
        url: str,
        password: str | None,
        *,
        keep_s: float,
        timeout_s: float = TIMEOUT_S,
        claim_s: float = CLAIM_S,
    ) -> None:
        """Connects at the first use. Raises StoreError without the extra, and for an address that is not valid.

        Args:
            url: Address, as in redis://127.0.0.1:6379/0.
            password: Password of the server; None: it has none.
            keep_s: How long a conversation is kept after its last write.
            timeout_s: Longest wait of a call.
            claim_s: How long a claim holds that is not confirmed.
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
        self.keep_s = keep_s
        self._keep_ms = max(1, round(keep_s * 1000))
        self._claim_ms = max(1, round(claim_s * 1000))
        self._places = asyncio.Semaphore(MAX_WRITES)
        self._answers = 0  # calls that Redis has answered
        self._closed = False
        try:
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
        except ValueError as error:
            raise StoreError("server.redis_url is not a valid address: check host, port and database") from error
        self._redis: Any = Redis.from_pool(pool)
        self._put, self._claim = self._redis.register_script(_PUT), self._redis.register_script(_CLAIM)
        self._confirm, self._release = self._redis.register_script(_CONFIRM), self._redis.register_script(_RELEASE)
        self._renew, self._hold = self._redis.register_script(_RENEW), self._redis.register_script(_HOLD)
        self._drop = self._redis.register_script(_DROP)

    async def write_conversation(self, token: str, owner: str, version: int, sealed: bytes, until: bytes) -> bool:
        """Writes a conversation. Returns False if another owner has taken it. Raises StoreError.

        `until`: the sealed time until which it may be continued.
        """
        async with self._write():
            return bool(await self._put(keys=[_key(token)], args=[owner, version, sealed, self._keep_ms, until]))

    async def claim(self, token: str, claimant: str, version: int) -> tuple[bytes, bytes] | Refused:
        """Returns a conversation for a new owner, who must confirm it, and its `until`; or why there is none.

        Raises StoreError.

        The same claimant may claim again, for example after an answer that came too late.
        """
        async with self._limit():
            outcome, sealed, until = await self._claim(
                keys=[_key(token), _ended_key(token)], args=[claimant, version, self._keep_ms, self._claim_ms]
            )
        if outcome == b"claimed":
            return bytes(sealed), bytes(until)
        return (
            "in_progress" if outcome == b"in_progress" else "other_version" if outcome == b"other_version" else "none"
        )

    async def confirm(self, token: str, claimant: str) -> bool:
        """Makes the claimant the owner. Returns False if its claim is over. Raises StoreError."""
        async with self._limit():
            return bool(await self._confirm(keys=[_key(token)], args=[claimant, self._keep_ms]))

    async def release(self, token: str, claimant: str) -> None:
        """Ends a claim without taking the conversation. Raises StoreError."""
        async with self._limit():
            await self._release(keys=[_key(token)], args=[claimant])

    async def keeps(self, token: str, version: int) -> bool:
        """Returns whether there is a conversation that can be continued. Changes nothing. Raises StoreError."""
        async with self._limit():
            kept_version = await self._redis.hget(_key(token), "version")
        return bool(kept_version == str(version).encode())

    async def renew(self, token: str, owner: str, until: bytes) -> Renewed:
        """Lets a conversation be kept on and be valid until a sealed time. Raises StoreError."""
        async with self._write():
            code: int = await self._renew(keys=[_key(token)], args=[owner, self._keep_ms, until])
        return _RENEWED[code]

    async def hold(self, token: str, owner: str) -> Renewed:
        """Ends a claim by the owner's own, so that others are refused for a while. Raises StoreError."""
        async with self._limit():
            code: int = await self._hold(keys=[_key(token)], args=[owner, self._keep_ms, self._claim_ms])
        return _RENEWED[code]

    async def drop(self, token: str, owner: str) -> None:
        """Deletes a conversation that is over, unless another owner has taken it. Raises StoreError."""
        async with self._write():
            await self._drop(keys=[_key(token), _ended_key(token)], args=[owner, self._keep_ms])

    async def put_secret(self, value: str, version: int, sealed: bytes, keep_s: float) -> None:
        """Keeps the settings of a client secret until it expires. Raises StoreError."""
        async with self._limit():
            await self._redis.set(_secret_key(value, version), sealed, px=max(1, round(keep_s * 1000)))

    async def secret(self, value: str, version: int) -> bytes | None:
        """Returns the settings of a client secret; None if it is unknown or has expired. Raises StoreError."""
        async with self._limit():
            stored: bytes | None = await self._redis.get(_secret_key(value, version))
        return stored

    async def ping(self) -> None:
        """Checks that Redis answers. Raises StoreError."""
        async with self._limit():
            await self._redis.ping()

    async def aclose(self) -> None:
        """Closes the connections within the time limit. Those of a later or pending call are closed after it."""
        self._closed = True
        await self._disconnect()

    async def _disconnect(self) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._redis.aclose()
        except (self._error, OSError, TimeoutError):
            return

    @asynccontextmanager
    async def _write(self) -> AsyncGenerator[None]:
        """Limits the time of one call that no client waits for. Such calls wait while Redis answers others.

        So the last writes of any number of conversations are made, and those to a Redis that hangs fail together.
        """
        async with self._errors(), loop_time_limit(self._timeout_s, lambda: self._answers):
            await self._places.acquire()
        try:
            async with self._limit():
                yield
        finally:
            self._places.release()

    @asynccontextmanager
    async def _limit(self) -> AsyncGenerator[None]:
        """Limits the time of one call."""
        try:
            async with self._errors(), loop_time_limit(self._timeout_s):
                yield
        finally:
            if self._closed:
                await self._disconnect()
        self._answers += 1

    @asynccontextmanager
    async def _errors(self) -> AsyncGenerator[None]:
        try:
            yield
        except (self._error, OSError, ValueError, TypeError) as error:  # TimeoutError is an OSError
            cause = error.__cause__ or error.__context__  # as of a connection that failed for a refused password
            raise StoreError(type(cause if isinstance(cause, self._error) else error).__name__) from error


def _key(token: str) -> str:
    return PREFIX + token_hash(token)


def _ended_key(token: str) -> str:
    return ENDED + token_hash(token)


def _secret_key(value: str, version: int) -> str:
    return f"{SECRETS}{version}:{token_hash(value)}"
