"""The contract of every loudspeaker (audio.speaker.Speaker), checked for each in virtual time."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import numpy as np
import pytest
from support.sound.fake_cards import FakeLibrary, device, playback, run_card

from audio.card.speaker import CardSpeaker
from audio.sound_id import NamedSound, SoundId
from audio.speaker import Speaker, WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm
from web.client_audio.client_speaker import ClientSpeaker

pytestmark = pytest.mark.virtual_time

A, B = NamedSound("a"), NamedSound("b")

S = REPLY_RATE_HZ
BLOCK_S = 0.02
"""The longest block that any of them takes at once."""


class SpeakerHarness:
    """A loudspeaker with its reported playback."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self.reports: list[tuple[SoundId, int, float, bool]] = []
        speaker.on_played = lambda *what: self.reports.append(what)

    def reports_of(self, key: SoundId) -> list[tuple[int, float, bool]]:
        return [(total, leaves_s, finished) for name, total, leaves_s, finished in self.reports if name == key]


@asynccontextmanager
async def wav() -> AsyncGenerator[Speaker]:
    speaker = WavSpeaker(lambda _at_s, _pcm: None)
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(speaker.run())
        yield speaker
        playing.cancel()


@asynccontextmanager
async def card(rate_hz: int) -> AsyncGenerator[Speaker]:
    library = FakeLibrary(device("desk", default=True, rate_hz=rate_hz))
    speaker = CardSpeaker(report=lambda _what: None, library=library)
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(speaker.run())
        pulling = tasks.create_task(run_card(library, playback(lambda _pcm, _at_s: None)))
        yield speaker
        playing.cancel()
        pulling.cancel()


@asynccontextmanager
async def client() -> AsyncGenerator[Speaker]:
    """A client that never reports playback: audio counts as played at once."""
    speaker = ClientSpeaker(2000.0)
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(speaker.run())
        yield speaker
        playing.cancel()


SPEAKERS = {
    "wav": wav,
    "card": lambda: card(24_000),
    "card at 44.1 kHz": lambda: card(44_100),
    "client": client,
}


def level(n: int) -> Pcm:
    return np.full(n, 1000, np.int16)


Opening = Callable[[], AbstractAsyncContextManager[SpeakerHarness]]


@pytest.fixture(params=sorted(SPEAKERS))
def opened(request: pytest.FixtureRequest) -> Opening:
    """Returns what opens a loudspeaker."""

    @asynccontextmanager
    async def opening() -> AsyncGenerator[SpeakerHarness]:
        async with SPEAKERS[request.param]() as speaker:
            harness = SpeakerHarness(speaker)
            await asyncio.sleep(0.105)
            yield harness

    return opening


