"""What the environment tells an HTTP client: a proxy, and whose certificates are trusted."""

import os
import ssl
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

from llm.address import is_loopback

CHECK_PROXY = "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
"""The remedy for a proxy that fails."""


def is_outside(url: httpx.URL | str) -> bool:
    """Whether a proxy from the environment is meant for this address: never for a server on this machine."""
    return not is_loopback(httpx.URL(url).host)


def goes_through_proxy(url: httpx.URL | str) -> bool:
    """Whether a proxy from the environment lies before this address, as the clients read it.

    Raises httpx.InvalidURL, UnicodeError for a name that can be no host's.
    """
    url = httpx.URL(url)
    proxies = urllib.request.getproxies()
    asked = {"grpc": "http", "grpcs": "https"}.get(url.scheme, url.scheme)
    return is_outside(url) and (asked in proxies or "all" in proxies) and not urllib.request.proxy_bypass(url.host)


def certificates_for(url: httpx.URL | str) -> ssl.SSLContext | bool:
    """What a client is to trust there: a certificate from the environment may well be of a server on this machine."""
    return httpx.create_ssl_context() if urlsplit(str(url)).scheme == "https" else True


@contextmanager
def environment_of_client(endpoint: str = "", *, outside: bool = True) -> Generator[None]:
    """Around the making of a client, of an endpoint or of something else: what is wrong is one sentence.

    `outside`: as `is_outside` says of its address. Raises ValueError.
    """
    whose = f"llm endpoint {endpoint!r}: " if endpoint else ""
    try:
        if outside:
            _check_proxies()
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


def _check_proxies() -> None:
    """Raises ValueError, httpx.InvalidURL: httpx takes any number for a port, and connecting to it is no HTTPError."""
    proxies = urllib.request.getproxies()
    if "*" in map(str.strip, proxies.get("no", "").split(",")):
        return
    for proxy in (proxies.get(scheme, "") for scheme in ("http", "https", "all")):
        if (httpx.URL(proxy if "://" in proxy else f"http://{proxy}").port or 80) > 65535:
            raise ValueError
