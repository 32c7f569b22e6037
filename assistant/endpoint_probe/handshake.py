"""Measures the steps of a new connection to a service: name lookup, TCP, TLS."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from llm.environment import goes_through_proxy
from llm.name_lookup import use_name_lookup
from llm.protocols.protocol import UrlScheme

CONNECT_TIMEOUT_S = 3.0


@dataclass(slots=True)
class Handshake:
    """Times of each step.

    Attributes:
        lookup_ms: Name lookup.
        connect_ms: TCP handshake: one round trip.
        tls_ms: TLS handshake; None without TLS.
        proxy: Whether a proxy is used; the three times are then not measured.
    """

    lookup_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    proxy: bool = False


async def measure_handshake(address: str, scheme: UrlScheme | None, ca_file: str = "") -> Handshake:
    """Measures a new connection. Steps that fail have no figure; the next request reports the error.

    Args:
        address: With a scheme.
        scheme: That scheme; None: it is not known, and nothing is measured.
        ca_file: PEM file of the trusted certificates; "" for the default ones.
    """
    made = Handshake()
    parts = urlsplit(address)
    host = parts.hostname or ""
    if scheme is None:
        return made
    with suppress(httpx.InvalidURL, UnicodeError):  # raised for invalid host names
        made.proxy = goes_through_proxy(address)
    if made.proxy:
        return made
    use_name_lookup()
    loop = asyncio.get_running_loop()
    port = parts.port or scheme.port
    with suppress(OSError, TimeoutError, UnicodeError):
        trusted = _trusted(ca_file) if scheme.has_tls else None
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            began_s = loop.time()
            addresses = await loop.getaddrinfo(host, port, type=1)
            made.lookup_ms = (loop.time() - began_s) * 1000
            writer, made.connect_ms = await _connected([str(address[4][0]) for address in addresses], port)
            try:
                if trusted is not None:
                    began_s = loop.time()
                    await writer.start_tls(trusted, server_hostname=host)
                    made.tls_ms = (loop.time() - began_s) * 1000
            finally:
                writer.close()
    return made


async def _connected(addresses: Sequence[str], port: int) -> tuple[asyncio.StreamWriter, float]:
    """Connects to the first address that accepts, and returns the ms it took: `localhost` is often ::1 first.

    Raises OSError.
    """
    loop = asyncio.get_running_loop()
    failure = OSError("the host name has no address")
    for address in addresses:
        began_s = loop.time()
        try:
            _, writer = await asyncio.open_connection(address, port)
        except OSError as error:
            failure = error
        else:
            return writer, (loop.time() - began_s) * 1000
    raise failure


def _trusted(ca_file: str) -> ssl.SSLContext:
    if not ca_file:
        return httpx.create_ssl_context()
    return ssl.create_default_context(cafile=str(Path(ca_file).expanduser()))
