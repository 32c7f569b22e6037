"""Decides which requests the server accepts, by Host, Origin, token and IP address. Pure: does no I/O.

Every web page in the user's browser can reach a server on loopback. A page can open a WebSocket to it, which only the
Origin header reveals. A page can also resolve its own name to 127.0.0.1, which only the Host header reveals. Both
headers are therefore checked against lists, for HTTP requests and WebSocket handshakes.
"""

import hmac
import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

KEY_PROTOCOL = "openai-insecure-api-key."
"""Prefix of the subprotocol that carries the token of browser clients, which cannot set an Authorization header."""

REALTIME_PATHS = ("/v1/realtime", "/v1/realtime/")
CALLS_PATH = "/v1/realtime/calls"

SETUP_PATH = "/v1/repartee/setup"
OPEN_PATHS = frozenset({"/", "/favicon.ico", "/healthz", "/readyz", "/service-worker.js", SETUP_PATH})
OPEN_FOLDER = "/static/"
"""Paths served without a token: static files, health checks, and whether the first steps are offered (the endpoint
tells no more without the token)."""

_INTERFACE = "/v1/"
_OWN_SITES = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for requests of the server's own page, and for addresses that the user has typed."""

TOKEN_LATER_PATHS = frozenset({"/v1/phone", "/v1/phone/"})
"""Paths whose clients cannot set a header: without a key they send the token in their first message instead."""

SECRET_PATHS = frozenset({*REALTIME_PATHS, CALLS_PATH, *TOKEN_LATER_PATHS})
"""Paths whose clients may send a client secret in place of the token."""

TOKEN_SHAPE = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{16,512}")
"""Characters that are valid in a subprotocol; at least 16 of them, so that the token cannot be guessed."""

