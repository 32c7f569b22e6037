"""Playback of a server's replies, in virtual time, with a scripted network."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from assistant.turns.events import ReplyId
from audio.speaker import WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm
from web.remote.sound.playback import RemotePlayback
from web.remote.sound.reply_playback import ReplyPlayback

pytestmark = pytest.mark.virtual_time

ONE, TWO = ReplyId(1, 1), ReplyId(2, 1)
PIECE = REPLY_RATE_HZ // 50
"""20 ms."""


class PlaybackHarness:
    """A playback, its reports and the audio that was played."""

    def __init__(self) -> None:
        self.blocks: list[tuple[float, Pcm]] = []
        self.over: list[ReplyId] = []
        self.troubles: list[str] = []
        self.speaker = WavSpeaker(lambda at_s, pcm: self.blocks.append((at_s, pcm.copy())))
        self.playback = RemotePlayback(self.speaker, progress=self.progress, trouble=self.troubles.append)

    def progress(self, reply_id: ReplyId, played: ReplyPlayback) -> None:
        if played.finished:
            self.over.append(reply_id)

    def send_pieces(self, reply_id: ReplyId, n: int) -> None:
        for _ in range(n):
            self.playback.sound(reply_id, np.full(PIECE, 1000, np.int16))

    async def send_slowly(self, reply_id: ReplyId, n: int, every_s: float = 0.02) -> None:
        for _ in range(n):
            self.send_pieces(reply_id, 1)
            await asyncio.sleep(every_s)

    def audible_spans(self) -> list[tuple[float, float]]:
        """Returns start and end of the audible stretches in seconds, separated by gaps of 5 ms and more."""
        loud = np.concatenate([round(at_s * REPLY_RATE_HZ) + np.flatnonzero(pcm) for at_s, pcm in self.blocks])
        cuts = np.flatnonzero(np.diff(loud) > 120)
        firsts, lasts = loud[np.concatenate([[0], cuts + 1])], loud[np.concatenate([cuts, [-1]])]
        return [(a / REPLY_RATE_HZ, (b + 1) / REPLY_RATE_HZ) for a, b in zip(firsts, lasts, strict=True)]


@asynccontextmanager
async def playing() -> AsyncGenerator[PlaybackHarness]:
    """Plays while the block runs."""
    harness = PlaybackHarness()
    async with asyncio.TaskGroup() as tasks:
        work = [tasks.create_task(harness.speaker.run()), tasks.create_task(harness.playback.run())]
        yield harness
        for task in work:
            task.cancel()


async def test_even_network_is_played_without_buffering() -> None:
    async with playing() as harness:
        harness.send_pieces(ONE, 3)
        await harness.send_slowly(ONE, 47)
        harness.playback.end(ONE)
        await asyncio.sleep(0.5)
    ((begins_s, ends_s),) = harness.audible_spans()
    assert begins_s <= 0.03
    assert round(ends_s - begins_s, 3) == 1.0
    assert harness.over == [ONE]
    assert harness.playback.jitter_buffer.underruns == 0


async def test_underrun_buffers_before_reply_continues() -> None:
    """Without buffering each late piece would be a gap of its own: one underrun becomes ten."""
    async with playing() as harness:
        harness.send_pieces(ONE, 1)
        await asyncio.sleep(0.3)
        # The network is back with 15 ms of jitter: without a buffer every second piece would be late.
        for _ in range(20):
            harness.send_pieces(ONE, 1)
            await asyncio.sleep(0.035)
            harness.send_pieces(ONE, 1)
            await asyncio.sleep(0.005)
        harness.playback.end(ONE)
        await asyncio.sleep(0.5)
    assert len(harness.audible_spans()) == 2
    assert harness.playback.jitter_buffer.underruns == 1
    rings_out = round(0.005 * REPLY_RATE_HZ)  # fade at the underrun
    assert sum(np.count_nonzero(pcm) for _, pcm in harness.blocks) == 41 * PIECE + rings_out
    assert harness.over == [ONE]


async def test_next_reply_starts_buffered_and_halves_the_buffer() -> None:
    async with playing() as harness:
        harness.send_pieces(ONE, 1)
        await asyncio.sleep(0.2)
        harness.send_pieces(ONE, 5)
        harness.playback.end(ONE)
        await asyncio.sleep(0.5)
        assert harness.playback.jitter_buffer.samples == 3 * PIECE
        begun_s = len(harness.blocks) / 100
        await harness.send_slowly(TWO, 20)
        harness.playback.end(TWO)
        await asyncio.sleep(0.5)
        assert 0.04 <= harness.audible_spans()[2][0] - begun_s <= 0.08
        assert len(harness.audible_spans()) == 3
        assert harness.playback.jitter_buffer.samples == 0
    assert harness.over == [ONE, TWO]


async def test_buffering_ends_with_the_reply_or_time_limit() -> None:
    """Less audio than the buffer size is played at the end of the reply or after the time limit."""
    async with playing() as harness:
        harness.send_pieces(ONE, 1)
        await asyncio.sleep(0.2)
        harness.send_pieces(ONE, 1)
        await asyncio.sleep(0.02)
        harness.playback.end(ONE)
        await asyncio.sleep(0.2)
        assert harness.over == [ONE]
        harness.send_pieces(TWO, 1)
        await asyncio.sleep(0.2)
        harness.send_pieces(TWO, 1)
        await asyncio.sleep(3.0)
        assert len(harness.audible_spans()) == 3  # one piece is less than the buffer: it is played late
        harness.playback.end(TWO)
        await asyncio.sleep(0.2)
        assert harness.over == [ONE, TWO]


async def test_reply_cut_while_buffering_is_not_played() -> None:
    async with playing() as harness:
        harness.send_pieces(ONE, 1)
        await asyncio.sleep(0.2)
        harness.send_pieces(ONE, 1)
        await asyncio.sleep(0.01)
        harness.playback.stop()
        harness.send_pieces(ONE, 10)
        harness.send_pieces(TWO, 10)
        harness.playback.end(TWO)
        await asyncio.sleep(1.0)
        assert harness.over == [TWO]
        assert len(harness.audible_spans()) == 2


async def test_last_reply_is_repeated_at_once() -> None:
    async with playing() as harness:
        harness.send_pieces(ONE, 1)
        await asyncio.sleep(0.2)
        harness.send_pieces(ONE, 9)
        harness.playback.end(ONE)
        await asyncio.sleep(0.5)
        assert harness.playback.again()
        await asyncio.sleep(0.5)
    begins_s, ends_s = harness.audible_spans()[-1]
    assert round(ends_s - begins_s, 3) == 0.2
    assert harness.troubles == []
