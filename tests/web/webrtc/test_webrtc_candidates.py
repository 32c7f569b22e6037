"""Addresses to which the server sends connectivity checks because a client named them."""

import ipaddress

import pytest

from web.webrtc.candidates import MAX_CHECKED, may_be_checked, with_checked_candidates
from web.webrtc.offer import MAX_CANDIDATES

HEAD = "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"


def candidate(host: str, *, port: int = 50_000, transport: str = "udp", priority: int = 2_130_706_431) -> str:
    return f"a=candidate:1 1 {transport} {priority} {host} {port} typ host\r\n"


def kept(*lines: str, is_local: bool = False) -> str:
    return with_checked_candidates(HEAD + "".join(lines), is_local=is_local).removeprefix(HEAD)


@pytest.mark.parametrize("host", ["192.168.1.20", "10.0.0.1", "203.0.114.9", "100.64.1.1", "2001:db9::1", "fd12::1"])
def test_private_and_public_addresses_are_checked(host: str) -> None:
    assert kept(candidate(host)) == candidate(host)


@pytest.mark.parametrize(
    "host",
    [
        *("0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.3.4", "224.0.0.251", "255.255.255.255", "240.0.0.1"),
        *("::", "fe80::1", "fe80::1%eth0", "ff02::fb", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"),
    ],
)
@pytest.mark.parametrize("is_local", [True, False])
def test_other_addresses_are_never_checked(host: str, *, is_local: bool) -> None:
    assert kept(candidate(host), candidate("10.0.0.1"), is_local=is_local) == candidate("10.0.0.1")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_checked_for_a_client_on_this_machine_only(host: str) -> None:
    assert kept(candidate(host)) == ""
    assert kept(candidate(host), is_local=True) == candidate(host)


def test_services_tcp_and_names_are_not_checked() -> None:
    assert kept(candidate("10.0.0.1", port=53), candidate("10.0.0.1", transport="tcp")) == ""
    assert kept(candidate("router.example.org"), candidate("localhost"), is_local=True) == ""
    hidden = candidate("4f1b2d0c-9d0a-4f0b-8a4e-9a3b1c2d3e4f.local")
    assert kept(hidden) == hidden


def test_number_of_checked_addresses_is_limited_to_the_preferred_ones() -> None:
    lines = [candidate(f"10.0.0.{number}", priority=number) for number in range(1, MAX_CANDIDATES)]
    assert kept(*lines) == "".join(lines[-MAX_CHECKED:])


def test_malformed_candidate_is_left_to_be_refused() -> None:
    assert kept("a=candidate:nonsense\r\n") == "a=candidate:nonsense\r\n"


def test_ipv4_mapped_address_counts_as_ipv4() -> None:
    assert not may_be_checked(ipaddress.ip_address("::ffff:0.0.0.0"), is_local=True)
