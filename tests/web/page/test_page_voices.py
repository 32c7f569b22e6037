"""The voices of people in the page's settings: recorded by the microphone, listed and removed."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route
from support.conversations.voices import voice
from support.models.synthetic_speaker_embedder import spectrum_network
from support.pages.page_browser import chromium
from support.servers.page_server import Running, page_server, speech, write_microphone_wav
from support.servers.session_server import settings_for

from assistant.config.edit import ConfigFile
from assistant.enrolment import recording
from assistant.enrolment.voice_file import VoiceFile, voices_path
from assistant.speakers.voiceprint import Voiceprint
from web.access.access_control import AccessControl
from web.page_api import voices
from web.page_api.setup import SetupParts

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    spoken = [speech("Montreal-Forced-Al_mfa-internalsil")] * 12
    with chromium(write_microphone_wav(tmp_path_factory.mktemp("sound") / "microphone.wav", *spoken)) as browser:
        yield browser


@dataclass(frozen=True)
class Setup:
    """A server that keeps voices, and their file."""

    server: Running
    file: VoiceFile
    patch: pytest.MonkeyPatch


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    folder = tmp_path_factory.mktemp("voices")
    network = folder / "embedder.onnx"
    network.write_bytes(spectrum_network())
    environ = {"XDG_DATA_HOME": str(folder)}

    def parts(access_control: AccessControl) -> SetupParts:
        own = ConfigFile(folder / "mine" / "config.toml", creates_folder=True)
        return SetupParts(own, settings_for(folder), {}, environ, access_control, ports=())

    with pytest.MonkeyPatch.context() as patch, page_server(folder / "traces", make_setup=parts) as server:
        patch.setattr(voices, "installed", lambda _model: network)
        yield Setup(server, VoiceFile(voices_path(environ), lambda: 1_800_000_000.0), patch)


@pytest.fixture
def page(browser: Browser, setup: Setup) -> Iterator[Page]:
    """A page with open settings that records for six seconds; errors of its code fail the test."""
    setup.file.remove(None)
    setup.patch.setattr(recording, "MIN_SPEECH_S", 2.0)
    context = browser.new_context(service_workers="block", locale="en-US")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def shorter(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("30_000", "6_000"))

    page.route("**/voices-group.js", shorter)
    page.add_init_script("localStorage.setItem('repartee.first-run', 'done')")
    page.goto(setup.server.url)
    if page.locator("#first-run[open]").count():
        page.keyboard.press("Escape")
    page.click("#settings-open")
    page.wait_for_selector("#settings-voices:not([hidden])")
    yield page
    context.close()
    assert errors == []


def test_voice_is_recorded_listed_and_removed_by_keyboard(page: Page, setup: Setup) -> None:
    assert page.is_disabled("#voice-record")
    page.focus("#voice-name")
    page.keyboard.type("Ann")
    assert page.is_disabled("#voice-record"), "without consent"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "voice-record"
    page.keyboard.press("Enter")
    page.wait_for_selector("#settings-voices [role=status] >> text=Recording: speak now.")
    page.wait_for_selector("#settings-voices progress[value]")
    page.wait_for_selector("#settings-voices [role=status] >> text=The voice of Ann is kept.")
    assert [voice.name for voice in setup.file.voices()] == ["Ann"]
    assert "s of speech" in page.inner_text("#settings-voices li")
    assert page.input_value("#voice-name") == ""
    remove = page.locator("#settings-voices li button")
    remove.focus()
    page.keyboard.press("Enter")
    assert remove.inner_text() == "Remove for good?"
    page.keyboard.press("Enter")
    page.wait_for_selector("#settings-voices [role=status] >> text=The voice of Ann was removed.")
    assert setup.file.voices() == ()


def test_recording_that_is_cancelled_keeps_nothing(page: Page, setup: Setup) -> None:
    page.fill("#voice-name", "Ann")
    page.check("#voice-agreed")
    page.click("#voice-record")
    page.wait_for_selector("#voice-record:text-is('Cancel')")
    page.click("#voice-record")
    page.wait_for_selector("#settings-voices [role=status] >> text=Nothing was kept.")
    assert setup.file.voices() == ()


def test_too_little_speech_says_the_remedy(page: Page, setup: Setup) -> None:
    setup.patch.setattr(recording, "MIN_SPEECH_S", 10.0)
    page.fill("#voice-name", "Ann")
    page.check("#voice-agreed")
    page.click("#voice-record")
    page.wait_for_selector("#settings-voices .error >> text=10 s are needed")
    assert page.input_value("#voice-name") == "Ann", "to try again"


def test_voices_in_the_settings_are_accessible(page: Page, setup: Setup) -> None:
    setup.file.add(Voiceprint("Ann", voice(0), 22.0))
    page.click("#settings-close")
    page.click("#settings-open")
    page.wait_for_selector("#settings-voices li")
    found = Axe().run(page, "#settings-voices")
    assert [one["id"] for one in found.response["violations"]] == []


def test_missing_model_is_told_in_the_settings(page: Page, setup: Setup) -> None:
    page.route("**/v1/repartee/voices", lambda route: route.fulfill(json={"voices": [], "has_model": False}))
    page.click("#settings-close")
    page.click("#settings-open")
    page.wait_for_selector("#settings-voices >> text=download the model speaker-embedder under Models")
    assert page.is_hidden("#voice-record")
