"""Processing of audio that is ahead of real time leaves time to other conversations."""

import asyncio
from contextlib import aclosing, suppress

import numpy as np
import pytest
from support.clocks.virtual_time import run_virtual

from audio.units import REPLY_RATE_HZ
from web.client_audio.client_microphone import OWN_FRAMES, ClientMicrophone
from web.process.fair_share import PAUSE_PER_WORK, PER_ITERATION, SHARE_OF_WAITING, FairShare, FrameTurns

FRAME_TAKES_S = 0.002


def test_single_conversation_is_not_slowed_down() -> None:
    async def main() -> None:
        share, loop = FairShare(), asyncio.get_running_loop()
        share.conversations = 1
        began_s = loop.time()
        for _ in range(100):
            await share.pause(0.1)
        assert loop.time() == began_s

    run_virtual(main())


@pytest.mark.parametrize("clients", [1, 8], ids=["1 client", "8 clients"])
def test_clients_ahead_of_real_time_share_a_quarter_of_the_time(clients: int) -> None:
    async def main() -> None:
        share, loop = FairShare(), asyncio.get_running_loop()
        share.conversations = clients + 1
        worked = dict.fromkeys(range(clients), 0)
        began_s = loop.time()

        async def ahead(client: int) -> None:
            while loop.time() < began_s + 60:
                worked[client] += 1
                await share.pause(0.004)

        async with asyncio.TaskGroup() as tasks:
            for client in range(clients):
                tasks.create_task(ahead(client))
        assert sum(worked.values()) * 0.004 <= 60 / PAUSE_PER_WORK + 0.1
        assert max(worked.values()) - min(worked.values()) <= 1

    run_virtual(main())


def heard_after(seconds: float, *, conversations: int, sent_s: float) -> int:
    """Returns how many frames of a recording sent at once were processed after this time; each takes 2 ms."""

    async def main() -> int:
        share = FairShare()
        share.conversations = conversations
        microphone = ClientMicrophone(REPLY_RATE_HZ, share)
        heard = 0

        async def listen() -> None:
            nonlocal heard
            async with aclosing(microphone.frames()) as frames:
                async for _ in frames:
                    heard += 1
                    await asyncio.sleep(FRAME_TAKES_S)

        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(listen())
            await microphone.deliver(np.full(round(REPLY_RATE_HZ * sent_s), 8000, np.int16), REPLY_RATE_HZ)
            await asyncio.sleep(seconds)
            listening.cancel()
        return heard

    return run_virtual(main())


def test_half_second_burst_is_processed_at_once() -> None:
    assert heard_after(0.1, conversations=2, sent_s=0.5) >= OWN_FRAMES


def test_recording_sent_at_once_shares_time_and_beats_real_time() -> None:
    alone = heard_after(0.5, conversations=1, sent_s=8.0)
    beside = heard_after(0.5, conversations=2, sent_s=8.0)
    assert alone > 200
    assert OWN_FRAMES + 1.25 * 25 <= beside < 0.6 * alone


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
