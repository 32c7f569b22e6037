"""Runs a client program in headless Chromium."""

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import soundfile
from clients.environments import CLIENTS
from playwright.async_api import async_playwright
from support.pages.page_browser import FLAGS, chromium_path

PAGE = "<!doctype html><title>client</title>"
TYPES = {".html": "text/html", ".mjs": "text/javascript", ".js": "text/javascript", ".pcm": "application/octet-stream"}
BEFORE_S, AFTER_S = 3.0, 6.0
"""The microphone says the recording again and again: after a call is connected, and with pauses for the answers."""


@dataclass(frozen=True)
class Pages:
    """A server of pages: of another origin than the server that they talk with.

    Attributes:
        origin: Its origin.
        files: Further files by path, such as the speech.
    """

    origin: str
    files: dict[str, bytes]


@contextmanager
def page_server(packages: Path) -> Generator[Pages]:
    """Serves the page, the programs below tests/clients, and installed packages, on a free port."""
    files: dict[str, bytes] = {"page.html": PAGE.encode()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0].removeprefix("/client/")
            file = packages / path.removeprefix("packages/") if path.startswith("packages/") else CLIENTS / path
            if path not in files and not file.is_file():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", TYPES[Path(path).suffix])
            self.end_headers()
            self.wfile.write(files.get(path) or file.read_bytes())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Pages(f"http://127.0.0.1:{server.server_address[1]}", files)
        finally:
            server.shutdown()
            thread.join()


async def browser_report(fields: dict[str, Any], pages: Pages, within_s: float) -> list[str]:
    """Runs javascript/agents_browser.mjs in a page. Returns the lines of its report."""
    speech = Path(fields["speech"])
    pages.files["speech.pcm"] = await asyncio.to_thread(speech.read_bytes)
    microphone = speech.with_suffix(".wav")
    write_microphone(speech, microphone)
    lines: list[str] = []
    async with async_playwright() as playwright:
        flags = [*FLAGS, "--use-fake-ui-for-media-stream", f"--use-file-for-fake-audio-capture={microphone}"]
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=flags)
        try:
            page = await browser.new_page()
            await page.goto(f"{pages.origin}/client/page.html")
            await page.expose_function("report", lambda line: lines.append(line))  # noqa: PLW0108 - needs attributes
            program = "settings => import('/client/javascript/agents_browser.mjs').then(m => m.run(settings, report))"
            async with asyncio.timeout(within_s):
                await page.evaluate(program, json.loads(json.dumps(fields)))
        finally:
            await browser.close()
    return lines


def write_microphone(speech: Path, wav: Path) -> None:
    """Writes the recording with silence around it, for the browser's microphone."""
    pcm = np.frombuffer(speech.read_bytes(), "<i2")
    before, after = (np.zeros(int(length_s * 24_000), np.int16) for length_s in (BEFORE_S, AFTER_S))
    soundfile.write(wav, np.concatenate((before, pcm, after)), 24_000, subtype="PCM_16")
