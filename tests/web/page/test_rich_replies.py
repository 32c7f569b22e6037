"""Replies as rich text in the page, and the wake phrase: what a user sees."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest
import soundfile
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from support.pages.page_browser import chromium, wait_until
from support.servers.scripted_server import Reply, Script, Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

WRITTEN = """Here is **how**, see [the docs](https://docs.example.org/x):

```python
print("a line of code that is so long that it does not fit on a phone, so that it has to scroll sideways")
```

1. One
2. Two

| a | b |
|---|---|
| <img src=x onerror=alert(1)> | 2 |

שלום עולם

こんにちは世界。これは長い文章です。元気ですか。今日は天気がいいですね。散歩に行きましょう。

Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft 🎉"""
SPOKEN = (
    "Here is how, see the docs: Here is the Python code. One Two Here is a table: a, b. שלום עולם "
    "こんにちは世界。これは長い文章です。元気ですか。今日は天気がいいですね。散歩に行きましょう。 "
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
)
RICH = Reply(SPOKEN, np.full(24_000 * 6, 2000, np.int16), markup=WRITTEN)
SHORT = Reply(SPOKEN, np.full(12_000, 2000, np.int16), markup=WRITTEN)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a microphone: the fake one beeps, which interrupts replies."""
    with chromium(allowed=False) as browser:
        yield browser


@pytest.fixture(scope="module")
def listening_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser whose microphone records silence."""
    silence = tmp_path_factory.mktemp("microphone") / "silence.wav"
    soundfile.write(silence, np.zeros(16_000, np.int16), 16_000)
    with chromium(silence) as browser:
        yield browser


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Script([SHORT])) as server:
        yield server


def opened(browser: Browser, server: Server, **options: Any) -> Page:
    page = browser.new_context(**options).new_page()
    page.goto(server.url)
    return page


def ask(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    page.fill("#text-input", "tell me")
    page.keyboard.press("Enter")


def test_words_light_up_in_rich_text_while_the_reply_plays(browser: Browser) -> None:
    with serving(Script([RICH])) as server:
        page = opened(browser, server)
        ask(page)
        page.wait_for_selector(".item.assistant strong .word.played")
        assert page.locator(".item.assistant .heard-block").count() == 2
        assert page.locator(".rich-table.played").count() == 0  # it comes later
        wait_until(page, lambda: page.locator(".rich-code.played").count(), "the code lights up")
        page.keyboard.press("Escape")
        page.wait_for_selector(".item.assistant.interrupted")
        style = "getComputedStyle(document.querySelector('.item.assistant .word:not(.played)')).fontStyle"
        assert page.evaluate(style) == "italic"
        page.context.close()


def test_finished_reply_is_lit_and_nothing_of_it_is_markup(browser: Browser, server: Server) -> None:
    page = opened(browser, server)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    ask(page)
    page.wait_for_selector(".item.assistant:not(.in-progress)")
    wait_until(page, lambda: page.locator(".item.assistant .word:not(.played)").count() == 0, "all words are lit")
    link = page.locator(".item.assistant a")
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (
        "https://docs.example.org/x",
        "noopener noreferrer",
    )
    assert page.locator(".item.assistant .link-host").inner_text() == "docs.example.org"
    assert page.locator(".item.assistant img").count() == 0
    assert page.locator(".item.assistant li").all_inner_texts() == ["One", "Two"]
    direction = "[...document.querySelectorAll('.rich > p')].map((one) => getComputedStyle(one).direction)"
    assert page.evaluate(direction) == ["ltr", "rtl", "ltr", "ltr"]
    assert page.evaluate("document.querySelector('.rich > p:nth-last-child(2)').lang") == "ja"
    assert dialogs == []
    page.context.close()


def test_copy_button_copies_the_code(browser: Browser, server: Server) -> None:
    page = opened(browser, server, permissions=["clipboard-read", "clipboard-write"])
    ask(page)
    page.click(".rich-code button")
    wait_until(page, lambda: page.inner_text(".rich-code button") == "Copied", "the button says so")
    assert page.evaluate("navigator.clipboard.readText()").startswith('print("a line of code')
    page.context.close()


@pytest.mark.parametrize(("width", "height"), [(320, 640), (390, 844), (1280, 800)])
def test_long_content_scrolls_in_its_block(browser: Browser, server: Server, width: int, height: int) -> None:
    page = opened(browser, server, viewport={"width": width, "height": height})
    ask(page)
    page.wait_for_selector(".rich-table")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    fits = "[...document.querySelectorAll('.rich > *')].every((one) => one.getBoundingClientRect().right <= innerWidth)"
    assert page.evaluate(fits)
    scrolls = "(({scrollWidth, clientWidth}) => scrollWidth > clientWidth)(document.querySelector('.rich pre'))"
    assert page.evaluate(scrolls)
    page.context.close()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_typed_text_is_shown_as_typed(browser: Browser, server: Server, scheme: Literal["dark", "light"]) -> None:
    page = opened(browser, server, color_scheme=scheme)
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    page.fill("#text-input", "**no** <b>markup</b> `here`")
    page.keyboard.press("Enter")
    page.wait_for_selector(".item.user .text")
    assert page.inner_text(".item.user .text") == "**no** <b>markup</b> `here`"
    page.context.close()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_in_rich_text_and_wake_phrase(
    browser: Browser, server: Server, scheme: Literal["dark", "light"]
) -> None:
    page = opened(browser, server, color_scheme=scheme, reduced_motion="reduce")
    ask(page)
    page.wait_for_selector(".item.assistant:not(.in-progress)")
    wait_until(page, lambda: page.locator(".item.assistant .word:not(.played)").count() == 0, "all words are lit")
    found = Axe().run(page).response["violations"]
    choose_wake_phrase(page)
    found += Axe().run(page).response["violations"]
    assert [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]] == []
    page.context.close()


# ---- wake phrase ----


def phrases(server: Server) -> list[object]:
    return [event["session"]["repartee"].get("wake_phrase") for event in server.events_of("session.update")]


def choose_wake_phrase(page: Page) -> None:
    page.click("#settings-open")
    page.check("#wake")


def test_page_waits_for_the_wake_phrase(listening_browser: Browser, server: Server) -> None:
    page = opened(listening_browser, server)
    choose_wake_phrase(page)
    page.fill("#wake-phrase", "ok house")
    page.keyboard.press("Tab")
    page.click("#settings-close")
    assert "ok house" in page.inner_text("#empty")
    page.click("#start")
    wait_until(page, lambda: page.inner_text("#phase") == "Waiting for “ok house”", "the phrase is named")
    assert phrases(server)[-1] == "ok house"
    page.click("#settings-open")
    page.check("#push-to-talk")
    assert not page.is_checked("#wake")  # one of the two
    wait_until(page, lambda: phrases(server)[-1] is None, "the server knows")
    page.check("#wake")
    assert not page.is_checked("#push-to-talk")
    page.context.close()


def test_wake_phrase_is_remembered(browser: Browser, server: Server) -> None:
    page = opened(browser, server)
    choose_wake_phrase(page)
    page.reload()
    page.click("#settings-open")
    assert page.is_checked("#wake")
    page.context.close()


def test_all_speech_goes_to_another_machine_only_with_consent(browser: Browser, server: Server) -> None:
    page = browser.new_context().new_page()
    page.goto(server.url.replace("127.0.0.1", "page.localhost"))  # any other name than that of this machine
    choose_wake_phrase_dialog = page.locator("#wake-consent")
    page.click("#settings-open")
    page.click("#wake")
    assert "page.localhost" in choose_wake_phrase_dialog.inner_text()
    page.keyboard.press("Escape")
    wait_until(page, lambda: not page.is_checked("#wake"), "the mode stays off")
    page.click("#wake")
    page.click("#wake-consent button[value=agree]")
    wait_until(page, lambda: page.is_checked("#wake"), "the mode is on")
    page.uncheck("#wake")
    page.check("#wake")  # asked once
    assert choose_wake_phrase_dialog.count() == 0
    page.context.close()
