"""Resolves host names in dedicated threads, so that an unresponsive name server delays only the affected host.

The event loop's own resolver uses its default thread pool. A few hanging look-ups would fill the pool and block every
other look-up and everything else that runs in it.
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
"""Concurrent look-ups, each in its own thread. Further names fail at once."""

LOOKUP_TIMEOUT_S = 5.0
"""Deadline for one name. The thread cannot be stopped: until it ends, the same name fails at once."""

AddressInfo: TypeAlias = list[tuple[Any, Any, int, str, Any]]
"""Addresses, as `socket.getaddrinfo` returns them."""

_Port: TypeAlias = bytes | str | int | None
_Key: TypeAlias = tuple[str, _Port, int, int, int, int]
"""Host, port (0 for a number, which does not affect the addresses), family, type, protocol and flags."""


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A running look-up, shared by all callers that wait for it."""

    began_s: float = field(default_factory=time.monotonic)
    addresses: "Future[AddressInfo]" = field(default_factory=Future)


class NameLookup:
    """Resolves host names; concurrent requests for one host share a look-up. Safe for any thread and event loop."""

    def __init__(self, *, max_lookups: int = MAX_LOOKUPS, timeout_s: float = LOOKUP_TIMEOUT_S) -> None:
        """Initializes with the given limits; see MAX_LOOKUPS and LOOKUP_TIMEOUT_S."""
        self._max_lookups = max_lookups
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._running: dict[_Key, _Lookup] = {}

    async def getaddrinfo(  # noqa: PLR0917 - the signature of the event loop's own
        self,
        host: bytes | str | None,
        port: _Port,
        family: int = 0,
        type: int = 0,  # noqa: A002
        proto: int = 0,
        flags: int = 0,
    ) -> AddressInfo:
        """Resolves a name, with the interface of the event loop's `getaddrinfo`.

        Raises:
            OSError: The name was not found, or not in time.
            UnicodeError: The name is invalid.
        """
        name = host.decode() if isinstance(host, bytes) else host
        if not name or _is_address(name):
            return socket.getaddrinfo(host, port, family, type, proto, flags)  # no name server is involved
        numeric_port = isinstance(port, int)
        lookup = self._lookup((name, 0 if numeric_port else port, family, type, proto, flags))
        try:
            async with asyncio.timeout(self._timeout_s - (time.monotonic() - lookup.began_s)):
                addresses = await asyncio.wrap_future(lookup.addresses)
        except TimeoutError:
            why = f"no answer from the name server within {self._timeout_s:g} s"
            raise socket.gaierror(socket.EAI_AGAIN, why) from None
        return [(*entry[:4], (entry[4][0], port, *entry[4][2:])) for entry in addresses] if numeric_port else addresses

    def _lookup(self, key: _Key) -> _Lookup:
        """Returns the running look-up, or starts one."""
        with self._lock:
            if (running := self._running.get(key)) is not None:
                return running
            if len(self._running) >= self._max_lookups:
                raise socket.gaierror(socket.EAI_AGAIN, f"{self._max_lookups} look-ups are waiting for name servers")
            lookup = self._running[key] = _Lookup()
        lookup.addresses.set_running_or_notify_cancel()  # a caller that stops waiting does not cancel it for the others
        # A daemon thread: an unresponsive name server must not prevent the process from exiting.
        thread = threading.Thread(target=self._run, args=(key, lookup), name=f"look up {key[0]}"[:40], daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            lookup.addresses.set_exception(OSError(str(error)))
            self._remove(key)
        return lookup

    def _run(self, key: _Key, lookup: _Lookup) -> None:
        try:
            addresses = socket.getaddrinfo(*key)
        except Exception as error:  # noqa: BLE001 - passed on to the waiting callers
            self._remove(key)
            lookup.addresses.set_exception(error)
        else:
            self._remove(key)
            lookup.addresses.set_result(addresses)

    def _remove(self, key: _Key) -> None:
        with self._lock:
            self._running.pop(key, None)


_SHARED = NameLookup()


def use_name_lookup() -> None:
    """Makes the running event loop resolve names with a shared `NameLookup`. Idempotent."""
    loop = asyncio.get_running_loop()
    if "getaddrinfo" not in vars(loop):
        setattr(loop, "getaddrinfo", _SHARED.getaddrinfo)  # noqa: B010 - replaces a method of this loop


def _is_address(host: str) -> bool:
    """Returns whether the host is an IP address, with or without a zone."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
