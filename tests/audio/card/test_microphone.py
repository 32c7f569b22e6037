"""The microphone of a card, in virtual time."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import numpy as np
import pytest
from fake_cards import FakeLibrary, capture, device, run_card
from virtual_time import VirtualLoop, run_virtual

from audio.card.microphone import CardMicrophone, FrameCleaner
from audio.errors import DeviceError
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm


class Desk:
    """A microphone with the frames and reports it produced."""

    def __init__(self, library: FakeLibrary, wanted: str = "", clean: FrameCleaner | None = None) -> None:
        self.portaudio = library
        self.said: list[str] = []
        self.frames: list[Frame] = []
        self.microphone = CardMicrophone(wanted, report=self.said.append, clean=clean, library=library)
        self.next = 0

    def sound(self, frames: int) -> Pcm:
        """A ramp of 48 kHz samples whose values are their positions."""
        self.next += frames
        return (np.arange(self.next - frames, self.next) // 3 % 8000).astype(np.int16)

    async def listen(self) -> None:
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self.frames.append(Frame(frame.start, frame.pcm.copy(), frame.is_inserted))


def with_desk(script: Callable[[Desk], Awaitable[None]], desk: Desk | None = None, age_s: float = 0.0) -> Desk:
    desk = desk or Desk(FakeLibrary())

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(desk.listen())
            card = tasks.create_task(run_card(desk.portaudio, capture(desk.sound, age_s)))
            await script(desk)
            await desk.microphone.aclose()
            await listening
            card.cancel()

    run_virtual(run())
    assert [frame.start for frame in desk.frames] == list(range(0, len(desk.frames) * FRAME_SAMPLES, FRAME_SAMPLES))
    assert desk.portaudio.streams == []
    return desk


def test_frames_are_gapless_and_dated_by_capture() -> None:
    async def script(desk: Desk) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(2.0)
        assert len(desk.frames) == pytest.approx(99, abs=2)
        newest_s = desk.microphone.clock.to_loop_s(desk.frames[-1].end)
        assert loop.time() - 0.08 < newest_s < loop.time() - 0.04
        opened = desk.microphone.opened
        assert opened is not None
        assert (opened.device, opened.rate_hz) == ("desk", 48_000)
        assert desk.microphone.level_dbfs > -60

    desk = with_desk(script, age_s=0.05)
    sound = np.concatenate([frame.pcm for frame in desk.frames if not frame.is_inserted]).astype(np.int64)
    steps = np.diff(sound[100:7000])
    assert (abs(steps - 1) <= 1).all()
    assert desk.said == []


def test_mute_closes_stream_and_line_continues_with_silence() -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(1.0)
        await desk.microphone.mute(True)
        assert desk.portaudio.streams == []
        assert desk.microphone.opened is None
        heard = len(desk.frames)
        await asyncio.sleep(1.0)
        assert len(desk.frames) - heard == pytest.approx(50, abs=2)
        assert all(frame.is_inserted for frame in desk.frames[heard + 2 :])
        assert desk.microphone.level_dbfs == -math.inf
        await desk.microphone.mute(False)
        await asyncio.sleep(1.0)
        assert not desk.frames[-1].is_inserted
        assert len(desk.frames) == pytest.approx(150, abs=4)

    assert with_desk(script).said == []


def test_unplugged_device_is_reopened_when_plugged_in() -> None:
    async def script(desk: Desk) -> None:
        before = desk.portaudio.devices
        await asyncio.sleep(6.0)
        desk.portaudio.unplug()
        await asyncio.sleep(3.0)
        assert desk.frames[-1].is_inserted
        assert len(desk.said) == 2
        assert "is gone" in desk.said[0]
        assert "you are not heard" in desk.said[0]
        assert "no microphone was found" in desk.said[1]
        assert desk.portaudio.opens[-1].fresh
        desk.portaudio.devices = before
        await asyncio.sleep(4.0)
        assert desk.said[2] == 'the microphone "desk" is back'
        assert not desk.frames[-1].is_inserted
        assert len(desk.frames) == pytest.approx(650, abs=8)

    with_desk(script)


def test_stalled_card_is_reopened_at_another_rate() -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(6.0)
        stuck = desk.portaudio.streams[0]
        stuck.lane.block = lambda *_, **__: None
        desk.portaudio.devices = (device("desk", default=True, rate_hz=16_000),)
        await asyncio.sleep(2.0)
        assert desk.portaudio.streams[0] is not stuck
        assert desk.said[-1] == 'the microphone "desk" is back, now at 16000 Hz'
        assert not desk.frames[-1].is_inserted

    with_desk(script)


def test_new_default_device_is_used() -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(1.0)
        desk.portaudio.devices = (device("desk"), device("headset", default=True, index=1))
        await asyncio.sleep(5.0)
        assert desk.said == ['the microphone is now "headset", at 48000 Hz']
        assert desk.portaudio.opens[-1].fresh

    with_desk(script)


def test_card_missing_in_list_because_in_use_is_kept() -> None:
    """ALSA lists only devices that can be opened: another process does not see cards that this program holds."""

    async def script(desk: Desk) -> None:
        await asyncio.sleep(1.0)
        desk.portaudio.seen = (device("headset", default=True, index=1),)
        await asyncio.sleep(10.0)
        assert len(desk.portaudio.opens) == 1
        assert desk.said == []

    with_desk(script)


def test_use_switches_device_or_keeps_old_one() -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(1.0)
        with pytest.raises(DeviceError, match="no microphone is called"):
            await desk.microphone.use("moon")
        assert desk.microphone.opened is not None
        assert desk.microphone.opened.device == "desk"
        await desk.microphone.use("headset")
        await asyncio.sleep(5.0)
        assert desk.microphone.opened.device == "headset"
        assert len(desk.portaudio.streams) == 1
        assert desk.said == []

    with_desk(script, Desk(FakeLibrary(device("desk", default=True), device("headset", index=1))))


def test_device_chosen_before_mute_is_used_after_unmute() -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(1.0)
        desk.portaudio.takes_s = 0.2
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(desk.microphone.use("headset"))
            await asyncio.sleep(0.1)
            await desk.microphone.mute(True)
        assert desk.microphone.opened is None
        await desk.microphone.mute(False)
        await asyncio.sleep(1.0)
        assert desk.microphone.opened is not None
        assert desk.microphone.opened.device == "headset"

    with_desk(script, Desk(FakeLibrary(device("desk", default=True), device("headset", index=1))))


def test_recovery_is_reported_after_streams_were_interrupted() -> None:
    """To list new devices, the library ends all streams, including the one being replaced."""

    async def script(desk: Desk) -> None:
        await asyncio.sleep(1.0)
        desk.portaudio.takes_s = 0.2
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(desk.microphone.use("headset"))
            await asyncio.sleep(0.1)
            (left,) = desk.portaudio.streams
            left.interrupted = True
            left.lane.ended()
        await asyncio.sleep(6.0)
        assert desk.said == []
        (used,) = desk.portaudio.streams
        used.lane.ended()  # the sound server was restarted
        await asyncio.sleep(1.0)
        assert "is gone" in desk.said[0]
        assert desk.said[1:] == ['the microphone "headset" is back']

    with_desk(script, Desk(FakeLibrary(device("desk", default=True), device("headset", index=1))))


def test_failure_to_open_at_start_is_raised() -> None:
    async def run() -> None:
        library = FakeLibrary()
        library.refusing = DeviceError("busy")
        with pytest.raises(DeviceError, match="busy"):
            await Desk(library).listen()

    run_virtual(run())


@pytest.mark.parametrize("begun_s", [0.0, 0.1])
def test_close_during_opening_leaves_no_stream_open(begun_s: float) -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(begun_s)
        await desk.microphone.mute(True)
        desk.portaudio.takes_s = 0.5
        await desk.microphone.mute(False)
        await asyncio.sleep(0.2)

    desk = with_desk(script)
    assert len(desk.portaudio.opens) == (2 if begun_s else 1)


def test_cleaner_gets_time_of_first_sample() -> None:
    calls: list[float] = []

    class Mute:
        def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
            calls.append(captured_s)
            return np.zeros_like(pcm)

    async def script(desk: Desk) -> None:
        await asyncio.sleep(1.0)
        assert desk.microphone.level_dbfs > -60

    desk = with_desk(script, Desk(FakeLibrary(), clean=Mute()))
    assert not any(frame.pcm.any() for frame in desk.frames)
    assert np.diff(calls) == pytest.approx(0.02, abs=0.011)


def test_overflow_is_counted() -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(0.5)
        lane = desk.portaudio.streams[0].lane
        lane.block(bytes(960), 480, 0.0, 0.0, flagged=True)
        assert desk.microphone.overflows == 1
        for _ in range(1000):  # the loop is blocked
            lane.block(bytes(960), 480, 0.0, 0.0, flagged=False)
        assert desk.microphone.overflows > 700
        lost = desk.microphone.overflows
        await desk.microphone.mute(True)
        await asyncio.sleep(0.1)
        assert desk.microphone.overflows == lost

    with_desk(script)


@pytest.mark.parametrize("lost_s", [0.08, 0.5, 3.0])
def test_clock_follows_lost_samples_within_two_seconds(lost_s: float) -> None:
    """Otherwise an echo canceller searches at the old position, and the latency is too long by the lost samples."""

    async def script(desk: Desk) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(3.0)
        lane = desk.portaudio.streams[0].lane
        block, at_s = lane.block, loop.time() + lost_s
        lane.block = lambda *what, **more: None if loop.time() < at_s else block(*what, **more)
        await asyncio.sleep(lost_s + 2.0)
        newest_s = desk.microphone.clock.to_loop_s(desk.frames[-1].end)
        assert newest_s == pytest.approx(loop.time() - 0.05, abs=0.03)

    with_desk(script, age_s=0.02)


def test_microphone_catches_up_after_blocked_loop() -> None:
    """Of three seconds, two are kept in the ring and one is lost."""

    async def script(desk: Desk) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await asyncio.sleep(3.0)
        stream = desk.portaudio.streams[0]
        desk.portaudio.streams.clear()  # its thread continues
        for _ in range(300):
            loop.stall(0.01)
            stream.lane.block(desk.sound(480).tobytes(), 480, loop.time(), loop.time() - 0.03, flagged=False)
        for _ in range(400):
            await asyncio.sleep(0)  # the clock of the other cards comes after
        desk.portaudio.streams.append(stream)
        await asyncio.sleep(2.0)
        assert desk.microphone.overflows == pytest.approx(100, abs=2)
        assert len(desk.frames) == pytest.approx(350, abs=5)
        newest_s = desk.microphone.clock.to_loop_s(desk.frames[-1].end)
        assert newest_s == pytest.approx(loop.time() - 0.05, abs=0.03)

    with_desk(script, age_s=0.02)


@pytest.mark.parametrize("frames", [1, 7, 441, 5000])
def test_blocks_of_any_length_give_continuous_audio(frames: int) -> None:
    async def script(desk: Desk) -> None:
        await asyncio.sleep(0.5)
        (stream,) = desk.portaudio.streams
        lane = stream.lane
        desk.portaudio.streams.clear()
        heard, sound = len(desk.frames), 0
        loop = asyncio.get_running_loop()
        for _ in range(max(1, 4800 // frames)):
            lane.block(desk.sound(frames).tobytes(), frames, math.nan, math.inf, flagged=False)
            sound += frames
            await asyncio.sleep(frames / 48_000)
        assert len(desk.frames) - heard == pytest.approx(sound / 960, abs=2)
        assert abs(desk.microphone.clock.to_loop_s(desk.frames[-1].end) - loop.time()) < 0.15
        desk.portaudio.streams.append(stream)

    with_desk(script)
