"""Sound that the recognizer gets from a Wyoming stream, and the words of its sections."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from support.conversations.simulation import LoudnessVad
from support.servers.wyoming_client import speech

from audio.errors import SttError, VadError
from audio.frame import Frame
from audio.stt import RecognitionStream, SegmentId, Transcript
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult
from web.wyoming.events import WyomingError
from web.wyoming.speech_stream import BATCH_MS, PRE_ROLL_MS, TAIL_MS, SpeechStream


@dataclass
class Recorder:
    """A recognizer that records its sound. Its words are the number of the section."""

    name: str = "recorder"
    detail: str = ""
    works: bool = True
    low_confidence: bool = False
    fails: bool = False
    delay_s: float = 0.0
    sections: list[Pcm] = field(default_factory=list)
    feeds: int = 0
    ends: list[Samples | None] = field(default_factory=list)
    on_interim: Callable[[Transcript], None] = lambda _transcript: None

    recordings: list[bool] = field(default_factory=list)

    async def load(self) -> None: ...

    def expect_recording(self, *, is_recording: bool) -> None:
        self.recordings.append(is_recording)

    async def aclose(self) -> None: ...

    def reset(self) -> bool:
        return False

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> RecognitionStream:
        self.sections.append(np.zeros(0, np.int16))
        self.on_interim = on_interim
        return _Section(segment, self, len(self.sections))

    @property
    def heard(self) -> Pcm:
        return np.concatenate(self.sections)


@dataclass
class _Section:
    segment: SegmentId
    recorder: Recorder
    number: int

    def feed(self, pcm: Pcm) -> None:
        if self.recorder.fails:
            raise SttError("it is broken")
        self.recorder.feeds += 1
        index = self.number - 1
        self.recorder.sections[index] = np.concatenate([self.recorder.sections[index], pcm])

    def probability_dip(self) -> None: ...

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        await asyncio.sleep(self.recorder.delay_s)
        self.recorder.ends.append(speech_end)
        words = f"section {self.number}"
        return Transcript(self.segment, Samples(0), words, self.recorder.low_confidence, language="de")

    async def first_word(self) -> None: ...

    def close(self) -> None: ...

    def cancel(self) -> None: ...


class BrokenVad(LoudnessVad):
    """Fails after half a second."""

    def process(self, frame: Frame) -> VadResult:
        if frame.start > samples_of_s(0.5):
            raise VadError("it is broken")
        return super().process(frame)


@asynccontextmanager
async def stream_of(recorder: Recorder, vad: LoudnessVad | None = None) -> AsyncGenerator[SpeechStream]:
    async with asyncio.TaskGroup() as tasks:
        stream = SpeechStream(recorder, vad or LoudnessVad(), tasks)
        try:
            yield stream
        finally:
            await stream.aclose()


async def live(stream: SpeechStream, sounds: Sequence[Pcm]) -> None:
    """Sends sound as a microphone does, except that no time passes between the frames that are passed on."""
    for sound in sounds:
        for start in range(0, len(sound), FRAME_SAMPLES):
            await stream.take(sound[start : start + FRAME_SAMPLES])
            stream._pass_on()


async def in_real_time(stream: SpeechStream, sound: Pcm) -> None:
    for start in range(0, len(sound), FRAME_SAMPLES):
        await stream.take(sound[start : start + FRAME_SAMPLES])
        await asyncio.sleep(FRAME_SAMPLES / MIC_RATE_HZ)


async def at_once(stream: SpeechStream, sound: Pcm) -> None:
    for start in range(0, len(sound), FRAME_SAMPLES):
        await stream.take(sound[start : start + FRAME_SAMPLES])


async def test_long_silence_is_withheld_from_the_recognizer() -> None:
    recorder = Recorder()
    async with stream_of(recorder) as stream:
        await live(stream, [speech(1.0, (5.0, 3.0))])
        assert await stream.finish() == "section 1"
        assert stream.language == "de"
    expected = samples_of_s(1.0) + samples_of_ms(PRE_ROLL_MS) + samples_of_ms(TAIL_MS)
    assert len(recorder.heard) == pytest.approx(expected, abs=samples_of_ms(150))
    (end,) = recorder.ends
    assert end is not None
    assert end == pytest.approx(samples_of_ms(PRE_ROLL_MS) + samples_of_s(1.0), abs=samples_of_ms(60))


async def test_short_silence_between_words_is_kept() -> None:
    recorder = Recorder()
    async with stream_of(recorder) as stream:
        await live(stream, [speech(0.5, (0.3, 0.4)), speech(0.5, (0.3, 0.1))])
        await stream.finish()
    assert len(recorder.heard) == pytest.approx(samples_of_s(2.1), abs=samples_of_ms(60))
    assert len(recorder.sections) == 1


async def test_lasting_speech_is_fed_in_batches_and_its_pause_at_once() -> None:
    recorder = Recorder()
    async with stream_of(recorder) as stream:
        await live(stream, [speech(3.0, (0.3, 0.0))])
        assert 0 < recorder.feeds <= samples_of_s(3.0) // samples_of_ms(BATCH_MS)
        await live(stream, [speech(0.0, (0.2, 0.0))])
        assert len(recorder.heard) >= samples_of_s(3.1)
        await stream.finish()


async def test_sound_without_detected_speech_is_recognized_whole() -> None:
    quiet = np.random.default_rng(1).integers(-20, 20, samples_of_s(2.0)).astype(np.int16)
    quiet[::FRAME_SAMPLES] = 0  # no speech for the scripted detector
    for low_confidence, words in ((False, "section 1"), (True, "")):
        recorder = Recorder(low_confidence=low_confidence)
        async with stream_of(recorder) as stream:
            await live(stream, [quiet])
            assert await stream.finish() == words
        assert np.array_equal(recorder.heard, quiet)


async def test_file_is_recognized_at_once_and_unchanged() -> None:
    recorder, sound = Recorder(low_confidence=True), speech(2.0, (0.5, 1.5))
    async with stream_of(recorder) as stream:
        for start in range(0, len(sound), 1000):
            await stream.take(sound[start : start + 1000])
        await asyncio.sleep(0)
        assert recorder.sections == []  # the recognizer would decode the beginning for nothing
        assert await stream.finish() == "section 1"
    assert np.array_equal(recorder.heard, sound)


@pytest.mark.virtual_time
async def test_only_a_file_is_recognized_as_a_recording() -> None:
    for send, expected in ((at_once, [True]), (in_real_time, [False])):
        recorder = Recorder()
        async with stream_of(recorder) as stream:
            await send(stream, speech(2.0))
            await stream.finish()
        assert recorder.recordings == expected


async def test_long_live_speech_is_recognized_in_sections() -> None:
    recorder = Recorder()
    words: list[str] = []
    async with stream_of(recorder) as stream:
        stream.on_words = words.append
        for _ in range(5):
            await live(stream, [speech(9.0, (0.3, 0.7))])
            await asyncio.sleep(0.01)
        assert await stream.finish() == "section 1 section 2"
    assert words == ["section 1", "section 1 section 2"]
    assert len(recorder.sections[0]) > samples_of_s(20)


@pytest.mark.virtual_time
@pytest.mark.parametrize("delay_s", [0.5, 24.0])
async def test_live_speech_stays_live_while_a_section_is_recognized(delay_s: float) -> None:
    recorder, words = Recorder(delay_s=delay_s), list[str]()
    async with stream_of(recorder) as stream:
        stream.on_words = words.append
        await in_real_time(stream, speech(21, (0.3, 0.8)))
        await in_real_time(stream, speech(22, (0.0, 3.0)))
        await in_real_time(stream, speech(10, (0.0, 3.0)))
        assert await stream.finish() == "section 1 section 2 section 3"
    assert words == ["section 1", "section 1 section 2"]
    assert samples_of_s(53.0) < len(recorder.heard) < samples_of_s(56.5)  # the detector has heard the silence


@pytest.mark.virtual_time
async def test_live_speech_stays_live_after_the_network_stood_still() -> None:
    recorder = Recorder()
    async with stream_of(recorder) as stream:
        await in_real_time(stream, speech(2.0, (0.3, 0.0)))
        await asyncio.sleep(4.0)
        await at_once(stream, speech(4.0, (0.0, 0.0)))
        await asyncio.sleep(0.1)
        assert len(recorder.heard) > samples_of_s(5.0)  # before the end
        await in_real_time(stream, speech(1.0, (0.0, 3.0)))
        assert await stream.finish() == "section 1"
    assert len(recorder.heard) < samples_of_s(7.8)  # the detector has heard the silence


@pytest.mark.virtual_time
async def test_sound_kept_for_a_wake_word_is_followed_by_live_speech() -> None:
    recorder = Recorder()
    async with stream_of(recorder) as stream:
        await at_once(stream, speech(4.0, (0.0, 0.0)))
        await in_real_time(stream, speech(2.0, (0.0, 3.0)))
        assert recorder.heard.size
        assert await stream.finish() == "section 1"
    assert len(recorder.heard) < samples_of_s(6.8)


@pytest.mark.virtual_time
async def test_file_that_begins_slowly_is_a_file() -> None:
    recorder, sound = Recorder(delay_s=0.5), speech(70.0, (0.0, 0.0))
    async with stream_of(recorder) as stream:
        await in_real_time(stream, sound[: samples_of_s(0.5)])
        await at_once(stream, sound[samples_of_s(0.5) :])
        words = await stream.finish()
    assert words.startswith("section 1 section 2")
    assert np.array_equal(recorder.heard, sound)


async def test_interim_words_follow_those_of_earlier_sections() -> None:
    recorder = Recorder()
    words: list[str] = []
    async with stream_of(recorder) as stream:
        stream.on_words = words.append
        await live(stream, [speech(21.0, (0.3, 0.7))])
        await asyncio.sleep(0.01)
        await live(stream, [speech(1.0)])
        recorder.on_interim(Transcript(SegmentId(0), Samples(0), "and more"))
        recorder.on_interim(Transcript(SegmentId(0), Samples(0), "and more or less", is_draft=True))
    assert words == ["section 1", "section 1 and more"]


async def test_broken_detector_loses_no_sound() -> None:
    recorder = Recorder()
    async with stream_of(recorder, BrokenVad()) as stream:
        await live(stream, [speech(1.0, (0.2, 1.0))])
        assert await stream.finish() == "section 1"
    assert len(recorder.heard) == pytest.approx(samples_of_s(2.2), abs=samples_of_ms(60))


async def test_broken_recognizer_is_told_in_words() -> None:
    async with stream_of(Recorder(fails=True)) as stream:
        with pytest.raises(WyomingError, match="the recognizer failed"):
            await live(stream, [speech()])
