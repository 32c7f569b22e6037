"""The client's audio as gapless frames, in virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from support.clocks.virtual_time import VirtualLoop

from audio.frame import Frame
from audio.microphone import MicrophoneLine
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, ms_of_samples, samples_of_ms
from web.client_audio.client_microphone import MAX_AHEAD_S, PACE, SETTLE_TIMEOUT_S, WAITING_FRAMES, ClientMicrophone

pytestmark = pytest.mark.virtual_time

FRAME = 480
"""Samples of 20 ms at the wire's sample rate."""


def loud(samples: int) -> Pcm:
    return np.full(samples, 8000, np.int16)


@dataclass
class Listener:
    """A conversation that takes frames; each takes `takes_s`."""

    microphone: ClientMicrophone = field(default_factory=lambda: ClientMicrophone(REPLY_RATE_HZ))
    takes_s: float = 0.0
    frames: list[tuple[float, Frame]] = field(default_factory=list)  # with ms since the start
    zero_s: float = 0.0

    async def listen(self) -> None:
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self.frames.append((self.now_ms, Frame(frame.start, frame.pcm.copy(), is_inserted=frame.is_inserted)))
                if self.takes_s:
                    await asyncio.sleep(self.takes_s)

    @property
    def now_ms(self) -> float:
        return (asyncio.get_running_loop().time() - self.zero_s) * 1000

    @property
    def sound_ms(self) -> float:
        """Length of the loud audio that was received."""
        return float(sum(np.count_nonzero(np.abs(frame.pcm) > 4000) for _, frame in self.frames)) / MIC_RATE_HZ * 1000

    async def speaks(self, ms: int, *, block_ms: int = 20) -> None:
        """Sends audio in real time."""
        for _ in range(ms // block_ms):
            await asyncio.sleep(block_ms / 1000)
            await self.microphone.deliver(loud(24 * block_ms), REPLY_RATE_HZ)


@asynccontextmanager
async def listening(*, takes_s: float = 0.0) -> AsyncGenerator[Listener]:
    """Listens while the block runs, then ends the microphone. Checks that the frames are gapless."""
    listener = Listener(takes_s=takes_s, zero_s=asyncio.get_running_loop().time())
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(listener.listen())
        yield listener
        listener.microphone.end()
    starts = [frame.start for _, frame in listener.frames]
    assert starts == list(range(0, len(starts) * FRAME_SAMPLES, FRAME_SAMPLES))
    assert all(len(frame.pcm) == FRAME_SAMPLES for _, frame in listener.frames)


async def test_live_sound_after_a_long_recording_is_held_for_seconds_at_most() -> None:
    async with listening() as listener:
        microphone = listener.microphone
        for _ in range(60):
            await microphone.deliver(loud(REPLY_RATE_HZ), REPLY_RATE_HZ)
        await microphone.settle()
        microphone.holds_recording = lambda: True
        before_ms = listener.now_ms
        await microphone.deliver(loud(FRAME), REPLY_RATE_HZ)
        await microphone.settle()
        assert listener.now_ms - before_ms == pytest.approx(MAX_AHEAD_S / PACE * 1000, abs=50)


async def test_queued_audio_is_processed_when_microphone_ends() -> None:
    async with listening() as listener:
        listener.microphone.batches_silence = True  # sound of constant level counts as silence
        await listener.speaks(100)
        assert not listener.frames
    assert listener.sound_ms == pytest.approx(100, abs=4)


@pytest.mark.parametrize("block_ms", [10, 20, 50, 100], ids="{} ms blocks".format)
async def test_blocks_of_any_length_become_gapless_frames(block_ms: int) -> None:
    async with listening() as listener:
        await listener.speaks(2000, block_ms=block_ms)
        await listener.microphone.settle()
    assert not any(frame.is_inserted for _, frame in listener.frames)
    assert listener.sound_ms == pytest.approx(2000, abs=2)
    in_front = samples_of_ms(listener.microphone.inserted_ms(20))
    assert listener.microphone.clock.to_loop_s(in_front) == pytest.approx(1000, abs=0.001)


async def test_line_continues_in_silence_without_audio() -> None:
    async with listening() as listener:
        await listener.speaks(500)
        await asyncio.sleep(3)
        await listener.speaks(500)
        await asyncio.sleep(0.05)
    silent = [frame for _, frame in listener.frames if frame.is_inserted]
    assert len(silent) * 20 == pytest.approx(3000, abs=60)
    assert ms_of_samples(listener.frames[-1][1].end) == pytest.approx(4000, abs=60)
    assert listener.sound_ms == pytest.approx(1000, abs=25)


async def test_inserted_silence_is_known_for_every_position() -> None:
    async with listening() as listener:
        await asyncio.sleep(0.3)
        await listener.speaks(500)
        await asyncio.sleep(3)
        await listener.speaks(500)
        await listener.microphone.settle()
    microphone, frames = listener.microphone, [frame for _, frame in listener.frames]
    first_ms = ms_of_samples(next(frame for frame in frames if not frame.is_inserted).start)
    assert microphone.inserted_ms(first_ms) == first_ms == pytest.approx(300, abs=41)
    sound_ms = microphone.inserted_ms(first_ms + 20)
    assert sound_ms == microphone.inserted_ms(first_ms + 500) == pytest.approx(first_ms + 1, abs=1)
    end_ms = ms_of_samples(frames[-1].end)
    assert end_ms - microphone.inserted_ms(end_ms) == microphone.received_ms == 1000


async def test_client_that_never_sends_is_silent_from_the_start() -> None:
    async with listening() as listener:
        await asyncio.sleep(1)
    assert len(listener.frames) * 20 == pytest.approx(1000, abs=60)
    assert all(frame.is_inserted for _, frame in listener.frames)


async def test_settle_waits_for_all_audio_including_partial_frame() -> None:
    async with listening(takes_s=0.01) as listener:
        await listener.microphone.deliver(loud(50 * FRAME + 100), REPLY_RATE_HZ)
        await listener.microphone.settle()
        assert len(listener.frames) == 51
        assert listener.sound_ms == pytest.approx(1000 + 100 / 24, abs=1)
        assert listener.now_ms == pytest.approx(510)  # the conversation's speed, not real time


@pytest.mark.parametrize(
    ("takes_s", "frames", "settled_ms"),
    [(0.5, 50, 25_000), (3 * SETTLE_TIMEOUT_S, 1, 2 * SETTLE_TIMEOUT_S * 1000)],
    ids=["slow", "hung"],
)
async def test_settle_waits_for_slow_conversation_and_not_for_hung_one(
    takes_s: float, frames: int, settled_ms: float
) -> None:
    async with listening(takes_s=takes_s) as listener:
        await listener.microphone.deliver(loud(50 * FRAME), REPLY_RATE_HZ)
        await listener.microphone.settle()
        assert len(listener.frames) == frames
        assert listener.now_ms == pytest.approx(settled_ms, abs=0.001)


async def test_settle_returns_at_once_without_audio_or_after_end() -> None:
    async with listening() as listener:
        await listener.microphone.settle()
        assert listener.now_ms == 0
        listener.microphone.end()
        await listener.microphone.settle()
        assert listener.now_ms == 0
    assert listener.frames == []


async def test_client_that_sends_much_at_once_has_to_wait() -> None:
    most: list[int] = []
    async with listening(takes_s=0.01) as listener:
        for _ in range(6):
            await listener.microphone.deliver(loud(REPLY_RATE_HZ * 10), REPLY_RATE_HZ)
            behind = round(listener.now_ms / 10)
            assert len(listener.frames) == pytest.approx(behind, abs=1)
            most.append(500 * len(most) + 500 - len(listener.frames))
        await listener.microphone.settle()
    assert max(most) <= WAITING_FRAMES + 50  # up to one second more, which is delivered as a whole
    assert listener.sound_ms == pytest.approx(60_000, abs=2)


async def test_large_delivery_lets_other_tasks_run() -> None:
    async with listening() as listener:
        others = 0

        async def other() -> None:
            nonlocal others
            while True:
                others += 1
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            counting = tasks.create_task(other())
            await listener.microphone.deliver(loud(REPLY_RATE_HZ * 20), REPLY_RATE_HZ)
            assert others >= 20
            await listener.microphone.settle()
            assert others >= 100
            counting.cancel()


async def test_line_continues_after_a_format_change() -> None:
    async with listening() as listener:
        await listener.speaks(500)
        for _ in range(25):
            await asyncio.sleep(0.02)
            await listener.microphone.deliver(loud(160), 8000)
        await listener.speaks(500)
        await listener.microphone.settle()
    assert not any(frame.is_inserted for _, frame in listener.frames)
    assert listener.sound_ms == pytest.approx(1500, abs=5)


async def test_received_audio_is_processed_after_the_end() -> None:
    async with listening(takes_s=0.01) as listener:
        await listener.microphone.deliver(loud(20 * FRAME), REPLY_RATE_HZ)
        listener.microphone.end()
        listener.microphone.end()
    assert len(listener.frames) >= 18


async def test_nothing_follows_audio_that_is_dropped_at_the_end() -> None:
    async with listening() as listener:
        await listener.speaks(150, block_ms=50)
        await asyncio.sleep(0.5)
        listener.microphone.on_disconnect()  # silence is due from now on
        listener.microphone.end(at_once=True)  # drops the last, incomplete frame
        await asyncio.sleep(1)
    assert len(listener.frames) == 7


async def test_silence_is_not_inserted_after_queued_frames_were_dropped() -> None:
    async with listening() as listener:  # which checks that the frames are gapless
        await listener.microphone.deliver(loud(5 * FRAME), REPLY_RATE_HZ)
        listener.microphone.on_disconnect()
        await asyncio.sleep(0.3)
        await listener.microphone.deliver(loud(5 * FRAME), REPLY_RATE_HZ)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.stall(1.5)  # silence is due when the conversation is woken
        listener.microphone.end(at_once=True)


async def test_waiting_delivery_returns_at_the_end() -> None:
    async with listening(takes_s=0.1) as listener, asyncio.TaskGroup() as tasks:
        delivering = tasks.create_task(listener.microphone.deliver(loud(REPLY_RATE_HZ * 60), REPLY_RATE_HZ))
        await asyncio.sleep(1)
        assert not delivering.done()
        listener.microphone.end()


async def test_blocked_loop_reads_audio_before_inserting_silence() -> None:
    async with listening() as listener:
        loop, microphone, reading = asyncio.get_running_loop(), listener.microphone, asyncio.Event()
        await listener.speaks(200)
        microphone._silence_timer.cancel()  # as if the loop was blocked for 300 ms: sockets are read before timers run
        loop.call_at(loop.time() + 0.3, reading.set)
        loop.call_at(loop.time() + 0.3, microphone._check_silence, loop)
        await reading.wait()
        await microphone.deliver(loud(24 * 300), REPLY_RATE_HZ)
        await microphone.settle()
    assert not any(frame.is_inserted for _, frame in listener.frames)


async def test_live_audio_sets_no_timer_per_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    armed: list[float] = []
    original = ClientMicrophone._check_silence

    def counted(self: ClientMicrophone, loop: asyncio.AbstractEventLoop) -> None:
        armed.append(loop.time())
        original(self, loop)

    monkeypatch.setattr(ClientMicrophone, "_check_silence", counted)
    async with listening() as listener:
        await listener.speaks(2000)
    assert len(armed) <= 30  # of a hundred frames


async def test_backlog_of_small_blocks_is_processed_as_read() -> None:
    async with listening() as listener:
        await listener.speaks(200)
        for number in range(50):
            await listener.microphone.deliver(loud(24 * 20), REPLY_RATE_HZ)
            assert len(listener.frames) >= 9 + number  # one turn of the loop is never the whole backlog


@pytest.mark.parametrize("batches", [False, True])
async def test_silence_that_may_wait_is_inserted_in_batches(monkeypatch: pytest.MonkeyPatch, batches: bool) -> None:
    calls = []
    original = ClientMicrophone._check_silence

    def counted(microphone: ClientMicrophone, loop: asyncio.AbstractEventLoop) -> None:
        calls.append(loop.time())
        original(microphone, loop)

    monkeypatch.setattr(ClientMicrophone, "_check_silence", counted)
    listener = Listener()
    listener.microphone.batches_silence = batches
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(listener.listen())
        await asyncio.sleep(10)
        listening.cancel()
    assert len(listener.frames) == pytest.approx(500, abs=15)
    assert len(calls) < 70 if batches else len(calls) > 450


async def test_live_audio_does_not_wake_the_silence_check(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def idle(line: MicrophoneLine, now_s: float, real: Callable[..., list[Frame]] = MicrophoneLine.idle) -> list[Frame]:
        looks.append(now_s)
        return real(line, now_s)

    monkeypatch.setattr(MicrophoneLine, "idle", idle)
    async with listening() as listener:
        await listener.speaks(2000)
        spoken = len(looks)
        assert spoken <= 4, "before the first sound only"
        await asyncio.sleep(1.0)
        assert len(looks) - spoken >= 40, "and every frame once it has stopped"
