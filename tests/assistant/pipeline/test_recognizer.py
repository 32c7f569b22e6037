"""Tests of the audio that a recognizer gets, and of transcript time limits while the event loop stalls."""

import asyncio
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from support.clocks.virtual_time import VirtualLoop, run_virtual

from assistant.pipeline.engine_recovery import EngineRecovery
from assistant.pipeline.recognizer import RING_S, RecognizerFeed
from audio.errors import SttError
from audio.frame import Frame
from audio.stt import RecognitionStream, Recognizer, SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples, samples_of_s

SEGMENT = SegmentId(Samples(0))
TIMEOUT_S = 2.0


class Slow:
    """A recognizer with a delay, with the parts of `Recognizer` and `RecognitionStream` used here."""

    name = "slow"
    segment = SEGMENT

    def __init__(self, answer_s: float) -> None:
        self.answer_s = answer_s

    async def load(self) -> None:
        pass

    def open(self, _segment: SegmentId, _on_interim: object) -> RecognitionStream:
        return cast("RecognitionStream", self)

    def feed(self, _pcm: object) -> None:
        pass

    async def transcript(self, _speech_end: Samples, *, early: bool, draft: bool) -> Transcript:
        assert not early
        assert not draft
        await asyncio.sleep(self.answer_s)
        return Transcript(SEGMENT, Samples(0), "yes", low_confidence=False)


@pytest.mark.parametrize(
    ("stall_s", "answer_s", "heard"),
    [(3.0, 1.5, True), (3.0, 3.9, True), (0.0, 2.5, False)],
    ids=["answer during the stall", "answer just after the stall", "answer too late without stall"],
)
def test_stalled_event_loop_does_not_lose_the_transcript(stall_s: float, answer_s: float, heard: bool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.call_later(1, loop.stall, stall_s)
        words = await recognizer_feed.transcript(SEGMENT, Samples(0), early=False)
        assert (words is not None) is heard

    problems: list[str] = []
    recognizer = cast("Recognizer", Slow(answer_s))
    recovery = EngineRecovery("slow", recognizer.load, problems.append)
    recognizer_feed = RecognizerFeed(recognizer, recovery, TIMEOUT_S, lambda _words: None, problems.append)
    recognizer_feed.open(SEGMENT)
    run_virtual(main())
    assert bool(problems) is not heard


class Listening(Slow):
    """Notes what it was fed in each of its streams."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.fed: list[list[int]] = []

    def open(self, _segment: SegmentId, _on_interim: object) -> RecognitionStream:
        self.fed.append([])
        return super().open(_segment, _on_interim)

    def feed(self, pcm: object) -> None:
        assert isinstance(pcm, np.ndarray)
        self.fed[-1] += sorted(set(pcm.tolist()))

    def cancel(self) -> None:
        pass


def feed_of(recognizer: Listening, report_problem: Callable[[str], None] = lambda _problem: None) -> RecognizerFeed:
    recovery = EngineRecovery("listening", recognizer.load, report_problem)
    return RecognizerFeed(cast("Recognizer", recognizer), recovery, TIMEOUT_S, lambda _words: None, report_problem)


def hear(feed: RecognizerFeed, *numbers: int) -> None:
    """Feeds frames; the samples of each are its number."""
    for number in numbers:
        feed.feed(Frame(Samples(number * FRAME_SAMPLES), np.full(FRAME_SAMPLES, number, np.int16)))


def end_of(number: int) -> Samples:
    return Samples((number + 1) * FRAME_SAMPLES)


def test_speech_after_the_end_of_a_segment_is_not_fed() -> None:
    recognizer = Listening()
    feed = feed_of(recognizer)
    hear(feed, 0, 1)
    feed.open(SEGMENT)
    hear(feed, 2)
    feed.end_segment(SEGMENT, end_of(2))
    hear(feed, 3, 4)
    feed.end_segment(SegmentId(end_of(0)), end_of(0))  # not the open one
    assert recognizer.fed == [[0, 1, 2]]


def test_segment_that_has_ended_is_opened_with_its_own_audio() -> None:
    recognizer = Listening()
    feed = feed_of(recognizer)
    hear(feed, 0, 1, 2, 3)
    feed.open(SegmentId(end_of(0)), end_of(1))
    hear(feed, 4)
    assert recognizer.fed == [[1]]
    feed.open(SegmentId(end_of(2)))
    assert recognizer.fed == [[1], [3, 4]]


def test_reloaded_recognizer_gets_the_audio_up_to_the_end_of_the_segment() -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            feed.recovery.tasks = tasks
            hear(feed, 0, 1)
            feed.open(SEGMENT)
            feed.end_segment(SEGMENT, end_of(1))
            hear(feed, 2)
            feed._failed(SttError("it has died"))
            await feed.recovery.works.wait()
            hear(feed, 3)

    recognizer = Listening()
    feed = feed_of(recognizer)
    run_virtual(main())
    assert recognizer.fed == [[0, 1], [0, 1]]


def test_segment_whose_beginning_is_lost_is_reported() -> None:
    """A client may end several turns while the recognizer hangs, and the audio of the last seconds is kept."""
    problems: list[str] = []
    recognizer = Listening()
    feed = feed_of(recognizer, problems.append)
    frames = samples_of_s(RING_S) // FRAME_SAMPLES
    hear(feed, *range(frames))
    feed.open(SEGMENT)
    assert problems == []
    hear(feed, frames)
    feed.open(SEGMENT)
    assert problems == ["the beginning of your words was lost, because slow took too long; please repeat it"]
    assert recognizer.fed[-1] == list(range(1, frames + 1))
