"""One model for several conversations: a real CTranslate2 model whose weights produce a script."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.engines.hangs import hangs_found_soon
from support.models.synthetic_whisper import cached_whisper, loaded_once, loud, quiet, seconds_of

from audio import degradation
from audio.degradation import Degradation
from audio.engine_lateness import EngineLateness
from audio.errors import BusyError, EngineLoadError, LateError, SttError
from audio.hang_detection import HangDetector
from audio.stt import LanguageDetector, SegmentId, Transcript
from audio.stt.whisper import decode_scheduler, shared_model
from audio.stt.whisper.decode_scheduler import (
    ALWAYS_SERVED,
    LANGUAGE_CHECKS,
    ConversationShare,
    Decode,
    DecodeScheduler,
)
from audio.stt.whisper.hallucination_filter import DecodeResult
from audio.stt.whisper.model import Decoded, LoadedWhisper, WhisperSettings
from audio.stt.whisper.shared_model import SharedWhisper, SharedWhisperRecognizer
from audio.stt.whisper.stream import WhisperStream
from audio.thread_times import ThreadTimes
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, samples_of_s

SCRIPT = "what time is it in the town".split()
ENOUGH_S = seconds_of(3)


@pytest.fixture(scope="module")
def model() -> Iterator[Path]:
    with loaded_once():
        yield cached_whisper(*SCRIPT)


class DecodeMonitor:
    """Counts loads and records decodes; each decode is held until it is released (`release`).

    The first sample of a segment is the number of its conversation. It shows which conversation a decode is for.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loadings = 0
        self.begun: list[tuple[int, str, int]] = []  # conversation, "final" or "interim", samples
        self.broken = False
        self.is_holding = False
        self._permits = threading.Semaphore(0)
        load, decode = LoadedWhisper.__init__, LoadedWhisper.decode

        def loading(loaded: LoadedWhisper, settings: WhisperSettings) -> None:
            self.loadings += 1
            is_holding, self.is_holding = self.is_holding, False  # the model warms up with a decode
            load(loaded, settings)
            self.is_holding = is_holding
            self.begun.clear()

        def decoding(
            loaded: LoadedWhisper,
            pcm: Pcm,
            language: str | None,
            *,
            retry: bool,
            is_wanted: Callable[[], bool] = lambda: True,
            **options: Any,
        ) -> Decoded | None:
            self.begun.append((int(pcm[0]), "final" if retry else "interim", len(pcm)))
            if self.is_holding:
                assert self._permits.acquire(timeout=60)
            if self.broken:
                raise RuntimeError("CUDA out of memory")
            return decode(loaded, pcm, language, retry=retry, is_wanted=is_wanted, **options)

        monkeypatch.setattr(LoadedWhisper, "__init__", loading)
        monkeypatch.setattr(LoadedWhisper, "decode", decoding)

    def release(self, decodes: int = 1) -> None:
        """Releases a number of decodes."""
        self._permits.release(decodes)

    def release_all(self) -> None:
        """Releases all decodes."""
        self.is_holding = False
        self.release(50)

    async def until(self, begun: int) -> None:
        """Waits until a number of decodes have started."""
        async with asyncio.timeout(30):
            while len(self.begun) < begun:  # noqa: ASYNC110 - it is a thread that adds to it
                await asyncio.sleep(0.001)

    @property
    def order(self) -> list[tuple[int, str]]:
        return [(number, kind) for number, kind, _ in self.begun]


@pytest.fixture
def monitor(monkeypatch: pytest.MonkeyPatch) -> DecodeMonitor:
    return DecodeMonitor(monkeypatch)


