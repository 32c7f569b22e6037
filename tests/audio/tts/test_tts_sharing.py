"""One voice shared by several conversations: order of synthesis and reloading."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

import pytest
from support.engines.hangs import hangs_found_soon
from support.models.synthetic_piper import tone_voice

from audio import hang_detection
from audio.errors import EngineLoadError, TtsError
from audio.thread_times import ThreadTimes
from audio.threads import engine_thread
from audio.threads.engine_thread import EngineThread, due_s
from audio.tts.piper.model import PiperModel
from audio.tts.piper.voice import PiperTts
from audio.tts.streaming.sentence_sound import SentenceSound, StopSwitch

LONG = "The lamp is on. The door is shut. The kettle is on the table. The room is warm."


@pytest.fixture(scope="module")
def tones(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tone_voice(tmp_path_factory.mktemp("voices")))


class SynthesisMonitor:
    """Counts loads, and records the synthesized sentences; each is held until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loadings = 0
        self.made: list[int] = []  # phonemes
        self.broken = 0  # number of phonemes for which synthesis fails
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()
        load, sentence = PiperModel.__init__, PiperModel.sentence

        def loading(model: PiperModel, *args: object, **settings: object) -> None:
            self.loadings += 1
            load(model, *args, **settings)  # type: ignore[arg-type]  # as they came

        def making(model: PiperModel, phonemes: list[str], switch: StopSwitch, speed: float = 1.0) -> SentenceSound:
            self.made.append(len(phonemes))
            self.begun.set()
            assert self.go.wait(10)
            if len(phonemes) == self.broken:
                raise RuntimeError("out of memory")
            return sentence(model, phonemes, switch, speed)

        monkeypatch.setattr(PiperModel, "__init__", loading)
        monkeypatch.setattr(PiperModel, "sentence", making)

    def hold(self) -> None:
        """Holds synthesis from the next sentence on."""
        self.made.clear()
        self.begun.clear()
        self.go.clear()

    async def held(self) -> None:
        """Waits until a sentence is started."""
        assert await asyncio.to_thread(self.begun.wait, 5)


@pytest.fixture
def monitor(monkeypatch: pytest.MonkeyPatch) -> SynthesisMonitor:
    return SynthesisMonitor(monkeypatch)


async def said(voice: PiperTts, text: str, ahead_s: float = 0.0) -> int:
    """Returns the number of synthesized samples."""
    async with aclosing(voice.speak(text, ahead_s=ahead_s)) as chunks:
        return sum([chunk.pcm.size async for chunk in chunks])


async def error(voice: PiperTts, text: str) -> str:
    with pytest.raises(TtsError) as raised:
        await said(voice, text)
    return str(raised.value)


async def refusal(voice: PiperTts) -> str:
    with pytest.raises(EngineLoadError) as raised:
        await voice.load()
    return str(raised.value)


def test_jobs_run_by_due_time_and_long_ones_in_parts() -> None:
    order: list[str] = []
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()
    thread: EngineThread[list[str]] = EngineThread("fake", order, TtsError)

    def hold(_engine: list[str]) -> None:
        begun.set()
        assert go.wait(30)

    def job(name: str) -> Callable[[list[str]], None]:
        return lambda engine: engine.append(name)

    def in_parts(engine: list[str]) -> None:
        engine.append("part")
        if engine.count("part") == 1:
            thread.submit(job("short"), 2)  # arrives while the first part is made
        if engine.count("part") < 3:
            thread.submit(in_parts, 3)

    thread.submit(hold)
    assert begun.wait(30)
    thread.submit(lambda _: ended.set(), 9)
    thread.submit(job("late"), 5)
    thread.submit(in_parts, 3)
    thread.submit(job("one"), 1)
    thread.submit(job("two"), 1)
    go.set()
    assert ended.wait(30)
    assert order == ["one", "two", "part", "short", "part", "part", "late"]
    thread.give_up()


def test_long_text_is_not_delayed_forever() -> None:
    assert due_s(10.0, "x" * 60) > due_s(12.0, "Yes.")
    assert due_s(10.0, "x" * 60) < due_s(14.0, "Yes.")


def test_later_chunk_is_due_when_its_reply_falls_silent() -> None:
    assert due_s(10.0, "Yes.", ahead_s=3.0) == 13.0
    assert due_s(10.0, "x" * 60, ahead_s=0.0) < due_s(10.0, "Yes.", ahead_s=5.0)


def test_only_waits_for_awaited_sound_are_recorded() -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()
    thread: EngineThread[None] = EngineThread("fake", None, TtsError)

    def hold(_engine: None) -> None:
        begun.set()
        assert go.wait(30)

    thread.submit(hold)
    assert begun.wait(30)
    thread.submit(lambda _: None, 1.0, awaited=True)
    thread.submit(lambda _: ended.set(), 2.0)
    go.set()
    assert ended.wait(30)
    (wait_s,) = thread.queue_wait.after(0)
    assert wait_s > 0
    thread.give_up()


async def test_first_chunk_of_reply_comes_before_later_chunk_of_another(tones: str, monitor: SynthesisMonitor) -> None:
    voice = PiperTts(tones)
    await voice.load()
    monitor.hold()
    order: list[str] = []
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(said(voice, LONG))
        await monitor.held()
        for name, text, ahead_s in (("later", "Yes,", 10.0), ("first", "The room is warm.", 0.0)):
            task = tasks.create_task(said(voice, text, ahead_s))
            task.add_done_callback(lambda _, name=name: order.append(name))  # type: ignore[misc]
            await asyncio.sleep(0)
        monitor.go.set()
    assert order == ["first", "later"]
    assert voice.queue_wait.jobs == 2, "later sound is not awaited, and each text counts once"
    await voice.aclose()


