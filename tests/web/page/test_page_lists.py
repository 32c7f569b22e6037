"""The page lists lists and notes, and its buttons reach the server."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from support.pages.page_browser import chromium, wait_until
from support.pages.page_conversation import dispatch_events
from support.servers.scripted_server import Reply, Script, Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

LISTS: list[dict[str, Any]] = [
    {"name": "shopping", "items": [{"id": "a", "text": "milk"}, {"id": "b", "text": "macaroni and cheese"}]},
    {"name": "packing list", "items": [{"id": "c", "text": "tent"}]},
    {"name": "notes", "items": [{"id": "d", "text": "Call the plumber about the kitchen sink"}]},
]


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
    context = browser.new_context(locale="en-GB", permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(server.url)
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    yield page
    context.close()


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
