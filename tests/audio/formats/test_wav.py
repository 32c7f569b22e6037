"""A recording played as a microphone in real time."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.clocks.virtual_time import run_virtual

from audio.formats.recording import Recording, open_recording
from audio.formats.wav import WavMicrophone
from audio.frame import Frame
from audio.microphone import Microphone
from audio.units import FRAME_SAMPLES, Samples

pytestmark = pytest.mark.virtual_time

START_S = 1000.0


def recorded(path: Path, seconds: float, rate_hz: int = 16_000, channels: int = 1) -> Recording:
    sound = np.full((round(seconds * rate_hz), channels), 0.25)
    soundfile.write(path / "a.wav", sound, rate_hz)
    return open_recording(path / "a.wav")


async def listen(microphone: Microphone) -> list[tuple[float, Frame]]:
    loop = asyncio.get_running_loop()
    async with aclosing(microphone.frames()) as frames:
        return [(loop.time(), Frame(f.start, f.pcm.copy(), f.is_inserted)) async for f in frames]


# At 48 kHz 29 samples of silence precede the audio, so that every frame is complete with its block and not with the
# next one. The last 29 samples are in a padded frame of their own.
@pytest.mark.parametrize(
    ("rate_hz", "channels", "leading_silence", "late_at_most_s"),
    [(16_000, 1, 0, 0.0001), (48_000, 2, 29, 0.0019), (44_100, 1, 0, 0.042), (11_025, 1, 0, 0.042)],
    ids=["16 kHz", "48 kHz stereo", "44.1 kHz", "11.025 kHz"],
)
def test_frames_come_in_real_time(
    tmp_path: Path, rate_hz: int, channels: int, leading_silence: int, late_at_most_s: float
) -> None:
    microphone = WavMicrophone(recorded(tmp_path, 2.0, rate_hz, channels), tail_s=1.0)
    heard = run_virtual(listen(microphone))
    assert [frame.start for _, frame in heard] == list(range(0, leading_silence + 150 * FRAME_SAMPLES, FRAME_SAMPLES))
    for arrived_s, frame in heard:
        late_s = arrived_s - START_S - (frame.end - leading_silence) / 16_000
        assert -0.0201 <= late_s <= late_at_most_s  # what the resampler holds back, and where that swings, a block
    assert heard[-1][0] == pytest.approx(START_S + 3.0)
    assert microphone.clock.to_loop_s(Samples(leading_silence)) == pytest.approx(START_S, abs=0.0005)
    assert microphone.leading_silence == leading_silence
    assert microphone.clock.steps == 0
    assert not any(frame.is_inserted for _, frame in heard)
    sound = np.concatenate([frame.pcm for _, frame in heard])
    assert sound[100:31_900].min() > 8000
    assert not sound[32_100:].any()


def test_last_frame_is_padded(tmp_path: Path) -> None:
    heard = run_virtual(listen(WavMicrophone(recorded(tmp_path, 0.05), tail_s=0.0)))
    assert [frame.start for _, frame in heard] == [0, 320, 640]
    assert heard[-1][1].pcm[159] != 0
    assert not heard[-1][1].pcm[160:].any()


async def test_late_wake_ups_are_caught_up(tmp_path: Path) -> None:
    microphone = WavMicrophone(recorded(tmp_path, 1.0), tail_s=0.0)
    loop = asyncio.get_running_loop()
    arrived = []
    async with aclosing(microphone.frames()) as frames:
        async for frame in frames:
            arrived.append(loop.time() - START_S - frame.end / 16_000)
            if frame.start == 10 * FRAME_SAMPLES:
                await asyncio.sleep(0.11)  # the loop is blocked
    assert arrived[:11] == pytest.approx([0.0] * 11)
    assert arrived[11:16] == pytest.approx([0.09, 0.07, 0.05, 0.03, 0.01])
    assert arrived[16:] == pytest.approx([0.0] * (len(arrived) - 16))
    assert microphone.clock.offset_s == pytest.approx(START_S)


def test_non_realtime_plays_as_fast_as_consumed(tmp_path: Path) -> None:
    microphone = WavMicrophone(recorded(tmp_path, 2.0), tail_s=0.0, realtime=False)
    heard = run_virtual(listen(microphone))
    assert len(heard) == 100
    assert heard[-1][0] == START_S
    assert microphone.clock.to_loop_s(heard[-1][1].end) == pytest.approx(START_S)


@pytest.mark.parametrize("tail_s", [-1.0, float("inf"), float("nan")], ids=["negative", "infinite", "NaN"])
def test_invalid_tail_is_refused(tmp_path: Path, tail_s: float) -> None:
    with pytest.raises(ValueError, match="tail_s"):
        WavMicrophone(recorded(tmp_path, 0.1), tail_s=tail_s)