async def test_first_chunk_does_not_wait_for_long_text(tones: str, monitor: SynthesisMonitor) -> None:
    voice = PiperTts(tones)
    await voice.load()
    monitor.hold()
    order: list[str] = []
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        long = tasks.create_task(said(voice, LONG))
        long.add_done_callback(lambda _: order.append("long"))
        await monitor.held()
        for _ in range(2):
            short = tasks.create_task(said(voice, "Yes,"))
            short.add_done_callback(lambda _: order.append("short"))
            await asyncio.sleep(0)
        monitor.go.set()
    assert order == ["short", "short", "long"]
    first, *others = monitor.made
    assert len(others) == 5
    assert max(others[:2]) < min(first, *others[2:]), "both after the one sentence that was under way"
    assert long.result() > 4 * short.result()
    await voice.aclose()


async def test_first_part_comes_before_parts_of_another_text_that_are_heard_later(
    tones: str, monitor: SynthesisMonitor
) -> None:
    voice = PiperTts(tones)
    await voice.load()
    monitor.hold()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        tasks.create_task(said(voice, LONG))
        await monitor.held()
        tasks.create_task(said(voice, LONG))
        await asyncio.sleep(0)
        monitor.go.set()
    first, second, *rest = monitor.made
    assert second != first
    assert rest[0] == first, "after two parts of the first text, the second has its turn"
    await voice.aclose()


async def test_working_voice_is_not_reloaded(tones: str, monitor: SynthesisMonitor) -> None:
    voice = PiperTts(tones)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(voice.load())
    await said(voice, "Hello.")
    await voice.load()
    assert monitor.loadings == 1
    await voice.aclose()
    await voice.load()
    assert monitor.loadings == 2
    await voice.aclose()


async def test_failed_voice_is_reloaded_once_while_others_continue(tones: str, monitor: SynthesisMonitor) -> None:
    voice = PiperTts(tones)
    await voice.load()
    whole = await said(voice, LONG)
    monitor.made.clear()
    await said(voice, "Yes,")
    [monitor.broken] = monitor.made
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        monitor.hold()
        other = tasks.create_task(said(voice, LONG))
        await monitor.held()
        failing = tasks.create_task(error(voice, "Yes,"))
        await asyncio.sleep(0)
        monitor.go.set()
        assert "failed inside a chunk (RuntimeError)" in await failing
        monitor.broken = 0
        for _ in range(3):
            tasks.create_task(voice.load())
    assert other.result() == whole
    assert monitor.loadings == 2
    assert await said(voice, "Yes,")
    await voice.aclose()


async def test_hang_is_reported_to_all_and_voice_replaced_after_it_is_gone(
    tones: str, monitor: SynthesisMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_thread, "GONE_S", 0.1)
    voice = PiperTts(tones)
    await voice.load()
    threads = threading.active_count()
    monitor.hold()
    with hangs_found_soon():
        async with asyncio.TaskGroup() as tasks:
            errors = [tasks.create_task(error(voice, "Hello.")) for _ in range(2)]
    told = " ".join(task.result() for task in errors)
    assert "neither computed nor waited" in told
    assert "abandoned" in told
    for _ in range(2):
        assert "cannot be stopped" in await refusal(voice)
    assert (monitor.loadings, threading.active_count()) == (1, threads)
    monitor.go.set()
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(voice.load())
    assert monitor.loadings == 2
    assert await said(voice, "Hello.")
    await voice.aclose()


async def test_late_audio_is_delivered_and_voice_kept(
    tones: str, monitor: SynthesisMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is held, and its threads wait for a processor as on a busy machine."""
    sample = ThreadTimes.sample
    monkeypatch.setattr(ThreadTimes, "sample", lambda *asked: replace(sample(*asked), starved=True))
    voice = PiperTts(tones)
    await voice.load()
    monitor.hold()
    with hangs_found_soon():
        late = asyncio.create_task(said(voice, "Hello."))
        await monitor.held()
        await asyncio.sleep(0.8)
        await voice.load()
        monitor.go.set()
    assert await late
    assert monitor.loadings == 1
    await voice.aclose()


async def test_reload_continues_when_caller_leaves(tones: str, monitor: SynthesisMonitor) -> None:
    voice = PiperTts(tones)
    monitor.hold()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        hasty, patient = (tasks.create_task(voice.load()) for _ in range(2))
        await monitor.held()
        hasty.cancel()
        await asyncio.wait([hasty])
        monitor.go.set()
    assert patient.done()
    assert monitor.loadings == 1
    assert await said(voice, "Hello.")
    await voice.aclose()


async def test_voice_closed_during_reload(tones: str, monitor: SynthesisMonitor) -> None:
    voice = PiperTts(tones)
    monitor.hold()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        failing = tasks.create_task(refusal(voice))
        await monitor.held()
        await voice.aclose()
        assert "was stopped while it was being loaded" in await failing
        monitor.go.set()
    assert "not loaded" in await error(voice, "Hello.")


async def test_waiting_for_other_conversations_is_not_reported_as_hang(
    tones: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hang_detection, "BLOCKED_S", 0.8)
    sentence = PiperModel.sentence

    def slowly(model: PiperModel, phonemes: list[str], switch: StopSwitch, speed: float = 1.0) -> SentenceSound:
        threading.Event().wait(0.1)
        return sentence(model, phonemes, switch, speed)

    voice = PiperTts(tones)
    await voice.load()
    monkeypatch.setattr(PiperModel, "sentence", slowly)
    thread, talking = voice._thread, True

    async def talk() -> None:
        while talking:
            assert await said(voice, "Yes,")

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(talk())
        assert await said(voice, LONG)
        await voice.load()
        assert voice._thread is thread
        talking = False
    await voice.aclose()
