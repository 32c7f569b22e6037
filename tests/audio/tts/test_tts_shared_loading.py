"""A loading shared by all conversations, with a timeout."""

import asyncio
import threading

import numpy as np
import pytest

from audio.errors import EngineLoadError
from audio.execution_provider import ProviderInUse, ProviderRequest
from audio.thread_times import ThreadTimes
from audio.threads.shared_loading import LOAD_LIMIT_S, SharedLoading
from audio.tts.streaming.sentence_sound import Sound
from audio.tts.streaming.whole_text_voice import WholeTextVoice


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


@pytest.mark.virtual_time
async def test_loading_continues_when_callers_leave() -> None:
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


@pytest.mark.virtual_time
async def test_failed_loading_is_reported_to_all_and_not_reused() -> None:
    slow = Slow(2.0, "it is not there")
    told = await asyncio.gather(*[slow.loading.wait() for _ in range(2)], return_exceptions=True)
    assert [str(error) for error in told] == ["it is not there"] * 2
    slow.fails = ""
    await slow.loading.wait()
    assert (slow.begun, slow.done) == (2, 1)


@pytest.mark.virtual_time
async def test_hanging_and_stopped_loading_are_reported() -> None:
    async def stopped(slow: Slow) -> None:
        with pytest.raises(EngineLoadError, match="was stopped while it was being loaded"):
            await slow.loading.wait()

    slow = Slow(1000.0)
    with pytest.raises(EngineLoadError, match=f"did not load within {LOAD_LIMIT_S:g} s"):
        await slow.loading.wait()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(stopped(slow))
        await asyncio.sleep(1)
        await slow.loading.stop()
    await slow.loading.stop()
    assert (slow.begun, slow.done) == (2, 0)


class ProcessModel:
    """A model with a process of its own."""

    rate_hz = 24_000
    provider: ProviderInUse = "cpu"
    fallback = ""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def sound(self, text: str, speed: float) -> Sound:
        return np.full(2400, 0.1, np.float32)

    def kill(self) -> None:
        """Ends nothing: `sound` returns by itself."""

    def close(self) -> None:
        self.closed.set()


class SlowVoice(WholeTextVoice[ProcessModel]):
    """Its model is loaded when `go` is set."""

    name = title = "slow"

    def __init__(self) -> None:
        super().__init__(language="en", target_dbfs=-20.0, provider=ProviderRequest("", "cpu"), lateness=None)
        self.model = ProcessModel()
        self.begun, self.go = threading.Event(), threading.Event()

    def load_model(self, times: ThreadTimes) -> ProcessModel:
        self.begun.set()
        assert self.go.wait(30)
        return self.model

    def model_detail(self, model: ProcessModel) -> str:
        return ""


async def test_voice_whose_loading_was_stopped_closes_its_model() -> None:
    voice = SlowVoice()
    loading = asyncio.create_task(voice.load())
    assert await asyncio.to_thread(voice.begun.wait, 30)
    await voice.aclose()
    with pytest.raises(EngineLoadError, match="stopped"):
        await loading
    voice.go.set()
    assert await asyncio.to_thread(voice.model.closed.wait, 30)