async def test_reply_is_reported_in_order_and_its_end_once(opened: Opening) -> None:
    async with opened() as harness:
        begun_s = asyncio.get_running_loop().time()
        harness.speaker.open(A)
        for _ in range(4):
            assert await harness.speaker.play_chunk(A, level(S // 4))
        harness.speaker.end(A)
        await asyncio.sleep(1.5)
    reports = harness.reports_of(A)
    totals = [total for total, *_ in reports]
    assert totals == sorted(totals)
    assert totals[-1] == S
    assert [finished for *_, finished in reports] == [False] * (len(reports) - 1) + [True]
    for before, (_, leaves_s, _) in zip([0, *totals], reports, strict=False):
        assert leaves_s - reports[0][1] == pytest.approx(before / S, abs=BLOCK_S)
    assert 0 <= reports[0][1] - begun_s < 0.15


async def test_play_waits_while_queue_is_full(opened: Opening) -> None:
    async with opened() as harness:
        loop = asyncio.get_running_loop()
        harness.speaker.open(A)
        begun_s = loop.time()
        assert await harness.speaker.play_chunk(A, level(5 * S))
        assert loop.time() - begun_s == pytest.approx(3.0, abs=0.15)


@pytest.mark.parametrize("how", ["close", "another"], ids=["closed", "another reply opened"])
async def test_close_ends_waiting_play(opened: Opening, how: str) -> None:
    async with opened() as harness:
        loop = asyncio.get_running_loop()
        harness.speaker.open(A)
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(harness.speaker.play_chunk(A, level(10 * S)))
            await asyncio.sleep(0.5)
            closed_s = loop.time()
            if how == "close":
                harness.speaker.close(A)
            else:
                harness.speaker.open(B)
        assert not playing.result()
        assert loop.time() - closed_s < 0.01
        assert not await harness.speaker.play_chunk(A, level(10))
        assert await harness.speaker.play_chunk(B, level(10)) is (how == "another")


async def test_reply_not_open_or_ended_is_not_played(opened: Opening) -> None:
    async with opened() as harness:
        assert not await harness.speaker.play_chunk(NamedSound("never"), level(10))
        harness.speaker.open(A)
        assert await harness.speaker.play_chunk(A, level(240))
        harness.speaker.end(A)
        assert not await harness.speaker.play_chunk(A, level(240))
        harness.speaker.end(NamedSound("never"))
        assert harness.speaker.close(NamedSound("never")) == 0
        await asyncio.sleep(0.3)
    reports = harness.reports_of(A)
    assert (reports[-1][0], reports[-1][2]) == (240, True)


async def test_close_returns_played_samples_and_ends_reply(opened: Opening) -> None:
    async with opened() as harness:
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(S))
        await asyncio.sleep(0.5)
        reports = harness.reports_of(A)
        taken = harness.speaker.close(A)
        assert reports[-1][0] <= taken <= reports[-1][0] + 2 * BLOCK_S * S
        assert taken == pytest.approx(0.5 * S, abs=0.03 * S)
        assert harness.speaker.close(A) == taken
        await asyncio.sleep(0.5)
        assert all(total <= taken and not finished for total, _, finished in harness.reports_of(A))
        assert len(harness.reports_of(A)) <= len(reports) + 1


async def test_opening_open_reply_changes_nothing(opened: Opening) -> None:
    async with opened() as harness:
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(S // 2))
        await asyncio.sleep(0.2)
        harness.speaker.open(A)
        harness.speaker.end(A)
        await asyncio.sleep(0.5)
    assert harness.reports_of(A)[-1][0] == S // 2


async def test_late_end_is_reported_without_more_samples(opened: Opening) -> None:
    async with opened() as harness:
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(480))
        await asyncio.sleep(0.3)
        assert [finished for *_, finished in harness.reports_of(A)].count(True) == 0
        harness.speaker.end(A)
        await asyncio.sleep(0.3)
    reports = harness.reports_of(A)
    assert [(total, finished) for total, _, finished in reports[-2:]] == [(480, False), (480, True)]


async def test_reply_continues_after_underrun_with_new_time(opened: Opening) -> None:
    async with opened() as harness:
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(2400))
        await asyncio.sleep(0.6)
        await harness.speaker.play_chunk(A, level(2400))
        harness.speaker.end(A)
        await asyncio.sleep(0.4)
    reports = harness.reports_of(A)
    assert reports[-1][0] == 4800
    # Audio that arrived later is played later, and not in the meantime.
    after = next(leaves_s for (before, *_), (_, leaves_s, _) in itertools.pairwise(reports) if before == 2400)
    assert after - reports[0][1] == pytest.approx(0.6, abs=2 * BLOCK_S)


async def test_duck_without_reply_is_accepted(opened: Opening) -> None:
    async with opened() as harness:
        harness.speaker.duck()
        harness.speaker.unduck()
        harness.speaker.open(A)
        harness.speaker.duck()
        await harness.speaker.play_chunk(A, level(2400))
        harness.speaker.close(A)
        harness.speaker.unduck()
        harness.speaker.unduck()
        assert harness.speaker.latency_s >= 0


async def test_reply_survives_loop_blocked_for_a_second(opened: Opening) -> None:
    async with opened() as harness:
        loop = asyncio.get_running_loop()
        harness.speaker.open(A)
        await harness.speaker.play_chunk(A, level(3 * S // 2))
        harness.speaker.end(A)
        await asyncio.sleep(0.2)
        loop.stall(1.0)  # type: ignore[attr-defined]  # the virtual one
        await asyncio.sleep(3.0)
    reports = harness.reports_of(A)
    assert reports[-1][0] == 3 * S // 2
    assert [finished for *_, finished in reports].count(True) == 1
    assert (np.diff([leaves_s for _, leaves_s, _ in reports]) > -1e-6).all()
