"""What waits to be sent, and who is woken for it."""

import asyncio
from typing import Any

from starlette.websockets import WebSocket
from virtual_time import run_virtual
from wire_client import Client

from web.line import BREATH, Line
from web.wire.session_config import SessionConfig

APPEND = '{"type":"input_audio_buffer.append","audio":"AAAAAAAA"}'


def line() -> Line:
    async def never(*_: object) -> Any:
        raise AssertionError("nothing is read or written here")

    client = Client(SessionConfig(instructions="", voice="voice"))
    client.wire.to_send()
    return Line(WebSocket({"type": "websocket"}, never, never), client.wire)


def test_sound_wakes_nobody_and_an_answer_does() -> None:
    async def main() -> None:
        one = line()
        one.realtime.receive(APPEND)
        await one.answered()
        assert not one.changed.is_set()
        one.realtime.receive("nonsense")
        await one.answered()
        assert one.changed.is_set()

    run_virtual(main())


def test_a_flood_leaves_others_their_turn() -> None:
    async def main() -> None:
        one, others = line(), 0

        async def other() -> None:
            nonlocal others
            while True:
                others += 1
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(other())
            for _ in range(10 * BREATH):
                one.realtime.receive(APPEND)
                await one.answered()
            task.cancel()
        assert others >= 9

    run_virtual(main())
