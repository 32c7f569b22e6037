"""Typing, muting, lost connections and keys in the page, with a scripted server."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page
from support.pages.page_browser import (
    wait_until,
)
from support.pages.page_conversation import dispatch_events, record_phases, reply, send_texts, start, wait_for_phase
from support.servers.scripted_server import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]


def test_slow_network_is_shown(page: Page, server: Server) -> None:
    page.evaluate("""() => {
        const real = Object.getOwnPropertyDescriptor(WebSocket.prototype, "bufferedAmount").get;
        window.waiting = 0;
        Object.defineProperty(WebSocket.prototype, "bufferedAmount", { get() { return real.call(this) + waiting; } });
    }""")
    start(page)
    page.evaluate("window.waiting = 100_000")
    shown = page.wait_for_selector(".notice[data-problem=slow]")
    assert shown is not None
    assert "too slow to send your voice in time" in shown.inner_text()
    page.evaluate("window.waiting = 0")
    page.wait_for_selector(".notice[data-problem=slow]", state="detached")
    assert server.connections == 1


def test_escape_while_disconnected_stops_the_reply(page: Page, server: Server) -> None:
    server.script.replies = [reply(6)]
    server.script.drop_after_ms = 1000
    page.click("#start")
    wait_until(page, lambda: server.connections == 1, "a connection")
    server.script.close_with = ("server_full", 1013)  # new connections are refused for now
    wait_for_phase(page, "reconnecting")
    wait_until(page, lambda: page.evaluate("window.repartee.session.replyPlayback.playing"), "sound")
    page.keyboard.press("Escape")
    server.script.close_with = None
    wait_for_phase(page, "listening")
    wait_until(page, lambda: server.events_of("response.cancel"), "the end of the reply")
    (cancel,) = server.events_of("response.cancel")
    assert cancel["response_id"] == "resp_1_1"
    assert page.locator(".item.assistant.interrupted").count() == 1


def test_new_conversation_replaces_lost_one(page: Page, server: Server) -> None:
    server.script.replies = [reply(6)]
    start(page)
    wait_for_phase(page, "speaking")
    server.sessions.clear()
    page.evaluate("window.repartee.session.connection.connect()")
    page.wait_for_selector(".notice[data-problem=not-kept]")
    page.fill("#text-input", "who are you")
    page.press("#text-input", "Enter")
    texts = ["what time is it", "It (not heard) is ten past four.", "who are you", "It is ten past four."]

    def shown() -> list[str]:
        return [" ".join(text.split()) for text in page.locator(".item .text").all_inner_texts()]

    wait_until(page, lambda: shown() == texts, "the lines of both conversations")
    assert page.locator(".item.assistant.interrupted").count() == 1
    assert server.connections == 2


def test_mute_sends_no_audio(page: Page, server: Server) -> None:
    start(page)
    page.keyboard.press("m")
    page.wait_for_timeout(100)
    before = len(server.audio_chunks)
    assert page.inner_text("#phase") == "Muted"
    assert page.get_attribute("#mute", "aria-pressed") == "true"
    page.wait_for_timeout(400)
    assert len(server.audio_chunks) == before
    page.keyboard.press("m")
    wait_until(page, lambda: len(server.audio_chunks) > before + 10, "sound after the mute")


def test_text_typed_as_reply_begins_is_requested_again(page: Page, server: Server) -> None:
    server.script.stalls_s = {600: 0.2}  # shorter than the sound before it: the page does not run dry
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    record_phases(page)
    page.evaluate(
        "void (repartee.session._requestReply = () => delete repartee.session._requestReply)"
    )  # as if it were on its way
    send_texts(page, "hello")
    refused = {"code": "conversation_already_has_active_response", "message": "another response is under way"}
    dispatch_events(
        page,
        {"type": "response.created", "response": {"id": "resp_9_1", "status": "in_progress"}},
        {"type": "error", "error": refused},
        {"type": "response.done", "response": {"id": "resp_9_1", "status": "cancelled"}},
    )
    wait_for_phase(page, "speaking")
    assert page.evaluate("phases") == ["listening", "thinking", "speaking"]
    assert [event["response_id"] for event in server.events_of("response.cancel")] == ["resp_9_1"]
    assert len(server.events_of("response.create")) == 1
    assert page.locator(".notice.note").count() == 0


def test_unsent_request_is_not_awaited(page: Page, server: Server) -> None:
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    page.evaluate("""() => {
        const { connection } = repartee.session, { send } = connection;
        connection.send = (event) =>
            event.type === "response.create" ? !delete connection.send : send.call(connection, event);
    }""")
    send_texts(page, "first")
    page.wait_for_selector(".item.user")
    assert page.get_attribute("body", "data-phase") == "listening"
    send_texts(page, "second")
    wait_for_phase(page, "speaking")
    assert server.events_of("response.cancel") == []


def test_requested_reply_is_not_awaited_after_reconnect(page: Page, server: Server) -> None:
    server.script.reply_delay_s = 60
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    send_texts(page, "first", "second")
    wait_until(page, lambda: len(server.events_of("conversation.item.create")) == 2, "both")
    dispatch_events(
        page, {"type": "error", "error": {"code": "input_audio_buffer_commit_empty", "message": "no words"}}
    )
    server.script.reply_delay_s = 0
    page.evaluate("repartee.session.connection.connect()")
    wait_until(page, lambda: server.connections == 2, "a second connection")
    wait_for_phase(page, "listening")
    send_texts(page, "third")
    wait_for_phase(page, "speaking")
    assert server.events_of("response.cancel") == []


def test_page_can_be_used_by_keyboard_only(page: Page, server: Server) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip-link"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "start":
            break
    page.keyboard.press("Enter")
    wait_for_phase(page, "listening")
    page.keyboard.press("m")
    page.focus("#text-input")
    page.keyboard.type("hello mom")  # its letters are not shortcuts
    page.keyboard.press("Enter")
    wait_for_phase(page, "speaking")
    assert server.events_of("conversation.item.create")[0]["item"]["content"][0]["text"] == "hello mom"
    assert page.inner_text(".item.user .text") == "hello mom"
    wait_until(
        page,
        lambda: "Repartee: It is ten past four." in page.inner_text("#announcements"),
        "the reply, for a screen reader",
    )
    assert page.inner_text("#phase") == "Repartee is speaking"
    page.keyboard.press("Escape")
    wait_until(page, lambda: page.get_attribute("body", "data-phase") == "listening", "an end of the reply")


def test_transcript_is_marked_with_its_language(page: Page, server: Server) -> None:
    server.script.language = "de"
    server.script.replies = [replace(reply(0.5), text="Zehn nach vier.")]
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    send_texts(page, "wie spät ist es")
    wait_until(
        page, lambda: page.inner_text("#announcements") == "Repartee: Zehn nach vier.", "the reply, for a screen reader"
    )
    assert page.locator("#announcements [lang=de]").all_inner_texts() == ["Zehn nach vier."]
    assert page.locator("#text-input[lang=de]").count() == 1
    in_force = "(of) => [...document.querySelectorAll(of)].map((one) => one.closest('[lang]').lang)"
    assert page.evaluate(in_force, "#announcements, .item .who, .item .note") == ["en"] * 5
    assert page.evaluate(in_force, ".item .text, .item .word") == ["de"] * 5


@pytest.mark.thorough
def test_page_fits_the_width_of_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for name in ("start", "mute", "settings-open", "text-input"):
        box = page.locator(f"#{name}").bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
