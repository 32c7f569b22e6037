"""Words asked of a recognizer, beside a loop that stands still; in virtual time."""

import asyncio
from typing import cast

import pytest
from virtual_time import VirtualLoop, run_virtual

from assistant.ears import Ears
from assistant.restarting import Restarting
from audio.stt import Hearing, SegmentId, Transcriber, Words
from audio.units import Samples

SEGMENT = SegmentId(Samples(0))
TIMEOUT_S = 2.0


class Slow:
    """A recognizer whose words come after a while. `Transcriber` and `Hearing`, as far as they are asked here."""

    name = "slow"
    segment = SEGMENT

    def __init__(self, answer_s: float) -> None:
        self.answer_s = answer_s

    async def load(self) -> None:
        pass

    def open(self, _segment: SegmentId, _on_partial: object) -> Hearing:
        return cast("Hearing", self)

    def feed(self, _pcm: object) -> None:
        pass

    async def words(self, _speech_end: Samples, *, early: bool, draft: bool) -> Words:
        assert not early
        assert not draft
        await asyncio.sleep(self.answer_s)
        return Words(SEGMENT, Samples(0), "yes", rough=False)


@pytest.mark.parametrize(("stall_s", "answer_s", "heard"), [(3.0, 1.5, True), (3.0, 3.9, True), (0.0, 2.5, False)])
def test_words_are_not_lost_where_the_loop_stood_still(stall_s: float, answer_s: float, heard: bool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.call_later(1, loop.stall, stall_s)
        words = await ears.words(SEGMENT, Samples(0), early=False)
        assert (words is not None) is heard

    complaints: list[str] = []
    recognizer = cast("Transcriber", Slow(answer_s))
    restarting = Restarting("slow", recognizer.load, complaints.append)
    ears = Ears(recognizer, restarting, TIMEOUT_S, lambda _words: None, complaints.append)
    ears.open(SEGMENT)
    run_virtual(main())
    assert bool(complaints) is not heard
