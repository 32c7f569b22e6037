"""A loading shared by all conversations, with a timeout."""

import asyncio

import pytest
from support.clocks.virtual_time import run_virtual

from audio.errors import EngineLoadError
from audio.threads.shared_loading import LOAD_LIMIT_S, SharedLoading


class Slow:
    """A slow loading that may fail."""

    def __init__(self, takes_s: float, fails: str = "") -> None:
        self.takes_s = takes_s
        self.fails = fails
        self.begun = self.done = 0
        self.loading = SharedLoading("the voice", self._load)

    async def _load(self) -> None:
        self.begun += 1
        await asyncio.sleep(self.takes_s)
        if self.fails:
            raise EngineLoadError(self.fails)
        self.done += 1


def test_loading_continues_when_callers_leave() -> None:
    async def scene() -> None:
        slow = Slow(2.0)
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(slow.loading.wait()) for _ in range(2)]
            await asyncio.sleep(1)
            waiting[0].cancel()
        assert (slow.begun, slow.done) == (1, 1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await slow.loading.wait()
        await asyncio.sleep(2)
        assert (slow.begun, slow.done) == (2, 2)

    run_virtual(scene())


def test_failed_loading_is_reported_to_all_and_not_reused() -> None:
    async def scene() -> None:
        slow = Slow(2.0, "it is not there")
        told = await asyncio.gather(*[slow.loading.wait() for _ in range(2)], return_exceptions=True)
        assert [str(error) for error in told] == ["it is not there"] * 2
        slow.fails = ""
        await slow.loading.wait()
        assert (slow.begun, slow.done) == (2, 1)

    run_virtual(scene())


def test_hanging_and_stopped_loading_are_reported() -> None:
    async def scene() -> None:
        slow = Slow(1000.0)
        with pytest.raises(EngineLoadError, match=f"did not load within {LOAD_LIMIT_S:g} s"):
            await slow.loading.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(stopped(slow))
            await asyncio.sleep(1)
            await slow.loading.stop()
        await slow.loading.stop()
        assert (slow.begun, slow.done) == (2, 0)

    async def stopped(slow: Slow) -> None:
        with pytest.raises(EngineLoadError, match="was stopped while it was being loaded"):
            await slow.loading.wait()

    run_virtual(scene())
