"""Parses the address of a server and builds its WebSocket URL. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from assistant.config.errors import ConfigError
from web.access.access_control import is_loopback, is_unspecified

PATH = "/v1/realtime"

_SCHEMES = {"ws": "ws", "wss": "wss", "http": "ws", "https": "wss"}
_EXAMPLE = "ws://127.0.0.1:8765, or wss://voice.example"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server's address.

    Attributes:
        place: Scheme, host and port, as shown to the user.
        host: Name or IP address, without brackets.
        path: Path of the Realtime endpoint.
        query: Query parameters that the user wrote.
    """

    place: str
    host: str
    path: str
    query: tuple[tuple[str, str], ...] = ()

    @property
    def secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.place.startswith("wss:")

    @property
    def near(self) -> bool:
        """Whether the server runs on this machine."""
        return is_loopback(self.host) or is_unspecified(self.host)

    def url(self, more: Mapping[str, str]) -> str:
        """Builds the URL to connect to, with additional query parameters."""
        asked = {"model": "repartee", **dict(self.query), **more}
        return f"{self.place}{self.path}?{urlencode(asked)}"


def address_of(text: str) -> ServerAddress:
    """Parses the value of `--server`. The default path is added if there is none, or if the path ends in "/".

    Raises ConfigError for an invalid address.
    """
    try:
        parts = urlsplit(text.strip() if "://" in text else f"ws://{text.strip()}")
        scheme, host, port = _SCHEMES[parts.scheme], parts.hostname or "", parts.port
        host.encode("idna")
    except (ValueError, KeyError) as error:
        raise ConfigError([f"--server {text}: an address looks like {_EXAMPLE}"]) from error
    if not host or any(letter.isspace() for letter in text.strip()):
        raise ConfigError([f"--server {text}: an address looks like {_EXAMPLE}"])
    if parts.username is not None:
        raise ConfigError(
            ["--server: the address must not contain a user or password; set REPARTEE_TOKEN to the token"]
        )
    shown = f"[{host}]" if ":" in host else host
    place = f"{scheme}://{shown}" + ("" if port is None else f":{port}")
    path = parts.path.rstrip("/") + PATH if parts.path.endswith("/") else parts.path or PATH
    return ServerAddress(place, host, path, tuple(parse_qsl(parts.query)))
