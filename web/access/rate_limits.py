"""Limits how fast one client may send requests. Has no I/O; the clock is passed in.

A client is an address together with its token, if tokens are checked: two users behind one address have limits of
their own if their keys differ. Only hashes of tokens are kept.
"""

import asyncio
import hashlib
import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

MAX_CLIENTS = 4096
"""Clients whose rate is known, for each kind of request. Beyond it the one that asked longest ago is forgotten."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The number of requests that are allowed.

    Attributes:
        burst: At once.
        per_s: And after that, in a second.
    """

    burst: int
    per_s: float


Kind = Literal["requests", "client_secrets", "connections", "wrong_keys", "mcp_servers", "mcp_servers_of_all"]
"""The limited things: HTTP requests; those for client secrets; WebSockets of an address; its wrong tokens and client
secrets; the MCP servers of one conversation, and of all conversations."""

RATES: dict[Kind, Rate] = {
    "requests": Rate(120, 10.0),
    "client_secrets": Rate(30, 0.5),
    "connections": Rate(120, 5.0),
    "wrong_keys": Rate(60, 1.0),
    "mcp_servers": Rate(32, 0.5),
    "mcp_servers_of_all": Rate(256, 10.0),
}


@dataclass(slots=True)
class RateLimits:
    """The rates of all clients.

    Attributes:
        now_s: The clock, monotonic, in seconds.
        tokens_are_checked: Whether access control has accepted the tokens. Otherwise they do not count: each one that a
            client makes up would have a rate of its own.
    """

    now_s: Callable[[], float]
    tokens_are_checked: bool = True
    _left: dict[Kind, "OrderedDict[bytes, tuple[float, float]]"] = field(default_factory=dict)

    def allows(self, kind: Kind, address: str, keys: Iterable[str] = ()) -> bool:
        """Counts a request of a client. Returns whether it is within the client's rate.

        Args:
            kind: What is limited.
            address: The client's address.
            keys: Its Authorization headers. Only a single one counts, and only its token: others would give the same
                client another rate for each spelling.
        """
        known = self._left.setdefault(kind, OrderedDict())
        client = _client(address, keys if self.tokens_are_checked else ())
        left = self._left_of(kind, client)
        allowed = left >= 1
        known.pop(client, None)
        known[client] = (left - 1 if allowed else left, self.now_s())
        while len(known) > MAX_CLIENTS:
            known.popitem(last=False)
        return allowed

    def is_used_up(self, kind: Kind, address: str) -> bool:
        """Returns whether an address may send no more for now. Counts nothing."""
        return self._left_of(kind, _client(address, ())) < 1

    def _left_of(self, kind: Kind, client: bytes) -> float:
        """Returns how many requests a client may send at once."""
        rate, now_s = RATES[kind], self.now_s()
        known = self._left.setdefault(kind, OrderedDict())
        left, counted_s = known.get(client, (float(rate.burst), now_s))
        return min(float(rate.burst), left + (now_s - counted_s) * rate.per_s)


def loop_rates() -> RateLimits:
    """Returns rates by the clock of the event loop."""
    return RateLimits(lambda: asyncio.get_running_loop().time())


def _client(address: str, keys: Iterable[str]) -> bytes:
    return hashlib.sha256(f"{_network(address)}\n{_token(tuple(keys))}".encode(errors="replace")).digest()


def _network(address: str) -> str:
    """Returns the part of an IPv6 address that a provider assigns, as one customer has 2^64 of them; else `address`."""
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or parsed.packed[:8].hex())


def _token(keys: tuple[str, ...]) -> str:
    return keys[0].strip().partition(" ")[2].strip() if len(keys) == 1 else ""
