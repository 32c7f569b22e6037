"""Push-to-talk in the page, with a scripted server."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page
from support.pages.page_browser import (
    wait_until,
)
from support.pages.page_conversation import start, start_with_push_to_talk, wait_for_phase
from support.servers.scripted_server import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]


def test_push_to_talk_sends_a_turn(page: Page, server: Server) -> None:
    start_with_push_to_talk(page)
    page.wait_for_timeout(300)
    assert server.audio_chunks == []
    assert server.events_of("session.update")[-1]["session"]["audio"]["input"]["turn_detection"] is None
    page.keyboard.down("Space")
    wait_for_phase(page, "hearing")
    wait_until(page, lambda: len(server.audio_chunks) > 100, "two seconds of sound")
    page.keyboard.up("Space")
    wait_for_phase(page, "speaking")
    sent = len(server.audio_chunks)
    kinds = [event["type"] for event in server.events]
    assert kinds.index("input_audio_buffer.commit") + 1 == kinds.index("response.create")
    wait_until(page, lambda: server.events_of("repartee.playout"), "a report")
    assert "latency_ms" in server.events_of("repartee.playout")[0]
    page.wait_for_timeout(200)
    assert len(server.audio_chunks) == sent


def test_push_to_talk_works_by_click_and_not_while_muted(page: Page, server: Server) -> None:
    start_with_push_to_talk(page)
    page.keyboard.press("m")
    page.keyboard.press("Space")
    page.wait_for_selector(".notice >> text=The microphone is muted")
    assert page.get_attribute("#hold", "aria-pressed") == "false"
    assert page.inner_text("#phase-announcement") == "Muted"
    page.keyboard.press("m")
    page.focus("#hold")
    page.keyboard.press("Enter")
    wait_for_phase(page, "hearing")
    assert page.get_attribute("#hold", "aria-pressed") == "true"
    wait_until(page, lambda: len(server.audio_chunks) > 20, "sound")
    page.evaluate("hold.click()")  # as from a screen reader
    wait_for_phase(page, "speaking")
    page.click("#hold", delay=300)  # a mouse holds it, and the click does not start it again
    wait_until(page, lambda: len(server.events_of("response.create")) == 2, "another turn")
    assert page.get_attribute("#hold", "aria-pressed") == "false"


def test_silence_with_key_down_is_not_answered(page: Page, server: Server) -> None:
    server.script.replies = [replace(server.script.replies[0], transcript=""), *server.script.replies]
    start_with_push_to_talk(page)
    page.keyboard.down("Space")
    wait_until(page, lambda: len(server.audio_chunks) > 20, "sound")
    page.keyboard.up("Space")
    wait_until(page, lambda: server.events_of("response.cancel"), "the end of its reply")
    assert "No words were recognized." in page.inner_text("#notices")
    page.keyboard.down("Space")
    wait_until(page, lambda: len(server.audio_chunks) > 60, "sound")
    page.keyboard.up("Space")
    wait_for_phase(page, "speaking")
    assert [event["response_id"] for event in server.events_of("response.cancel")] == ["resp_1_1"], "of the first only"


def test_space_bar_operates_switches_with_push_to_talk(page: Page, server: Server) -> None:
    page.click("#settings-open")
    page.check("#push-to-talk")
    start(page)
    page.focus("#noiseSuppression")
    was = page.is_checked("#noiseSuppression")
    page.keyboard.press("Space")
    assert page.is_checked("#noiseSuppression") != was
    assert page.get_attribute("body", "data-phase") == "listening"
    page.focus("#engines summary")
    page.keyboard.press("Space")
    assert page.evaluate("document.getElementById('engines').open")
    page.focus("#start")
    page.keyboard.down("Space")
    wait_for_phase(page, "hearing")
    page.focus("#push-to-talk")
    page.keyboard.up("Space")  # ends the press and operates no switch
    wait_until(page, lambda: page.evaluate("!window.repartee.session.pushToTalk.keyDown"), "the key is up")
    assert page.is_checked("#push-to-talk")
    page.keyboard.press("Space")
    assert not page.is_checked("#push-to-talk")
