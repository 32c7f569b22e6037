"""The simulated sound card, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable

import numpy as np
import pytest
from virtual_time import VirtualLoop, run_virtual

from audio.speaker import Speaker, WavSpeaker
from audio.units import Pcm

START_S = 1000.0


class Bench:
    """A card with everything it did written down."""

    def __init__(self, block_ms: int = 10) -> None:
        self.blocks: list[tuple[float, Pcm]] = []
        self.played: list[tuple[Hashable, int, float, bool]] = []
        self.card = WavSpeaker(lambda at_s, pcm: self.blocks.append((at_s, pcm.copy())), block_ms=block_ms)
        self.card.on_played = lambda *what: self.played.append(what)

    def sound(self) -> Pcm:
        """All that was heard, from sample 0 on."""
        whole = np.zeros(24_000 * 20, np.int16)
        for at_s, pcm in self.blocks:
            at = round(at_s * 24_000)
            whole[at : at + len(pcm)] = pcm
        return whole


def with_card(script: Callable[[Bench], Awaitable[None]], block_ms: int = 10) -> Bench:
    async def run() -> Bench:
        bench = Bench(block_ms)
        async with asyncio.TaskGroup() as group:
            card = group.create_task(bench.card.run(), name="speaker")
            await script(bench)
            card.cancel()
        return bench

    return run_virtual(run())


def level(n: int, value: int = 1000) -> Pcm:
    return np.full(n, value, np.int16)


def test_reply_is_played_and_reported() -> None:
    async def script(bench: Bench) -> None:
        speaker: Speaker = bench.card
        await asyncio.sleep(0.105)
        speaker.open("a")
        assert await speaker.play("a", level(600))
        speaker.end("a")
        await asyncio.sleep(0.2)

    bench = with_card(script)
    # Offered at 0.105, taken by the tick at 0.110, heard from 0.120 on.
    assert [(key, total, end) for key, total, _, end in bench.played] == [
        ("a", 240, False),
        ("a", 480, False),
        ("a", 600, True),
    ]
    assert [at_s for _, _, at_s, _ in bench.played] == pytest.approx([1000.12, 1000.13, 1000.14])
    sound = bench.sound()
    assert (sound[2880:3480] == 1000).all()
    assert np.count_nonzero(sound) == 600
    assert bench.card.latency_s == 0.01
    assert bench.card.begun_s == START_S
    assert [at_s for at_s, _ in bench.blocks[:3]] == pytest.approx([0.01, 0.02, 0.03])


def test_play_waits_while_queue_is_full() -> None:
    async def script(bench: Bench) -> None:
        loop = asyncio.get_running_loop()
        bench.card.open("a")
        assert await bench.card.play("a", level(24_000 * 5))
        assert loop.time() - START_S == pytest.approx(3.0, abs=0.03)  # five seconds, less the two in the queue
        bench.card.end("a")
        await asyncio.sleep(2.5)

    bench = with_card(script)
    _, total, at_s, finished = bench.played[-1]
    assert (total, finished) == (120_000, True)
    assert at_s == pytest.approx(START_S + 5.0, abs=0.03)
    assert bench.card.counts.underruns == 0
    assert np.count_nonzero(bench.sound()) == 120_000


@pytest.mark.parametrize("how", ["close", "another", "aclose", "cancelled"])
def test_close_ends_waiting_play(how: str) -> None:
    async def script(bench: Bench) -> None:
        loop = asyncio.get_running_loop()
        results: list[bool] = []

        async def play() -> None:
            results.append(await bench.card.play("a", level(24_000 * 60)))

        bench.card.open("a")
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            group.create_task(play())
            group.create_task(play())
            await asyncio.sleep(0.5)
            if how == "close":
                assert bench.card.close("a") == pytest.approx(12_000, abs=240)
            elif how == "another":
                bench.card.open("b")
            elif how == "aclose":
                await bench.card.aclose()
            else:
                cards = [task for task in asyncio.all_tasks() if task.get_name() == "speaker"]
                cards[0].cancel()
        assert results == [False, False]
        assert loop.time() - START_S <= 0.51

    with_card(script)


def test_closed_reply_is_not_played() -> None:
    async def script(bench: Bench) -> None:
        bench.card.open("a")
        await bench.card.play("a", level(24_000))
        await asyncio.sleep(0.1)
        taken = bench.card.close("a")
        assert not await bench.card.play("a", level(100))
        assert not await bench.card.play("never opened", level(100))
        told = len(bench.played)
        await asyncio.sleep(0.5)
        assert len(bench.played) == told
        assert bench.played[-1][1] == taken
        assert np.count_nonzero(bench.sound()) == taken + 120  # 5 ms of fade

    with_card(script)


def test_late_end_is_reported_without_audio() -> None:
    async def script(bench: Bench) -> None:
        bench.card.open("a")
        await bench.card.play("a", level(240))
        await asyncio.sleep(0.1)
        bench.card.end("a")
        assert not await bench.card.play("a", level(240))
        await asyncio.sleep(0.1)
        assert [(total, end) for _, total, _, end in bench.played] == [(240, False), (240, True)]

    with_card(script)


def test_blocked_loop_is_silence_and_counted() -> None:
    async def script(bench: Bench) -> None:
        loop = asyncio.get_running_loop()
        bench.card.open("a")
        await bench.card.play("a", level(24_000))
        await asyncio.sleep(0.1)
        assert isinstance(loop, VirtualLoop)
        loop.stall(0.055)
        stalled_s = loop.time()
        told = len(bench.played)
        await asyncio.sleep(0.02)
        assert bench.played[told][2] >= stalled_s
        assert bench.card.counts.underruns == 1
        assert bench.card.counts.underrun_samples == pytest.approx(0.05 * 24_000, abs=240)

    bench = with_card(script)
    positions = [round(at_s * 100) for at_s, _ in bench.blocks]
    assert len(set(positions)) == len(positions)  # no block twice
    assert max(np.diff(positions)) == pytest.approx(5, abs=1)


def test_nothing_is_played_before_it_was_queued() -> None:
    async def script(bench: Bench) -> None:
        loop = asyncio.get_running_loop()
        random = np.random.default_rng(3)
        for key in range(50):
            await asyncio.sleep(float(random.uniform(0, 0.03)))
            bench.card.open(key)
            offered_s = loop.time()
            await bench.card.play(key, level(100))
            bench.card.end(key)
            await asyncio.sleep(0.03)
            assert bench.played[-1][0] == key
            assert offered_s <= bench.played[-1][2] <= offered_s + 0.0201
            assert bench.played[-1][3]

    with_card(script)


def test_duck_and_unduck_change_volume() -> None:
    async def script(bench: Bench) -> None:
        bench.card.open("a")
        await bench.card.play("a", level(48_000, 10_000))
        await asyncio.sleep(0.2)
        bench.card.duck()
        await asyncio.sleep(0.2)
        bench.card.unduck()
        await asyncio.sleep(0.2)

    sound = with_card(script).sound()
    assert sound[4_000] == 10_000
    assert sound[9_000] == pytest.approx(1259, abs=2)  # -18 dB
    assert sound[14_000] == 10_000


def test_long_run_does_not_drift() -> None:
    async def script(bench: Bench) -> None:
        await asyncio.sleep(19.995)
        assert len(bench.blocks) == 2000
        assert bench.blocks[-1][0] == pytest.approx(20.0)

    with_card(script)


def test_run_can_be_called_once() -> None:
    async def script(bench: Bench) -> None:
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="once"):
            await bench.card.run()

    with_card(script)


def test_nothing_is_written_after_aclose() -> None:
    async def script(bench: Bench) -> None:
        await asyncio.sleep(0.05)
        await bench.card.aclose()
        written = len(bench.blocks)
        await asyncio.sleep(0.05)
        assert len(bench.blocks) == written

    with_card(script)


def test_empty_block_is_refused() -> None:
    with pytest.raises(ValueError, match="1 ms"):
        WavSpeaker(lambda _at_s, _pcm: None, block_ms=0)


@pytest.mark.slow
@pytest.mark.real_time
def test_plays_in_real_time() -> None:
    bench = Bench()

    async def script() -> None:
        async with asyncio.TaskGroup() as group:
            card = group.create_task(bench.card.run())
            await asyncio.sleep(0.1)
            offered_s = asyncio.get_running_loop().time()
            bench.card.open("a")
            await bench.card.play("a", level(12_000))
            bench.card.end("a")
            await asyncio.sleep(0.8)
            card.cancel()
            assert offered_s <= bench.played[0][2] <= offered_s + 0.04

    asyncio.run(script())
    assert bench.played[-1][1] == 12_000
    assert bench.played[-1][3]
    assert np.count_nonzero(bench.sound()) == 12_000