@pytest.fixture
def interims_at_any_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interim decodes need only the minimum of new audio, however long this machine took for the last decode."""
    monkeypatch.setattr("audio.stt.whisper.stream._INTERIM_INTERVAL_FACTOR", 0.0)


class Conversation:
    """A conversation with an open segment."""

    def __init__(self, shared: SharedWhisper, number: int, *, background: bool = False) -> None:
        self.number = number
        self.recognizer: SharedWhisperRecognizer = shared.transcriber(background=background)
        self.interims: list[Transcript] = []
        self.drafts: list[Transcript] = []
        self.open_segment()

    def on_interim(self, words: Transcript) -> None:
        (self.drafts if words.is_draft else self.interims).append(words)

    def open_segment(self) -> None:
        self.stream: WhisperStream = self.recognizer.open(SegmentId(self.number), self.on_interim)
        self._fed = 0

    def say(self, seconds: float) -> None:
        sound = loud(seconds)
        if self._fed == 0:
            sound[0] = self.number
        self._fed += len(sound)
        self.stream.feed(sound)

    async def words(self) -> str:
        return (await self.stream.transcript()).text

    async def error(self) -> str:
        with pytest.raises(SttError) as error:
            await self.words()
        return str(error.value)


@asynccontextmanager
async def loaded(shared: SharedWhisper) -> AsyncGenerator[SharedWhisper]:
    await shared.load()
    try:
        async with asyncio.timeout(60):
            yield shared
    finally:
        await shared.aclose()


def sharing(model: Path, *, language: str | None = "en", workers: int = 1) -> SharedWhisper:
    return SharedWhisper(WhisperSettings(model, language, "cpu", workers=workers))


@pytest.mark.parametrize("workers", [1, 2], ids=["1 worker", "2 workers"])
async def test_each_conversation_gets_its_own_words(model: Path, monitor: DecodeMonitor, workers: int) -> None:
    conversations = 7

    async def turn(number: int) -> str:
        person = Conversation(shared, number)
        for _ in range(2):  # a second turn with the same recognizer
            person.open_segment()
            for at in range(0, len(sound := loud(seconds_of(number + 1))), FRAME_SAMPLES):
                person.stream.feed(sound[at : at + FRAME_SAMPLES])
                await asyncio.sleep(0)
            text = await person.words()
            person.stream.close()
        assert {words.segment for words in person.interims} <= {number}
        return text

    async with loaded(sharing(model, workers=workers)) as shared:
        async with asyncio.TaskGroup() as tasks:
            turns = [tasks.create_task(turn(number)) for number in range(conversations)]
        assert [task.result() for task in turns] == [" ".join(SCRIPT[: number + 1]) for number in range(conversations)]
        assert monitor.loadings == 1


async def test_recognizer_without_segments_costs_nothing(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        before = threading.active_count()
        seats = [shared.transcriber() for _ in range(100)]
        for recognizer in seats:
            await recognizer.load()
        assert (threading.active_count(), monitor.loadings, monitor.begun) == (before, 1, [])


async def test_finals_come_first_in_order_of_request(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        conversations = [Conversation(shared, number) for number in range(8)]
        for person in conversations:
            person.say(ENOUGH_S)  # the first interim starts, and all need one
        await monitor.until(1)
        async with asyncio.TaskGroup() as tasks:
            for number in (5, 3, 6):
                tasks.create_task(conversations[number].words())
                await asyncio.sleep(0)
            monitor.release()
            await monitor.until(2)
            tasks.create_task(conversations[1].words())
            await asyncio.sleep(0)
            monitor.release_all()
        await monitor.until(8)
        finals = [(number, "final") for number in (5, 3, 6, 1)]
        interims = [(number, "interim") for number in (2, 4, 7)]
        assert monitor.order == [(0, "interim"), *finals, *interims]


async def test_transcript_behind_too_many_others_is_refused_at_once(
    model: Path, monitor: DecodeMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode_scheduler, "MAX_WAIT_S", 0.0)
    async with loaded(sharing(model)) as shared:
        before = Conversation(shared, 9)
        before.say(ENOUGH_S)
        await before.words()  # shows how long a decode takes
        monitor.is_holding = True
        conversations = [Conversation(shared, number) for number in range(7)]
        for person in conversations:
            person.say(ENOUGH_S)
        served, refused = conversations[:ALWAYS_SERVED], conversations[ALWAYS_SERVED:]
        async with asyncio.TaskGroup() as tasks:
            words = [tasks.create_task(person.words()) for person in served]
            await asyncio.sleep(0)
            for person in refused:
                with pytest.raises(BusyError, match="4 other conversations come first"):
                    await person.words()
            monitor.release_all()
        assert [task.result() for task in words] == ["what time is"] * ALWAYS_SERVED
        for person in refused:  # asked again
            assert await person.words() == "what time is"


async def test_waits_of_requested_transcripts_are_recorded(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        first, second = (Conversation(shared, number) for number in range(2))
        first.say(ENOUGH_S)
        await monitor.until(1)
        second.say(ENOUGH_S)
        assert shared.queue_wait.jobs == 0, "nobody waits for an interim transcript"
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(second.words())
            await asyncio.sleep(0)
            assert second.stream.oldest_ticket is not None
            requested_s = asyncio.get_running_loop().time()
            await asyncio.sleep(0.02)
            held_s = asyncio.get_running_loop().time() - requested_s
            monitor.release_all()
        (wait_s,) = shared.queue_wait.after(0)
        assert wait_s >= held_s


async def test_final_waits_for_at_most_one_running_decode(model: Path, monitor: DecodeMonitor) -> None:
    """A request waits only for the running decode, however many conversations need interims and pauses."""
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        conversations = [Conversation(shared, number) for number in range(8)]
        for round_ in range(6):
            for person in conversations:
                person.say(ENOUGH_S)
            conversations[6].stream.feed(quiet(0.1))  # a pause, which is decoded before interims
            await monitor.until(2 * round_ + 1)
            async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
                asking = tasks.create_task(conversations[7].words())
                await asyncio.sleep(0)
                monitor.release(2)
            assert asking.done()
            assert monitor.order[2 * round_ + 1] == (7, "final")
        monitor.release_all()


@pytest.mark.usefixtures("interims_at_any_speed")
async def test_late_recognizer_makes_no_interim_transcripts(model: Path, monitor: DecodeMonitor) -> None:
    lateness = EngineLateness()
    async with loaded(SharedWhisper(WhisperSettings(model, "en", "cpu"), lateness)) as shared:
        lateness.record_wait(1.0)
        person = Conversation(shared, 1)
        person.say(ENOUGH_S)
        await asyncio.sleep(0.05)
        assert monitor.begun == []
        assert await person.words() == "what time is"
        assert [kind for _, kind in monitor.order] == ["final"]


async def test_slow_decodes_leave_out_interim_transcripts(
    model: Path, monitor: DecodeMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(degradation, "REAL_TIME_FACTOR", 1e-6)  # every decode is slow
    lateness = EngineLateness()
    async with loaded(SharedWhisper(WhisperSettings(model, "en", "cpu"), lateness)) as shared:
        for number in (1, 2):
            person = Conversation(shared, number)
            person.say(ENOUGH_S)
            assert await person.words() == "what time is"
        assert lateness.level == Degradation.FEWER_RETRIES
        second = [kind for number, kind in monitor.order if number == 2]
        assert second == ["final"], "a requested transcript may be repeated in the full window"


async def test_conversations_come_before_background(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        recording, talking, other = Conversation(shared, 0, background=True), *(Conversation(shared, n) for n in (1, 2))
        recording.say(ENOUGH_S)
        await asyncio.sleep(0.05)
        assert monitor.order == [], "a recording has no interim transcripts"
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(recording.words())
            await monitor.until(1)
            talking.say(ENOUGH_S)
            tasks.create_task(talking.words())
            other.say(ENOUGH_S)
            await asyncio.sleep(0)
            monitor.release_all()
        assert monitor.order[:4] == [(0, "final"), (1, "final"), (2, "interim"), (0, "final")], "the first was aborted"
        assert waiting.result()


async def test_background_does_not_make_conversations_slower(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        recording, talking = Conversation(shared, 0, background=True), Conversation(shared, 1)
        recording.say(ENOUGH_S)
        talking.say(ENOUGH_S)
        assert not shared._scheduler.has_several_clients, "drafts are still given"
        assert await recording.words()
        assert await talking.words()


@pytest.mark.usefixtures("interims_at_any_speed")
async def test_conversations_take_turns_for_partials(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        conversations = [Conversation(shared, number) for number in range(4)]
        for begun in range(1, 17):
            for person in conversations:
                person.say(1.0)
            await monitor.until(begun)
            monitor.release()
        order = [number for number, _ in monitor.order]
        assert all(sorted(order[at : at + 4]) == [0, 1, 2, 3] for at in range(len(order) - 3))
        monitor.release_all()


@pytest.mark.usefixtures("interims_at_any_speed")
async def test_many_short_segments_do_not_overtake_other_conversations(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        steady, restless = Conversation(shared, 1), Conversation(shared, 2)
        for begun in range(1, 9):
            steady.say(1.0)
            restless.open_segment()
            restless.say(1.0)
            await monitor.until(begun)
            monitor.release()
        assert Counter(number for number, _ in monitor.order) == {1: 4, 2: 4}
        monitor.release_all()


async def test_delayed_partial_covers_newest_audio_and_comes_once(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        asker, speaker = Conversation(shared, 1), Conversation(shared, 2)
        asker.say(0.25)  # too short for an interim
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asker.words())
            await monitor.until(1)
            for _ in range(10):
                speaker.say(0.2)
            monitor.release_all()
        await monitor.until(2)
        assert monitor.begun[1:] == [(2, "interim", samples_of_s(2))]


def test_partials_become_rarer_with_more_conversations() -> None:
    stream = stream_without_model()
    stream.feed(loud(0.5))
    decode = stream.start_decode("interim")
    stream.on_decoded(decode, Decoded("what", "", "en", language_sure=False), 0.125)

    def wanted(crowd: float) -> bool:
        return stream.needed_decode(crowd) == "interim"

    stream.feed(loud(0.48))
    assert not wanted(1)
    stream.feed(loud(0.02))
    assert (wanted(1), wanted(2)) == (True, False)
    stream.feed(loud(1.48))
    assert not wanted(2)
    stream.feed(loud(0.02))
    assert (wanted(2), wanted(8)) == (True, False)
    stream.feed(loud(6.0))
    assert wanted(8)
    after = WhisperStream(stream._scheduler, stream.share, SegmentId(100_000), samples_of_s(0.3), lambda _words: None)
    after.feed(loud(0.48))
    assert after.needed_decode(1) is None, "the next segment knows how long the conversation's decodes take"


async def test_running_partial_is_aborted_for_requested_transcript(
    model: Path, monitor: DecodeMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, generated = sharing(model), []
    generate = LoadedWhisper.generate

    def generating(loaded: LoadedWhisper, *arguments: Any, **options: Any) -> DecodeResult:
        generated.append(len(monitor.begun))
        return generate(loaded, *arguments, **options)

    async with loaded(shared):
        monkeypatch.setattr(LoadedWhisper, "generate", generating)
        monitor.is_holding = True
        first, second = Conversation(shared, 1), Conversation(shared, 2)
        first.say(0.5)
        await monitor.until(1)
        second.say(0.5)
        async with asyncio.TaskGroup() as tasks:
            words = tasks.create_task(second.words())
            await asyncio.sleep(0)
            monitor.release_all()
        assert words.result()
        assert monitor.order[:2] == [(1, "interim"), (2, "final")]
        assert generated[0] == 2, "the interim's decoder was never begun"
        assert not first.interims
        assert await first.words(), "its sound is not lost"


@pytest.mark.parametrize("loops", [False, True], ids=["without loop", "with loop"])
async def test_decode_of_pause_is_aborted_when_speech_continues(
    model: Path, monitor: DecodeMonitor, monkeypatch: pytest.MonkeyPatch, *, loops: bool
) -> None:
    """Aborts before the decoder, or before the full window that a loop requires."""
    shared, generated, asked = sharing(model), list[int](), threading.Event()
    generate = LoadedWhisper.generate

    def generating(loaded: LoadedWhisper, encoded: Any, language: str, samples: int, **options: Any) -> DecodeResult:
        generated.append(samples)
        evidence = generate(loaded, encoded, language, samples, **options)
        if len(generated) > 1 or not loops:
            return evidence
        assert asked.wait(timeout=60)
        return replace(evidence, text="turn it on turn it on")

    async with loaded(shared):
        monkeypatch.setattr(LoadedWhisper, "generate", generating)
        monitor.is_holding = not loops
        person = Conversation(shared, 1)
        person.say(0.25)
        person.stream.feed(quiet(0.1))
        await monitor.until(1)
        async with asyncio.timeout(30):
            while loops and not generated:  # noqa: ASYNC110 - it is a thread that adds to it
                await asyncio.sleep(0.001)
        person.say(0.1)
        async with asyncio.TaskGroup() as tasks:
            words = tasks.create_task(person.words())
            await asyncio.sleep(0)
            asked.set()
            monitor.release_all()
        assert words.result()
        assert monitor.begun == [(1, "final", samples_of_s(0.35)), (1, "final", samples_of_s(0.45))]
        assert generated == [samples_of_s(0.35)] * loops + [samples_of_s(0.45)]


async def test_later_pause_does_not_abort_decode_of_earlier_one(model: Path, monitor: DecodeMonitor) -> None:
    """Otherwise a slow model would give no words before the end for users who speak in short phrases."""
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        person = Conversation(shared, 1)
        person.say(0.25)
        person.stream.feed(quiet(0.1))
        await monitor.until(1)
        person.say(0.4)
        person.stream.feed(quiet(0.1))
        monitor.release_all()
        await monitor.until(2)
        async with asyncio.timeout(30):
            while person.stream._latest is None:  # noqa: ASYNC110 - it has no event to wait for
                await asyncio.sleep(0.001)
        assert person.stream._latest[0] == samples_of_s(0.35)


@pytest.mark.parametrize("given_up", [False, True], ids=["recognizer closed", "segment cancelled"])
async def test_decode_for_cancelled_segment_never_starts(model: Path, monitor: DecodeMonitor, given_up: bool) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        first, second, third = (Conversation(shared, number) for number in range(3))
        for person in (first, second, third):
            person.say(ENOUGH_S)
        await monitor.until(1)
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(second.words())
            waiting = tasks.create_task(third.words())
            await asyncio.sleep(0)
            asking.cancel()
            if given_up:
                second.stream.cancel()
            else:
                await second.recognizer.aclose()
            await asyncio.sleep(0)
            monitor.release_all()
        assert waiting.result() == "what time is"
        assert monitor.order == [(0, "interim"), (2, "final")]


async def test_closing_one_recognizer_does_not_affect_others(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        leaving, staying = Conversation(shared, 1), Conversation(shared, 2)
        leaving.say(ENOUGH_S)
        staying.say(ENOUGH_S)
        await monitor.until(1)  # the decode of the conversation that is closed
        async with asyncio.TaskGroup() as tasks:
            lost = tasks.create_task(leaving.error())
            waiting = tasks.create_task(staying.words())
            await asyncio.sleep(0)
            await leaving.recognizer.aclose()
            await leaving.recognizer.aclose()
            monitor.release_all()
        assert "stopped" in lost.result()
        assert waiting.result() == "what time is"
        assert leaving.interims == []
        leaving.open_segment()  # only the conversation's own audio was dropped
        leaving.say(ENOUGH_S)
        assert await leaving.words() == "what time is"
        assert monitor.loadings == 1


async def test_failure_fails_pending_requests_and_reloads_once(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = monitor.broken = True
        culprit, waiting, speaking = (Conversation(shared, number) for number in range(3))
        for person in (culprit, waiting, speaking):
            person.say(ENOUGH_S)
        await monitor.until(1)
        async with asyncio.TaskGroup() as tasks:
            told = tasks.create_task(waiting.error())
            await asyncio.sleep(0)
            monitor.release_all()
        assert "failed while decoding (CUDA out of memory)" in told.result()
        with pytest.raises(SttError, match="out of memory"):
            culprit.say(0.1)
        with pytest.raises(SttError, match="out of memory"):
            culprit.open_segment()
        assert shared.detail.endswith("not loaded")
        monitor.broken = False
        async with asyncio.TaskGroup() as tasks:
            for person in (culprit, waiting, speaking):
                tasks.create_task(person.recognizer.load())
            async with asyncio.timeout(30):
                while monitor.loadings < 2:  # noqa: ASYNC110 - begins after the threads of the failed model have ended
                    await asyncio.sleep(0.001)
            speaking.say(0.01)  # it continues, and no audio is lost
            for person in (culprit, waiting):
                person.open_segment()  # a segment may start while the model is loading
                person.say(seconds_of(2))
        assert monitor.loadings == 2
        assert [await person.words() for person in (culprit, waiting, speaking)] == [
            "what time",
            "what time",
            "what time is",
        ]


async def test_live_speech_does_not_wait_for_a_recording(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        file = Conversation(shared, 1)
        file.recognizer.expect_recording(is_recording=True)
        monitor.is_holding = True
        file.say(ENOUGH_S)
        async with asyncio.TaskGroup() as tasks:
            recorded = tasks.create_task(file.words())
            await monitor.until(1)
            person = Conversation(shared, 2)
            person.say(ENOUGH_S)
            spoken = tasks.create_task(person.words())
            await asyncio.sleep(0.01)
            monitor.release_all()
        assert (recorded.result(), spoken.result()) == ("what time is", "what time is")
        assert [number for number, _ in monitor.order] == [1, 2, 1], "it is aborted, and begun again"


async def test_failure_without_pending_requests_is_reported(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = monitor.broken = True
        gone, there = Conversation(shared, 1), Conversation(shared, 2)
        gone.say(ENOUGH_S)
        there.say(0.1)
        await monitor.until(1)
        gone.stream.cancel()
        monitor.release_all()
        async with asyncio.timeout(30):
            while shared.works:  # noqa: ASYNC110 - it has no event to wait for
                await asyncio.sleep(0.001)
        with pytest.raises(SttError, match="out of memory"):
            there.say(0.1)


async def test_requests_are_refused_until_failed_model_is_reloaded(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.broken = True
        culprit, other = Conversation(shared, 1), Conversation(shared, 2)
        other.say(0.25)
        culprit.say(ENOUGH_S)
        assert "out of memory" in await culprit.error()
        other.say(0.01)  # it got no error, because it had no pending request
        assert "out of memory" in await other.error()


def test_each_refusal_raises_a_new_error(model: Path) -> None:
    """An exception raised repeatedly accumulates tracebacks and all objects they reference."""
    recognizer = sharing(model).transcriber()
    refusals = []
    for _ in range(2):
        with pytest.raises(SttError, match="not loaded") as refused:
            recognizer.open(SegmentId(0), lambda _: None)
        refusals.append(refused.value)
    assert refusals[0] is not refusals[1]


async def test_hung_model_is_replaced_once_after_it_is_gone(
    model: Path, monitor: DecodeMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_model, "GONE_S", 0.1)
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        conversations = [Conversation(shared, number) for number in range(3)]
        for person in conversations:
            person.say(ENOUGH_S)
        await monitor.until(1)
        with hangs_found_soon():
            assert "hung (it has neither computed nor waited" in await conversations[1].error()
        threads = threading.active_count()
        for person in conversations:
            assert "cannot be stopped" in await error_of(person.recognizer.load())
        assert (monitor.loadings, threading.active_count()) == (1, threads)
        monitor.release_all()
        monkeypatch.setattr(shared_model, "GONE_S", 30.0)  # a busy machine ends the decode late
        async with asyncio.TaskGroup() as tasks:
            for person in conversations:
                tasks.create_task(person.recognizer.load())
        assert (monitor.loadings, threading.active_count()) == (2, threads)
        conversations[1].open_segment()
        conversations[1].say(seconds_of(2))
        assert await conversations[1].words() == "what time"
        assert await conversations[2].words() == "what time is"
        assert conversations[0].interims == []


async def test_late_decode_is_delivered_and_model_kept(
    model: Path, monitor: DecodeMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decode is held, and its threads wait for a processor as on a busy machine."""
    sample = ThreadTimes.sample
    monkeypatch.setattr(ThreadTimes, "sample", lambda *asked: replace(sample(*asked), starved=True))
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        slow, other = Conversation(shared, 1), Conversation(shared, 2)
        slow.say(ENOUGH_S)
        await monitor.until(1)
        with hangs_found_soon():
            late = asyncio.create_task(slow.words())
            await asyncio.sleep(0.8)
            await other.recognizer.load()
            monitor.release_all()
        assert await late == "what time is"
        assert monitor.loadings == 1


