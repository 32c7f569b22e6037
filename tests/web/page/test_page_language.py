"""The page in the language of its user, chosen by the browser or in the settings."""

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from support.pages.page_conversation import dispatch_events
from support.pages.page_texts import LANGUAGES, table
from support.servers.scripted_server import SETTINGS, Reply, Script, Server

from assistant.support.notice import notice

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

OFFERED = {
    **SETTINGS,
    "language": {
        **SETTINGS["language"],
        "choices": [{"code": "en", "name": "English"}, {"code": "de", "name": "German"}],
    },
}


@pytest.fixture(scope="module")
def script() -> Script:
    return Script([Reply("zehn nach vier", np.zeros(240, np.int16))], settings=OFFERED)


def opened(browser: Browser, server: Server, locale: str, width: int = 1280) -> Page:
    page = browser.new_context(locale=locale, viewport={"width": width, "height": 800}).new_page()
    page.goto(server.url)
    page.wait_for_selector("#answers:not([hidden])")
    return page


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_is_in_the_language_of_the_browser(browser: Browser, server: Server, language: str) -> None:
    page = opened(browser, server, f"{language}-XX" if language == "en" else language, 320)
    texts = table(language)
    assert page.get_attribute("html", "lang") == language
    assert page.text_content("#start") == texts["control.start"].replace("[", "").replace("]", "")
    assert page.text_content("#empty") == texts["hint.start"]
    assert page.get_attribute("#mute", "aria-label") == texts["control.mute"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.click("#settings-open")
    assert (
        page.evaluate(
            "(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.getElementById('settings'))"
        )
        <= 0
    )
    page.context.close()


def test_other_language_is_chosen_in_the_settings(browser: Browser, server: Server) -> None:
    page = opened(browser, server, "it-IT")
    assert page.get_attribute("html", "lang") == "en"
    page.click("#settings-open")
    page.select_option("#page-language", "de")
    page.wait_for_selector("html[lang=de]")
    page.fill("#text-input", "Hallo")
    page.press("#text-input", "Enter")
    page.wait_for_selector(".item.user .who:text-is('Du')")
    page.click("#settings-open")
    assert page.locator("#setting-language option").all_text_contents() == ["Englisch · Server", "Deutsch"]
    page.select_option("#page-language", "")
    page.wait_for_selector("html[lang=en]")
    page.context.close()


def test_notices_engines_and_first_steps_are_in_the_language_of_the_page(browser: Browser, server: Server) -> None:
    page = opened(browser, server, "de-DE")
    page.fill("#text-input", "Hallo")
    page.press("#text-input", "Enter")
    page.wait_for_selector(".item.user")
    told = notice("words_lost_restart", name="Whisper")
    dispatch_events(page, {"type": "repartee.notice", "text": told, "code": told.code, "values": dict(told.values)})
    page.wait_for_selector("#notices >> text=Deine letzten Worte gingen verloren, während Whisper neu startete.")
    stand_ins = [{"stage": "turn", "name": "estimate", "fallback": True}]
    stand_ins.append({"stage": "stt", "name": "no recognizer", "fallback": True})
    page.evaluate("(used) => import('/static/view/engines.js').then(({drawEngines}) => drawEngines(used))", stand_ins)
    assert page.text_content("#fallback-engines") == "Ersatz: Schätzung, keine Spracherkennung"
    page.click("#settings-open")
    page.click(".first-run-again")
    page.wait_for_selector("#first-run-language option[value=de]", state="attached")
    assert page.input_value("#first-run-language") == "de"
    assert page.inner_text("#first-run-title") == "Sprache und Stimme"
    page.context.close()
