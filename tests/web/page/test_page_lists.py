"""The page shows timers, lists and notes, and their buttons reach the server."""

from typing import Any

import pytest
from playwright.sync_api import Page
from support.pages.page_browser import wait_until
from support.pages.page_conversation import dispatch_events
from support.servers.scripted_server import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

LISTS: list[dict[str, Any]] = [
    {"name": "shopping", "items": [{"id": "a", "text": "milk"}, {"id": "b", "text": "macaroni and cheese"}]},
    {"name": "packing list", "items": [{"id": "c", "text": "tent"}]},
    {"name": "notes", "items": [{"id": "d", "text": "Call the plumber about the kitchen sink"}]},
]
PASTA: dict[str, Any] = {
    "id": 1, "kind": "timer", "name": "pasta", "state": "running", "left_s": 245.0, "length_s": 600, "at": None,
    "repeats": False,
}  # fmt: skip
TEA = {**PASTA, "id": 2, "name": "", "state": "ringing", "left_s": 0.0, "length_s": 300}
ALARM = {**PASTA, "id": 3, "kind": "alarm", "name": "", "at": "2026-11-30T07:00:00", "left_s": 90_000.0, "length_s": 0}


@pytest.fixture
def page(page: Page, server: Server) -> Page:
    page.goto(server.url)
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    return page


def test_lists_are_shown_and_their_buttons_reach_the_server(page: Page, server: Server) -> None:
    assert page.is_hidden("#lists")
    dispatch_events(page, {"type": "repartee.lists", "lists": LISTS})
    titles = page.locator("#lists summary").all_inner_texts()
    assert [title.split() for title in titles] == [["Shopping", "list", "2"], ["Packing", "list", "1"], ["Notes", "1"]]
    page.locator("#lists summary").first.click()
    shopping = page.locator("#lists details[data-list=shopping]")
    shopping.get_by_role("button", name="Delete: milk").click()
    clear = shopping.get_by_role("button", name="Delete all")
    clear.click()
    assert clear.inner_text() == "Really delete all?"
    clear.click()
    wait_until(page, lambda: len(server.events_of("repartee.list")) == 2, "the buttons")
    assert [event["remove"] for event in server.events_of("repartee.list")] == [["a"], ["a", "b"]]
    shopping.get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == "- milk\n- macaroni and cheese\n"
    dispatch_events(page, {"type": "repartee.lists", "lists": [{**LISTS[0], "items": LISTS[0]["items"][:1]}]})
    assert shopping.evaluate("list => list.open")  # a change keeps it unfolded
    dispatch_events(page, {"type": "repartee.lists", "lists": []})
    assert page.is_hidden("#lists")


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
