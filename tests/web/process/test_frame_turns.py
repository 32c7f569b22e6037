"""Conversations take turns in processing frames, so that other tasks run in between."""

import asyncio
from contextlib import suppress

from web.process.frame_turns import PER_ITERATION, SHARE_OF_WAITING, FrameTurns


async def served_by_iteration(turns: FrameTurns, conversations: int) -> list[list[int]]:
    """Returns which conversations were served in each iteration of the event loop, when all ask at once."""
    served: list[list[int]] = [[]]

    async def one(number: int) -> None:
        await turns.next()
        served[-1].append(number)

    tasks = [asyncio.create_task(one(number)) for number in range(conversations)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        served.append([])
    return [numbers for numbers in served if numbers]


def test_few_conversations_are_served_in_one_iteration() -> None:
    assert asyncio.run(served_by_iteration(FrameTurns(), PER_ITERATION)) == [list(range(PER_ITERATION))]


def test_many_conversations_are_served_in_order_over_iterations() -> None:
    served = asyncio.run(served_by_iteration(FrameTurns(), 5))
    assert [number for numbers in served for number in numbers] == [0, 1, 2, 3, 4]
    assert max(map(len, served)) == PER_ITERATION
    assert len(served) == 3


def test_share_of_conversations_in_an_iteration_grows_with_their_number() -> None:
    served = asyncio.run(served_by_iteration(FrameTurns(), 40))
    assert max(map(len, served)) == (40 - PER_ITERATION) // SHARE_OF_WAITING
    assert sorted(number for numbers in served for number in numbers) == list(range(40))


def test_other_tasks_run_between_conversations() -> None:
    async def main() -> int:
        turns, before = FrameTurns(), 0

        async def conversation() -> None:
            nonlocal before
            await turns.next()
            before += not token.is_set()

        token = asyncio.Event()
        tasks = [asyncio.create_task(conversation()) for _ in range(12)]
        asyncio.get_running_loop().call_soon(token.set)
        await asyncio.gather(*tasks)
        return before

    assert asyncio.run(main()) == PER_ITERATION


def test_cancelled_conversation_does_not_delay_the_next() -> None:
    async def main() -> list[int]:
        turns, served = FrameTurns(), []

        async def conversation(number: int) -> None:
            await turns.next()
            served.append(number)

        tasks = [asyncio.create_task(conversation(number)) for number in range(6)]
        await asyncio.sleep(0)
        for task in tasks[2:5]:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(5):
            await conversation(6)
        return served

    assert asyncio.run(main()) == [0, 1, 5, 6]
