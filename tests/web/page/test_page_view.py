"""The page on small screens and with forced colours: panels, contrast, names of controls, and what is freed."""

from typing import Any, Literal

import pytest
from playwright.sync_api import Page
from support.pages.page_browser import wait_until
from support.pages.page_conversation import dispatch_events
from support.servers.scripted_server import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

CONTRAST = """(selector) => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [r, g, b] = colour.slice(0, 3).map((one) => one / 255)
            .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    return Math.min(...[...document.querySelectorAll(selector)].map((element) => {
        const grounds = [];
        let opacity = 1;
        for (let at = element; at; at = at.parentElement) {
            const style = getComputedStyle(at);
            opacity *= Number(style.opacity);
            grounds.unshift(numbers(style.backgroundColor));
        }
        const over = (below, [r, g, b, a = 1]) => [r, g, b].map((one, n) => a * one + (1 - a) * below[n]);
        const under = grounds.reduce(over);
        const ink = light(numbers(getComputedStyle(element).color)), ground = light(under);
        const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
        return opacity < 1 ? 0 : ratio;
    }));
}"""
"""Returns the lowest WCAG 2 contrast ratio; 0 if something is transparent."""


@pytest.fixture
def page(page: Page, server: Server) -> Page:
    page.goto(server.url)
    return page


