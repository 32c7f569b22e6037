"""Opens the server's listening sockets before the engines are loaded, so that errors appear at once."""

import errno
import os
import socket

from assistant.config.errors import ConfigError
from web.access.access_control import is_loopback, is_unspecified

BACKLOG = 256
"""Connections that may wait in the socket's queue to be accepted."""

_NO_ADDRESS = "--host {host}: not an address of this machine; try 127.0.0.1, or 0.0.0.0 for all addresses"
_STRANGERS = (
    "--host {host}: the server would be reachable from other machines; set REPARTEE_TOKEN in the environment, or add "
    "--insecure to allow everyone who can reach it"
)


def listen(host: str, port: int, *, loopback_only: bool) -> list[socket.socket]:
    """Opens listening sockets, one for each address of the host, all on one port.

    Args:
        host: Name or address.
        port: The port; 0: any free one.
        loopback_only: Whether the host must have only loopback addresses.

    Raises:
        ConfigError: The host does not exist, other machines could connect to it, or the port cannot be bound.
    """
    try:
        candidates = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label of the name is empty or too long
        raise ConfigError([_NO_ADDRESS.format(host=host)]) from error
    # Some systems list an address once per protocol.
    addresses = list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in candidates))
    if loopback_only and not all(is_loopback(address) for _, address in addresses):
        raise ConfigError([_STRANGERS.format(host=host)])
    listening: list[socket.socket] = []
    try:
        for family, address in addresses:
            listening.append(_listening(family, address, listening[0].getsockname()[1] if listening else port))
    except OSError as error:
        for sock in listening:
            sock.close()
        raise ConfigError([_why_not(host, port, error)]) from error
    return listening


def _listening(family: int, address: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere the option lets two servers share a port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not is_unspecified(address))
        sock.bind((address, port))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"--port {port}: in use on {host}, perhaps by another `repartee serve`; stop that one, or choose another "
            "port (--port 0: any free one)"
        )
    if error.errno == errno.EACCES:
        return f"--port {port}: only an administrator may use this port; choose 1024 or higher"
    if error.errno == errno.EADDRNOTAVAIL:
        return _NO_ADDRESS.format(host=host)
    return f"--host {host} --port {port}: the server cannot listen there ({error.strerror}); choose other values"
