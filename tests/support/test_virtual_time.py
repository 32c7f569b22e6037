"""Tests of the virtual-time loop itself."""

import asyncio
import itertools
import socket
import threading
import time
from collections.abc import Awaitable, Callable

import pytest
from support.clocks.virtual_time import VirtualTimeError, run_virtual


def test_thirty_virtual_seconds_take_no_real_time_and_have_the_same_order() -> None:
    async def script() -> list[tuple[str, float]]:
        seen: list[tuple[str, float]] = []
        loop = asyncio.get_running_loop()

        async def tick(name: str, every_s: float, times: int) -> None:
            for _ in range(times):
                await asyncio.sleep(every_s)
                seen.append((name, round(loop.time() - 1000.0, 6)))

        async with asyncio.TaskGroup() as group:
            group.create_task(tick("a", 0.2, 150))
            group.create_task(tick("b", 0.3, 100))
        return seen

    started = time.process_time()  # not wall time: the machine may be busy
    first = run_virtual(script())
    assert time.process_time() - started < 0.2
    assert first[:5] == [("a", 0.2), ("b", 0.3), ("a", 0.4), ("b", 0.6), ("a", 0.6)]
    assert first[-1] == ("a", 30.0)
    assert run_virtual(script()) == first


async def asks_for_thread() -> None:
    await asyncio.to_thread(len, "x")


async def waits_for_nothing() -> None:
    await asyncio.Event().wait()


async def never_ends() -> None:
    for _ in itertools.count():
        await asyncio.sleep(1)


async def forgets_task() -> None:
    asyncio.get_running_loop().create_task(asyncio.sleep(5), name="forgotten")


async def loses_exception() -> None:
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(1)


async def is_called_from_another_thread() -> None:
    loop, refused = asyncio.get_running_loop(), list[VirtualTimeError]()

    def call() -> None:
        try:
            loop.call_soon(print)
        except VirtualTimeError as error:
            refused.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    raise refused[0]


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        (asks_for_thread, "thread"),
        (waits_for_nothing, "hang forever"),
        (never_ends, "still running"),
        (forgets_task, "left running: forgotten"),
        (loses_exception, "division by zero"),
        (is_called_from_another_thread, "call_soon_threadsafe"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_fault_of_a_test_is_named(script: Callable[[], Awaitable[None]], shown: str) -> None:
    async def whole() -> None:
        await script()

    with pytest.raises(VirtualTimeError, match=shown):
        run_virtual(whole(), limit_s=100)


@pytest.mark.virtual_time
async def test_socket_works_within_loop() -> None:
    left, right = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=left)
    _, other = await asyncio.open_connection(sock=right)
    other.write(b"hello")
    await other.drain()
    assert await reader.readexactly(5) == b"hello"
    for end in (writer, other):
        end.close()
        await end.wait_closed()
