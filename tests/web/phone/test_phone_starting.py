"""Telephone connections that have not sent their `start`, in virtual time."""

import asyncio
from collections.abc import Iterable

import pytest
from starlette.types import Message, Receive, Scope, Send
from support.clocks.virtual_time import run_virtual
from support.protocol.phone_caller import start_message
from support.servers.call_server import TOKEN

from web.observation.metrics import Metrics
from web.phone.endpoint import MAX_STARTING, START_TIMEOUT_S, PhoneEndpoint


async def authorized(scope: Scope, offered: Iterable[str]) -> bool:
    return scope["has_token"] or TOKEN in offered


class Connections:
    """Connects to one endpoint; counts the calls that begin."""

    def __init__(self) -> None:
        self.begun = 0
        self.close_codes: list[int] = []
        self._endpoint = PhoneEndpoint(self._session, authorized, Metrics())

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1

    async def connect(self, *, starts: bool, has_token: bool = False) -> None:
        """Connects; without its start the connection stays idle."""
        waiting: list[Message] = [{"type": "websocket.connect"}]
        if starts:
            waiting.append({"type": "websocket.receive", "text": start_message(TOKEN)})

        async def receive() -> Message:
            if not waiting:
                await asyncio.Event().wait()
            return waiting.pop(0)

        async def send(message: Message) -> None:
            if message["type"] == "websocket.close":
                self.close_codes.append(message["code"])

        scope: Scope = {"type": "websocket", "path": "/v1/phone", "query_string": b"", "headers": []}
        scope["has_token"] = has_token
        await self._endpoint(scope, receive, send)


@pytest.mark.parametrize("in_header", [True, False], ids=["token in a header", "token in the start"])
def test_idle_connections_keep_no_call_out(in_header: bool) -> None:
    async def main() -> None:
        connections = Connections()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(3 * MAX_STARTING):
                tasks.create_task(connections.connect(starts=False))
            await asyncio.sleep(0.1)
            assert connections.close_codes == [1013] * (2 * MAX_STARTING)
            await connections.connect(starts=True, has_token=in_header)
            assert connections.begun == 1
            assert len(connections.close_codes) == 2 * MAX_STARTING + 1 + (not in_header)  # 1: the call has ended
            await asyncio.sleep(START_TIMEOUT_S)
        assert connections.close_codes.count(1008) >= MAX_STARTING - 1

    run_virtual(main())
