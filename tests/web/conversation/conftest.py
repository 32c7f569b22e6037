"""The page in a Chromium whose microphone plays a question, and a scripted server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Browser, Page
from support.pages.page_browser import (
    chromium,
    load_recording,
)
from support.pages.page_conversation import (
    SPEECH_BOUNDS_S,
    reply,
)
from support.servers.scripted_server import Script, Server, serving


@pytest.fixture(scope="module")
def spoken() -> np.ndarray[Any, np.dtype[np.float32]]:
    """The microphone input: silence, a question, silence."""
    question = load_recording("rhasspy3_what-time-is-it")
    question[int((SPEECH_BOUNDS_S[1] - SPEECH_BOUNDS_S[0]) * 16_000) :] = 0
    before = np.zeros(int(SPEECH_BOUNDS_S[0] * 16_000), np.float32)
    return np.concatenate([before, question, np.zeros(16_000 * 20, np.float32)])


@pytest.fixture(scope="module")
def browser(
    spoken: np.ndarray[Any, np.dtype[np.float32]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    microphone: Path = tmp_path_factory.mktemp("page") / "microphone.wav"
    soundfile.write(microphone, spoken, 16_000, subtype="PCM_16")
    with chromium(microphone) as browser:
        yield browser


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Script([reply(1.5)])) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """Opens the page. A console message fails the test."""
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    console: list[str] = []
    page.on("console", lambda message: console.append(f"{message.text} {message.location['url']}"))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.goto(server.url)
    yield page
    context.close()
    assert [line for line in console if "WebSocket connection to" not in line] == []
