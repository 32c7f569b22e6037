"""Finds the names and addresses under which other machines of the network reach this one."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses for documentation: a UDP socket connected to one tells which own address the system would use."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
MAX_NAME_CHARS = 253


@dataclass(frozen=True, slots=True)
class Subjects:
    """Host names and IP addresses of a machine, the likeliest for others first."""

    host_names: tuple[str, ...]
    addresses: tuple[str, ...]


def subjects_of(host: str, more: Sequence[str] = ()) -> Subjects:
    """Returns the subjects of a server's own certificate.

    Args:
        host: The host that the server listens on; an unspecified address (0.0.0.0) means all addresses.
        more: Further names or addresses, with or without a port.
    """
    own = socket.gethostname().lower().rstrip(".")
    names = [own, "localhost"] if "." in own else [own, f"{own}.local", "localhost"]
    addresses = lan_addresses()
    for host_name in (host, *more):
        bare = without_port(host_name)
        address = _address(bare)
        if address is None:
            names.append(bare.lower())
        elif not address.is_unspecified:
            addresses.append(str(address))
    addresses += ["127.0.0.1", "::1"]
    valid = [name for name in names if len(name) <= MAX_NAME_CHARS and _NAME.fullmatch(name)]
    return Subjects(tuple(dict.fromkeys(valid)), tuple(dict.fromkeys(addresses)))


def lan_addresses() -> list[str]:
    """Returns this machine's IPv4 and IPv6 address of the default route. Sends nothing, and looks up no name."""
    addresses: list[str] = []
    for family, outside in _OUTSIDE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((outside, 9))
                addresses.append(str(probe.getsockname()[0]))
        except OSError:
            continue
    return [address for address in dict.fromkeys(addresses) if _is_lan(address)]


def without_port(host: str) -> str:
    """Removes the port and the brackets of "name:port" or "[address]:port"."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0]


def _is_lan(text: str) -> bool:
    address = _address(text)
    return address is not None and not (address.is_loopback or address.is_link_local or address.is_unspecified)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
