"""Timeouts of engines with a blocked loop, in virtual time."""

import asyncio
from contextlib import suppress

import pytest
from support.clocks.virtual_time import VirtualLoop, run_virtual

from audio.time_limit import time_limit

LIMIT_S = 3.0


def waited(stall_s: float, answer_s: float | None) -> tuple[bool, float]:
    """Returns whether the answer came, and after how long. The loop is blocked from 1 s on."""

    async def main() -> tuple[bool, float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        began_s, answer = loop.time(), asyncio.Event()
        loop.call_at(began_s + 1, loop.stall, stall_s)
        if answer_s is not None:
            loop.call_at(began_s + answer_s, answer.set)
        with suppress(TimeoutError):
            async with time_limit(LIMIT_S):
                await answer.wait()
        after_s = loop.time() - began_s
        await asyncio.sleep(5 * LIMIT_S)  # no timer is left that cancels later code
        return answer.is_set(), after_s

    return run_virtual(main())


@pytest.mark.parametrize(
    ("stall_s", "answer_s", "after_s"),
    [
        pytest.param(0, 2.9, 2.9, id="no stall, answer in time"),
        pytest.param(2.5, 3.0, 3.5, id="answer just after a short stall"),
        pytest.param(
            2.5, 3.4, 3.5, id="late answer after a short stall"
        ),  # all three are ready when the loop runs again
        pytest.param(9.0, 2.0, 10.0, id="answer during a long stall"),
        pytest.param(9.0, 12.9, 12.9, id="answer after a long stall"),  # the engine was blocked too
        pytest.param(2.5, 3.9, 3.9, id="latest answer after a short stall"),
    ],
)
def test_answer_delayed_by_blocked_loop_counts(stall_s: float, answer_s: float, after_s: float) -> None:
    came, came_after_s = waited(stall_s, answer_s)
    assert came
    assert came_after_s == pytest.approx(after_s)


@pytest.mark.parametrize(
    ("stall_s", "after_s"),
    [(0, 3.0), (1.5, 3.0), (2.5, 4.0), (9.0, 13.0)],
    ids=["no stall", "stall within the limit", "stall of 2.5 s", "stall of 9 s"],
)
def test_missing_answer_times_out_after_blocked_loop(stall_s: float, after_s: float) -> None:
    came, ended_after_s = waited(stall_s, None)
    assert not came
    assert ended_after_s == pytest.approx(after_s)


@pytest.mark.virtual_time
async def test_cancellation_is_not_reported_as_timeout() -> None:
    async def wait() -> None:
        async with time_limit(LIMIT_S):
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(wait())
        await asyncio.sleep(1)
        waiting.cancel()
    assert waiting.cancelled()
