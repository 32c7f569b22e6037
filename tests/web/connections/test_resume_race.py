"""The order of connections that race for one resume token."""

from types import SimpleNamespace
from typing import cast

from starlette.types import Scope
from starlette.websockets import WebSocket

from web.connections.client_socket import ClientSocket
from web.connections.running_conversation import RESUMED_ELSEWHERE, RunningConversation
from web.limits.session_acceptor import arrival_of, mark_arrival
from web.session.realtime_session import RealtimeSession
from web.wire.realtime import Realtime

SOCKET, REALTIME = cast("WebSocket", None), cast("Realtime", None)


def test_newest_of_racing_connections_keeps_the_conversation() -> None:
    scopes: list[Scope] = [{}, {}, {}]
    for scope in scopes:
        mark_arrival(scope)
    older, newest, newer_than_older = (arrival_of(scopes[number]) for number in (0, 2, 1))
    conversation = RunningConversation(cast("RealtimeSession", SimpleNamespace(changed=None)), "token")
    assert not conversation.has_newer(older)
    first = ClientSocket(SOCKET, REALTIME, arrival=older)
    conversation.take_socket(first)
    assert not conversation.has_newer(newest)
    conversation.take_socket(ClientSocket(SOCKET, REALTIME, arrival=newest))
    assert (first.farewell, first.lost.is_set()) == (RESUMED_ELSEWHERE, True)
    assert conversation.has_newer(newer_than_older)
