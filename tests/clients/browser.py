"""Runs a client program in headless Chromium."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from clients.environments import CLIENTS
from page_browser import FLAGS, chromium_path
from playwright.async_api import Route, async_playwright

PAGE = "<!doctype html><title>client</title>"
TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".pcm": "application/octet-stream"}
LOOP_S = 6.0
"""The microphone says the recording again and again, with pauses in which the answer plays."""


async def browser_report(fields: dict[str, Any], packages: Path, within_s: float) -> list[str]:
    """Runs javascript/agents_browser.mjs in a page of the server's origin. Returns the lines of its report."""
    speech = Path(fields["speech"])
    microphone = speech.with_suffix(".wav")
    write_microphone(speech, microphone)
    origin = fields["url"].removesuffix("/v1")
    lines: list[str] = []

    async def serve(route: Route) -> None:
        path = route.request.url.partition("?")[0].removeprefix(f"{origin}/client/")
        file = packages / path.removeprefix("packages/") if path.startswith("packages/") else CLIENTS / path
        if path == "speech.pcm":
            file = speech
        if path == "page.html":
            await route.fulfill(body=PAGE, content_type="text/html")
        else:
            await route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])

    async with async_playwright() as playwright:
        flags = [*FLAGS, "--use-fake-ui-for-media-stream", f"--use-file-for-fake-audio-capture={microphone}"]
        # Pages that Playwright serves have no address: Chromium takes them for public ones.
        flags.append("--disable-features=LocalNetworkAccessChecks")
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=flags)
        try:
            page = await browser.new_page()
            await page.route(f"{origin}/client/**", serve)
            await page.goto(f"{origin}/client/page.html")
            await page.expose_function("report", lambda line: lines.append(line))  # noqa: PLW0108 - needs attributes
            program = "settings => import('/client/javascript/agents_browser.mjs').then(m => m.run(settings, report))"
            async with asyncio.timeout(within_s):
                await page.evaluate(program, json.loads(json.dumps(fields)))
        finally:
            await browser.close()
    return lines


def write_microphone(speech: Path, wav: Path) -> None:
    """Writes the recording with silence after it, for the browser's microphone."""
    pcm = np.frombuffer(speech.read_bytes(), "<i2")
    soundfile.write(wav, np.concatenate((pcm, np.zeros(int(LOOP_S * 24_000), np.int16))), 24_000, subtype="PCM_16")
