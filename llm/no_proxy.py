"""Parses NO_PROXY: the hosts that are reached directly although the environment names a proxy. Pure.

Programs interpret the variable differently; this module accepts every common form: names (subdomains included),
`.example.com`, `*.example.com`, `*`, IPv4 and IPv6 addresses with or without brackets, and networks (`10.0.0.0/8`,
`fd00::/8`, `192.168.*`). Each may have a port and a scheme. Entries are separated by commas or blanks.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_BRACKETED = re.compile(r"\[(?P<host>[^\[\]]+)\](?P<bits>/\d+)?(?::(?P<port>\d+))?")
_WITH_PORT = re.compile(r"(?P<host>[^:]+):(?P<port>\d+)")
_STARRED = re.compile(r"((?:\d{1,3}\.){1,3})\*")
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")
_DEFAULT_PORTS = {"https": 443, "grpcs": 443}


@dataclass(frozen=True, slots=True)
class NoProxyEntry:
    """One entry.

    Attributes:
        network: The addresses it covers; None for a name.
        name: A host, subdomains included. "*" is every host.
        port: The only port it covers; None: all ports.
        scheme: The only scheme it covers; "": all schemes.
    """

    network: IPv4Network | IPv6Network | None = None
    name: str = ""
    port: int | None = None
    scheme: str = ""

    def covers(self, scheme: str, host: str, port: int) -> bool:
        """Returns whether this address is reached directly."""
        if self.scheme not in {"", scheme} or self.port not in {None, port}:
            return False
        if self.name == "*":
            return True
        if self.network is not None:
            address = address_of(host)
            return address is not None and address in self.network
        name = _ascii(host)
        return name == self.name or name.endswith(f".{self.name}")


def read_no_proxy(text: str) -> tuple[tuple[NoProxyEntry, ...], tuple[str, ...]]:
    """Returns the entries of the variable, and the invalid texts in it."""
    entries, unknown = [], []
    for item in re.split(r"[\s,]+", text):
        if not item:
            continue
        entry = _entry(item)
        if entry is None:
            unknown.append(item)
        else:
            entries.append(entry)
    return tuple(entries), tuple(unknown)


def is_covered(entries: tuple[NoProxyEntry, ...], scheme: str, host: str, port: int | None) -> bool:
    """Returns whether an address is reached directly. `port`: None stands for the scheme's default."""
    asked = _DEFAULT_PORTS.get(scheme, 80) if port is None else port
    return any(entry.covers(scheme, host, asked) for entry in entries)


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Returns the IP address that `host` is, or None for a name. An IPv4-mapped IPv6 address becomes IPv4."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def _entry(item: str) -> NoProxyEntry | None:
    scheme, _, rest = item.lower().rpartition("://")
    scheme = scheme.removeprefix("all")
    host, port = rest.removesuffix("/"), None
    if bracketed := _BRACKETED.fullmatch(host):
        host, port = bracketed["host"] + (bracketed["bits"] or ""), bracketed["port"]
        if ":" not in host:
            return None  # brackets are for IPv6
    elif with_port := _WITH_PORT.fullmatch(host):
        host, port = with_port["host"], with_port["port"]
    number = None if port is None else int(port)
    if number is not None and not 0 < number < 65536:
        return None
    if host == "*":
        return NoProxyEntry(name="*", port=number, scheme=scheme)
    network = _network(host)
    if network is not None:
        return NoProxyEntry(network, port=number, scheme=scheme)
    name = _ascii(host.removeprefix("*").removeprefix(".").removesuffix("."))
    return NoProxyEntry(name=name, port=number, scheme=scheme) if _NAME.fullmatch(name) else None


def _network(host: str) -> IPv4Network | IPv6Network | None:
    if starred := _STARRED.fullmatch(host):
        octets = starred[1].rstrip(".").split(".")
        host = f"{'.'.join([*octets, *['0'] * (4 - len(octets))])}/{8 * len(octets)}"
    try:
        return ip_network(host, strict=False)
    except ValueError:
        return None


def _ascii(name: str) -> str:
    """Returns a name in its DNS form, in lower case."""
    try:
        return name.rstrip(".").encode("idna").decode().lower()
    except UnicodeError:
        return name.rstrip(".").lower()
