"""The page on a phone: the screen stays on during a conversation, and the microphone is opened again, which it says."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from support.pages.page_browser import chromium, wait_until
from support.servers.scripted_server import Reply, Script, serving

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

STUBS = """
    window.locks = [];
    navigator.wakeLock.request = async () => {
        const lock = { released: false, release: async () => (lock.released = true) };
        locks.push(lock);
        return lock;
    };
    window.hide = (hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    };
    window.opened = 0;
    const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
    navigator.mediaDevices.getUserMedia = (...given) => { window.opened++; return open(...given); };
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with serving(Script([Reply("yes", np.zeros(240, np.int16))])) as server:
        context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
        page = context.new_page()
        page.add_init_script(STUBS)
        page.goto(server.url)
        page.click("#start")
        page.wait_for_selector("body[data-phase=listening]")
        wait_until(page, lambda: page.evaluate("window.opened") == 1, "the microphone")
        yield page
        context.close()


def test_screen_stays_on_while_a_conversation_runs(page: Page) -> None:
    held = "locks.filter((lock) => !lock.released).length"
    wait_until(page, lambda: page.evaluate(held) == 1, "a lock")
    page.evaluate("locks[0].released = true")  # as the browser does when the page is hidden
    page.evaluate("hide(true)")
    page.evaluate("hide(false)")
    wait_until(page, lambda: page.evaluate(held) == 1, "a second lock")
    page.click("#start")
    wait_until(page, lambda: page.evaluate(held) == 0, "its release")


def test_microphone_that_the_phone_took_is_opened_again(page: Page) -> None:
    page.evaluate("hide(true)")
    page.evaluate("window.repartee.session.audio.input.track.stop()")
    page.evaluate("hide(false)")
    wait_until(page, lambda: page.evaluate("window.opened") == 2, "the second opening")
    wait_until(page, lambda: page.evaluate("window.repartee.session.audio.input.track?.readyState") == "live", "sound")
    assert "It is open again." in page.inner_text("#notices")


def test_microphone_that_a_call_mutes_is_named_until_it_ends(page: Page) -> None:
    page.evaluate("window.repartee.session.audio.input.track.dispatchEvent(new Event('mute'))")
    assert "phone call" in page.inner_text(".notice[data-problem=taken]")
    page.evaluate("window.repartee.session.audio.input.track.dispatchEvent(new Event('unmute'))")
    page.wait_for_selector(".notice[data-problem=taken]", state="detached")


def test_interrupted_sound_is_resumed_and_named_meanwhile(page: Page) -> None:
    page.evaluate("repartee.tap.context.resume = async () => { throw new DOMException('a phone call'); }; 0")
    page.evaluate("repartee.tap.context.suspend()")
    page.wait_for_selector(".notice[data-problem=suspended]")
    page.evaluate("delete repartee.tap.context.resume")
    page.evaluate("hide(true)")
    page.evaluate("hide(false)")
    page.wait_for_selector(".notice[data-problem=suspended]", state="detached")


def test_browser_without_wake_lock_says_the_screen_may_sleep(page: Page) -> None:
    page.click("#start")
    page.evaluate("Object.defineProperty(navigator, 'wakeLock', { value: undefined })")
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    assert "keep the screen on" in page.inner_text("#notices")
