"""Detects that a client has disconnected although nothing is read from its socket."""

import select
import socket

from starlette.types import Scope

from web.sockets.websocket_backpressure import transport_of

_HUNG_UP = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLHUP", 0) | getattr(select, "POLLERR", 0)
"""POLLRDHUP exists on Linux only. Elsewhere an orderly close is detected only after everything before it was read."""


def has_hung_up(scope: Scope) -> bool:
    """Returns whether the client has closed this connection, or it broke."""
    transport = transport_of(scope)
    if transport is None:
        return False
    if transport.is_closing():
        return True
    one: socket.socket | None = transport.get_extra_info("socket")
    if one is None or one.fileno() < 0 or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(one.fileno(), _HUNG_UP)
    return bool(poll.poll(0))
