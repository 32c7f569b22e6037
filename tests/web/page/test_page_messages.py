"""Messages of the page: text only, copied, edited and asked again, answered again, and the remedy of a failed reply."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page
from support.pages.page_browser import wait_until
from support.servers.page_server import Running, page_server
from support.servers.scripted_server import Reply, Script, serving

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

TWO = "what is two plus two"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with page_server(tmp_path_factory.mktemp("traces")) as server:
        yield server


@pytest.fixture
def page(page: Page, server: Running) -> Iterator[Page]:
    """A page in text-only mode."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script("localStorage.setItem('repartee', JSON.stringify({textOnly: true}))")
    page.goto(server.url)
    page.wait_for_selector("#answers:not([hidden])")
    yield page
    assert errors == []


def write(page: Page, text: str) -> None:
    replies = page.locator(".item.assistant:not(.in-progress)").count()
    page.fill("#text-input", text)
    page.press("#text-input", "Enter")
    page.locator(".item.assistant:not(.in-progress)").nth(replies).wait_for()


def shown(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#transcript .item .text").all_inner_texts()]


def history_of(server: Running) -> list[Any]:
    """Returns the items of the newest conversation at the server."""
    conversations = list(server.server.connections._conversations.values())
    return list(conversations[-1].realtime_session.session.history.items)


def test_text_only_needs_neither_microphone_nor_loudspeaker(page: Page) -> None:
    assert page.is_hidden("#mute")
    assert page.is_hidden("#volume")
    write(page, TWO)
    assert shown(page) == [TWO, "That's 4."]
    assert page.inner_text("#phase") == "Text only: type a message"
    assert page.evaluate("window.repartee.tap.player") is None
    assert "from Enter to the first word" in (page.text_content("#strip-latency") or "")
    assert page.locator(".item.assistant .word:not(.played)").count() == 0


def test_voice_returns_and_the_conversation_goes_on(page: Page) -> None:
    write(page, TWO)
    page.click("#settings-open")
    page.uncheck("#text-only")
    page.wait_for_selector("body[data-phase=listening]")
    page.keyboard.press("Escape")
    assert shown(page) == [TWO, "That's 4."]
    assert page.evaluate("window.repartee.tap.player !== null")
    page.fill("#text-input", TWO)
    page.press("#text-input", "Enter")
    page.wait_for_selector("body[data-phase=speaking]")
    assert page.evaluate("window.repartee.session.conversation.items.length") >= 3


def test_edited_message_is_asked_again_and_what_follows_is_deleted(page: Page, server: Running) -> None:
    write(page, TWO)
    page.locator(".item.user").hover()
    page.click(".item.user .edit")
    page.press(".edit-text", "Escape")
    assert page.locator(".edit-text").count() == 0
    assert shown(page) == [TWO, "That's 4."]
    assert page.evaluate("document.activeElement.classList.contains('edit')")
    write(page, "what is three plus three")
    page.locator(".item.user").first.hover()
    page.locator(".item.user .edit").first.click()
    assert Axe().run(page).response["violations"] == []
    page.fill(".edit-text", "what is five plus five")
    page.press(".edit-text", "Enter")
    page.wait_for_selector(".item.assistant:not(.in-progress) >> text=10")
    wait_until(page, lambda: len(history_of(server)) == 2, "the server's history")
    assert shown(page)[0] == "what is five plus five"
    assert len(shown(page)) == 2
    assert history_of(server)[0].text == "what is five plus five"


def test_reply_is_made_again(page: Page, server: Running) -> None:
    write(page, TWO)
    before = page.evaluate("window.repartee.session.conversation.items.at(-1).id")
    page.click(".item.assistant .retry")
    wait_until(
        page,
        lambda: (
            page.evaluate("window.repartee.session.conversation.items.at(-1).id") not in {before, "item_1"}
            and page.locator(".item.assistant:not(.in-progress)").count() == 1
        ),
        "another reply",
    )
    assert shown(page) == [TWO, "That's 4."]
    assert len(history_of(server)) == 2


def test_message_is_copied_as_it_is_written(page: Page) -> None:
    write(page, TWO)
    page.evaluate("window.repartee.session.conversation.items.at(-1).markup = '**four**'")
    page.click(".item.assistant .copy")
    assert page.inner_text(".item.assistant .copy") == "Copied"
    assert page.evaluate("navigator.clipboard.readText()") == "**four**"


def test_failed_reply_offers_who_answers(context: BrowserContext) -> None:
    failed = Reply("I can", np.zeros(2400, np.int16), error="cloud requires a valid key: set its api_key_env")
    with serving(Script([failed])) as server:
        page = context.new_page()
        page.goto(server.url)
        page.wait_for_selector("#answers:not([hidden])")
        page.fill("#text-input", "hello")
        page.press("#text-input", "Enter")
        page.click(".item.failed .who-answers")
        page.wait_for_selector("#settings:not([hidden])")
        page.close()
