"""A recognizer made of an engine that recognizes a whole segment, with scripted engines."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from audio.errors import EngineLoadError, SttError
from audio.stt import SegmentId, Transcript
from audio.stt.segment_recognizer import MAX_SAMPLES, SegmentRecognizer
from audio.units import MIC_RATE_HZ, Pcm, Samples, samples_of_ms

SECOND = np.full(MIC_RATE_HZ, 3000, np.int16)


class Engine:
    """Returns the number of samples as words; raises `failure` once if there is one."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.asked: list[int] = []
        self.go = threading.Event()
        self.go.set()

    def words(self, pcm: Pcm) -> str:
        assert self.go.wait(30)
        self.asked.append(len(pcm))
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        return f"{len(pcm)}"


@asynccontextmanager
async def loaded() -> AsyncGenerator[tuple[SegmentRecognizer, Engine]]:
    engine = Engine()
    shared = SegmentRecognizer("counter", lambda: engine)
    await shared.load()
    engine.asked.clear()
    try:
        yield shared, engine
    finally:
        engine.go.set()
        await shared.aclose()


async def test_transcript_covers_the_fed_sound() -> None:
    async with loaded() as (shared, _):
        stream = shared.transcriber().open(SegmentId(100), lambda _words: None)
        stream.feed(SECOND)
        stream.feed(SECOND)
        assert await stream.transcript() == Transcript(SegmentId(100), Samples(100 + 2 * MIC_RATE_HZ), "32000")


async def test_sound_after_the_end_of_speech_is_not_recognized_again() -> None:
    async with loaded() as (shared, engine):
        stream = shared.transcriber().open(SegmentId(0), lambda _words: None)
        stream.feed(SECOND)
        first = await stream.transcript(early=True)
        stream.feed(SECOND[: samples_of_ms(100)])
        assert await stream.transcript(Samples(MIC_RATE_HZ - samples_of_ms(40))) is first
        assert (await stream.transcript()).text == "17600"
        assert engine.asked == [16000, 17600]


async def test_failed_engine_is_loaded_again() -> None:
    async with loaded() as (shared, engine):
        recognizer = shared.transcriber()
        stream = recognizer.open(SegmentId(0), lambda _words: None)
        stream.feed(SECOND)
        engine.failure = RuntimeError("private words")
        with pytest.raises(SttError, match=r"^counter failed \(RuntimeError\): load it again$"):
            await stream.transcript()
        assert not recognizer.works
        await recognizer.load()
        assert recognizer.works
        assert (await stream.transcript()).text == "16000"


async def test_cancelled_request_that_has_not_begun_is_dropped() -> None:
    async with loaded() as (shared, engine):
        streams = [shared.transcriber().open(SegmentId(0), lambda _words: None) for _ in range(2)]
        for length, stream in zip((1, 2), streams, strict=True):
            stream.feed(SECOND[: length * 100])
        engine.go.clear()
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(streams[0].transcript())
            second = tasks.create_task(streams[1].transcript())
            await asyncio.sleep(0.05)
            second.cancel()
            await asyncio.sleep(0)
            engine.go.set()
            assert (await first).text == "100"
        assert (await streams[0].transcript()).text == "100"
        assert engine.asked == [100]


class ProcessLikeEngine(Engine):
    """An engine with a process of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = threading.Event()

    def kill(self) -> None:
        """Ends nothing: `words` returns by itself."""

    def close(self) -> None:
        self.closed.set()


@pytest.mark.parametrize("in_trial", [False, True], ids=["loading", "trial"])
def test_engine_whose_loading_was_stopped_is_closed(*, in_trial: bool) -> None:
    async def scene() -> None:
        engine, loads, go = ProcessLikeEngine(), threading.Event(), threading.Event()

        def load() -> Engine:
            loads.set()
            assert go.wait(30)
            return engine

        shared = SegmentRecognizer("counter", load)
        engine.go.clear()
        loading = asyncio.create_task(shared.load())
        assert await asyncio.to_thread(loads.wait, 30)
        if in_trial:
            go.set()
            await asyncio.sleep(0.05)
        assert not shared.works, "the engine is not tried yet"
        await shared.aclose()
        with pytest.raises(EngineLoadError, match="stopped"):
            await loading
        go.set()
        engine.go.set()
        assert await asyncio.to_thread(engine.closed.wait, 30)
        assert not shared.works

    asyncio.run(scene())


async def test_engine_that_fails_at_once_is_not_loaded() -> None:
    engine = Engine()
    engine.failure = ValueError("shape")
    shared = SegmentRecognizer("counter", lambda: engine)
    with pytest.raises(EngineLoadError, match="counter cannot be used"):
        await shared.load()
    assert not shared.works
    with pytest.raises(SttError):
        await shared.words(SECOND)


async def test_segment_without_end_is_refused() -> None:
    async with loaded() as (shared, _):
        stream = shared.transcriber().open(SegmentId(0), lambda _words: None)
        with pytest.raises(SttError, match="longer than 120 s"):
            stream.feed(np.zeros(MAX_SAMPLES + 1, np.int16))
