"""The page shows the language of the user's last words, where the server follows it."""

import pytest
from playwright.sync_api import Page
from support.pages.page_conversation import dispatch_events
from support.servers.scripted_server import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

TRANSCRIBED = "conversation.item.input_audio_transcription.completed"


@pytest.fixture
def page(page: Page, server: Server) -> Page:
    page.goto(server.url)
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    return page


def test_language_is_shown_when_it_changes(page: Page) -> None:
    shown = page.locator("#spoken-language")
    assert shown.is_hidden()
    dispatch_events(page, {"type": "repartee.language", "language": "de", "voice": "pico"})
    assert shown.inner_text() == "German"
    assert page.locator("#transcript").get_attribute("lang") == "de"
    assert page.locator("html").get_attribute("lang") == "en", "the page keeps its own language"
    words = {"type": TRANSCRIBED, "item_id": "u1", "transcript": "wie spät ist es", "repartee": {"language": "de"}}
    dispatch_events(
        page, {"type": "conversation.item.added", "item": {"id": "u1", "role": "user", "content": []}}, words
    )
    assert page.locator("#transcript li").first.get_attribute("lang") == "de"
    dispatch_events(page, {"type": "repartee.language", "language": "en", "voice": "hibari"})
    assert shown.inner_text() == "English"
    assert page.locator("#transcript li").first.get_attribute("lang") == "de", "earlier words keep theirs"
