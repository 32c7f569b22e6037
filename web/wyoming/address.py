"""Opens the listening sockets of the Wyoming server at the address of `server.wyoming`."""

import errno
import os
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assistant.checks.wyoming import OPTION, wyoming_place
from assistant.config.errors import ConfigError
from web.access.access_control import is_loopback, is_unspecified
from web.sockets.listening_sockets import BACKLOG, listen


@dataclass(frozen=True, slots=True)
class WyomingSockets:
    """The listening sockets.

    Attributes:
        sockets: One for each address of the host.
        uri: The address as clients write it.
        is_open: Whether other machines can connect.
        path: Path of the Unix socket; None for TCP.
    """

    sockets: tuple[socket.socket, ...]
    uri: str
    is_open: bool = False
    path: Path | None = None

    @property
    def who(self) -> str:
        """The users who can connect, for the screen."""
        if self.path is not None:
            return "the user and the group of this server"
        return "everyone who can reach it: the protocol has no token" if self.is_open else "this machine only"

    @property
    def token_warning(self) -> str:
        """The warning for an operator who has set REPARTEE_TOKEN; "": none is needed."""
        if not self.is_open:
            return ""
        return (
            f"REPARTEE_TOKEN does not protect {self.uri}: limit who can reach it (firewall), or serve tcp://127.0.0.1"
        )

    def __enter__(self) -> "WyomingSockets":
        """Returns the sockets, which are closed at the end of the block."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes the sockets."""
        self.close()

    def close(self) -> None:
        """Closes the sockets and removes the Unix socket."""
        for listener in self.sockets:
            listener.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def listen_wyoming(uri: str) -> WyomingSockets:
    """Opens the listening sockets of a URI. Raises ConfigError."""
    place = wyoming_place(uri)
    if place.path is not None:
        if not hasattr(socket, "AF_UNIX"):
            raise ConfigError([f"{OPTION} {uri}: this system has no Unix sockets; write tcp://127.0.0.1:10300"])
        return WyomingSockets((_unix_socket(place.path),), f"unix://{place.path}", path=place.path)
    host = place.host
    try:
        sockets = listen(host, place.port, loopback_only=False)
    except ConfigError as error:
        raise ConfigError([problem.replace("--", f"{OPTION} {uri}: ", 1) for problem in error.problems]) from error
    shown = "localhost" if is_unspecified(host) else f"[{host}]" if ":" in host else host
    is_open = not all(is_loopback(str(listener.getsockname()[0])) for listener in sockets)
    return WyomingSockets(tuple(sockets), f"tcp://{shown}:{sockets[0].getsockname()[1]}", is_open)


def _unix_socket(path: Path) -> socket.socket:
    """Opens a Unix socket that only this user and group may use. Replaces one that nobody listens on."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket() and not _answers(path):
            path.unlink()
        mask = os.umask(stat.S_IXUSR | stat.S_IXGRP | stat.S_IRWXO)  # never open to others, not even between two calls
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        in_use = error.errno == errno.EADDRINUSE
        why = "in use by another server or a file" if in_use else error.strerror or os.strerror(error.errno or 0)
        message = f"{OPTION} unix://{path}: the server cannot listen there ({why}); choose another path"
        raise ConfigError([message]) from error
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(1.0)
        with suppress(OSError):
            asking.connect(str(path))
            return True
    return False
