"""A server's replies on a loudspeaker here, in virtual time: the network as a script."""

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
from virtual_time import run_virtual

from assistant.turns.events import ReplyId
from audio.speaker import WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm
from web.remote.playback import RemotePlayback
from web.remote.reply_playback import ReplyPlayback

ONE, TWO = ReplyId(1, 1), ReplyId(2, 1)
PIECE = REPLY_RATE_HZ // 50
"""20 ms."""


class Room:
    """A mouth, what it reported and what was heard."""

    def __init__(self) -> None:
        self.blocks: list[tuple[float, Pcm]] = []
        self.over: list[ReplyId] = []
        self.troubles: list[str] = []
        self.speaker = WavSpeaker(lambda at_s, pcm: self.blocks.append((at_s, pcm.copy())))
        self.mouth = RemotePlayback(self.speaker, progress=self.progress, trouble=self.troubles.append)

    def progress(self, reply: ReplyId, played: ReplyPlayback) -> None:
        if played.finished:
            self.over.append(reply)

    def pieces(self, reply: ReplyId, n: int) -> None:
        for _ in range(n):
            self.mouth.sound(reply, np.full(PIECE, 1000, np.int16))

    async def trickle(self, reply: ReplyId, n: int, every_s: float = 0.02) -> None:
        for _ in range(n):
            self.pieces(reply, 1)
            await asyncio.sleep(every_s)

    def sounding(self) -> list[tuple[float, float]]:
        """From when to when something was heard, seconds of the loudspeaker; gaps of 5 ms and more."""
        loud = np.concatenate([round(at_s * REPLY_RATE_HZ) + np.flatnonzero(pcm) for at_s, pcm in self.blocks])
        cuts = np.flatnonzero(np.diff(loud) > 120)
        firsts, lasts = loud[np.concatenate([[0], cuts + 1])], loud[np.concatenate([cuts, [-1]])]
        return [(a / REPLY_RATE_HZ, (b + 1) / REPLY_RATE_HZ) for a, b in zip(firsts, lasts, strict=True)]


def with_room(script: Callable[[Room], Awaitable[None]]) -> Room:
    async def run() -> Room:
        room = Room()
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(room.speaker.run()), tasks.create_task(room.mouth.run())]
            await script(room)
            for task in work:
                task.cancel()
        return room

    return run_virtual(run())


def test_the_first_sample_is_played_at_once_and_an_even_network_costs_nothing() -> None:
    async def script(room: Room) -> None:
        room.pieces(ONE, 3)
        await room.trickle(ONE, 47)
        room.mouth.end(ONE)
        await asyncio.sleep(0.5)

    room = with_room(script)
    ((begins_s, ends_s),) = room.sounding()
    assert begins_s <= 0.03
    assert round(ends_s - begins_s, 3) == 1.0
    assert room.over == [ONE]
    assert room.mouth.cushion.underruns == 0


def test_after_a_stop_in_its_midst_some_is_gathered_before_it_goes_on() -> None:
    """Else each late piece would be a gap of its own: one stop becomes ten."""

    async def script(room: Room) -> None:
        room.pieces(ONE, 1)
        await asyncio.sleep(0.3)
        # The network is back, uneven by 15 ms: without a cushion every other piece comes too late.
        for _ in range(20):
            room.pieces(ONE, 1)
            await asyncio.sleep(0.035)
            room.pieces(ONE, 1)
            await asyncio.sleep(0.005)
        room.mouth.end(ONE)
        await asyncio.sleep(0.5)

    room = with_room(script)
    assert len(room.sounding()) == 2
    assert room.mouth.cushion.underruns == 1
    rings_out = round(0.005 * REPLY_RATE_HZ)  # at the stop
    assert sum(np.count_nonzero(pcm) for _, pcm in room.blocks) == 41 * PIECE + rings_out
    assert room.over == [ONE]


def test_the_next_reply_begins_with_the_cushion_and_makes_it_smaller() -> None:
    async def script(room: Room) -> None:
        room.pieces(ONE, 1)
        await asyncio.sleep(0.2)
        room.pieces(ONE, 5)
        room.mouth.end(ONE)
        await asyncio.sleep(0.5)
        assert room.mouth.cushion.samples == 3 * PIECE
        begun_s = len(room.blocks) / 100
        await room.trickle(TWO, 20)
        room.mouth.end(TWO)
        await asyncio.sleep(0.5)
        assert 0.04 <= room.sounding()[2][0] - begun_s <= 0.08
        assert len(room.sounding()) == 3
        assert room.mouth.cushion.samples == 0

    assert with_room(script).over == [ONE, TWO]


def test_the_end_of_a_reply_is_waited_for_by_nobody() -> None:
    """What is less than a cushion is played when it is all there is, or when no more comes."""

    async def script(room: Room) -> None:
        room.pieces(ONE, 1)
        await asyncio.sleep(0.2)
        room.pieces(ONE, 1)
        await asyncio.sleep(0.02)
        room.mouth.end(ONE)
        await asyncio.sleep(0.2)
        assert room.over == [ONE]
        room.pieces(TWO, 1)
        await asyncio.sleep(0.2)
        room.pieces(TWO, 1)
        await asyncio.sleep(3.0)
        assert len(room.sounding()) == 3  # one piece is no cushion: it is played, late
        room.mouth.end(TWO)
        await asyncio.sleep(0.2)
        assert room.over == [ONE, TWO]

    with_room(script)


def test_a_reply_that_is_cut_while_it_is_gathered_is_not_heard() -> None:
    async def script(room: Room) -> None:
        room.pieces(ONE, 1)
        await asyncio.sleep(0.2)
        room.pieces(ONE, 1)
        await asyncio.sleep(0.01)
        room.mouth.hush()
        room.pieces(ONE, 10)
        room.pieces(TWO, 10)
        room.mouth.end(TWO)
        await asyncio.sleep(1.0)
        assert room.over == [TWO]
        assert len(room.sounding()) == 2

    with_room(script)


def test_the_last_reply_is_said_again_at_once() -> None:
    async def script(room: Room) -> None:
        room.pieces(ONE, 1)
        await asyncio.sleep(0.2)
        room.pieces(ONE, 9)
        room.mouth.end(ONE)
        await asyncio.sleep(0.5)
        assert room.mouth.again()
        await asyncio.sleep(0.5)

    room = with_room(script)
    begins_s, ends_s = room.sounding()[-1]
    assert round(ends_s - begins_s, 3) == 0.2
    assert room.troubles == []
