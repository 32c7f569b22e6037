"""The settings of the page: the server's values, this browser's choices, who answers, and a sample of the voice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page
from support.pages.page_browser import wait_until
from support.pages.page_conversation import dispatch_events
from support.servers.page_server import Running, page_server
from support.servers.scripted_server import SETTINGS, Reply, Script, Server

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

DETECTION = {"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "auto"}}}

OFFERED = {
    **SETTINGS,
    "language": {
        **SETTINGS["language"],
        "choices": [{"code": "en", "name": "English"}, {"code": "de", "name": "German"}],
    },
    "voice": {
        "default": "en_US-amy-medium",
        "configured": True,
        "choices": [
            {"name": "de_DE-anna-medium", "language": "de"},
            {"name": "en_US-amy-medium", "language": "en"},
            {"name": "espeak-ng", "language": ""},
        ],
        "not_installed": {},
    },
    "endpoint": {
        "default": None,
        "configured": True,
        "choices": [
            {"name": "near", "model": "qwen3-0.6b", "here": True, "reachable": True},
            {"name": "cloud", "model": "gpt-4o-mini", "here": False, "reachable": False},
        ],
    },
    "words": {"default": False, "configured": False, "may_record": True},
    "answers": {"kind": "models", "name": "qwen3-0.6b", "here": True, "reachable": True, "problem": ""},
}


@pytest.fixture(scope="module")
def script() -> Script:
    return Script([Reply("as you wish", np.zeros(240, np.int16))], settings=OFFERED)


@pytest.fixture
def page(page: Page, server: Server) -> Page:
    page.goto(server.url)
    page.wait_for_selector("#answers:not([hidden])")
    return page


def started(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")


def wait_for_update(page: Page, server: Server, count: int) -> dict[str, Any]:
    wait_until(page, lambda: len(server.events_of("session.update")) >= count, f"{count} updates")
    session: dict[str, Any] = server.events_of("session.update")[count - 1]["session"]
    return session


def note_of(page: Page, name: str) -> str:
    return page.text_content(f"#setting-{name}-server") or ""


def test_without_choices_nothing_new_is_sent(page: Page, server: Server) -> None:
    started(page)
    session = wait_for_update(page, server, 1)
    assert session.pop("audio", DETECTION) == DETECTION  # as the server has told
    assert set(session) == {"type", "repartee"}
    assert not {"endpoint", "words"} & set(session["repartee"])


def test_note_under_a_setting_tells_the_servers_value_once_it_differs(page: Page) -> None:
    page.click("#settings-open")
    assert page.is_hidden("[data-setting=speed] .setting-server")
    page.fill("#setting-speed", "1.2")
    assert page.is_visible("[data-setting=speed] .setting-server")
    assert note_of(page, "speed") == "Your choice. Server: 1×."
    assert page.input_value("#setting-keep") == "no"
    page.select_option("#setting-keep", "browser")
    assert page.evaluate("localStorage.getItem('repartee.keep')") == "browser"


def test_choices_are_sent_and_stay_after_a_reload(page: Page, server: Server) -> None:
    page.click("#settings-open")
    page.select_option("#setting-language", "de")
    page.select_option("#setting-voice", "de_DE-anna-medium")
    page.select_option("#setting-endpoint", "near")
    page.select_option("#setting-profile", "patient")
    page.fill("#setting-instructions", "Answer like a pirate.")
    page.dispatch_event("#setting-instructions", "change")
    page.check("#setting-words")
    page.fill("#setting-speed", "1.2")
    page.reload()
    page.wait_for_selector("#answers:not([hidden])")
    started(page)
    session = wait_for_update(page, server, 1)
    assert session["audio"]["input"]["transcription"] == {"language": "de"}
    assert session["audio"]["output"] == {"voice": "de_DE-anna-medium", "speed": 1.2}
    assert session["instructions"] == "Answer like a pirate."
    assert (session["repartee"]["endpoint"], session["repartee"]["words"]) == ("near", True)
    page.click("#settings-open")
    assert page.input_value("#setting-voice") == "de_DE-anna-medium"
    assert "Your choice" in note_of(page, "language")
    assert "Server: English" in note_of(page, "language")
    assert "from its configuration" in note_of(page, "voice")


def test_room_is_sent_at_once_and_can_be_emptied(page: Page, server: Server) -> None:
    started(page)
    assert "room" not in wait_for_update(page, server, 1)["repartee"]
    page.click("#settings-open")
    page.fill("#setting-room", "  Living room ")
    page.dispatch_event("#setting-room", "change")
    assert wait_for_update(page, server, 2)["repartee"]["room"] == "Living room"
    page.fill("#setting-room", "")
    page.dispatch_event("#setting-room", "change")
    assert wait_for_update(page, server, 3)["repartee"]["room"] == ""


def test_room_stays_after_a_reload(page: Page, server: Server) -> None:
    page.click("#settings-open")
    page.fill("#setting-room", "Kitchen")
    page.dispatch_event("#setting-room", "change")
    page.reload()
    page.wait_for_selector("#answers:not([hidden])")
    assert page.input_value("#setting-room") == "Kitchen"
    started(page)
    assert wait_for_update(page, server, 1)["repartee"]["room"] == "Kitchen"


def test_reset_returns_to_the_servers_value_in_the_running_conversation(page: Page, server: Server) -> None:
    started(page)
    wait_for_update(page, server, 1)
    page.click("#settings-open")
    page.select_option("#setting-voice", "espeak-ng")
    assert wait_for_update(page, server, 2)["audio"]["output"] == {"voice": "espeak-ng"}
    assert "next turn" in (page.text_content(".settings-status") or "")
    page.click("[data-setting=voice] .reset")
    assert wait_for_update(page, server, 3)["audio"]["output"] == {"voice": "en_US-amy-medium"}
    assert page.is_hidden("[data-setting=voice] .reset")
    assert page.evaluate("localStorage.getItem('repartee.settings')") is None
    page.select_option("#setting-profile", "eager")
    page.select_option("#setting-profile", "")
    assert "output" not in wait_for_update(page, server, 5).get("audio", {})


def test_voice_of_another_language_is_not_kept(page: Page) -> None:
    page.click("#settings-open")
    page.select_option("#setting-language", "de")
    page.select_option("#setting-voice", "de_DE-anna-medium")
    page.select_option("#setting-language", "")
    assert page.input_value("#setting-voice") == ""
    texts = page.locator("#setting-voice option").all_text_contents()
    assert texts == ["Amy (US, medium) · server", "espeak-ng (robotic)"]


@pytest.mark.parametrize("configured", [False, True], ids=["auto", "configured"])
def test_only_voice_of_a_language_is_no_fallback(page: Page, server: Server, configured: bool) -> None:
    voice = {"default": "espeak-ng", "configured": configured, "choices": [{"name": "espeak-ng", "language": ""}]}
    server.script.settings = {**OFFERED, "voice": {**voice, "not_installed": {}}}
    page.reload()
    page.wait_for_selector("#answers:not([hidden])")
    assert page.locator("#setting-voice option").all_text_contents() == ["espeak-ng (robotic)"]
    fallback = """async () => {
        const { drawEngines } = await import("/static/view/engines.js");
        const { SettingsPanel } = await import("/static/settings/settings-panel.js");
        const server = await (await fetch("/v1/repartee/settings")).json();
        const settings = Object.create(SettingsPanel.prototype, { server: { value: server } });
        drawEngines([{ stage: "tts", name: "espeak-ng", detail: "", why: "", fallback: true }], settings);
        return !document.getElementById("fallback-engines").hidden;
    }"""
    assert page.evaluate(fallback) is configured


def test_header_says_who_answers_and_follows_the_choice(page: Page) -> None:
    assert page.inner_text("#answers .name") == "qwen3-0.6b on this machine and others"
    page.click("#answers button")
    assert page.evaluate("document.activeElement.id") == "setting-endpoint"
    page.select_option("#setting-endpoint", "cloud")
    assert page.inner_text("#answers .name") == "gpt-4o-mini, cloud"
    assert page.inner_text("#answers .problem") == "unreachable"
    page.select_option("#setting-endpoint", "near")
    assert page.inner_text("#answers .name") == "qwen3-0.6b on this machine"
    assert page.locator("#answers .problem").count() == 0


def test_page_offers_the_language_that_was_heard(page: Page, server: Server) -> None:
    started(page)
    wait_for_update(page, server, 1)
    dispatch_events(page, {"type": "repartee.notice", "text": "this sounded like German", "language": "de"})
    notice = page.locator(".notice[data-problem=language]")
    assert "That sounded like German. Switch to German?" in notice.inner_text()
    notice.get_by_role("button", name="Switch to German").click()
    assert wait_for_update(page, server, 2)["audio"]["input"]["transcription"] == {"language": "de"}
    assert notice.count() == 0


def test_page_works_with_a_server_that_tells_no_settings(page: Page, server: Server) -> None:
    server.script.settings = None
    page.reload()
    page.click("#settings-open")
    assert page.is_disabled("#setting-language")
    assert page.is_enabled("#microphone")
    assert page.is_hidden("#answers")
    page.keyboard.press("Escape")
    started(page)


@pytest.fixture
def real_server(tmp_path: Path) -> Iterator[Running]:
    with page_server(tmp_path / "traces") as server:
        yield server


def test_listen_plays_the_voice_of_the_server(page: Page, real_server: Running) -> None:
    page.goto(real_server.url)
    page.wait_for_selector("#answers:not([hidden])")
    assert page.inner_text("#answers .name") == "Built-in skills"
    page.click("#settings-open")
    with page.expect_response("**/v1/repartee/voice-sample**") as answered:
        page.click("#voice-listen")
    assert answered.value.status == 200
    page.wait_for_selector("#voice-listen[data-state=playing]")
    page.wait_for_selector("#voice-listen[data-state=idle]", timeout=15_000)
    page.click("#voice-listen")
    page.wait_for_selector("#voice-listen[data-state=playing]")
    page.click("#voice-listen")  # Stop
    assert page.inner_text("#voice-listen") == "Listen"
    page.route("**/v1/repartee/voice-sample**", lambda route: route.abort())
    page.click("#voice-listen")
    page.wait_for_selector("#settings-voice .error:not(:empty)")
    assert "cannot be reached" in page.inner_text("#settings-voice .error")
