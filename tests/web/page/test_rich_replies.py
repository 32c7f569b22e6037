"""Replies as rich text in the page, and the wake phrase: what a user sees."""

from typing import Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from support.pages.page_browser import wait_until
from support.servers.scripted_server import Reply, Script, Server

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
def script() -> Script:
    return Script([SHORT])


@pytest.fixture
def page(page: Page, server: Server) -> Page:
    page.goto(server.url)
    return page


def ask(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    page.fill("#text-input", "tell me")
    page.keyboard.press("Enter")


def test_words_light_up_in_rich_text_while_the_reply_plays(page: Page, server: Server) -> None:
    server.script.replies = [RICH]
    ask(page)
    page.wait_for_selector(".item.assistant strong .word.played")
    assert page.locator(".item.assistant .heard-block").count() == 2
    assert page.locator(".rich-table.played").count() == 0  # it comes later
    wait_until(page, lambda: page.locator(".rich-code.played").count(), "the code lights up")
    page.keyboard.press("Escape")
    page.wait_for_selector(".item.assistant.interrupted")
    style = "getComputedStyle(document.querySelector('.item.assistant .word:not(.played)')).fontStyle"
    assert page.evaluate(style) == "italic"


def test_finished_reply_is_lit_and_nothing_of_it_is_markup(page: Page) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    ask(page)
    page.wait_for_selector(".item.assistant:not(.in-progress)")
    wait_until(page, lambda: page.locator(".item.assistant .word:not(.played)").count() == 0, "all words are lit")
    link = page.locator(".item.assistant a")
    assert link.get_attribute("href") == "https://docs.example.org/x"
    assert link.get_attribute("rel") == "noopener noreferrer"
    assert page.locator(".item.assistant .link-host").inner_text() == "docs.example.org"
    assert page.locator(".item.assistant img").count() == 0
    assert page.locator(".item.assistant li").all_inner_texts() == ["One", "Two"]
    direction = "[...document.querySelectorAll('.rich > p')].map((one) => getComputedStyle(one).direction)"
    assert page.evaluate(direction) == ["ltr", "rtl", "ltr", "ltr"]
    assert page.evaluate("document.querySelector('.rich > p:nth-last-child(2)').lang") == "ja"
    assert dialogs == []
    page.click(".rich-code button")
    wait_until(page, lambda: page.inner_text(".rich-code button") == "Copied", "the button says so")
    assert page.evaluate("navigator.clipboard.readText()").startswith('print("a line of code')


def test_long_content_scrolls_in_its_block(page: Page) -> None:
    ask(page)
    page.wait_for_selector(".rich-table")
    for width, height in ((320, 640), (390, 844), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        blocks = "[...document.querySelectorAll('.rich > *')]"
        assert page.evaluate(f"{blocks}.every((one) => one.getBoundingClientRect().right <= innerWidth)"), width
        scrolls = "(({scrollWidth, clientWidth}) => scrollWidth > clientWidth)(document.querySelector('.rich pre'))"
        assert page.evaluate(scrolls), width


def test_typed_text_is_shown_as_typed(page: Page) -> None:
    page.fill("#text-input", "**no** <b>markup</b> `here`")
    page.keyboard.press("Enter")
    page.wait_for_selector(".item.user .text")
    assert page.inner_text(".item.user .text") == "**no** <b>markup</b> `here`"


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.thorough)])
def test_axe_finds_nothing_in_rich_text_and_wake_phrase(page: Page, scheme: Literal["dark", "light"]) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    ask(page)
    page.wait_for_selector(".item.assistant:not(.in-progress)")
    wait_until(page, lambda: page.locator(".item.assistant .word:not(.played)").count() == 0, "all words are lit")
    found = Axe().run(page).response["violations"]
    choose_wake_phrase(page)
    found += Axe().run(page).response["violations"]
    assert [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]] == []


# ---- wake phrase ----


def phrases(server: Server) -> list[object]:
    return [event["session"]["repartee"].get("wake_phrase") for event in server.events_of("session.update")]


def choose_wake_phrase(page: Page) -> None:
    page.click("#settings-open")
    page.check("#wake")


