"""The page in a Chromium that denies the microphone, with a scripted server; both serve all tests of a file."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from support.pages.page_browser import chromium
from support.servers.scripted_server import Reply, Script, Server, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that denies the microphone: the fake one beeps, which interrupts replies."""
    with chromium(allowed=False) as browser:
        yield browser


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Keeps the page's files between tests: loading them takes longer than most tests."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], service_workers="block")
    yield context
    context.close()


@pytest.fixture(scope="module")
def script() -> Script:
    """The server's script at the beginning of each test."""
    return Script([Reply("as you wish", np.zeros(240, np.int16))])


@pytest.fixture(scope="module")
def shared_server(script: Script) -> Iterator[Server]:
    with serving(script) as server:
        yield server


@pytest.fixture
def server(shared_server: Server, script: Script) -> Server:
    """The file's server without the events of earlier tests."""
    shared_server.begin_anew(replace(script))
    return shared_server


@pytest.fixture
def page(context: BrowserContext, server: Server) -> Iterator[Page]:
    """An empty page of the server's origin, without the settings of earlier tests."""
    page = context.new_page()
    page.goto(f"{server.url}healthz")
    page.evaluate("localStorage.clear()")
    yield page
    page.close()
