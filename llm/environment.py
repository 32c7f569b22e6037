"""Reads proxies and trusted certificates for HTTP clients from the environment."""

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
"""Schemes in a proxy's address and the schemes they stand for; no scheme means plain HTTP."""

CHECK_PROXY = "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
"""The remedy for a failing proxy."""


def proxy_for(url: httpx.URL | str) -> str | None:
    """Returns the address of the proxy for this address, or None for a direct connection.

    Servers on this machine and addresses in NO_PROXY are always reached directly. Invalid entries of NO_PROXY are
    ignored with one warning.

    Raises:
        ValueError, httpx.InvalidURL: The proxy's address is invalid.
    """
    configured = _configured_proxy(url)
    return _proxy_address(configured) if configured else None


def is_direct(url: httpx.URL | str) -> bool:
    """Returns whether this address is reached without a proxy: it is on this machine, or NO_PROXY covers it."""
    url = httpx.URL(url)
    entries = _no_proxy(urllib.request.getproxies().get("no", ""))
    return is_loopback(url.host) or is_covered(entries, url.scheme, url.host, url.port)


def goes_through_proxy(url: httpx.URL | str) -> bool:
    """Returns whether this address is reached through a proxy from the environment.

    Raises:
        httpx.InvalidURL, UnicodeError: The name is not a valid host name.
    """
    return bool(_configured_proxy(url))


def certificates_for(url: httpx.URL | str) -> ssl.SSLContext | bool:
    """Returns the certificates to trust for this address, those from the environment included.

    The environment applies to loopback addresses too: its certificate may belong to a server on this machine.
    """
    return httpx.create_ssl_context() if urlsplit(str(url)).scheme == "https" else True


@contextmanager
def environment_of_client(endpoint: str = "") -> Generator[None]:
    """Converts errors of the environment into one sentence, around `proxy_for` and the creation of a client.

    Args:
        endpoint: The endpoint's name in the configuration; "" for a client of anything else.

    Raises:
        ValueError: The environment cannot be used; the text names the variable.
    """
    prefix = f"llm endpoint {endpoint!r}: " if endpoint else ""
    try:
        yield
    except ImportError:  # a SOCKS proxy, and httpx's extra is not installed
        what = "the proxy in the environment needs a package: install httpx[socks], or unset ALL_PROXY"
    except OSError:  # SSLError included
        file = os.environ.get("SSL_CERT_FILE", "")
        what = (
            f"SSL_CERT_FILE in the environment ({file}) contains no readable certificates: correct or unset it"
            if file
            else "the certificates in the environment cannot be read: correct SSL_CERT_DIR, or SSLKEYLOGFILE"
        )
    except (ValueError, httpx.InvalidURL):
        names = _proxy_variables()
        what = f"{names} in the environment is not a valid proxy address (http://HOST:PORT): correct or unset it"
    else:
        return
    # Raised without the cause: its text may quote a proxy's password.
    raise ValueError(prefix + what)


def _proxy_variables() -> str:
    """Returns the names of the variables that set a proxy."""
    names = [name for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") if {name, name.lower()} & os.environ.keys()]
    return " or ".join(names) or "the proxy"


def _configured_proxy(url: httpx.URL | str) -> str:
    """Returns the proxy as the environment names it; "" for none."""
    url = httpx.URL(url)
    proxies = urllib.request.getproxies()
    scheme = "https" if url.scheme.endswith("s") else "http"  # as for the schemes of other protocols
    return "" if is_direct(url) else (proxies.get(scheme) or proxies.get("all") or "").strip()


@lru_cache(maxsize=16)
def _no_proxy(text: str) -> tuple[NoProxyEntry, ...]:
    """Parses NO_PROXY. Cached, so that the warning about invalid entries is logged once."""
    entries, unknown = read_no_proxy(text)
    if unknown:
        # An entry with "@" may be an address with a password.
        shown = ", ".join("an entry with @" if "@" in entry else repr(entry) for entry in unknown)
        log.warning("NO_PROXY: %s is ignored: write host names, addresses or networks with commas between them", shown)
    return entries


def _proxy_address(configured: str) -> str:
    """Returns the proxy's address in the form that httpx accepts. Raises ValueError, httpx.InvalidURL."""
    scheme, separator, rest = configured.rpartition("://")
    address = httpx.URL(
        f"{_PROXY_SCHEMES.get(scheme.lower(), scheme)}://{rest if separator else configured.lstrip('/')}"
    )
    # httpx accepts any number as a port, and connecting to an invalid one does not raise HTTPError.
    if address.scheme not in _PROXY_SCHEMES.values() or not address.host or len(configured.split()) > 1:
        raise ValueError
    if not 0 < (address.port or 80) < 65536:
        raise ValueError
    return str(address.copy_with(path="/"))
