"""Tests of the virtual-time loop itself."""

import asyncio
import itertools
import socket
import threading
import time

import pytest
from support.clocks.virtual_time import VirtualTimeError, run_virtual


def test_thirty_virtual_seconds_take_no_real_time() -> None:
    async def script() -> float:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for _ in range(300):
            await asyncio.sleep(0.1)
        return loop.time() - begin

    started = time.process_time()  # not wall time: the machine may be busy
    assert run_virtual(script()) == pytest.approx(30.0)
    assert time.process_time() - started < 0.2


def test_loop_starts_at_given_time() -> None:
    async def now() -> float:
        return asyncio.get_running_loop().time()

    assert run_virtual(now()) == 1000.0
    assert run_virtual(now(), start_s=5.0) == 5.0


def test_interleaving_of_tasks_is_deterministic() -> None:
    async def script() -> list[tuple[str, float]]:
        seen: list[tuple[str, float]] = []
        loop = asyncio.get_running_loop()

        async def tick(name: str, every_s: float) -> None:
            for _ in range(6):
                await asyncio.sleep(every_s)
                seen.append((name, round(loop.time() - 1000.0, 6)))

        async with asyncio.TaskGroup() as group:
            group.create_task(tick("a", 0.2))
            group.create_task(tick("b", 0.3))
        return seen

    first = run_virtual(script())
    assert first[:5] == [("a", 0.2), ("b", 0.3), ("a", 0.4), ("b", 0.6), ("a", 0.6)]
    assert all(run_virtual(script()) == first for _ in range(5))


def test_timeout_works() -> None:
    async def script() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await asyncio.Event().wait()

    run_virtual(script())


@pytest.mark.parametrize("way", ["to_thread", "executor"])
def test_thread_is_rejected(way: str) -> None:
    async def script() -> None:
        if way == "to_thread":
            await asyncio.to_thread(len, "x")
        else:
            await asyncio.get_running_loop().run_in_executor(None, len, "x")

    with pytest.raises(VirtualTimeError, match="thread"):
        run_virtual(script())


def test_callback_from_another_thread_is_rejected() -> None:
    async def script() -> None:
        loop, refused = asyncio.get_running_loop(), list[VirtualTimeError]()

        def call() -> None:
            try:
                loop.call_soon(print)
            except VirtualTimeError as error:
                refused.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert "call_soon_threadsafe" in str(refused[0])

    run_virtual(script())


def test_wait_without_timers_fails_instead_of_hanging() -> None:
    async def script() -> None:
        await asyncio.Event().wait()

    with pytest.raises(VirtualTimeError, match="hang forever"):
        run_virtual(script())


def test_endless_test_ends() -> None:
    async def script() -> None:
        for _ in itertools.count():
            await asyncio.sleep(1)

    with pytest.raises(VirtualTimeError, match="still running"):
        run_virtual(script(), limit_s=100)


def test_task_left_running_is_named() -> None:
    async def script() -> None:
        asyncio.get_running_loop().create_task(asyncio.sleep(5), name="forgotten")

    with pytest.raises(VirtualTimeError, match="left running: forgotten"):
        run_virtual(script())


def test_lost_exception_in_callback_fails() -> None:
    async def script() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    with pytest.raises(VirtualTimeError, match="division by zero"):
        run_virtual(script())


def test_failure_of_the_test_itself_is_raised() -> None:
    async def script() -> None:
        await asyncio.sleep(1)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_virtual(script())


def test_socket_works_within_loop() -> None:
    async def script() -> bytes:
        left, right = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=left)
        _, other = await asyncio.open_connection(sock=right)
        other.write(b"hello")
        await other.drain()
        got = await reader.readexactly(5)
        for end in (writer, other):
            end.close()
            await end.wait_closed()
        return got

    assert run_virtual(script()) == b"hello"
