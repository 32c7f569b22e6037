"""A page that is open in Chromium with the real server, and its latency as it is in the recording."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import soxr
from playwright.sync_api import Browser, Page
from support.pages.page_browser import PageRecording, best_correlation, start_recording, wait_until
from support.servers.page_server import RATE_HZ, Running, Speech

from audio.level import audible_onset
from audio.resample import to_pcm


@dataclass(frozen=True)
class OpenPage:
    """An open page with its server and its measurements."""

    page: Page
    server: Running

    def start(self) -> None:
        self.page.click("#settings-open")
        for setting in ("echoCancellation", "noiseSuppression", "autoGainControl"):
            self.page.uncheck(f"#{setting}")
        self.page.keyboard.press("Escape")
        self.page.click("#start")
        self.wait_for_phase("listening")
        start_recording(self.page)

    def wait_for_phase(self, phase: str) -> None:
        self.page.wait_for_selector(f"body[data-phase={phase}]", timeout=20_000)

    def turns(self) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = self.page.evaluate("window.repartee.turns.all")
        return turns

    def wait_for_traces(self, count: int) -> list[dict[str, Any]]:
        """Waits until this many turns have their record."""
        wait_until(
            self.page,
            lambda: sum(turn["trace"] is not None for turn in self.turns()) >= count,
            f"records of {count} turns",
            limit_s=40,
        )
        return self.turns()

    def items(self, role: str) -> list[dict[str, Any]]:
        """Returns the items of one role that the page shows."""
        items: list[dict[str, Any]] = self.page.evaluate("window.repartee.session.conversation.items")
        return [item for item in items if item["role"] == role]

    @property
    def delay_ms(self) -> float:
        """The page's estimate of the device delay."""
        return float(self.page.evaluate("window.repartee.session.audio.output.deviceDelayMs"))


@contextmanager
def opened_page(browser: Browser, server: Running) -> Iterator[OpenPage]:
    """Opens a page in its own window; console messages fail the test, but for connections that are refused."""
    context = browser.new_context()
    page = context.new_page()
    console: list[str] = []
    page.on("console", lambda message: console.append(f"{message.text} {message.location['url']}"))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.goto(server.url)
    yield OpenPage(page, server)
    context.close()
    refused = ("WebSocket connection to", "status of 501")  # the latter: without the extra webrtc
    faults = [line for line in console if not any(words in line for words in refused)]
    assert not faults, faults


def at_rate(
    sound: np.ndarray[Any, np.dtype[np.float32]], recorded: PageRecording
) -> np.ndarray[Any, np.dtype[np.float32]]:
    resampled: np.ndarray[Any, np.dtype[np.float32]] = soxr.resample(sound, RATE_HZ, recorded.rate_hz)
    return resampled


def start_in_recording(recorded: PageRecording, spoken: Speech) -> float:
    """Returns where in the recorded microphone audio a recording begins, in s."""
    correlation, at = best_correlation(recorded.microphone, at_rate(spoken.sound, recorded))
    assert correlation > 0.95
    return at / recorded.rate_hz


def gap_ms(recorded: PageRecording, spoken: Speech, delay_ms: float, released_s: float | None = None) -> float:
    """Measures the latency in the recording: end of the turn to the first audible sample of the reply.

    The turn ends with the labelled end of speech, or when a key was released (`released_s`, context time).
    """
    end_s = start_in_recording(recorded, spoken) + spoken.ends_s
    if released_s is not None:
        end_s = released_s - recorded.frame / recorded.rate_hz
    after = round(end_s * recorded.rate_hz)
    onset = audible_onset(to_pcm(recorded.player[after:]), recorded.rate_hz)
    assert onset is not None
    return onset * 1000 / recorded.rate_hz + delay_ms
