"""Who may talk to the server: by Host, Origin, token and address. Pure: a request in, a refusal or nothing out.

A server on loopback is within reach of every web page that the same person opens: a page may open a WebSocket to it
(only Origin tells), and may make its own name point at 127.0.0.1 (only Host tells). So both are held against lists, on
HTTP and on WebSocket.
"""

import hmac
import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KEY_PROTOCOL = "openai-insecure-api-key."
"""How stock clients in a browser, which can set no header, carry the token: as a subprotocol beside `realtime`."""

OPEN_PATHS = frozenset({"/", "/favicon.ico", "/healthz", "/readyz"})
OPEN_FOLDER = "/static/"
"""What is served without a token: files that are the same for everybody, and whether the server is well."""

TOKEN_SHAPE = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{16,512}")
"""Characters that a subprotocol may have, and long enough that guessing leads nowhere."""

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Request:
    """What a request says of itself.

    Attributes:
        path: Percent-decoded, without the query.
        scheme: "http" or "https", as the client sees it; of a WebSocket likewise.
        hosts: Every Host header.
        origins: Every Origin header.
        authorizations: Every Authorization header.
        subprotocols: Those a WebSocket offers.
        peer: The client's IP address, behind a trusted proxy the one it tells; None if there is none.
    """

    path: str
    scheme: str = "http"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    authorizations: tuple[str, ...] = ()
    subprotocols: tuple[str, ...] = ()
    peer: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not let in.

    Attributes:
        status: Of HTTP.
        code: For programs and metrics; one of a fixed few.
        message: For people: what was seen, and the remedy.
    """

    status: int
    code: str
    message: str


class AccessControl:
    """Decides on every request before anything else sees it."""

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
        """For a server bound to this host and port; `insecure`: serve other machines although there is no token."""
        self._port = port
        self._token = token
        self._any_peer = insecure or token is not None
        self._any_address = is_unspecified(bound_host)
        names = {*_LOOPBACK_NAMES} if self._any_address else {*_LOOPBACK_NAMES, _bracketed(bound_host.lower())}
        self._hosts = {(name, port) for name in names} | {_name_and_port(host) for host in allowed_hosts}
        self._origins = {normal for origin in allowed_origins if (normal := _normal_origin(origin))}

    def decide(self, request: Request) -> Refusal | None:
        """Why this request is refused; None: it may pass."""
        return self._host(request) or self._origin(request) or self._peer(request) or self._key(request)

    def _host(self, request: Request) -> Refusal | None:
        if len(request.hosts) != 1:
            return Refusal(400, "bad_host", "a request needs exactly one Host header")
        found = _HOST.fullmatch(request.hosts[0].lower())
        if found is None:
            return Refusal(400, "bad_host", "the Host header is not a host")
        name, port = found["name"], int(found["port"] or _DEFAULT_PORTS.get(request.scheme, 80))
        if (name, port) in self._hosts or (name, None) in self._hosts:
            return None
        # An address cannot be rebound to another machine by whoever owns a name; a server on all addresses has many.
        if self._any_address and port == self._port and _address(name) is not None:
            return None
        return Refusal(
            403,
            "foreign_host",
            f"this server is not called {found[0]}; if it is, start it with --set server.allowed_hosts={found[0]}",
        )

    def _origin(self, request: Request) -> Refusal | None:
        if not request.origins:
            return None  # no browser: those always say where a WebSocket comes from
        if len(request.origins) > 1:
            return Refusal(400, "bad_origin", "a request may have only one Origin header")
        origin = _normal_origin(request.origins[0])
        if origin is not None:
            if origin == _normal_origin(f"{request.scheme}://{request.hosts[0]}") or origin in self._origins:
                return None
            remedy = f"; if they should, start the server with --set server.allowed_origins={origin}"
            return Refusal(403, "foreign_origin", f"pages of {origin} may not use this server{remedy}")
        return Refusal(403, "foreign_origin", "pages without an origin of their own may not use this server")

    def _peer(self, request: Request) -> Refusal | None:
        if self._any_peer or (request.peer is not None and is_loopback(request.peer)):
            return None
        return Refusal(403, "foreign_address", "this server has no REPARTEE_TOKEN, so it answers its own machine only")

    def _key(self, request: Request) -> Refusal | None:
        if self._token is None or request.path in OPEN_PATHS or request.path.startswith(OPEN_FOLDER):
            return None
        keys = list(_keys_of(request))
        if not keys:
            how = f'"Authorization: Bearer TOKEN", or the subprotocols "realtime" and "{KEY_PROTOCOL}TOKEN"'
            return Refusal(401, "token_missing", f"this server wants its token: {how}")
        # Every key is compared, each in constant time.
        if any([hmac.compare_digest(key.encode(), self._token.encode()) for key in keys]):  # noqa: C419
            return None
        return Refusal(401, "token_wrong", "this is not the server's token")


def is_loopback(host: str) -> bool:
    """Whether a name or an IP address is this machine itself."""
    address = _address(_bracketed(host))
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_unspecified(host: str) -> bool:
    """Whether an IP address stands for all of this machine's, as 0.0.0.0 does."""
    address = _address(_bracketed(host))
    return address is not None and address.is_unspecified


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address a host spells, brackets around one of version 6; None: it is a name."""
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
    found = _HOST.fullmatch(host.lower())
    if found is None:
        raise ValueError(f"{host} is not a host")
    return found["name"], int(found["port"]) if found["port"] else None


def _normal_origin(origin: str) -> str | None:
    """As browsers write it, without the scheme's own port; None: "null", or no origin at all."""
    scheme, separator, host = origin.lower().partition("://")
    found = _HOST.fullmatch(host)
    if not separator or scheme not in _DEFAULT_PORTS or found is None:
        return None
    port = int(found["port"] or _DEFAULT_PORTS[scheme])
    return f"{scheme}://{found['name']}" + (f":{port}" if port != _DEFAULT_PORTS[scheme] else "")


def _keys_of(request: Request) -> Iterable[str]:
    for value in request.authorizations:
        scheme, _, key = value.strip().partition(" ")
        if scheme.lower() == "bearer":
            yield key.strip()
    for protocol in request.subprotocols:
        if protocol.startswith(KEY_PROTOCOL):
            yield protocol.removeprefix(KEY_PROTOCOL)