MIN_SYMBOLS = 6
"""Different characters of a token, at least: a random one of 16 digits has fewer once in 250."""

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request that access control looks at.

    Attributes:
        path: Percent-decoded, without the query.
        scheme: "http" or "https" as the client sees it, for WebSockets too.
        hosts: All Host headers.
        origins: All Origin headers.
        authorizations: All Authorization headers.
        subprotocols: The subprotocols that a WebSocket client offers.
        peer: The client's IP address, as reported by a trusted proxy if there is one; None if unknown.
        secret_is_valid: Whether the client secret among the keys is valid; None if there is none.
        sites: All Sec-Fetch-Site headers: how the site of the page that a browser shows is related to this server.
    """

    path: str
    scheme: str = "http"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    authorizations: tuple[str, ...] = ()
    subprotocols: tuple[str, ...] = ()
    peer: str | None = None
    secret_is_valid: bool | None = None
    sites: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that the client sends, as Bearer tokens or in subprotocols."""
        return tuple(_keys_of(self))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of a request.

    Attributes:
        status: HTTP status.
        code: Machine-readable reason, one of a fixed set; also a metrics label.
        message: Human-readable reason and remedy.
    """

    status: int
    code: str
    message: str


_SECRET_INVALID = Refusal(
    401,
    "client_secret_invalid",
    "the client secret is unknown or has expired; make another with POST /v1/realtime/client_secrets",
)


def is_easily_guessed(token: str) -> bool:
    """Returns whether a token is of few characters, a repeated piece, or mostly a row such as "abcdef" or "123456"."""
    steps = [abs(ord(char) - ord(other)) for char, other in pairwise(token)]
    return (
        len(set(token.casefold())) < MIN_SYMBOLS
        or token in (token + token)[1:-1]
        or sum(step <= 1 for step in steps) > len(steps) / 2
    )


class AccessControl:
    """Checks every request before the application handles it."""

    def __init__(
        self,
        bound_host: str,
        port: int,
        *,
        token: str | None = None,
        insecure: bool = False,
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
    ) -> None:
        """Sets up the rules for a server that is bound to this host and port.

        Args:
            bound_host: The host the server listens on.
            port: The port it listens on.
            token: The token that clients must send; None: no token is required.
            insecure: Whether other machines are served although there is no token.
            allowed_hosts: Additional Host headers, "name" or "name:port".
            allowed_origins: Additional origins, as "https://example.org".
        """
        self._port = port
        self._token = token
        self._any_peer = insecure or token is not None
        self._any_address = is_unspecified(bound_host)
        names = {*_LOOPBACK_NAMES} if self._any_address else {*_LOOPBACK_NAMES, _bracketed(bound_host.lower())}
        self._hosts = {(name, port) for name in names} | {_name_and_port(host) for host in allowed_hosts}
        self._origins = {normal for origin in allowed_origins if (normal := _normal_origin(origin))}

    def decide(self, request: Request) -> Refusal | None:
        """Returns why this request is refused, or None if it is allowed."""
        return self.decide_sender(request) or self.decide_key(request)

    def decide_sender(self, request: Request) -> Refusal | None:
        """Returns the same without a look at the keys. A browser's preflight request never has one."""
        return self._host(request) or self._origin(request) or self._peer(request)

    def _host(self, request: Request) -> Refusal | None:
        if len(request.hosts) != 1:
            return Refusal(400, "bad_host", "a request needs exactly one Host header")
        match = _HOST.fullmatch(request.hosts[0].lower())
        if match is None:
            return Refusal(400, "bad_host", "the Host header does not name a host")
        name, port = match["name"], int(match["port"] or _DEFAULT_PORTS.get(request.scheme, 80))
        if (name, port) in self._hosts or (name, None) in self._hosts:
            return None
        # DNS rebinding needs a name: an IP address is safe. A server on all addresses has many of them.
        if self._any_address and port == self._port and _address(name) is not None:
            return None
        return Refusal(
            403,
            "foreign_host",
            f"this server does not accept the name {match[0]}; to allow it, add --set server.allowed_hosts={match[0]}",
        )

    def _origin(self, request: Request) -> Refusal | None:
        if not request.origins:
            # Not a browser: browsers always send the origin of a WebSocket. They send none with an image or a sound in
            # a page, which must not make this server work for a page that cannot read the answer.
            if request.path.startswith(_INTERFACE) and any(site not in _OWN_SITES for site in request.sites):
                return Refusal(403, "foreign_origin", "pages of other servers may not use this server")
            return None
        if len(request.origins) > 1:
            return Refusal(400, "bad_origin", "a request may have only one Origin header")
        origin = _normal_origin(request.origins[0])
        if origin is not None:
            if origin == _normal_origin(f"{request.scheme}://{request.hosts[0]}") or origin in self._origins:
                return None
            remedy = f"; to allow them, add --set server.allowed_origins={origin}"
            return Refusal(403, "foreign_origin", f"pages of {origin} may not use this server{remedy}")
        return Refusal(403, "foreign_origin", 'requests with Origin "null" are not allowed')

    def _peer(self, request: Request) -> Refusal | None:
        if self._any_peer or (request.peer is not None and is_loopback(request.peer)):
            return None
        return Refusal(403, "foreign_address", "this server has no REPARTEE_TOKEN, so only its own machine may use it")

    def decide_key(self, request: Request) -> Refusal | None:
        """Returns why the keys of a request, or their absence, are refused; None if they are accepted."""
        keys = request.keys
        # All keys are compared, each in constant time.
        if self._token is not None and any([hmac.compare_digest(key.encode(), self._token.encode()) for key in keys]):  # noqa: C419
            return None
        if request.path in SECRET_PATHS and request.secret_is_valid is not None:
            # Checked without a server token too: the session would lack the settings that belong to the secret.
            return None if request.secret_is_valid else _SECRET_INVALID
        if self._token is None or request.path in OPEN_PATHS or request.path.startswith(OPEN_FOLDER):
            return None
        if not keys and request.path in TOKEN_LATER_PATHS:
            return None  # the endpoint asks `accepts_token`
        if not keys:
            how = f'"Authorization: Bearer TOKEN", or the subprotocols "realtime" and "{KEY_PROTOCOL}TOKEN"'
            return Refusal(401, "token_missing", f"this server requires its token: {how}")
        return Refusal(401, "token_wrong", "the token is wrong; use this server's REPARTEE_TOKEN")

    def accepts_token(self, request: Request, offered: Iterable[str]) -> bool:
        """Returns whether a client sent the token, in a header or as one of the `offered` values."""
        if self._token is None:
            return True
        keys = [*_keys_of(request), *offered]
        # All keys are compared, each in constant time.
        return any([hmac.compare_digest(key.encode(errors="replace"), self._token.encode()) for key in keys])  # noqa: C419


def is_loopback(host: str) -> bool:
    """Returns whether a host name or IP address is a loopback address."""
    address = _address(_bracketed(host))
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_unspecified(host: str) -> bool:
    """Returns whether an IP address means all addresses of this machine, such as 0.0.0.0."""
    address = _address(_bracketed(host))
    return address is not None and address.is_unspecified


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parses an IP address, IPv6 in brackets; returns None for a name."""
    bare = name[1:-1] if name.startswith("[") else name
    if name.startswith("[") != (":" in bare):
        return None
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _name_and_port(host: str) -> tuple[str, int | None]:
    match = _HOST.fullmatch(host.lower())
    if match is None:
        raise ValueError(f"{host} is not a host name")
    return match["name"], int(match["port"]) if match["port"] else None


def _normal_origin(origin: str) -> str | None:
    """Normalizes an origin: lower case, without the scheme's default port. None for "null" and invalid origins."""
    scheme, separator, host = origin.lower().partition("://")
    match = _HOST.fullmatch(host)
    if not separator or scheme not in _DEFAULT_PORTS or match is None:
        return None
    port = int(match["port"] or _DEFAULT_PORTS[scheme])
    return f"{scheme}://{match['name']}" + (f":{port}" if port != _DEFAULT_PORTS[scheme] else "")


def _keys_of(request: Request) -> Iterable[str]:
    for value in request.authorizations:
        scheme, _, key = value.strip().partition(" ")
        if scheme.lower() == "bearer":
            yield key.strip()
    for protocol in request.subprotocols:
        if protocol.startswith(KEY_PROTOCOL):
            yield protocol.removeprefix(KEY_PROTOCOL)
