"""Tests of transcript time limits while the event loop stalls, in virtual time."""

import asyncio
from typing import cast

import pytest
from virtual_time import VirtualLoop, run_virtual

from assistant.pipeline.engine_recovery import EngineRecovery
from assistant.pipeline.recognizer import RecognizerFeed
from audio.stt import RecognitionStream, Recognizer, SegmentId, Transcript
from audio.units import Samples

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