def test_page_waits_for_the_wake_phrase_and_remembers_it(page: Page, server: Server) -> None:
    page.add_init_script("""navigator.mediaDevices.getUserMedia = async () =>
        new MediaStreamAudioDestinationNode(window.silence ??= new AudioContext()).stream;""")
    page.reload()
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
    page.reload()
    page.click("#settings-open")
    assert page.is_checked("#wake")


def test_page_waits_for_a_wake_word_by_its_sound(page: Page, server: Server) -> None:
    page.add_init_script("localStorage.setItem('repartee', JSON.stringify({ wakeWords: ['okay_nabu', 'alexa'] }))")
    page.reload()
    choose_wake_phrase(page)
    page.select_option("#wake-kind", "okay_nabu")
    assert page.is_hidden("#wake-phrase")
    assert "recognizes, shows and keeps nothing" in page.inner_text("#wake-hint")
    page.click("#settings-close")
    assert "okay nabu" in page.inner_text("#empty")
    page.click("#start")
    # This server has no wake words, so it recognizes the phrase, and the settings say so.
    wait_until(page, lambda: phrases(server)[-1:] == ["okay nabu"], "the server knows")
    page.click("#settings-open")
    wait_until(page, lambda: page.is_visible("#wake-phrase"), "its words are recognized")
    assert page.input_value("#wake-phrase") == "okay nabu"


def test_all_speech_goes_to_another_machine_only_with_consent(page: Page, server: Server) -> None:
    page.goto(server.url.replace("127.0.0.1", "page.localhost"))  # any other name than that of this machine
    consent = page.locator("#wake-consent")
    page.click("#settings-open")
    page.click("#wake")
    assert "page.localhost" in consent.inner_text()
    page.keyboard.press("Escape")
    wait_until(page, lambda: not page.is_checked("#wake"), "the mode stays off")
    page.click("#wake")
    page.click("#wake-consent button[value=agree]")
    wait_until(page, lambda: page.is_checked("#wake"), "the mode is on")
    page.uncheck("#wake")
    page.check("#wake")  # asked once
    assert consent.count() == 0


def with_sound_consent(page: Page, server: Server) -> None:
    """Opens the page on another machine; its user allowed to compare sounds, but not to recognize words."""
    kept = "{ wake: true, wakeWord: 'okay_nabu', wakeWords: ['okay_nabu'], wakeSoundConsent: 'page.localhost' }"
    page.add_init_script(
        f"""localStorage.setItem('repartee', localStorage.getItem('repartee') ?? JSON.stringify({kept}));
        navigator.mediaDevices.getUserMedia = async () =>
        new MediaStreamAudioDestinationNode(window.silence ??= new AudioContext()).stream;"""
    )
    page.goto(server.url.replace("127.0.0.1", "page.localhost"))


def test_words_are_not_recognized_by_consent_for_sounds(page: Page, server: Server) -> None:
    with_sound_consent(page, server)
    page.click("#start")
    wait_until(page, lambda: "cannot notice “okay nabu” by its sound" in page.inner_text("body"), "the page says so")
    assert "muted" in (page.get_attribute("body", "class") or "")
    wait_until(page, lambda: phrases(server)[-1] is None, "the server knows")
    page.click("#settings-open")
    assert not page.is_checked("#wake")
    page.click("#wake")  # words are recognized from here on
    assert "recognizes the words" in page.locator("#wake-consent").inner_text()


def test_own_wake_phrase_needs_a_consent_of_its_own(page: Page, server: Server) -> None:
    with_sound_consent(page, server)
    page.click("#settings-open")
    assert page.is_checked("#wake")
    page.select_option("#wake-kind", "")
    assert "recognizes the words" in page.locator("#wake-consent").inner_text()
    page.click("#wake-consent button:not([value=agree])")
    wait_until(page, lambda: page.input_value("#wake-kind") == "okay_nabu", "the wake word stays")
    page.select_option("#wake-kind", "")
    page.click("#wake-consent button[value=agree]")
    wait_until(page, lambda: page.is_visible("#wake-phrase"), "a phrase of one's own")
