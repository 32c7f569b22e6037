"""Reads the address of `server.wyoming`, and checks whether a server can listen there."""

import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from assistant.checks.result import CheckResult
from assistant.config.errors import ConfigError

OPTION = "--wyoming"

_FORM = "write tcp://127.0.0.1:10300, tcp://0.0.0.0:10300 for other machines, or unix:///run/repartee.sock"


@dataclass(frozen=True, slots=True)
class WyomingPlace:
    """The place at which a Wyoming server listens.

    Attributes:
        host: Name or address; "" for a Unix socket.
        port: The port; 0: any free one.
        path: Path of the Unix socket; None for TCP.
    """

    host: str = ""
    port: int = 0
    path: Path | None = None


def wyoming_place(uri: str) -> WyomingPlace:
    """Returns the place of a URI. Raises ConfigError."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError([f"{OPTION} {uri}: {error}; {_FORM}"]) from error
    if parts.scheme == "unix" and not parts.netloc and len(parts.path) > 1:
        return WyomingPlace(path=Path(parts.path))
    if parts.scheme != "tcp" or not host or port is None or parts.path not in {"", "/"}:
        raise ConfigError([f"{OPTION} {uri}: not an address of a Wyoming server; {_FORM}"])
    return WyomingPlace(host, port)


def wyoming_finding(uri: str) -> CheckResult:
    """Checks whether `repartee serve` could listen at the address of a URI. Leaves nothing open."""
    name = "Wyoming"
    try:
        place = wyoming_place(uri)
    except ConfigError as error:
        text, _, remedy = error.problems[0].partition("; ")
        return CheckResult("fail", name, text, remedy=remedy)
    if place.path is not None:
        return CheckResult("ok", name, f"{uri}, for the user and the group of the server")
    remedy = "nothing, if it is a running `repartee serve`; else stop that program, or name another port"
    try:
        for family, kind, number, _, address in socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM):
            with closing(socket.socket(family, kind, number)) as asking:
                asking.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                asking.bind(address)
    except OSError as error:
        return CheckResult("warn", name, f"{uri} cannot be used ({error.strerror})", remedy=remedy)
    return CheckResult("ok", name, f"{uri} is free; the protocol has no token")
