"""Decides to which addresses of an offer the server sends connectivity checks. Pure.

A client names the addresses. Without limits it could have the server send packets to services of the server's own
machine, or to many addresses of others. A client whose addresses are all left out still connects: its own checks show
the server where it is.
"""

import ipaddress

MAX_CHECKED = 16
"""Number of addresses that are checked; the client's preferred ones come first."""

FIRST_PORT = 1024
"""Lower ports belong to services, such as DNS. No WebRTC client uses them."""

_METADATA = frozenset(
    map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
"""Addresses of the metadata services of clouds, besides the link-local 169.254.169.254."""

_PREFIX = "a=candidate:"


def with_checked_candidates(sdp: str, *, is_local: bool) -> str:
    """Returns the offer with the addresses that may be checked. `is_local`: the client is on the server's machine."""
    lines = sdp.splitlines()
    checked_lines = [line for line in lines if line.startswith(_PREFIX) and _is_checked(line, is_local=is_local)]
    kept = set(sorted(checked_lines, key=_priority, reverse=True)[:MAX_CHECKED])
    return "".join(f"{line}\r\n" for line in lines if not line.startswith(_PREFIX) or line in kept)


def _is_checked(line: str, *, is_local: bool) -> bool:
    fields = line.removeprefix(_PREFIX).split()
    if len(fields) < 8 or not all(
        value.isdecimal() and len(value) <= 10 for value in (fields[1], fields[3], fields[5])
    ):
        return True  # the whole offer is refused
    host, port = fields[4], int(fields[5])
    if fields[2].lower() != "udp" or not FIRST_PORT <= port <= 65_535:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower().endswith(".local")  # browsers hide their address behind such a name
    return may_be_checked(address, is_local=is_local)


def may_be_checked(address: ipaddress.IPv4Address | ipaddress.IPv6Address, *, is_local: bool) -> bool:
    """Returns whether the server may send packets to an address that a client named."""
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback:
        return is_local
    is_this_network = address.version == 4 and address in ipaddress.ip_network("0.0.0.0/8")
    return not (
        address.is_unspecified
        or address.is_link_local
        or address.is_multicast
        or is_this_network
        or (address.version == 4 and address.is_reserved)  # 240.0.0.0/4, with the broadcast address
        or address in _METADATA
    )


def _priority(line: str) -> int:
    fields = line.split()
    return int(fields[3]) if len(fields) > 3 and fields[3].isdecimal() and len(fields[3]) <= 10 else 0
