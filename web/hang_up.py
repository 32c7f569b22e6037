"""Finds out that a client has hung up although nothing is read from its socket."""

import select
import socket

from starlette.types import Scope

from web.websocket_backpressure import transport_of

_HUNG_UP = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLHUP", 0) | getattr(select, "POLLERR", 0)
"""POLLRDHUP is Linux's: elsewhere an orderly end is found only when all that came before it was read."""


def has_hung_up(scope: Scope) -> bool:
    """Whether the other side of this connection has closed it, or it broke."""
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
