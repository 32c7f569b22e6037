"""The simulated sound card, in virtual time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import numpy as np
import pytest
from support.clocks.virtual_time import VirtualLoop

from audio.sound_id import NamedSound, SoundId
from audio.speaker import Speaker, WavSpeaker
from audio.units import Pcm

pytestmark = pytest.mark.virtual_time

A, B = NamedSound("a"), NamedSound("b")

START_S = 1000.0


class SpeakerHarness:
    """A card that records what it plays and reports."""

    def __init__(self, block_ms: int = 10) -> None:
        self.blocks: list[tuple[float, Pcm]] = []
        self.played: list[tuple[SoundId, int, float, bool]] = []
        self.card = WavSpeaker(lambda at_s, pcm: self.blocks.append((at_s, pcm.copy())), block_ms=block_ms)
        self.card.on_played = lambda *what: self.played.append(what)

    def sound(self) -> Pcm:
        """Returns all played audio, from sample 0 on."""
        whole = np.zeros(24_000 * 20, np.int16)
        for at_s, pcm in self.blocks:
            at = round(at_s * 24_000)
            whole[at : at + len(pcm)] = pcm
        return whole


@asynccontextmanager
async def playing(block_ms: int = 10) -> AsyncGenerator[SpeakerHarness]:
    harness = SpeakerHarness(block_ms)
    async with asyncio.TaskGroup() as group:
        card = group.create_task(harness.card.run(), name="speaker")
        yield harness
        card.cancel()


def level(n: int, value: int = 1000) -> Pcm:
    return np.full(n, value, np.int16)


async def test_reply_is_played_and_reported() -> None:
    async with playing() as harness:
        speaker: Speaker = harness.card
        await asyncio.sleep(0.105)
        speaker.open(A)
        assert await speaker.play_chunk(A, level(600))
        speaker.end(A)
        await asyncio.sleep(0.2)
    # Offered at 0.105, taken by the tick at 0.110, heard from 0.120 on.
    assert [(key, total, end) for key, total, _, end in harness.played] == [
        (A, 240, False),
        (A, 480, False),
        (A, 600, True),
    ]
    assert [at_s for _, _, at_s, _ in harness.played] == pytest.approx([1000.12, 1000.13, 1000.14])
    sound = harness.sound()
    assert (sound[2880:3480] == 1000).all()
    assert np.count_nonzero(sound) == 600
    assert harness.card.latency_s == 0.01
    assert harness.card.begun_s == START_S
    assert [at_s for at_s, _ in harness.blocks[:3]] == pytest.approx([0.01, 0.02, 0.03])


@pytest.mark.parametrize(
    "how",
    ["close", "another", "aclose", "cancelled"],
    ids=["closed", "another reply opened", "speaker closed", "cancelled"],
)
async def test_close_ends_waiting_play(how: str) -> None:
    async with playing() as harness:
        loop = asyncio.get_running_loop()
        results: list[bool] = []

        async def play() -> None:
            results.append(await harness.card.play_chunk(A, level(24_000 * 60)))

        harness.card.open(A)
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            group.create_task(play())
            group.create_task(play())
            await asyncio.sleep(0.5)
            if how == "close":
                assert harness.card.close(A) == pytest.approx(12_000, abs=240)
            elif how == "another":
                harness.card.open(B)
            elif how == "aclose":
                await harness.card.aclose()
            else:
                cards = [task for task in asyncio.all_tasks() if task.get_name() == "speaker"]
                cards[0].cancel()
        assert results == [False, False]
        assert loop.time() - START_S <= 0.51


async def test_blocked_loop_is_silence_and_counted() -> None:
    async with playing() as harness:
        loop = asyncio.get_running_loop()
        harness.card.open(A)
        await harness.card.play_chunk(A, level(24_000))
        await asyncio.sleep(0.1)
        assert isinstance(loop, VirtualLoop)
        loop.stall(0.055)
        stalled_s = loop.time()
        told = len(harness.played)
        await asyncio.sleep(0.02)
        assert harness.played[told][2] >= stalled_s
        assert harness.card.counts.underruns == 1
    positions = [round(at_s * 100) for at_s, _ in harness.blocks]
    assert len(set(positions)) == len(positions)  # no block twice
    assert max(np.diff(positions)) == pytest.approx(5, abs=1)


async def test_nothing_is_played_before_it_was_queued() -> None:
    async with playing() as harness:
        loop = asyncio.get_running_loop()
        random = np.random.default_rng(3)
        for number in range(50):
            sound_id = NamedSound(str(number))
            await asyncio.sleep(float(random.uniform(0, 0.03)))
            harness.card.open(sound_id)
            offered_s = loop.time()
            await harness.card.play_chunk(sound_id, level(100))
            harness.card.end(sound_id)
            await asyncio.sleep(0.03)
            assert harness.played[-1][0] == sound_id
            assert offered_s <= harness.played[-1][2] <= offered_s + 0.0201
            assert harness.played[-1][3]


async def test_duck_and_unduck_change_volume() -> None:
    async with playing() as harness:
        harness.card.open(A)
        await harness.card.play_chunk(A, level(48_000, 10_000))
        await asyncio.sleep(0.2)
        harness.card.duck()
        await asyncio.sleep(0.2)
        harness.card.unduck()
        await asyncio.sleep(0.2)
    sound = harness.sound()
    assert sound[4_000] == 10_000
    assert sound[9_000] == pytest.approx(1259, abs=2)  # -18 dB
    assert sound[14_000] == 10_000


async def test_long_run_does_not_drift() -> None:
    async with playing() as harness:
        await asyncio.sleep(19.995)
        assert len(harness.blocks) == 2000
        assert harness.blocks[-1][0] == pytest.approx(20.0)


async def test_run_can_be_called_once() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="once"):
            await harness.card.run()


async def test_nothing_is_written_after_aclose() -> None:
    async with playing() as harness:
        await asyncio.sleep(0.05)
        await harness.card.aclose()
        written = len(harness.blocks)
        await asyncio.sleep(0.05)
        assert len(harness.blocks) == written


def test_empty_block_is_refused() -> None:
    with pytest.raises(ValueError, match="1 ms"):
        WavSpeaker(lambda _at_s, _pcm: None, block_ms=0)
