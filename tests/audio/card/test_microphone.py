"""The microphone of a card, in virtual time."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import numpy as np
import pytest
from support.clocks.virtual_time import VirtualLoop
from support.sound.fake_cards import FakeLibrary, capture, device, run_card

from audio.card.microphone import CardMicrophone, FrameCleaner
from audio.errors import DeviceError
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm

pytestmark = pytest.mark.virtual_time


class MicrophoneHarness:
    """A microphone with the frames and reports it produced."""

    def __init__(self, library: FakeLibrary, wanted: str = "", clean: FrameCleaner | None = None) -> None:
        self.portaudio = library
        self.messages: list[str] = []
        self.frames: list[Frame] = []
        self.microphone = CardMicrophone(wanted, report=self.messages.append, clean=clean, library=library)
        self.next = 0

    def sound(self, frames: int) -> Pcm:
        """A ramp of 48 kHz samples whose values are their positions."""
        self.next += frames
        return (np.arange(self.next - frames, self.next) // 3 % 8000).astype(np.int16)

    async def listen(self) -> None:
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self.frames.append(Frame(frame.start, frame.pcm.copy(), frame.is_inserted))


def with_headset() -> MicrophoneHarness:
    return MicrophoneHarness(FakeLibrary(device("desk", default=True), device("headset", index=1)))


@asynccontextmanager
async def listening(harness: MicrophoneHarness | None = None, age_s: float = 0.0) -> AsyncGenerator[MicrophoneHarness]:
    harness = harness or MicrophoneHarness(FakeLibrary())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(harness.listen())
        card = tasks.create_task(run_card(harness.portaudio, capture(harness.sound, age_s)))
        yield harness
        await harness.microphone.aclose()
        await running
        card.cancel()
    assert [frame.start for frame in harness.frames] == list(
        range(0, len(harness.frames) * FRAME_SAMPLES, FRAME_SAMPLES)
    )
    assert harness.portaudio.streams == []


async def test_frames_are_gapless_and_dated_by_capture() -> None:
    async with listening(age_s=0.05) as harness:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(2.0)
        assert len(harness.frames) == pytest.approx(99, abs=2)
        newest_s = harness.microphone.clock.to_loop_s(harness.frames[-1].end)
        assert loop.time() - 0.08 < newest_s < loop.time() - 0.04
        opened = harness.microphone.opened
        assert opened is not None
        assert (opened.device, opened.rate_hz) == ("desk", 48_000)
        assert harness.microphone.level_dbfs > -60
    sound = np.concatenate([frame.pcm for frame in harness.frames if not frame.is_inserted]).astype(np.int64)
    steps = np.diff(sound[100:7000])
    assert (abs(steps - 1) <= 1).all()
    assert harness.messages == []


async def test_mute_closes_stream_and_line_continues_with_silence() -> None:
    async with listening() as harness:
        await asyncio.sleep(1.0)
        await harness.microphone.mute(True)
        assert harness.portaudio.streams == []
        assert harness.microphone.opened is None
        heard = len(harness.frames)
        await asyncio.sleep(1.0)
        assert len(harness.frames) - heard == pytest.approx(50, abs=2)
        assert all(frame.is_inserted for frame in harness.frames[heard + 2 :])
        assert harness.microphone.level_dbfs == -math.inf
        await harness.microphone.mute(False)
        await asyncio.sleep(1.0)
        assert not harness.frames[-1].is_inserted
        assert len(harness.frames) == pytest.approx(150, abs=4)
    assert harness.messages == []


async def test_unplugged_device_is_reopened_when_plugged_in() -> None:
    async with listening() as harness:
        before = harness.portaudio.devices
        await asyncio.sleep(6.0)
        harness.portaudio.unplug()
        await asyncio.sleep(3.0)
        assert harness.frames[-1].is_inserted
        assert len(harness.messages) == 2
        assert "is gone" in harness.messages[0]
        assert "you are not heard" in harness.messages[0]
        assert "no microphone was found" in harness.messages[1]
        assert harness.portaudio.opens[-1].fresh
        harness.portaudio.devices = before
        await asyncio.sleep(4.0)
        assert harness.messages[2] == 'the microphone "desk" is back'
        assert not harness.frames[-1].is_inserted
        assert len(harness.frames) == pytest.approx(650, abs=8)


async def test_stalled_card_is_reopened_at_another_rate() -> None:
    async with listening() as harness:
        await asyncio.sleep(6.0)
        stuck = harness.portaudio.streams[0]
        stuck.lane.block = lambda *_, **__: None
        harness.portaudio.devices = (device("desk", default=True, rate_hz=16_000),)
        await asyncio.sleep(3.0)
        assert harness.portaudio.streams[0] is not stuck
        assert harness.messages[-1] == 'the microphone "desk" is back, now at 16000 Hz'
        assert not harness.frames[-1].is_inserted


async def test_new_default_device_is_used() -> None:
    async with listening() as harness:
        await asyncio.sleep(1.0)
        harness.portaudio.devices = (device("desk"), device("headset", default=True, index=1))
        await asyncio.sleep(5.0)
        assert harness.messages == ['the microphone is now "headset", at 48000 Hz']
        assert harness.portaudio.opens[-1].fresh


async def test_card_missing_in_list_because_in_use_is_kept() -> None:
    """ALSA lists only devices that can be opened: another process does not see cards that this program holds."""
    async with listening() as harness:
        await asyncio.sleep(1.0)
        harness.portaudio.seen = (device("headset", default=True, index=1),)
        await asyncio.sleep(10.0)
        assert len(harness.portaudio.opens) == 1
        assert harness.messages == []


async def test_use_switches_device_or_keeps_old_one() -> None:
    async with listening(with_headset()) as harness:
        await asyncio.sleep(1.0)
        with pytest.raises(DeviceError, match="no microphone is called"):
            await harness.microphone.use("moon")
        assert harness.microphone.opened is not None
        assert harness.microphone.opened.device == "desk"
        await harness.microphone.use("headset")
        await asyncio.sleep(5.0)
        assert harness.microphone.opened.device == "headset"
        assert len(harness.portaudio.streams) == 1
        assert harness.messages == []


async def test_device_chosen_before_mute_is_used_after_unmute() -> None:
    async with listening(with_headset()) as harness:
        await asyncio.sleep(1.0)
        harness.portaudio.takes_s = 0.2
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(harness.microphone.use("headset"))
            await asyncio.sleep(0.1)
            await harness.microphone.mute(True)
        assert harness.microphone.opened is None
        await harness.microphone.mute(False)
        await asyncio.sleep(1.0)
        assert harness.microphone.opened is not None
        assert harness.microphone.opened.device == "headset"


async def test_recovery_is_reported_after_streams_were_interrupted() -> None:
    """To list new devices, the library ends all streams, including the one being replaced."""
    async with listening(with_headset()) as harness:
        await asyncio.sleep(1.0)
        harness.portaudio.takes_s = 0.2
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(harness.microphone.use("headset"))
            await asyncio.sleep(0.1)
            (left,) = harness.portaudio.streams
            left.interrupted = True
            left.lane.ended()
        await asyncio.sleep(6.0)
        assert harness.messages == []
        (used,) = harness.portaudio.streams
        used.lane.ended()  # the sound server was restarted
        await asyncio.sleep(1.0)
        (message,) = harness.messages
        assert message.startswith('the sound of the microphone "headset" stopped for a moment and was started again')


async def test_failure_to_open_at_start_is_raised() -> None:
    library = FakeLibrary()
    library.refusing = DeviceError("busy")
    with pytest.raises(DeviceError, match="busy"):
        await MicrophoneHarness(library).listen()


@pytest.mark.parametrize("begun_s", [0.0, 0.1], ids=["at once", "during opening"])
async def test_close_during_opening_leaves_no_stream_open(begun_s: float) -> None:
    async with listening() as harness:
        await asyncio.sleep(begun_s)
        await harness.microphone.mute(True)
        harness.portaudio.takes_s = 0.5
        await harness.microphone.mute(False)
        await asyncio.sleep(0.2)
    assert len(harness.portaudio.opens) == (2 if begun_s else 1)


async def test_cleaner_gets_time_of_first_sample() -> None:
    calls: list[float] = []

    class Mute:
        def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
            calls.append(captured_s)
            return np.zeros_like(pcm)

    async with listening(MicrophoneHarness(FakeLibrary(), clean=Mute())) as harness:
        await asyncio.sleep(1.0)
        assert harness.microphone.level_dbfs > -60
    assert not any(frame.pcm.any() for frame in harness.frames)
    assert np.diff(calls) == pytest.approx(0.02, abs=0.011)


async def test_overflow_is_counted() -> None:
    async with listening() as harness:
        await asyncio.sleep(0.5)
        lane = harness.portaudio.streams[0].lane
        lane.block(bytes(960), 480, 0.0, 0.0, flagged=True)
        assert harness.microphone.overflows == 1
        for _ in range(1000):  # the loop is blocked
            lane.block(bytes(960), 480, 0.0, 0.0, flagged=False)
        assert harness.microphone.overflows > 700
        lost = harness.microphone.overflows
        await harness.microphone.mute(True)
        await asyncio.sleep(0.1)
        assert harness.microphone.overflows == lost


@pytest.mark.parametrize("lost_s", [0.08, 0.5, 3.0], ids="{} s lost".format)
async def test_clock_follows_lost_samples_within_two_seconds(lost_s: float) -> None:
    """Otherwise an echo canceller searches at the old position, and the latency is too long by the lost samples."""
    async with listening(age_s=0.02) as harness:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(3.0)
        lane = harness.portaudio.streams[0].lane
        block, at_s = lane.block, loop.time() + lost_s
        lane.block = lambda *what, **more: None if loop.time() < at_s else block(*what, **more)
        await asyncio.sleep(lost_s + 2.0)
        newest_s = harness.microphone.clock.to_loop_s(harness.frames[-1].end)
        assert newest_s == pytest.approx(loop.time() - 0.05, abs=0.03)


async def test_microphone_catches_up_after_blocked_loop() -> None:
    """Of three seconds, two are kept in the ring and one is lost."""
    async with listening(age_s=0.02) as harness:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await asyncio.sleep(3.0)
        stream = harness.portaudio.streams[0]
        harness.portaudio.streams.clear()  # its thread continues
        for _ in range(300):
            loop.stall(0.01)
            stream.lane.block(harness.sound(480).tobytes(), 480, loop.time(), loop.time() - 0.03, flagged=False)
        for _ in range(400):
            await asyncio.sleep(0)  # the clock of the other cards comes after
        harness.portaudio.streams.append(stream)
        await asyncio.sleep(2.0)
        assert harness.microphone.overflows == pytest.approx(100, abs=2)
        assert len(harness.frames) == pytest.approx(350, abs=5)
        newest_s = harness.microphone.clock.to_loop_s(harness.frames[-1].end)
        assert newest_s == pytest.approx(loop.time() - 0.05, abs=0.03)


@pytest.mark.parametrize("frames", [1, 7, 441, 5000], ids="{} frames".format)
async def test_blocks_of_any_length_give_continuous_audio(frames: int) -> None:
    async with listening() as harness:
        await asyncio.sleep(0.5)
        (stream,) = harness.portaudio.streams
        lane = stream.lane
        harness.portaudio.streams.clear()
        heard, sound = len(harness.frames), 0
        loop = asyncio.get_running_loop()
        for _ in range(max(1, 4800 // frames)):
            lane.block(harness.sound(frames).tobytes(), frames, math.nan, math.inf, flagged=False)
            sound += frames
            await asyncio.sleep(frames / 48_000)
        assert len(harness.frames) - heard == pytest.approx(sound / 960, abs=2)
        assert abs(harness.microphone.clock.to_loop_s(harness.frames[-1].end) - loop.time()) < 0.15
        harness.portaudio.streams.append(stream)


async def test_resting_microphone_loses_nothing_and_cleans_nothing() -> None:
    calls: list[float] = []

    class Cleaner:
        rests = False

        def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
            calls.append(captured_s)
            return pcm

    cleaner = Cleaner()
    async with listening(MicrophoneHarness(FakeLibrary(), clean=cleaner)) as harness:
        await asyncio.sleep(0.5)
        harness.microphone.rest(True)
        cleaned = len(calls)
        await asyncio.sleep(2.0)
        assert cleaner.rests
        assert len(calls) <= cleaned + 1
        harness.microphone.rest(False)
        await asyncio.sleep(0.5)
        assert len(calls) > cleaned + 20
    assert not any(frame.is_inserted for frame in harness.frames)
    starts = [frame.start for frame in harness.frames]
    assert starts == list(range(0, len(starts) * 320, 320))
