"""Tests of the LLM connection keep-alives, in virtual time."""

import asyncio

from support.clocks.virtual_time import run_virtual
from support.conversations.simulation import Simulation, Utterance

from assistant.pipeline.connection_warmer import MAX_KEEP_ALIVES, ConnectionWarmer


def keep_alive_times(spoken_s: float, *, takes_s: float = 0.1, then_s: float = 20.0) -> list[float]:
    """Returns the times of the keep-alives for one utterance, in seconds."""

    async def run() -> list[float]:
        loop = asyncio.get_running_loop()
        began_s, seen = loop.time(), list[float]()

        async def warm() -> None:
            seen.append(round(loop.time() - began_s, 2))
            await asyncio.sleep(takes_s)

        async with asyncio.TaskGroup() as tasks:
            warmer = ConnectionWarmer(warm)
            warmer.tasks = tasks
            warmer.start()
            await asyncio.sleep(spoken_s)
            warmer.stop()
            await asyncio.sleep(then_s)
        return seen

    return run_virtual(run())


def test_keep_alives_start_at_once_and_last_while_the_user_speaks() -> None:
    assert keep_alive_times(0.5) == [0.0]
    assert keep_alive_times(7.0) == [0.0, 3.1, 6.2]


def test_endless_speech_does_not_send_keep_alives_forever() -> None:
    assert len(keep_alive_times(10_000.0)) == MAX_KEEP_ALIVES


def test_running_keep_alive_is_not_cancelled_when_speech_ends() -> None:
    assert keep_alive_times(0.05, takes_s=1.0, then_s=2.0) == [0.0]


def test_keep_alives_continue_when_speech_resumes_at_once() -> None:
    async def run() -> list[float]:
        loop = asyncio.get_running_loop()
        began_s, seen = loop.time(), list[float]()

        async def warm() -> None:
            seen.append(round(loop.time() - began_s, 2))

        async with asyncio.TaskGroup() as tasks:
            warmer = ConnectionWarmer(warm)
            warmer.tasks = tasks
            warmer.start()
            await asyncio.sleep(0.5)
            warmer.stop()
            warmer.start()
            await asyncio.sleep(7)
            warmer.stop()
        return seen

    assert run_virtual(run()) == [0.0, 0.5, 3.5, 6.5]


def test_close_cancels_a_running_keep_alive() -> None:
    async def run() -> float:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        async with asyncio.TaskGroup() as tasks:
            warmer = ConnectionWarmer(lambda: asyncio.sleep(3600))
            warmer.tasks = tasks
            warmer.start()
            warmer.start()
            await asyncio.sleep(1)
            warmer.close()
        return loop.time() - began_s

    assert run_virtual(run()) == 1.0


def test_session_starts_keep_alives_at_speech_onset() -> None:
    simulation = Simulation([Utterance(1000, 2000, "what time is it")])
    seen: list[float] = []

    def listen() -> None:
        async def warm() -> None:
            seen.append(asyncio.get_running_loop().time() - 1000.0)

        simulation.session._audio_input._connection_warmer = ConnectionWarmer(warm)
        simulation.session._audio_input._connection_warmer.tasks = simulation.session._tasks

    simulation.at(500, listen)
    simulation.run()
    assert len(seen) == 1
    assert 1.0 <= seen[0] < 1.3
