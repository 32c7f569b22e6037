"""Checks the address, the key and the headers of a service once, at construction. Errors name the setting."""

import ipaddress
from collections.abc import Mapping

import httpx

from llm.no_proxy import address_of

_RESERVED = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("host", "te", "traceparent", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""Headers that the program sets itself: HTTP, or the parsing of an answer, depends on them."""


def base_url_of(endpoint: str, url: str, *, route: str, example: str = "http://127.0.0.1:8000/v1") -> httpx.URL:
    """Returns the base address of a service: `url` without trailing slash, fragment and `route`; its query is kept.

    Users may configure the address with or without the route.

    Args:
        endpoint: The endpoint's name in the configuration, for errors.
        url: The address as configured.
        route: The path that the client appends, such as "/chat/completions".
        example: A valid address, for the error message.

    Raises:
        ValueError: The address is invalid; the text names the endpoint and the key `url`.
    """
    refusal = f"llm endpoint {endpoint!r}: url must look like {example}"
    try:
        base = httpx.URL(url.strip())
        base.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValueError(f"{refusal}, not {url!r}") from error
    if base.userinfo:
        raise ValueError(f"{refusal}, without a user or password in it: keep the key in api_key_env")
    if base.scheme not in {"http", "https"} or not base.host or not 0 < (base.port or 80) < 65536:
        raise ValueError(f"{refusal}, not {url!r}")
    path = base.path.rstrip("/").removesuffix(route).rstrip("/")
    return base.copy_with(path=path or "/", fragment=None)


def route_url(base: httpx.URL, route: str) -> httpx.URL:
    """Returns `base` with `route` (such as "/models") appended to its path."""
    return base.copy_with(path=base.path.rstrip("/") + route)


def is_loopback(host: str) -> bool:
    """Returns whether the host is this machine. 0.0.0.0 and :: count: a request to them reaches this machine itself."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = address_of(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


_PRIVATE_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
"""Suffixes of private host names; no registrar assigns them. Names without a dot, as containers have, are private too.
"""


def is_private(host: str) -> bool:
    """Returns whether the host is on this machine or in a private network, judged by the address alone."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_ENDINGS)


def checked_headers(endpoint: str, headers: Mapping[str, str], *, keyed: bool) -> Mapping[str, str]:
    """Returns the configured headers of an endpoint after checking that none of them is set by the program.

    Args:
        endpoint: The endpoint's name in the configuration.
        headers: The configured headers.
        keyed: Whether the request has an authorization header already.

    Raises:
        ValueError: A header is set by the program. The text does not show its value.
    """
    for name in headers:
        if name.lower() in _RESERVED or (keyed and name.lower() == "authorization"):
            raise ValueError(f"llm endpoint {endpoint!r}: headers: {name} is set by the program: leave it out")
    return headers


def request_headers(endpoint: str, api_key: str | None, headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers of every request.

    Raises:
        ValueError: HTTP cannot carry a name or a value. The text does not show the value.
    """
    # `identity`: a compressing proxy would delay tokens until its block is full.
    fixed = {"accept": "text/event-stream, application/json", "accept-encoding": "identity"}
    return {**fixed, **own_headers(endpoint, api_key, headers)}


def own_headers(endpoint: str, api_key: str | None, headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the authorization header and the configured headers. Raises ValueError as `request_headers` does."""
    if api_key is not None and not _is_visible(api_key):
        raise ValueError(f"llm endpoint {endpoint!r}: the key in api_key_env contains a space or an invalid character")
    for name, value in headers.items():
        if not _is_visible(name) or not _is_visible(value.replace(" ", "")):
            raise ValueError(f"llm endpoint {endpoint!r}: headers: {name!r} has a character that HTTP does not allow")
    authorization = {"authorization": f"Bearer {api_key}"} if api_key is not None else {}
    return {**authorization, **headers}


def _is_visible(text: str) -> bool:
    return bool(text) and all("!" <= sign <= "~" for sign in text)