def started(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    page.click(".notice[data-problem=denied] button.icon")


def scrolled_into_sight(page: Page, selector: str) -> bool:
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    size = page.viewport_size
    assert box is not None
    assert size is not None
    inside = box["x"] >= 0 and box["x"] + box["width"] <= size["width"]
    return inside and box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


def test_every_panel_can_be_reached_at_every_size(page: Page) -> None:
    started(page)
    for width, height in ((320, 256), (360, 640), (640, 360), (1024, 600), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        page.click("#settings-open")
        for part in ("#microphone", "#push-to-talk", "#autoGainControl", "#setting-keep", "#setting-language",
                     "#settings .hint >> nth=-1", "#volume"):  # fmt: skip
            assert scrolled_into_sight(page, part), (width, part)
        assert page.evaluate("(({scrollWidth, clientWidth}) => scrollWidth <= clientWidth)(settings)"), width
        page.keyboard.press("Escape")
        page.evaluate("scrollTo(0, 0)")
        narrow = width < 700  # the engines are in the panels
        if narrow:
            page.click("#strip")
        page.click("#engines summary")
        for part in ("#engines-list dt >> nth=0", "#engines-list small >> nth=3"):
            assert scrolled_into_sight(page, part), (width, part)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.click("#engines summary")
        if narrow:
            page.click("#strip")
        page.evaluate("scrollTo(0, 0)")


def test_small_phone_shows_the_conversation(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    one_line = page.evaluate("parseFloat(getComputedStyle(document.querySelector('#strip')).fontSize)")
    box = page.locator("#strip").bounding_box()
    assert box is not None
    assert box["height"] < 3 * one_line
    started(page)
    words, dock = page.locator("#transcript").bounding_box(), page.locator(".dock").bounding_box()
    assert words is not None
    assert dock is not None
    assert dock["y"] - words["y"] > 320


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_small_text_has_enough_contrast(page: Page, scheme: Literal["dark", "light"]) -> None:
    page.emulate_media(color_scheme=scheme)
    started(page)
    page.click("#strip")
    page.fill("#text-input", "are you there")
    page.press("#text-input", "Enter")
    page.wait_for_selector(".row.dropped")
    line = (".stage .name", ".stage .ms", ".band span", ".ticks span", ".timeline .speaker-label")
    for selector in (".phase", ".strip-text", *line, ".item .note", ".item .who", ".row.dropped span"):
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector


def test_transcript_follows_when_the_window_shrinks(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 1000})
    started(page)
    page.evaluate("""() => { const { connection } = repartee.session;
        for (let n = 0; n < 30; n++) {
            const item = { id: `u${n}`, role: "user", content: [{ type: "input_text", text: `سؤال ${n}` }] };
            const detail = { type: "conversation.item.added", item };
            connection.dispatchEvent(new CustomEvent("event", { detail }));
        }
    }""")
    gap = "transcript.scrollHeight - transcript.scrollTop - transcript.clientHeight"
    wait_until(page, lambda: page.evaluate(gap) < 2, "the end")
    page.set_viewport_size({"width": 1280, "height": 700})
    wait_until(page, lambda: page.evaluate(gap) < 2, "the end again", 5)
    # Scroll events come with the next frame: before it, the window must not change.
    page.evaluate("() => new Promise((done) => { transcript.onscrollend = done; transcript.scrollTop = 0; })")
    page.set_viewport_size({"width": 1280, "height": 750})
    page.wait_for_timeout(200)
    assert page.evaluate("transcript.scrollTop") == 0  # the scrolled-up position stays
    assert page.evaluate("getComputedStyle(document.querySelector('.item .text')).direction") == "rtl"


def test_ended_conversation_leaves_no_handlers(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def handlers() -> float:
        session.send("HeapProfiler.collectGarbage")
        metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        return float(metrics["AudioHandlers"])

    left = 0.0
    for conversation in range(4):
        started(page)
        page.click("#start")
        page.wait_for_selector("body[data-phase=idle]")
        if conversation == 1:
            page.wait_for_timeout(300)
            left = handlers()
    wait_until(page, lambda: handlers() <= left, "what the last two left is freed", limit_s=10)


def test_switches_are_visible_in_forced_colours(page: Page) -> None:
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    page.click("#settings-open")
    switch = page.locator("#noiseSuppression")
    assert switch.is_checked()
    on = switch.screenshot()
    switch.uncheck()
    page.focus("#microphone")
    assert switch.screenshot() != on


VISIBLE_LABELS = """() => [...document.querySelectorAll("a, button, summary, [role=button], [role=switch]")]
    .filter((one) => one.checkVisibility())
    .map((one) => {
        const words = (text) => (text.toLowerCase().match(/[\\p{L}\\p{N}]+/gu) ?? []).join(" ");
        const seen = [], walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            if (!walker.currentNode.parentElement.closest(".visually-hidden")) seen.push(walker.currentNode.data);
        }
        const labels = (one.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
        const label = labels.map((id) => document.getElementById(id).textContent).join(" ");
        const name = one.getAttribute("aria-label") ?? (label || one.textContent);
        return [words(seen.join(" ")), words(name), one.outerHTML];
    })
    .filter(([seen, name]) => seen && !` ${name} `.includes(` ${seen} `))
    .map(([seen, name, html]) => `${seen} | ${name} | ${html}`)"""
"""Finds controls whose accessible name does not contain the visible label: WCAG 2.5.3, Label in Name."""


def test_accessible_names_contain_visible_labels(page: Page) -> None:
    started(page)
    page.click("#strip")
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.evaluate("""() => {
        const { turns } = repartee;
        for (const [n, ms] of [120, 325, 900, null, 250].entries()) {
            turns.speechEnded(1000, 0);
            const turn = turns.addReply(`resp_${n + 1}_1`);
            if (ms === null) continue;
            turns.setSpeechEnd(turn, 10);
            turns.setReplyOnset(turn, 10 + ms / 1000, 20);
        }
        turns.markFailed("resp_5_1");
        repartee.session.dispatchEvent(new CustomEvent("turn", { detail: turns.all.at(-1) }));
        repartee.session.dispatchEvent(new CustomEvent("problem", { detail: { problem: "lost", message: "" } }));
    }""")
    page.wait_for_selector(".turn.failed")
    assert page.evaluate(VISIBLE_LABELS) == []
    names = [page.locator(".turn").nth(n).aria_snapshot() for n in range(5)]
    assert [name.partition('"')[2].partition('"')[0] for name in names] == [
        "Turn 5 failed",
        "Turn 4 – no latency",
        "Turn 3 900 ms, slower than 500 ms",
        "Turn 2 325 ms, within 200–500 ms",
        "Turn 1 120 ms, faster than 200 ms",
    ]
    assert page.inner_text("#within") == "1 of 3"
    assert page.inner_text("#failed-turns") == "failed, not counted\n1 turn"
    assert page.inner_text("#strip-latency") == "the last turn failed"
    assert page.inner_text("#rating") == "the turn failed, so it is not counted"


def test_speakers_are_named_once_a_second_one_speaks(page: Page) -> None:
    def said(item: str, speaker: str) -> list[dict[str, Any]]:
        content = [{"type": "input_audio", "transcript": None}]
        added = {"id": item, "role": "user", "content": content}
        transcribed = {"item_id": item, "transcript": "hello", "repartee": {"speaker": speaker}}
        return [
            {"type": "conversation.item.added", "previous_item_id": None, "item": added},
            {"type": "conversation.item.input_audio_transcription.completed", **transcribed},
        ]

    started(page)
    dispatch_events(page, *said("a", "S1"))
    page.wait_for_selector("#transcript .item")
    assert page.locator("#transcript .who").all_inner_texts() == ["You"]
    dispatch_events(page, *said("b", "<b>Ann</b>"))
    wait_until(page, lambda: page.locator("#transcript .who").all_inner_texts() == ["S1", "<b>Ann</b>"], "the names")
