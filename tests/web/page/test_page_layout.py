"""The page at six sizes: the conversation comes first, nothing is covered, and axe finds nothing in any state."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize
from support.pages.page_browser import wait_until
from support.servers.scripted_server import Reply, Script, Server

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

SIZES = [(320, 640), (390, 844), (844, 390), (640, 430), (1280, 800), (3840, 2160)]
CONTROLS = ("#mute", "#start", "#interrupt", "#text-input", "#send", "#settings-open", "#strip", "#theme")
TEXT = "It is ten past four, and the shop on the corner is open until six."

UNCOVERED = """(selectors) => selectors.filter((selector) => {
    const element = document.querySelector(selector), box = element.getBoundingClientRect();
    const inside = box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight + 0.5 && box.right <= innerWidth + 0.5;
    const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return !inside || !(element === at || element.contains(at));
})"""
"""Returns the selectors whose element is outside the window or covered by another one."""


def size_of(size: tuple[int, int]) -> ViewportSize:
    return {"width": size[0], "height": size[1]}


def name_of(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


def write(page: Page, text: str) -> None:
    """Types a text and waits for the end of its reply."""
    replies = page.locator(".item.assistant").count()
    page.fill("#text-input", text)
    page.press("#text-input", "Enter")
    page.locator(".item.assistant").nth(replies).wait_for()
    page.wait_for_selector("body[data-phase=listening]")


@pytest.fixture(scope="module")
def script() -> Script:
    return Script([Reply(TEXT, (np.sin(np.arange(4800) / 9) * 8000).astype(np.int16))])


@pytest.fixture
def page(page: Page, server: Server) -> Page:
    page.goto(server.url)
    return page


@pytest.fixture(scope="module")
def talked(browser: Browser, shared_server: Server) -> Iterator[Page]:
    """A page with a conversation that is longer than the screen. Tests leave panels and settings closed."""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.goto(shared_server.url)
    write(page, "are you there")
    page.evaluate("""() => { for (let n = 0; n < 60; n++) {
        const item = { id: `u${n}`, role: "user", content: [{ type: "input_text", text: `question ${n} `.repeat(9) }] };
        const detail = { type: "conversation.item.added", previous_item_id: null, item };
        repartee.session.connection.dispatchEvent(new CustomEvent("event", { detail }));
    } }""")
    write(page, "is the shop still open at this time of the day")
    yield page
    context.close()


@pytest.mark.parametrize("panels", ["closed", "open"])
@pytest.mark.parametrize("size", SIZES, ids=name_of)
def test_newest_reply_is_in_view_and_nothing_is_covered(talked: Page, size: tuple[int, int], panels: str) -> None:
    page = talked
    page.set_viewport_size(size_of(size))
    if panels == "open":
        page.click("#strip")
    last = ".item.assistant:last-child .word:last-child"
    wait_until(page, lambda: page.evaluate(UNCOVERED, [last, *CONTROLS]) == [], f"the last word of {size}", 5)
    assert page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]") == list(size)
    assert page.evaluate("document.body.scrollHeight <= innerHeight")
    transcript = page.locator("#transcript").bounding_box()
    assert transcript is not None
    if panels == "closed":
        assert transcript["height"] >= 0.4 * size[1]
        assert page.is_hidden("#panels")
    else:
        assert page.is_visible("#latency")
        page.click("#strip")


SCROLL = """(top) => new Promise((done) => {
    transcript.scrollTop = top;
    requestAnimationFrame(() => requestAnimationFrame(done)); // the scroll event comes with the next frame
})"""
PLACE = "[transcript.scrollTop, document.body.scrollTop, scrollY, document.documentElement.scrollHeight]"


@pytest.mark.parametrize("size", [(320, 256), (320, 480), (640, 430), (844, 390), (1280, 720)], ids=name_of)
def test_settings_open_inside_the_window_and_scroll_nothing(talked: Page, size: tuple[int, int]) -> None:
    page = talked
    page.set_viewport_size(size_of(size))
    page.evaluate(SCROLL, 100)
    before = page.evaluate(PLACE)
    assert before[0] == 100
    for way in ("button", "Escape"):
        page.click("#settings-open")
        box = page.locator("#settings").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= size[0]
        assert box["y"] + box["height"] <= size[1]
        assert box["height"] >= min(100, size[1] / 4)
        assert page.evaluate("document.activeElement.id") == "settings-close"
        assert page.evaluate(PLACE) == before
        if way == "button":
            page.click("#settings-close")
        else:
            page.keyboard.press("Escape")
        assert page.is_hidden("#settings")
        assert page.evaluate("document.activeElement.id") == "settings-open"
        assert page.evaluate(PLACE) == before
    page.evaluate(SCROLL, 1_000_000)


def test_software_keyboard_covers_nothing(talked: Page) -> None:
    page = talked
    page.set_viewport_size(size_of((390, 844)))
    page.evaluate("""() => {
        for (const [name, value] of [["height", 500], ["offsetTop", 40]]) {
            Object.defineProperty(visualViewport, name, { value, configurable: true });
        }
        visualViewport.dispatchEvent(new Event("resize"));
    }""")
    wait_until(
        page,
        lambda: page.evaluate(UNCOVERED, [".item.assistant:last-child .word:last-child", *CONTROLS]) == [],
        "all",
        5,
    )
    dock = page.locator(".dock").bounding_box()
    top = page.locator(".top").bounding_box()
    assert dock is not None
    assert top is not None
    assert dock["y"] + dock["height"] == pytest.approx(540, abs=1)
    assert top["y"] == pytest.approx(40, abs=1)
    page.evaluate("""() => {
        for (const name of ["height", "offsetTop"]) delete visualViewport[name];
        visualViewport.dispatchEvent(new Event("resize"));
    }""")


def test_open_panels_are_remembered(page: Page) -> None:
    assert page.get_attribute("#strip", "aria-expanded") == "false"
    page.click("#strip")
    page.reload()
    assert page.get_attribute("#strip", "aria-expanded") == "true"
    assert page.is_visible("#panels")
    page.click("#strip")
    page.reload()
    assert page.is_hidden("#panels")


def test_notice_moves_no_control(page: Page) -> None:
    page.set_viewport_size(size_of((390, 844)))

    def boxes() -> list[Any]:
        return [page.locator(selector).bounding_box() for selector in CONTROLS]

    write(page, "are you there")
    before = boxes()
    page.evaluate("""repartee.session.dispatchEvent(
        new CustomEvent("problem", { detail: { problem: "slow", message: "" } }))""")
    page.wait_for_selector(".notice[data-problem=slow]")
    assert boxes() == before
    last = ".item.assistant:last-child .word:last-child"
    wait_until(page, lambda: page.evaluate(UNCOVERED, [last, ".notice", *CONTROLS]) == [], "all is seen", 5)


def test_typing_before_start_begins_a_conversation_without_a_microphone(page: Page, server: Server) -> None:
    page.evaluate("""() => { window.asked = 0;
        navigator.mediaDevices.getUserMedia = () => {
            asked++;
            return Promise.reject(new DOMException("", "NotAllowedError"));
        };
    }""")
    assert page.inner_text("#empty") == "Press Start conversation and speak, or type a message."
    write(page, "are you there")
    assert page.inner_text("#phase") == "Microphone off: you can type"
    assert page.inner_text("#start") == "End conversation"
    assert page.is_hidden("#empty")
    assert page.input_value("#text-input") == ""
    assert page.evaluate("asked") == 0
    assert page.locator(".notice").count() == 0
    assert page.evaluate("repartee.turns.all[0].typed_ms") > 20  # the sound of the reply
    assert page.get_attribute("#mute", "aria-pressed") == "true"
    page.click("#mute")  # opens the microphone
    page.wait_for_selector(".notice[data-problem=denied]")
    assert page.evaluate("asked") == 1


def test_text_typed_before_the_connection_is_kept_until_it_is_sent(page: Page, server: Server) -> None:
    server.script.close_with = ("server_full", 1013)
    page.fill("#text-input", "are you there")
    page.press("#text-input", "Enter")
    page.wait_for_selector(".notice[data-problem=full]")
    assert page.input_value("#text-input") == "are you there"
    server.script.close_with = None
    page.wait_for_selector("body[data-phase=speaking]")
    assert page.input_value("#text-input") == ""
    assert page.locator(".item.user").count() == 1


def test_push_to_talk_says_when_the_microphone_is_closed(page: Page, server: Server) -> None:
    page.add_init_script("""navigator.mediaDevices.getUserMedia = async () => {
        const context = window.bench ??= new AudioContext();
        return new MediaStreamAudioDestinationNode(context).stream;
    }""")
    page.goto(server.url)
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    assert page.inner_text("#phase") == "Microphone closed: hold to talk"
    assert "hold the button or the space bar" in page.inner_text("#empty").lower()
    box = page.locator("#hold").bounding_box()
    assert box is not None
    assert box["height"] >= 56
    page.hover("#hold")
    page.mouse.down()
    page.wait_for_selector("body[data-phase=hearing]")
    assert page.inner_text("#phase") == "Microphone open: speak, then release"
    page.mouse.up()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_in_any_state(page: Page, scheme: Literal["dark", "light"]) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size(size_of((1280, 800)))

    def violations(state: str) -> list[str]:
        found = Axe().run(page).response["violations"]
        return [f"{state}: {one['id']}: {node['html']}" for one in found for node in one["nodes"]]

    found = violations("idle")
    write(page, "are you there")
    found += violations("conversation")
    page.evaluate("""repartee.session.dispatchEvent(
        new CustomEvent("problem", { detail: { problem: "slow", message: "details" } }))""")
    page.click("#strip")
    found += violations("panels and a notice")
    page.click("#settings-open")
    found += violations("settings")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    page.set_viewport_size(size_of((390, 844)))
    found += violations("phone with push-to-talk")
    assert found == []
