"""Chromium for the tests of the page: its microphone plays a recording, and its output is recorded."""

import base64
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile
import soxr
from playwright.sync_api import Browser, Page, sync_playwright

RECORDINGS = Path(__file__).parents[2] / "recordings"
FLAGS = [
    "--no-sandbox",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
    # Without a graphics process that draws in software: a third less processor time.
    "--disable-gpu",
    "--disable-gpu-compositing",
    "--disable-software-rasterizer",
]

Float = npt.NDArray[np.float32]


def chromium_path() -> str:
    """Returns Debian's Chromium, which `make setup-dev` installs where possible."""
    found = shutil.which("chromium")
    assert found, "Chromium is missing: apt-get install chromium"
    return found


@contextmanager
def chromium(microphone: Path | None = None, *, allowed: bool = True) -> Iterator[Browser]:
    """Runs headless Chromium. `microphone`: a WAV that plays once; `allowed`: whether pages may use the microphone."""
    flags = [*FLAGS]
    if allowed:
        flags.append("--use-fake-ui-for-media-stream")
    if microphone is not None:
        flags.append(f"--use-file-for-fake-audio-capture={microphone}%noloop")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=flags)
        try:
            yield browser
        finally:
            browser.close()


def load_recording(name: str) -> Float:
    """Returns a recording of tests/recordings, 16 kHz, full scale ±1."""
    sound: Float = soundfile.read(RECORDINGS / f"{name}.wav", dtype="float32")[0]
    return sound


def to_wire(sound: Float) -> npt.NDArray[np.int16]:
    """Converts 16 kHz float to 24 kHz int16."""
    pcm: npt.NDArray[np.int16] = np.rint(soxr.resample(sound, 16_000, 24_000) * 32767).astype(np.int16)
    return pcm


def wait_until(page: Page, condition: Callable[[], object], what: str, limit_s: float = 30) -> None:
    """Lets the page run until a condition is true.

    Replaces `wait_for_function`, which uses `eval` in the page after its first check; the page's policy forbids that.
    """
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"not within {limit_s:g} s: {what}"
        page.wait_for_timeout(20)


@dataclass(frozen=True)
class PageRecording:
    """Input and output of the page; `frame` is the context frame of the first sample of both."""

    frame: int
    rate_hz: int
    microphone: Float
    player: Float


def start_recording(page: Page) -> None:
    """Starts recording. The page must be running."""
    page.evaluate("import('/test/audio-recorder.js').then((recorder) => recorder.start())")


def read_recording(page: Page) -> PageRecording:
    """Returns what was recorded so far."""
    data = page.evaluate("import('/test/audio-recorder.js').then((recorder) => recorder.read())")
    sounds = [np.frombuffer(base64.b64decode(data[name]), "<f4") for name in ("microphone", "player")]
    return PageRecording(data["frame"], data["rate"], *sounds)


def best_correlation(sound: Float, wanted: Float) -> tuple[float, int]:
    """Returns the best correlation of `wanted` with a part of `sound`, and where that begins."""
    size = 1 << int(np.ceil(np.log2(len(sound) + len(wanted))))
    products = np.fft.irfft(np.fft.rfft(sound, size) * np.conj(np.fft.rfft(wanted, size)), size)[: len(sound)]
    energy = np.concatenate([[0.0], np.cumsum(np.square(sound, dtype=np.float64)), np.zeros(len(wanted))])
    energy[len(sound) + 1 :] = energy[len(sound)]
    here = energy[len(wanted) : len(wanted) + len(sound)] - energy[: len(sound)]
    whole = float(np.sum(np.square(wanted, dtype=np.float64)))
    correlation = products / np.sqrt(np.maximum(here, whole * 0.01) * whole)
    at = int(np.argmax(correlation))
    return float(correlation[at]), at