async def test_request_that_is_too_late_fails_alone(
    model: Path, monitor: DecodeMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> Decoded:
        raise LateError("the cluster did not answer in time")

    async with loaded(sharing(model)) as shared:
        slow, other = Conversation(shared, 1), Conversation(shared, 2)
        with monkeypatch.context() as patch:
            patch.setattr(LoadedWhisper, "decode", late)
            slow.say(ENOUGH_S)
            assert "in time" in await slow.error()
        other.say(ENOUGH_S)
        assert await other.words() == "what time is"
        assert monitor.loadings == 1


async def test_language_is_detected_per_conversation() -> None:
    path = cached_whisper(*"wie spät ist es jetzt gerade hier".split(), language="de")
    async with loaded(sharing(path, language=None)) as shared:
        long, short = Conversation(shared, 1), Conversation(shared, 2)
        long.say(2)
        short.say(1)
        assert (await long.words(), await short.words()) == ("wie spät ist es jetzt gerade hier", "wie spät ist")
        assert long.recognizer.detail.endswith("adaptive window, de")
        assert short.recognizer.detail.endswith("language not yet detected")
        assert long.recognizer.reset(), "for the next conversation"
        assert long.recognizer.detail.endswith("language not yet detected")
        with pytest.raises(SttError, match="has ended"):
            long.say(1)
        await shared.aclose()
        assert not long.recognizer.reset()


@pytest.mark.parametrize(
    ("spoken", "seconds", "other", "checks"),
    [("de", 2.5, "de", LANGUAGE_CHECKS - 1), ("en", 2.5, "", 0), ("de", 1.5, "", LANGUAGE_CHECKS)],
    ids=["another language", "expected language", "too short"],
)
async def test_fluent_words_in_another_language_are_noticed(
    spoken: str, seconds: float, other: str, checks: int
) -> None:
    words = "wie spät ist es jetzt gerade hier".split()
    async with loaded(sharing(cached_whisper(*words, probability=0.99, language=spoken))) as shared:
        person = Conversation(shared, 1)
        person.say(seconds)
        assert await person.words()
        async with asyncio.timeout(10):
            while person.recognizer._share.language_checks != checks or person.recognizer.other_language != other:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert isinstance(person.recognizer, LanguageDetector)
        assert person.recognizer.reset()
        assert person.recognizer.other_language == "", "another conversation begins"
        await shared.aclose()


async def test_recognizer_of_another_language_shares_the_model(monitor: DecodeMonitor) -> None:
    async with loaded(sharing(cached_whisper("wie", "spät", language="de"))) as shared:
        german = shared.transcriber(language="de-AT")
        assert german.detail.endswith(", de")
        assert german.reset()
        assert german.detail.endswith(", de"), "its language stays"
        assert shared.multilingual
        assert monitor.loadings == 1
        await shared.aclose()


async def test_owner_closes_for_all_conversations(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        conversations = [Conversation(shared, number) for number in range(2)]
        for person in conversations:
            person.say(0.25)
        monitor.is_holding = True
        async with asyncio.TaskGroup() as tasks:
            told = [tasks.create_task(person.error()) for person in conversations]
            await monitor.until(1)
            monitor.release_all()
            await shared.aclose()
            await shared.aclose()
        assert all("stopped" in task.result() for task in told)
        with pytest.raises(SttError, match="stopped"):
            conversations[0].open_segment()
        with pytest.raises(EngineLoadError, match="stopped by its owner"):
            await conversations[0].recognizer.load()
        assert monitor.loadings == 1
        await shared.load()
        conversations[0].open_segment()


async def test_concurrent_loads_fail_together(tmp_path: Path) -> None:
    shared = sharing(tmp_path / "nothing")
    seats = [shared.transcriber() for _ in range(3)]
    errors = await asyncio.gather(*(recognizer.load() for recognizer in seats), return_exceptions=True)
    assert [type(error) for error in errors] == [EngineLoadError] * 3
    with pytest.raises(SttError, match="could not be loaded"):
        seats[0].open(SegmentId(1), lambda _: None)


async def test_loading_survives_cancelled_caller(model: Path, monitor: DecodeMonitor) -> None:
    shared = sharing(model)
    async with asyncio.TaskGroup() as tasks:
        hasty, patient = (tasks.create_task(shared.load()) for _ in range(2))
        await asyncio.sleep(0)
        hasty.cancel()
    assert patient.done()
    assert monitor.loadings == 1
    await shared.aclose()


@pytest.mark.parametrize("by", ["limit", "owner"])
async def test_hanging_load_times_out(model: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    release = threading.Event()
    load = LoadedWhisper.__init__

    def hanging(loaded: LoadedWhisper, settings: WhisperSettings) -> None:
        assert release.wait(60)
        load(loaded, settings)

    with monkeypatch.context() as patch:
        patch.setattr(LoadedWhisper, "__init__", hanging)
        patch.setattr(shared_model, "LOAD_LIMIT_S", 0.05 if by == "limit" else 60)
        shared = sharing(model)
        async with asyncio.TaskGroup() as tasks:
            loading = tasks.create_task(error_of(shared.load()))
            await asyncio.sleep(0.01)
            if by == "owner":
                await shared.aclose()
    assert ("within 0.05 s" if by == "limit" else "stopped while") in loading.result()
    release.set()
    await shared.load()  # a new model: the late one is released
    person = Conversation(shared, 1)
    person.say(ENOUGH_S)
    assert await person.words() == "what time is"
    await shared.aclose()


async def error_of(loading: Awaitable[None]) -> str:
    with pytest.raises(EngineLoadError) as error:
        await loading
    return str(error.value)


@pytest.mark.usefixtures("interims_at_any_speed")
async def test_raising_listener_does_not_affect_others(model: Path, monitor: DecodeMonitor) -> None:
    def raising(_words: Transcript) -> None:
        raise ZeroDivisionError

    async with loaded(sharing(model)) as shared:
        raised: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: raised.append(context["exception"]))
        monitor.is_holding = True
        broken = shared.transcriber().open(SegmentId(1), raising)
        broken.feed(loud(ENOUGH_S))
        await monitor.until(1)
        broken.feed(loud(1))
        other = Conversation(shared, 2)
        other.say(0.25)
        monitor.release_all()
        await monitor.until(2)  # the second of the first: now two agree
        assert await other.words() == "what"
        assert (await broken.transcript()).text.startswith("what time is")
        assert [type(error) for error in raised] == [ZeroDivisionError]


async def test_one_of_two_workers_is_reserved_for_requests(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model, workers=2)) as shared:
        monitor.is_holding = True
        conversations = [Conversation(shared, number) for number in range(3)]
        for person in conversations:
            person.say(ENOUGH_S)
        await monitor.until(1)
        await asyncio.sleep(0.02)
        assert monitor.order == [(0, "interim")]
        conversations[0].say(0.1)
        async with asyncio.TaskGroup() as tasks:
            own = tasks.create_task(
                conversations[0].words()
            )  # beside the interim of its own segment, which is of less sound
            await monitor.until(2)
            assert monitor.order[1] == (0, "final")
            tasks.create_task(conversations[1].words())
            await asyncio.sleep(0)
            monitor.release_all()
        assert own.result() == "what time is"
        assert conversations[0].interims == [] or conversations[0].interims[-1].text == "what time is"


def with_spare_worker(model: Path) -> SharedWhisper:
    return SharedWhisper(WhisperSettings(model, "en", "cpu", cpu_threads=1, spare_worker=True))


async def test_requested_decode_does_not_wait_for_an_aborted_one(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(with_spare_worker(model)) as shared:
        monitor.is_holding = True
        person, others = Conversation(shared, 0), [Conversation(shared, number) for number in (1, 2)]
        person.say(ENOUGH_S)
        await monitor.until(1)
        person.say(0.1)
        async with asyncio.TaskGroup() as tasks:
            own = tasks.create_task(person.words())
            await monitor.until(2)
            assert monitor.order == [(0, "interim"), (0, "final")]
            for other in others:  # no third decode at once
                other.say(ENOUGH_S)
                tasks.create_task(other.words())
            await asyncio.sleep(0.02)
            assert len(monitor.begun) == 2
            monitor.release_all()
        assert own.result() == "what time is"
        assert [number for number, _ in monitor.order[2:4]] == [1, 2]


async def test_spare_worker_is_kept_for_requests_of_conversations(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(with_spare_worker(model)) as shared:
        monitor.is_holding = True
        person, other = Conversation(shared, 0), Conversation(shared, 1)
        recording = Conversation(shared, 2, background=True)
        person.say(ENOUGH_S)
        other.say(ENOUGH_S)
        recording.say(ENOUGH_S)
        await monitor.until(1)
        async with asyncio.TaskGroup() as tasks:
            person.say(0.1)
            own = tasks.create_task(person.words())  # useless decodes make no place for interims or recordings
            await monitor.until(2)
            tasks.create_task(recording.words())
            await asyncio.sleep(0.02)
            assert monitor.order == [(0, "interim"), (0, "final")]
            monitor.release_all()
        assert own.result() == "what time is"


def dipping(recognizer: SharedWhisperRecognizer, number: int) -> WhisperStream:
    """A segment of 250 ms that may end here, with its decode running."""
    stream = recognizer.open(SegmentId(number), lambda _words: None)
    sound = loud(0.25)
    sound[0] = number
    stream.feed(sound)
    stream.probability_dip()
    return stream


async def test_decode_of_dip_answers_early_request_while_final_decodes(model: Path, monitor: DecodeMonitor) -> None:
    async with loaded(sharing(model)) as shared:
        monitor.is_holding = True
        stream = dipping(shared.transcriber(), 1)
        await monitor.until(1)
        assert monitor.begun == [(1, "interim", samples_of_s(0.25))]  # "interim": not done again in the full window
        stream.feed(loud(0.1, seed=4))
        end = Samples(1 + samples_of_s(0.28))
        async with asyncio.TaskGroup() as tasks:
            early = tasks.create_task(stream.transcript(end, early=True))
            await asyncio.sleep(0.02)
            monitor.release(1)
            await early
            await monitor.until(2)
            assert monitor.begun[1] == (1, "final", samples_of_s(0.35)), "it was not requested yet"
            stream.feed(loud(0.1, seed=5))
            settled = tasks.create_task(stream.transcript(end))
            await asyncio.sleep(0.02)
            assert not settled.done()
            monitor.release_all()
            await settled
        assert len(monitor.begun) == 2


@pytest.mark.parametrize("early", [True, False], ids=["early request", "final request"])
async def test_decode_that_lacks_speech_is_not_sufficient(model: Path, monitor: DecodeMonitor, *, early: bool) -> None:
    async with loaded(sharing(model)) as shared:
        stream = dipping(shared.transcriber(), 1)
        await monitor.until(1)
        stream.feed(loud(0.1, seed=4))
        await stream.transcript(Samples(1 + samples_of_s(0.30)), early=early)  # 50 ms of it are lacking
        # "interim": not done again in the full window, for they are asked for again.
        assert monitor.begun[1:] == [(1, "interim" if early else "final", samples_of_s(0.35))]


THREE = Decoded("turn it on", "", "en", language_sure=False)
SPOILT = Decoded("word word", "repetition", "en", language_sure=False, was_aborted=True)
END = Samples(samples_of_s(1))
DIP = Decode(0, samples_of_s(0.9), "probability_dip", loud(0.9))


def stream_without_model(on_words: Callable[[Transcript], None] = lambda _: None, took_s: float = 0.0) -> WhisperStream:
    scheduler = DecodeScheduler()
    scheduler.expect_model()
    return WhisperStream(scheduler, ConversationShare("en", took_s=took_s), SegmentId(0), samples_of_s(0.3), on_words)


def at_an_end() -> WhisperStream:
    """A second of speech and the beginning of a silence."""
    stream = stream_without_model()
    stream.feed(loud(1))
    stream.feed(quiet(0.1))
    return stream


async def early_words(stream: WhisperStream, decoded: Decoded) -> Transcript:
    """Returns the answer to an early request for which this is decoded."""
    async with asyncio.TaskGroup() as tasks:
        early = tasks.create_task(stream.transcript(END, early=True))
        await asyncio.sleep(0)
        stream.on_decoded(stream.start_decode("soon"), decoded, 0.01)
    return early.result()


@pytest.mark.parametrize(
    ("until_s", "decoded", "draft"),
    [
        pytest.param(0.81, THREE, True, id="least end of decoded audio"),
        pytest.param(0.95, THREE, True, id="all speech decoded"),
        pytest.param(0.79, THREE, None, id="too much missing"),  # too little
        pytest.param(0.97, THREE, False, id="beyond the pause"),  # enough: these are the words
        pytest.param(0.9, replace(THREE, text=""), None, id="no text"),
        pytest.param(0.9, replace(THREE, failed_check="log-probability"), None, id="doubtful"),
    ],
)
@pytest.mark.parametrize("late", [False, True], ids=["decoded before the request", "decoded after the request"])
async def test_draft_may_lack_a_little_speech(
    until_s: float, decoded: Decoded, draft: bool | None, *, late: bool
) -> None:
    """The draft is decoded before the request, or while the request waits."""
    stream = at_an_end()
    async with asyncio.TaskGroup() as tasks:
        if not late:
            stream.on_decoded(Decode(0, samples_of_s(until_s), "probability_dip", loud(until_s)), decoded, 0.1)
        asking = tasks.create_task(stream.transcript(END, early=True, draft=True))
        await asyncio.sleep(0)
        if late:
            stream.on_decoded(Decode(0, samples_of_s(until_s), "probability_dip", loud(until_s)), decoded, 0.1)
        await asyncio.sleep(0)
        assert asking.done() == (draft is not None)
        if draft is None:
            stream.on_decoded(stream.start_decode("soon"), THREE, 0.1)
        words = await asking
    assert (words.text, words.is_draft) == ("turn it on", bool(draft))
    if draft:
        assert words.until == samples_of_s(until_s)


async def test_draft_is_returned_only_on_request() -> None:
    stream = at_an_end()
    stream.on_decoded(DIP, THREE, 0.1)
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(stream.transcript(END, early=True))
        await asyncio.sleep(0.01)
        assert not asking.done()
        stream.on_decoded(stream.start_decode("soon"), THREE, 0.1)


async def test_final_decode_starts_at_once_after_draft() -> None:
    """It does not wait for the next request: the model would start other work meanwhile."""
    stream = at_an_end()
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(stream.transcript(END, early=True, draft=True))
        await asyncio.sleep(0)
        stream.on_decoded(DIP, THREE, 0.1)
        assert stream.oldest_ticket is not None
        assert stream.needed_decode(1) == "soon"
        wanted = stream.start_decode("soon")
        assert stream.satisfied_by(wanted)
        assert (await asking).is_draft
        assert stream.oldest_ticket is None
        again = tasks.create_task(stream.transcript(END, early=True))
        await asyncio.sleep(0)
        stream.on_decoded(wanted, THREE, 0.1)
        assert not (await again).is_draft


async def test_no_drafts_with_several_segments() -> None:
    stream = at_an_end()
    stream.on_decoded(DIP, THREE, 0.1)
    other = WhisperStream(stream._scheduler, ConversationShare("en"), SegmentId(0), samples_of_s(0.3), lambda _: None)
    other.feed(loud(1))
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(stream.transcript(END, early=True, draft=True))
        await asyncio.sleep(0.01)
        assert not asking.done()
        stream.on_decoded(stream.start_decode("soon"), THREE, 0.1)
        assert not (await asking).is_draft
    other.cancel()
    stream.feed(loud(0.1))
    assert (await stream.transcript(Samples(samples_of_s(1.2)), early=True, draft=True)).is_draft


@pytest.mark.virtual_time
async def test_wait_of_a_request_is_recorded_once_and_anew_when_it_is_repeated() -> None:
    stream = at_an_end()
    scheduler = stream._scheduler

    async def decode_begins_after(seconds: float) -> None:
        await asyncio.sleep(seconds)
        scheduler._record_wait(stream, asyncio.get_running_loop().time())

    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(stream.transcript(END, early=True, draft=True))
        await decode_begins_after(0.1)
        await decode_begins_after(0.3)  # another decode for the same request
        stream.on_decoded(DIP, THREE, 0.1)
        assert (await asking).is_draft
        await asyncio.sleep(5.0)  # nobody waits
        again = tasks.create_task(stream.transcript(END, early=True))
        await decode_begins_after(0.2)
        stream.on_decoded(stream.start_decode("soon"), THREE, 0.1)
        await again
    assert scheduler.queue_wait.after(0) == pytest.approx((0.1, 0.2))


async def test_request_after_draft_keeps_its_ticket() -> None:
    stream = at_an_end()
    scheduler = stream._scheduler
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(stream.transcript(END, early=True, draft=True))
        await asyncio.sleep(0)
        place = stream.oldest_ticket
        behind = scheduler.ticket()
        stream.on_decoded(DIP, THREE, 0.1)
        assert (await asking).is_draft
        again = tasks.create_task(stream.transcript(END, early=True))
        await asyncio.sleep(0)
        assert stream.oldest_ticket == place
        assert place is not None
        assert place < behind
        stream.on_decoded(stream.start_decode("soon"), THREE, 0.1)
        await again
        stream.feed(loud(0.3))
        later = tasks.create_task(stream.transcript(early=True))
        await asyncio.sleep(0)
        assert stream.oldest_ticket is not None
        assert stream.oldest_ticket > behind
        stream.on_decoded(stream.start_decode("soon"), THREE, 0.1)
        await later


async def test_unreliable_result_answers_early_requests_only() -> None:
    stream = at_an_end()
    async with asyncio.TaskGroup() as tasks:
        early = tasks.create_task(stream.transcript(END, early=True))
        await asyncio.sleep(0)
        assert stream.needed_decode(1) == "soon"
        doubted = stream.start_decode("soon")
        settled = tasks.create_task(stream.transcript(END))
        await asyncio.sleep(0)
        stream.on_decoded(doubted, SPOILT, 0.1)
        assert (await early).text == "word word"
        assert stream.needed_decode(1) == "final", "they are not good enough for who asked second"
        stream.on_decoded(stream.start_decode("final"), Decoded("word", "", "en", language_sure=False), 0.1)
        assert (await settled).text == "word"


async def test_improbable_words_are_not_decoded_again() -> None:
    stream = at_an_end()
    improbable = Decoded("wreck a nice beach", "log-probability", "en", language_sure=False)
    assert (await early_words(stream, improbable)).low_confidence
    assert stream.needed_decode(1) is None
    assert (await stream.transcript(END)).text == "wreck a nice beach"


@pytest.mark.parametrize("draft", [False, True], ids=["early", "draft"])
async def test_nothing_starts_for_cancelled_early_request(*, draft: bool) -> None:
    """The user goes on speaking: a decode of the full window would delay the final transcript."""
    stream = at_an_end()
    if draft:
        stream.on_decoded(DIP, THREE, 0.1)
        assert (await stream.transcript(END, early=True, draft=True)).is_draft
    early = asyncio.create_task(stream.transcript(END, early=True))
    await asyncio.sleep(0)
    decode = stream.start_decode("soon")
    early.cancel()
    await asyncio.sleep(0)
    stream.feed(loud(0.02))
    stream.on_decoded(decode, SPOILT, 0.01)
    assert stream.needed_decode(1) is None


async def test_full_window_confirms_unreliable_early_words_soon_or_not_at_all() -> None:
    """The early transcript arrived before the user went on speaking."""
    stream = at_an_end()
    await early_words(stream, SPOILT)
    assert stream.needed_decode(1) == "pause"
    stream.feed(loud(0.12))
    assert stream.needed_decode(1) is None


@pytest.mark.parametrize("spoken_again", [False, True], ids=["noise", "speech"])
async def test_noise_after_a_decoded_end_is_not_decoded(*, spoken_again: bool) -> None:
    """A new dip says that the detector has heard speech."""
    stream = at_an_end()
    assert (await early_words(stream, THREE)).text == "turn it on"
    stream.feed(loud(0.04))
    if spoken_again:
        stream.probability_dip()
    stream.feed(quiet(0.1))
    assert stream.needed_decode(1) == ("pause" if spoken_again else None)
    stream.feed(quiet(0.7))
    assert stream.needed_decode(1) == "pause", "a request would need a newer decode"


async def test_interim_transcripts_go_on_when_the_user_resumes_after_a_decoded_end() -> None:
    stream = at_an_end()
    await early_words(stream, THREE)
    stream.feed(quiet(0.1))
    stream.feed(loud(0.28))
    assert stream.needed_decode(1) is None, "it may be a noise"
    stream.feed(loud(0.02))
    assert stream.needed_decode(1) == "interim"


def test_finished_segment_needs_no_decode() -> None:
    stream = at_an_end()
    running = decode_scheduler._Running(stream, stream.start_decode("pause"), HangDetector())
    assert decode_scheduler._is_useful(running)
    stream.cancel()
    assert not decode_scheduler._is_useful(running)


def test_later_dip_aborts_decode_of_earlier_one() -> None:
    stream = stream_without_model(took_s=0.1)
    stream.feed(loud(0.25))
    assert stream.needed_decode(1.0) is None
    stream.probability_dip()
    assert stream.needed_decode(1.0) == "probability_dip"
    early = stream.start_decode("probability_dip")
    assert stream.needed_decode(1.0) is None
    stream.feed(loud(0.2))
    stream.probability_dip()
    assert stream.needed_decode(1.0) == "probability_dip"
    assert stream.needed_decode(2.0) is None, "in a crowd there is less time for them"
    stream.share.took_s = 0.26
    assert stream.needed_decode(1.0) is None, (
        "two such decodes in a row take longer than one that is begun when asked for"
    )
    assert not stream.satisfied_by(early)
    stream.feed(loud(0.12))
    assert stream.needed_decode(1.0) is None, "that was long ago"


async def test_workers_share_threads(model: Path) -> None:
    async with loaded(SharedWhisper(WhisperSettings(model, device="cpu", cpu_threads=2, workers=2))) as shared:
        assert "CPU, 2 threads, 2 decodes at once, adaptive" in shared.detail


def test_partial_of_settled_audio_is_ignored() -> None:
    told: list[Transcript] = []
    stream = stream_without_model(told.append)
    stream.feed(loud(31))
    interim, settle = stream.start_decode("interim"), stream.start_decode("settle")
    said = Decoded("one", "", "en", language_sure=False)
    stream.on_decoded(settle, said, 0.1)
    stream.on_decoded(interim, said, 0.1)
    rest = stream.start_decode("pause")
    assert rest == Decode(settle.until, 31 * MIC_RATE_HZ, "pause", rest.pcm)
    stream.on_decoded(rest, Decoded("two", "", "en", language_sure=False), 0.1)
    stream.on_decoded(stream.start_decode("pause"), Decoded("two", "", "en", language_sure=False), 0.1)
    assert [words.text for words in told if not words.is_draft] == ["one", "one two"]
    assert told[-1].until == Samples(31 * MIC_RATE_HZ)


def test_words_stay_in_partial_when_audio_is_settled() -> None:
    told: list[str] = []
    stream = stream_without_model(lambda words: None if words.is_draft else told.append(words.text))
    numbers = [f"{number:02}" for number in range(40)]  # one a second

    def done(decode: Decode) -> None:
        said = numbers[decode.start // MIC_RATE_HZ : decode.until // MIC_RATE_HZ]
        stream.on_decoded(decode, Decoded(" ".join(said), "", "en", language_sure=False), 0.1)

    for _ in range(40):
        stream.feed(loud(1))
        if stream.needed_decode(1.0) == "settle":
            done(stream.start_decode("settle"))
        done(stream.start_decode("interim"))
    assert len(told) == 39
    assert all(later.startswith(earlier) for earlier, later in pairwise(told))
