"""Where a service is and how it is addressed: checked once, at construction, with texts that name the setting."""

import ipaddress
from collections.abc import Mapping

import httpx

from llm.no_proxy import address_of

_OURS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("host", "te", "traceparent", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""Headers on which the reading of an answer, or HTTP itself, depends."""


def base_url_of(endpoint: str, url: str, *, route: str, example: str = "http://127.0.0.1:8000/v1") -> httpx.URL:
    """`url` without trailing slash, fragment and `route` (people paste either form); its query is kept.

    `example`: what it should look like, for the error. Raises ValueError naming the endpoint and the key `url`.
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
    """`base` with `route` ("/models") added to its path."""
    return base.copy_with(path=base.path.rstrip("/") + route)


def is_loopback(host: str) -> bool:
    """Whether the service is on this machine. 0.0.0.0 and :: are: who asks there is answered by this machine itself."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = address_of(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


_PRIVATE_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
"""Of names that no registrar gives to anybody; nor is there one without a dot, as containers have."""


def is_private(host: str) -> bool:
    """Whether the service is on this machine or in a network of one's own, going by its address alone."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_ENDINGS)


def checked_headers(endpoint: str, headers: Mapping[str, str], *, keyed: bool) -> Mapping[str, str]:
    """Headers that somebody wrote for an endpoint, once it is known that they can be sent.

    `keyed`: the request has an authorization of its own. Raises ValueError, without showing a value.
    """
    for name in headers:
        if name.lower() in _OURS or (keyed and name.lower() == "authorization"):
            raise ValueError(f"llm endpoint {endpoint!r}: headers: {name} is filled in by the program: leave it out")
    return headers


def request_headers(endpoint: str, api_key: str | None, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of every request. Raises ValueError, without showing it, for a value HTTP cannot carry."""
    # `identity`: a compressing proxy would hold tokens back until its block is full.
    fixed = {"accept": "text/event-stream, application/json", "accept-encoding": "identity"}
    return {**fixed, **own_headers(endpoint, api_key, headers)}


def own_headers(endpoint: str, api_key: str | None, headers: Mapping[str, str]) -> dict[str, str]:
    """The key's header and those of the configuration. Raises ValueError as `request_headers` does."""
    if api_key is not None and not _is_visible(api_key):
        raise ValueError(f"llm endpoint {endpoint!r}: the key in api_key_env has a space or a sign that no key has")
    for name, value in headers.items():
        if not _is_visible(name) or not _is_visible(value.replace(" ", "")):
            raise ValueError(f"llm endpoint {endpoint!r}: headers: {name!r} has a sign that HTTP cannot carry")
    authorization = {"authorization": f"Bearer {api_key}"} if api_key is not None else {}
    return {**authorization, **headers}


def _is_visible(text: str) -> bool:
    return bool(text) and all("!" <= sign <= "~" for sign in text)
