"""Looks up host names in threads of its own, so that a name server that hangs delays only the host it was asked for.

The event loop's own look-up uses its default thread pool: a few look-ups that hang fill the pool, and then every other
look-up waits, and everything else that runs in a thread.
"""

import asyncio
import ipaddress
import socket
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

MAX_LOOKUPS = 32
"""Look-ups under way at once, each in a thread. Beyond that, further names fail at once."""

LOOKUP_TIMEOUT_S = 5.0
"""Longest wait for a name. Its thread cannot be stopped: until it ends, the same name fails at once."""

Found: TypeAlias = list[tuple[Any, Any, int, str, Any]]
"""Addresses, as `socket.getaddrinfo` returns them."""

_Port: TypeAlias = bytes | str | int | None
_Key: TypeAlias = tuple[str, _Port, int, int, int, int]
"""Host, port (0 for a number: it changes no address), family, type, protocol and flags."""


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A look-up under way, shared by all who wait for it."""

    began_s: float = field(default_factory=time.monotonic)
    found: "Future[Found]" = field(default_factory=Future)


class NameLookup:
    """Looks up host names: one look-up at a time for a host, shared by all who ask for it. For any thread and loop."""

    def __init__(self, *, max_lookups: int = MAX_LOOKUPS, timeout_s: float = LOOKUP_TIMEOUT_S) -> None:
        """As the constants above."""
        self._max_lookups = max_lookups
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._under_way: dict[_Key, _Lookup] = {}

    async def getaddrinfo(  # noqa: PLR0917 - the signature of the event loop's own
        self,
        host: bytes | str | None,
        port: _Port,
        family: int = 0,
        type: int = 0,  # noqa: A002
        proto: int = 0,
        flags: int = 0,
    ) -> Found:
        """As the event loop's own. Raises OSError for a name that is not found, or not in time; UnicodeError."""
        name = host.decode() if isinstance(host, bytes) else host
        if not name or _is_address(name):
            return socket.getaddrinfo(host, port, family, type, proto, flags)  # asks no name server
        by_number = isinstance(port, int)
        lookup = self._lookup((name, 0 if by_number else port, family, type, proto, flags))
        try:
            async with asyncio.timeout(self._timeout_s - (time.monotonic() - lookup.began_s)):
                found = await asyncio.wrap_future(lookup.found)
        except TimeoutError:
            why = f"no answer from the name server within {self._timeout_s:g} s"
            raise socket.gaierror(socket.EAI_AGAIN, why) from None
        return [(*entry[:4], (entry[4][0], port, *entry[4][2:])) for entry in found] if by_number else found

    def _lookup(self, key: _Key) -> _Lookup:
        """The one under way, or a new one."""
        with self._lock:
            if (under_way := self._under_way.get(key)) is not None:
                return under_way
            if len(self._under_way) >= self._max_lookups:
                raise socket.gaierror(socket.EAI_AGAIN, f"{self._max_lookups} look-ups are waiting for name servers")
            lookup = self._under_way[key] = _Lookup()
        lookup.found.set_running_or_notify_cancel()  # who stops waiting does not stop it for the others
        # A daemon: a name server that hangs must not keep the process from ending.
        thread = threading.Thread(target=self._run, args=(key, lookup), name=f"look up {key[0]}"[:40], daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            lookup.found.set_exception(OSError(str(error)))
            self._forget(key)
        return lookup

    def _run(self, key: _Key, lookup: _Lookup) -> None:
        try:
            found = socket.getaddrinfo(*key)
        except Exception as error:  # noqa: BLE001 - told to those who wait
            self._forget(key)
            lookup.found.set_exception(error)
        else:
            self._forget(key)
            lookup.found.set_result(found)

    def _forget(self, key: _Key) -> None:
        with self._lock:
            self._under_way.pop(key, None)


_SHARED = NameLookup()


def use_name_lookup() -> None:
    """Make the running event loop look up names here, for whatever opens connections on it. Idempotent."""
    loop = asyncio.get_running_loop()
    if "getaddrinfo" not in vars(loop):
        setattr(loop, "getaddrinfo", _SHARED.getaddrinfo)  # noqa: B010 - replaces a method of this loop


def _is_address(host: str) -> bool:
    """Whether it is an IP address, with or without a zone."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
