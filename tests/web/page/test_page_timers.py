"""The page lists timers with the time that is left, and its buttons reach the server."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from support.pages.page_browser import chromium, wait_until
from support.pages.page_conversation import dispatch_events
from support.servers.scripted_server import Reply, Script, Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

PASTA: dict[str, Any] = {
    "id": 1, "kind": "timer", "name": "pasta", "state": "running", "left_s": 245.0, "length_s": 600, "at": None,
    "repeats": False,
}  # fmt: skip
TEA = {**PASTA, "id": 2, "name": "", "state": "ringing", "left_s": 0.0, "length_s": 300}
ALARM = {**PASTA, "id": 3, "kind": "alarm", "name": "", "at": "2026-11-30T07:00:00", "left_s": 90_000.0, "length_s": 0}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Script([Reply("as you wish", np.zeros(240, np.int16))])) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(server.url)
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    yield page
    context.close()


def test_timers_count_down_and_their_buttons_reach_the_server(page: Page, server: Server) -> None:
    assert page.is_hidden("#timers")
    dispatch_events(page, {"type": "repartee.timers", "timers": [TEA, PASTA, ALARM]})
    tea, pasta, alarm = (page.locator(f"#timers li[data-id='{number}']") for number in (2, 1, 3))
    assert tea.locator(".timer-time").inner_text() == "rings now"
    assert tea.locator(".timer-name").inner_text() == "5:00"
    assert "7:00" in alarm.locator(".timer-time").inner_text()
    wait_until(page, lambda: pasta.locator(".timer-time").inner_text() == "4:02", "the countdown")
    tea.get_by_role("button", name="Stop").click()
    tea.get_by_role("button", name="Snooze").click()
    pasta.get_by_role("button", name="+1 min").click()
    alarm.get_by_role("button", name="Cancel").click()
    wait_until(page, lambda: len(server.events_of("repartee.timer")) == 4, "the buttons")
    pressed = [(event["id"], event["action"]) for event in server.events_of("repartee.timer")]
    assert pressed == [(2, "stop"), (2, "snooze"), (1, "add_minute"), (3, "cancel")]
    dispatch_events(page, {"type": "repartee.timers", "timers": []})
    assert page.is_hidden("#timers")
