"""What the environment tells an HTTP client: a proxy, and whose certificates are trusted."""

import logging
import os
import ssl
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import urlsplit

import httpx

from llm.address import is_loopback
from llm.no_proxy import NoProxyEntry, is_covered, read_no_proxy

log = logging.getLogger(__name__)

_PROXY_SCHEMES = {
    **{scheme: scheme for scheme in ("http", "https", "socks5", "socks5h")},
    "": "http",
    "socks": "socks5",
}
"""Schemes of a proxy's address, and what they mean: without one it is plain HTTP."""

CHECK_PROXY = "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
"""The remedy for a proxy that fails."""


def proxy_for(url: httpx.URL | str) -> str | None:
    """The address of the proxy through which this address is to be asked; None: directly.

    A server on this machine is always asked directly, and so is what NO_PROXY names. Entries of NO_PROXY that cannot be
    understood are ignored, with one warning. Raises ValueError, httpx.InvalidURL where the proxy's address is none.
    """
    named = _proxy_named_for(url)
    return _proxy_address(named) if named else None


def is_direct(url: httpx.URL | str) -> bool:
    """Whether no proxy may lie before this address: it is on this machine, or NO_PROXY covers it."""
    url = httpx.URL(url)
    entries = _no_proxy(urllib.request.getproxies().get("no", ""))
    return is_loopback(url.host) or is_covered(entries, url.scheme, url.host, url.port)


def goes_through_proxy(url: httpx.URL | str) -> bool:
    """Whether a proxy from the environment lies before this address.

    Raises httpx.InvalidURL, UnicodeError for a name that can be no host's.
    """
    return bool(_proxy_named_for(url))


def certificates_for(url: httpx.URL | str) -> ssl.SSLContext | bool:
    """What a client is to trust there: a certificate from the environment may well be of a server on this machine."""
    return httpx.create_ssl_context() if urlsplit(str(url)).scheme == "https" else True


@contextmanager
def environment_of_client(endpoint: str = "") -> Generator[None]:
    """Around `proxy_for` and the making of a client, of an endpoint or of something else: errors become one sentence.

    Raises ValueError.
    """
    whose = f"llm endpoint {endpoint!r}: " if endpoint else ""
    try:
        yield
    except ImportError:  # a SOCKS proxy without httpx's extra
        what = "the proxy in the environment: install httpx[socks], or unset ALL_PROXY"
    except OSError:  # an SSLError is one, too
        file = os.environ.get("SSL_CERT_FILE", "")
        what = (
            f"the environment's SSL_CERT_FILE ({file}) holds no certificates that can be read: correct or unset it"
            if file
            else "the certificates in the environment cannot be read: correct SSL_CERT_DIR, or SSLKEYLOGFILE"
        )
    except (ValueError, httpx.InvalidURL):
        what = (
            "the proxy in the environment is no http:// address: correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or NO_PROXY"
        )
    else:
        return
    # Without the cause: its text may quote a proxy's password.
    raise ValueError(whose + what)


def _proxy_named_for(url: httpx.URL | str) -> str:
    """What the environment says, as it is written there; "" for no proxy."""
    url = httpx.URL(url)
    proxies = urllib.request.getproxies()
    scheme = {"grpc": "http", "grpcs": "https"}.get(url.scheme, url.scheme)
    return "" if is_direct(url) else (proxies.get(scheme) or proxies.get("all") or "").strip()


@lru_cache(maxsize=16)
def _no_proxy(text: str) -> tuple[NoProxyEntry, ...]:
    """The entries of NO_PROXY. Cached, so that what cannot be understood is told once."""
    entries, unknown = read_no_proxy(text)
    if unknown:
        # Something with "@" in it may be an address with a password.
        shown = ", ".join("an entry with @" if "@" in said else repr(said) for said in unknown)
        log.warning("NO_PROXY: %s ignored: write host names, addresses or networks with commas between them", shown)
    return entries


def _proxy_address(named: str) -> str:
    """The proxy's address as httpx takes it. Raises ValueError, httpx.InvalidURL."""
    scheme, separator, rest = named.rpartition("://")
    address = httpx.URL(f"{_PROXY_SCHEMES.get(scheme.lower(), scheme)}://{rest if separator else named.lstrip('/')}")
    # httpx takes any number for a port, and connecting to it is no HTTPError.
    if address.scheme not in _PROXY_SCHEMES.values() or not address.host or len(named.split()) > 1:
        raise ValueError
    if not 0 < (address.port or 80) < 65536:
        raise ValueError
    return str(address.copy_with(path="/"))
