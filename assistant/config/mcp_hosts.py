"""The hosts of MCP servers that a client may name. No I/O.

A client that could name any address would make this server send requests into its own network. So the operator lists
the hosts, and the addresses that their names resolve to are checked as well.
"""

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

LOCALHOST = "localhost"

DEFAULT_PORTS = {"http": 80, "https": 443}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class McpHosts:
    """The allowed hosts.

    Attributes:
        entries: Host in lower case, and port; None: the ports 80 and 443.
    """

    entries: frozenset[tuple[str, int | None]] = frozenset()

    @classmethod
    def of(cls, text: str) -> "McpHosts":
        """Parses the setting tools.client_mcp_hosts. Raises ValueError with the allowed values."""
        return cls(frozenset(_entry(word) for word in text.split()))

    def refusal(self, url: str) -> str:
        """Returns why a client may not name this address; "" if it may. The text does not repeat the address."""
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError:
            return "it is not an address"
        if parts.scheme not in DEFAULT_PORTS or not host or parts.username is not None or parts.password is not None:
            return "it must be an http:// or https:// address without a user name or password"
        if not self.entries:
            return "this server allows no MCP servers of clients; its operator lists hosts in tools.client_mcp_hosts"
        standard = (host, None) in self.entries and port in {None, *DEFAULT_PORTS.values()}
        if standard or (host, port or DEFAULT_PORTS[parts.scheme]) in self.entries:
            return ""
        return "the operator does not list its host and port in tools.client_mcp_hosts"

    def may_connect(self, host: str, address: str) -> bool:
        """Returns whether a connection to this address of a host is allowed.

        A name must resolve to a public address, unless the address is listed, too. "localhost" may be this machine.
        """
        try:
            ip_address = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if any(listed == str(ip_address) for listed, _ in self.entries):
            return True
        if host.rstrip(".").lower() == LOCALHOST and ip_address.is_loopback:
            return any(listed == LOCALHOST for listed, _ in self.entries)
        return all(address.is_global and not address.is_multicast for address in _with_inner(ip_address))


NO_HOSTS = McpHosts()


def _entry(word: str) -> tuple[str, int | None]:
    problem = f"client_mcp_hosts must be hosts, each with an optional port from 1 to 65535, and not {word!r}"
    try:
        parts = urlsplit(f"//{word}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(problem) from None
    if not host or port == 0 or parts.path or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(problem)
    return host.rstrip("."), port


def _with_inner(address: _Address) -> list[_Address]:
    """Returns the address and the IPv4 addresses that it stands for."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in ipaddress.ip_network("64:ff9b::/96"):
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    return [address, *(inner_address for inner_address in inner if inner_address is not None)]
