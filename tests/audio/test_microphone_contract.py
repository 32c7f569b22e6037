"""The contract of every microphone (audio.microphone.Microphone), checked for each in virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.clocks.virtual_time import run_virtual
from support.sound.fake_cards import FakeLibrary, capture, device, run_card
from support.sound.virtual_card import write_wav

from audio.card.microphone import CardMicrophone
from audio.formats.recording import open_recording
from audio.formats.wav import WavMicrophone
from audio.frame import Frame
from audio.microphone import Microphone
from audio.units import FRAME_SAMPLES, Pcm
from web.client_audio.client_microphone import ClientMicrophone


@dataclass
class MicrophoneCase:
    """A microphone into which somebody speaks, and what can be done to it.

    Attributes:
        falters: From here on nothing comes for so many seconds; None where it never does.
        end: It ends.
        delay_s: How old a sample is by design when its frame is there.
    """

    microphone: Microphone
    interrupt: Callable[[float], None] | None
    end: Callable[[], object]
    delay_s: float = 0.0


def tone(samples: int) -> Pcm:
    return np.full(samples, 1000, np.int16)


@asynccontextmanager
async def wav(folder: Path, rate_hz: int) -> AsyncGenerator[MicrophoneCase]:
    path = write_wav(folder / "sound.wav", tone(rate_hz * 3), rate_hz)
    yield MicrophoneCase(WavMicrophone(open_recording(path), tail_s=0.0), None, lambda: None)


@asynccontextmanager
async def card(_folder: Path, rate_hz: int) -> AsyncGenerator[MicrophoneCase]:
    library = FakeLibrary(device("desk", default=True, rate_hz=rate_hz))
    microphone = CardMicrophone(report=lambda _what: None, library=library)
    until_s = 0.0
    speak = capture(tone, age_s=0.02)

    def interrupt(seconds: float) -> None:
        nonlocal until_s
        until_s = asyncio.get_running_loop().time() + seconds

    async with asyncio.TaskGroup() as tasks:
        calling = tasks.create_task(
            run_card(library, lambda lane, n, now_s: speak(lane, n, now_s) if now_s >= until_s else None)
        )
        yield MicrophoneCase(microphone, interrupt, lambda: tasks.create_task(microphone.aclose()), 0.02)
        calling.cancel()


@asynccontextmanager
async def client(_folder: Path, rate_hz: int) -> AsyncGenerator[MicrophoneCase]:
    microphone = ClientMicrophone(rate_hz)
    until_s = 0.0

    def interrupt(seconds: float) -> None:
        nonlocal until_s
        until_s = asyncio.get_running_loop().time() + seconds

    async def speak() -> None:
        while True:
            await asyncio.sleep(0.02)
            if asyncio.get_running_loop().time() >= until_s:
                await microphone.deliver(tone(rate_hz // 50), rate_hz)

    async with asyncio.TaskGroup() as tasks:
        speaking = tasks.create_task(speak())
        yield MicrophoneCase(microphone, interrupt, microphone.end)
        speaking.cancel()


KINDS = {"wav": wav, "card": card, "client": client}
CASES = [
    ("wav", 24_000),
    *((kind, rate_hz) for kind in ("card", "client") for rate_hz in (16_000, 24_000, 44_100, 48_000)),
]


def recorded_frames(folder: Path, kind: str, rate_hz: int, gap_s: float = 0.0) -> tuple[list[Frame], list[float]]:
    """Returns 2.5 s of frames, and the age of each frame on arrival by the microphone's clock."""

    async def main() -> tuple[list[Frame], list[float]]:
        frames: list[Frame] = []
        ages_s: list[float] = []
        async with KINDS[kind](folder, rate_hz) as case:
            loop = asyncio.get_running_loop()
            end_s = loop.time() + 2.5
            interrupted = False
            async with aclosing(case.microphone.frames()) as coming:
                async for frame in coming:
                    frames.append(Frame(frame.start, frame.pcm.copy(), frame.is_inserted))
                    ages_s.append(loop.time() - case.microphone.clock.to_loop_s(frame.end))
                    if gap_s and not interrupted and loop.time() > end_s - 1.5 and case.interrupt is not None:
                        interrupted = True
                        case.interrupt(gap_s)
                    if loop.time() >= end_s:
                        case.end()
            return frames, ages_s

    return run_virtual(main())


@pytest.mark.parametrize(
    ("kind", "rate_hz"), CASES, ids=lambda value: f"{value} Hz" if isinstance(value, int) else value
)
def test_frames_are_gapless_real_time_and_dated_by_capture(tmp_path: Path, kind: str, rate_hz: int) -> None:
    frames, ages_s = recorded_frames(tmp_path, kind, rate_hz)
    assert [frame.start for frame in frames] == [n * FRAME_SAMPLES for n in range(len(frames))]
    assert all(frame.pcm.shape == (FRAME_SAMPLES,) and frame.pcm.dtype == np.int16 for frame in frames)
    assert len(frames) == pytest.approx(150 if kind == "wav" else 125, abs=3)
    assert not any(frame.is_inserted for frame in frames)
    # Nothing is captured after it was here; what a resampler holds back is at most 25 ms, a card's buffer 20.
    assert all(-0.0205 <= age_s <= 0.07 for age_s in ages_s[5:-5])
    middle = np.concatenate([frame.pcm for frame in frames[10:-10]])
    assert abs(middle.astype(int) - 1000).max() <= 12


@pytest.mark.parametrize("gap_s", [0.3, 1.0], ids="{} s gap".format)
@pytest.mark.parametrize(
    ("kind", "rate_hz"),
    [case for case in CASES if case[0] != "wav"],
    ids=lambda value: f"{value} Hz" if isinstance(value, int) else value,
)
def test_gaps_become_marked_and_counted_silence(tmp_path: Path, kind: str, rate_hz: int, gap_s: float) -> None:
    frames, ages_s = recorded_frames(tmp_path, kind, rate_hz, gap_s)
    assert [frame.start for frame in frames] == [n * FRAME_SAMPLES for n in range(len(frames))]
    invented = sum(frame.is_inserted for frame in frames)
    assert invented == pytest.approx(gap_s * 50, abs=4)
    assert not any(frame.pcm.any() for frame in frames if frame.is_inserted)
    assert len(frames) == pytest.approx(125, abs=4)
    # A client may stall for a second before nothing it sends is taken for silence.
    assert all(-0.045 <= age_s <= (1.35 if kind == "client" else 0.2) for age_s in ages_s[5:-5])


@pytest.mark.parametrize("kind", ["wav", "card"])
@pytest.mark.virtual_time
async def test_frames_can_be_iterated_once(tmp_path: Path, kind: str) -> None:
    async with KINDS[kind](tmp_path, 16_000) as case:
        async with aclosing(case.microphone.frames()) as frames:
            await anext(frames)
        with pytest.raises(RuntimeError, match="once"):
            await anext(case.microphone.frames())
