"""The time limit that counts only time in which the event loop runs."""

import asyncio
import socket
import time

import pytest

from web.handover.store import loop_time_limit

pytestmark = pytest.mark.virtual_time


async def test_block_that_takes_too_long_ends_with_an_error() -> None:
    began_s = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        async with loop_time_limit(0.5):
            await asyncio.sleep(60)
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(0.5)


async def test_block_that_ends_in_time_is_not_cancelled_later() -> None:
    async with loop_time_limit(0.5):
        await asyncio.sleep(0.4)
    await asyncio.sleep(60)
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]  # it is this task


async def test_limit_begins_again_when_progress_is_made() -> None:
    loop, made = asyncio.get_running_loop(), 0
    began_s = loop.time()

    async def answers() -> None:
        nonlocal made
        for made in range(1, 11):  # noqa: B007 - read by the limit
            await asyncio.sleep(0.3)

    answering = asyncio.create_task(answers())
    with pytest.raises(TimeoutError):
        async with loop_time_limit(0.5, lambda: made):
            await asyncio.sleep(60)
    await answering
    assert loop.time() - began_s == pytest.approx(2.7 + 0.5, abs=0.06), "after the last answer"


async def test_cancellation_is_no_timeout() -> None:
    async def limited() -> None:
        async with loop_time_limit(0.5):
            await asyncio.sleep(60)

    task = asyncio.create_task(limited())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_answer_that_arrived_while_the_loop_was_held_is_read() -> None:
    async def main() -> bytes:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)

        def answer_and_hold() -> None:
            theirs.sendall(b"answer\n")
            time.sleep(0.3)

        with theirs:
            try:
                async with loop_time_limit(0.2):
                    asyncio.get_running_loop().call_soon(answer_and_hold)
                    return await reader.readline()
            finally:
                writer.close()

    assert asyncio.run(main()) == b"answer\n"
