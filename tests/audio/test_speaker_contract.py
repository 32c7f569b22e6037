"""The contract of every loudspeaker (audio.speaker.Speaker), checked for each in virtual time."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager

import numpy as np
import pytest
from fake_cards import FakeLibrary, device, playback, run_card
from virtual_time import run_virtual

from audio.card.speaker import CardSpeaker
from audio.speaker import Speaker, WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm
from web.client_speaker import ClientSpeaker

S = REPLY_RATE_HZ
BLOCK_S = 0.02
"""The longest block that any of them takes at once."""


class Room:
    """A loudspeaker with its reported playback."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self.told: list[tuple[Hashable, int, float, bool]] = []
        speaker.on_played = lambda *what: self.told.append(what)

    def of(self, key: Hashable) -> list[tuple[int, float, bool]]:
        return [(total, leaves_s, finished) for name, total, leaves_s, finished in self.told if name == key]


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
    "card at 48 kHz": lambda: card(48_000),
    "client": client,
}


def level(n: int) -> Pcm:
    return np.full(n, 1000, np.int16)


@pytest.fixture(params=sorted(SPEAKERS))
def perform(request: pytest.FixtureRequest) -> Callable[[Callable[[Room], Awaitable[None]]], Room]:
    """Runs a script with a loudspeaker."""

    def run(script: Callable[[Room], Awaitable[None]]) -> Room:
        async def main() -> Room:
            async with SPEAKERS[request.param]() as speaker:
                room = Room(speaker)
                await asyncio.sleep(0.105)
                await script(room)
            return room

        return run_virtual(main())

    return run


Perform = Callable[[Callable[[Room], Awaitable[None]]], Room]


def test_reply_is_reported_in_order_and_its_end_once(perform: Perform) -> None:
    begun_s = 0.0

    async def script(room: Room) -> None:
        nonlocal begun_s
        begun_s = asyncio.get_running_loop().time()
        room.speaker.open("a")
        for _ in range(4):
            assert await room.speaker.play("a", level(S // 4))
        room.speaker.end("a")
        await asyncio.sleep(1.5)

    told = perform(script).of("a")
    totals = [total for total, *_ in told]
    assert totals == sorted(totals)
    assert totals[-1] == S
    assert [finished for *_, finished in told] == [False] * (len(told) - 1) + [True]
    for before, (_, leaves_s, _) in zip([0, *totals], told, strict=False):
        assert leaves_s - told[0][1] == pytest.approx(before / S, abs=BLOCK_S)
    assert 0 <= told[0][1] - begun_s < 0.15


def test_play_waits_while_queue_is_full(perform: Perform) -> None:
    async def script(room: Room) -> None:
        loop = asyncio.get_running_loop()
        room.speaker.open("a")
        begun_s = loop.time()
        assert await room.speaker.play("a", level(5 * S))
        assert loop.time() - begun_s == pytest.approx(3.0, abs=0.15)

    perform(script)


@pytest.mark.parametrize("how", ["close", "another"])
def test_close_ends_waiting_play(perform: Perform, how: str) -> None:
    async def script(room: Room) -> None:
        loop = asyncio.get_running_loop()
        room.speaker.open("a")
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(room.speaker.play("a", level(10 * S)))
            await asyncio.sleep(0.5)
            closed_s = loop.time()
            if how == "close":
                room.speaker.close("a")
            else:
                room.speaker.open("b")
        assert not playing.result()
        assert loop.time() - closed_s < 0.01
        assert not await room.speaker.play("a", level(10))
        assert await room.speaker.play("b", level(10)) is (how == "another")

    perform(script)


def test_reply_not_open_or_ended_is_not_played(perform: Perform) -> None:
    async def script(room: Room) -> None:
        assert not await room.speaker.play("never", level(10))
        room.speaker.open("a")
        assert await room.speaker.play("a", level(240))
        room.speaker.end("a")
        assert not await room.speaker.play("a", level(240))
        room.speaker.end("never")
        assert room.speaker.close("never") == 0
        await asyncio.sleep(0.3)

    told = perform(script).of("a")
    assert (told[-1][0], told[-1][2]) == (240, True)


def test_close_returns_played_samples_and_ends_reply(perform: Perform) -> None:
    async def script(room: Room) -> None:
        room.speaker.open("a")
        await room.speaker.play("a", level(S))
        await asyncio.sleep(0.5)
        told = room.of("a")
        taken = room.speaker.close("a")
        assert told[-1][0] <= taken <= told[-1][0] + 2 * BLOCK_S * S
        assert taken == pytest.approx(0.5 * S, abs=0.03 * S)
        assert room.speaker.close("a") == taken
        await asyncio.sleep(0.5)
        assert all(total <= taken and not finished for total, _, finished in room.of("a"))
        assert len(room.of("a")) <= len(told) + 1

    perform(script)


def test_opening_open_reply_changes_nothing(perform: Perform) -> None:
    async def script(room: Room) -> None:
        room.speaker.open("a")
        await room.speaker.play("a", level(S // 2))
        await asyncio.sleep(0.2)
        room.speaker.open("a")
        room.speaker.end("a")
        await asyncio.sleep(0.5)

    assert perform(script).of("a")[-1][0] == S // 2


def test_late_end_is_reported_without_more_samples(perform: Perform) -> None:
    async def script(room: Room) -> None:
        room.speaker.open("a")
        await room.speaker.play("a", level(480))
        await asyncio.sleep(0.3)
        assert [finished for *_, finished in room.of("a")].count(True) == 0
        room.speaker.end("a")
        await asyncio.sleep(0.3)

    told = perform(script).of("a")
    assert [(total, finished) for total, _, finished in told[-2:]] == [(480, False), (480, True)]


def test_reply_continues_after_underrun_with_new_time(perform: Perform) -> None:
    async def script(room: Room) -> None:
        room.speaker.open("a")
        await room.speaker.play("a", level(2400))
        await asyncio.sleep(0.6)
        await room.speaker.play("a", level(2400))
        room.speaker.end("a")
        await asyncio.sleep(0.4)

    told = perform(script).of("a")
    assert told[-1][0] == 4800
    # Audio that arrived later is played later, and not in the meantime.
    after = next(leaves_s for (before, *_), (_, leaves_s, _) in itertools.pairwise(told) if before == 2400)
    assert after - told[0][1] == pytest.approx(0.6, abs=2 * BLOCK_S)


def test_duck_without_reply_is_accepted(perform: Perform) -> None:
    async def script(room: Room) -> None:
        room.speaker.duck()
        room.speaker.unduck()
        room.speaker.open("a")
        room.speaker.duck()
        await room.speaker.play("a", level(2400))
        room.speaker.close("a")
        room.speaker.unduck()
        room.speaker.unduck()
        assert room.speaker.latency_s >= 0

    perform(script)


def test_reply_survives_loop_blocked_for_a_second(perform: Perform) -> None:
    async def script(room: Room) -> None:
        loop = asyncio.get_running_loop()
        room.speaker.open("a")
        await room.speaker.play("a", level(3 * S // 2))
        room.speaker.end("a")
        await asyncio.sleep(0.2)
        loop.stall(1.0)  # type: ignore[attr-defined]  # the virtual one
        await asyncio.sleep(3.0)

    told = perform(script).of("a")
    assert told[-1][0] == 3 * S // 2
    assert [finished for *_, finished in told].count(True) == 1
    assert (np.diff([leaves_s for _, leaves_s, _ in told]) > -1e-6).all()
