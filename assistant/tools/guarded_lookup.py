"""Name lookup for connections whose host a client names."""

import socket
from dataclasses import dataclass, field
from typing import Any

from assistant.config.mcp_hosts import McpHosts
from llm.name_lookup import AddressInfo, NameLookup


class RefusedAddressError(OSError):
    """A listed name resolves to an address inside a network."""


@dataclass(slots=True)
class GuardedLookup:
    """Resolves host names to addresses that may be connected to. Replaces `getaddrinfo` of an event loop.

    The event loop connects to the addresses that this returns, so a name cannot resolve to another one afterwards.
    """

    hosts: McpHosts
    lookup: NameLookup = field(default_factory=NameLookup)

    async def getaddrinfo(self, host: bytes | str | None, port: Any, **options: Any) -> AddressInfo:
        """See `NameLookup.getaddrinfo`. Raises RefusedAddressError if no address is allowed."""
        addresses = await self.lookup.getaddrinfo(host, port, **options)
        name = host.decode() if isinstance(host, bytes) else host or ""
        allowed = [entry for entry in addresses if self.hosts.may_connect(name, str(entry[4][0]))]
        if addresses and not allowed:
            raise RefusedAddressError(socket.EAI_NONAME, "the host's address is inside a network and is not listed")
        return allowed
