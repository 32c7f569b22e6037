"""Takes screenshots of the page in a browser whose microphone plays the demo, on `repartee serve` with its defaults.

    python -m bench.program.page_shots [--out docs] [--set section.key=value]

Writes page-voices.png (the settings), page-speaking.png and page-phone.png (the conversation), page-finished.png and
page-light.png (the panels, too). `--only voices` writes the first alone.
Takes a minute; needs Chromium (--browser). The values shown were measured while the screenshots were taken.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile
from playwright.sync_api import Page, ViewportSize, sync_playwright

from bench.program.pictured import check_recognizer

RATE_HZ = 16_000
RECORDING = Path("assistant/recordings/demo.flac")
LEAD_S, TAIL_S = 2.0, 20.0
"""Seconds of the quiet room before the demo's recording, and after the four turns of it that are played."""

TURNS = 4
READY_WITHIN_S = 60
WITHIN_MS = 30_000

PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 800}

_SERVE = "import sys; from repartee.cli import main; sys.argv[0] = 'repartee'; main()"
_FLAGS = ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]


def write_room(path: Path) -> None:
    """Writes the microphone's sound as a WAV file: the demo without its last turn, which interrupts."""
    sound: np.ndarray[tuple[int], np.dtype[np.int16]] = soundfile.read(RECORDING, dtype="int16")[0]
    turns = json.loads(RECORDING.with_suffix(".json").read_text(encoding="utf-8"))
    quiet = sound[:RATE_HZ]
    parts = [np.resize(quiet, int(LEAD_S * RATE_HZ)), sound[: int((turns[TURNS]["start_s"] - 0.5) * RATE_HZ)]]
    soundfile.write(path, np.concatenate([*parts, np.resize(quiet, int(TAIL_S * RATE_HZ))]), RATE_HZ, subtype="PCM_16")


@contextmanager
def serving(folder: Path, settings: list[str]) -> Iterator[str]:
    """Runs `repartee serve` while the block runs. Yields the URL of the page."""
    assigned = ["server.port=0", "skills.store_timers=false", f"trace.dir={folder / 'traces'}", *settings]
    command = [sys.executable, "-c", _SERVE, "serve", "--config", os.devnull]
    command += [part for name in assigned for part in ("--set", name)]
    log_path = folder / "server.log"
    with log_path.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        end_s = time.monotonic() + READY_WITHIN_S
        while not re.search(r"\bready\b", log_path.read_text()):
            if process.poll() is not None or time.monotonic() > end_s:
                raise SystemExit(f"repartee serve did not become ready:\n{log_path.read_text()}")
            time.sleep(0.05)
        address = re.search(r"http://\S+", log_path.read_text())
        assert address is not None, "it prints the page's address before it is ready"
        yield address[0]
    finally:
        process.terminate()
        process.wait(10)


def take(page: Page, url: str, out: Path, settings: Sequence[str] = ()) -> None:
    """Holds the conversation and takes a screenshot of each state."""
    page.add_init_script("localStorage.setItem('repartee.first-run', 'done')")
    page.goto(url)
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]", timeout=WITHIN_MS)
    engines = page.inner_text("#engines-short").removeprefix("Engines: ").split(" · ")
    check_recognizer(engines[0], settings)
    for turn in range(1, TURNS + 1):
        if turn == TURNS:
            _reach(page, "speaking")
            page.wait_for_selector(".item:last-child .word.played >> nth=8", timeout=WITHIN_MS)
            page.screenshot(path=out / "page-speaking.png")
        while page.evaluate("repartee.turns.all.filter((turn) => turn.trace).length") < turn:
            page.wait_for_timeout(50)
    page.wait_for_timeout(600)  # the last transition
    if notice := page.query_selector(".notice p"):
        raise SystemExit(f"no pictures: the page shows a problem; is the machine busy? {notice.inner_text()}")
    page.set_viewport_size(PHONE)
    _photograph(page, out / "page-phone.png")
    page.set_viewport_size(DESK)
    page.click("#strip")
    _photograph(page, out / "page-finished.png")
    page.click("#theme")
    _photograph(page, out / "page-light.png")


def take_voices(page: Page, url: str, out: Path) -> None:
    """Takes a screenshot of the settings of the voice, with another language than the server's."""
    page.add_init_script("localStorage.setItem('repartee.first-run', 'done')")
    page.goto(url)
    page.click("#settings-open")
    page.select_option("#setting-language", "de")
    page.wait_for_selector("#setting-voice option:has-text('Pico')", state="attached")
    page.wait_for_timeout(600)  # the last transition
    page.locator("#settings").screenshot(path=out / "page-voices.png")


def _photograph(page: Page, path: Path) -> None:
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)  # the end of every transition
    page.screenshot(path=path)


def _reach(page: Page, phase: str) -> None:
    page.wait_for_selector(f"body[data-phase={phase}]", timeout=WITHIN_MS)


def main(say: Callable[[str], object] = print) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("out/page"), help="folder for the pictures")
    parser.add_argument("--browser", default="/usr/bin/chromium", help="path of a Chromium browser")
    parser.add_argument("--only", choices=("voices",), help="write only page-voices.png")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="section.key=value")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_room(folder / "room.wav")
        flags = [*_FLAGS, f"--use-file-for-fake-audio-capture={folder / 'room.wav'}%noloop"]
        with serving(folder, asked.settings) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=asked.browser, args=flags)
            page = browser.new_page(viewport=DESK, color_scheme="dark")
            take_voices(page, url, folder)
            if asked.only is None:
                page = browser.new_page(viewport=DESK, color_scheme="dark")
                take(page, url, folder, asked.settings)
                latencies_ms = page.evaluate("repartee.turns.all.map((turn) => Math.round(turn.latency_ms))")
                say(f"response latencies {latencies_ms} ms")
            browser.close()
        for picture in folder.glob("page-*.png"):
            shutil.copy(picture, asked.out)
    for picture in sorted(asked.out.glob("page-*.png")):
        say(f"{picture}  {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
