"""The first steps of the page: shown once, each can be skipped, and what they leave in browser and configuration."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, Route
from support.pages.page_browser import chromium, wait_until
from support.servers.page_server import Running, page_server, speech, write_microphone_wav
from support.servers.session_server import settings_for
from support.services import llm_server

from assistant.config.edit import ConfigFile
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from web.access.access_control import AccessControl
from web.page_api.setup import SetupParts

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

KEY = "sk-verysecret-123"


@dataclass(frozen=True)
class Setup:
    """A server that offers the first steps, and the file that they change."""

    server: Running
    file: Path

    @property
    def settings(self) -> Settings:
        return load_settings(self.file if self.file.exists() else None, {}, ()).settings


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    spoken = [speech("rhasspy3_what-time-is-it")] * 20
    with chromium(write_microphone_wav(tmp_path_factory.mktemp("sound") / "microphone.wav", *spoken)) as browser:
        yield browser


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Setup, SetupParts]]:
    """Runs one server for all tests, because loading its engines takes most of the time."""
    folder = tmp_path_factory.mktemp("setup")
    file = folder / "mine" / "config.toml"
    made: list[SetupParts] = []

    def parts(access_control: AccessControl) -> SetupParts:
        own = ConfigFile(file, creates_folder=True)
        environ = {"GROQ_API_KEY": "set"}
        made.append(SetupParts(own, settings_for(folder), {}, environ, access_control, ports=()))
        return made[0]

    with page_server(folder / "traces", make_setup=parts) as server:
        yield Setup(server, file), made[0]


@pytest.fixture
def setup(shared: tuple[Setup, SetupParts]) -> Setup:
    setup, parts = shared
    setup.file.unlink(missing_ok=True)
    parts.settings = settings_for(setup.file.parent)
    return setup


@pytest.fixture
def server(setup: Setup) -> Running:
    return setup.server


@pytest.fixture
def page(page: Page, server: Running) -> Iterator[Page]:
    """A page that shows the first steps; console messages fail the test."""
    console: list[str] = []
    page.on("console", lambda message: console.append(message.text))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.goto(server.url)
    page.wait_for_selector("#first-run[open]")
    yield page
    assert [line for line in console if "Service Worker" not in line] == []  # the window blocks it


def step(page: Page) -> str:
    return page.inner_text("#first-run .progress")


def press(page: Page, name: str) -> None:
    page.click(f"#first-run .row button:text-is('{name}')")


def go_to(page: Page, number: int) -> None:
    """Skips to a step."""
    for _ in range(number - 1):
        press(page, "Skip")
    assert step(page) == f"First steps · {number} of 4"


def stored(page: Page, key: str) -> str | None:
    value: str | None = page.evaluate("(key) => localStorage.getItem(key)", key)
    return value


def test_it_is_shown_once_and_again_on_request(page: Page, setup: Setup) -> None:
    assert page.evaluate("document.activeElement.id") == "first-run-title"
    page.keyboard.press("m")
    assert page.get_attribute("#mute", "aria-pressed") == "false"  # shortcuts do not work behind it
    inside = "document.activeElement === document.body || document.activeElement.closest('#first-run') !== null"
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(inside)
    page.keyboard.press("Escape")
    page.wait_for_selector("#first-run:not([open])", state="attached")
    assert page.evaluate("document.activeElement.id") == "start"
    page.reload()
    page.wait_for_load_state("networkidle")
    assert page.locator("#first-run[open]").count() == 0
    page.click("#settings-open")
    page.click(".first-run-again")
    page.wait_for_selector("#first-run[open]")
    press(page, "Skip all")
    page.wait_for_selector("#first-run:not([open])", state="attached")
    assert not setup.file.exists()


def test_every_step_can_be_skipped_and_taken_back(page: Page, setup: Setup) -> None:
    for number in range(1, 5):
        assert step(page) == f"First steps · {number} of 4"
        press(page, "Skip")
    assert step(page) == "Done"
    press(page, "Back")
    assert step(page) == "First steps · 4 of 4"
    press(page, "Skip")
    press(page, "Close")
    assert stored(page, "repartee.keep") is None
    assert not setup.file.exists()


def test_voice_can_be_heard_stopped_and_is_kept_in_browser_and_configuration(page: Page, setup: Setup) -> None:
    page.wait_for_selector("#first-run .choice")
    with page.expect_response("**/v1/repartee/voice-sample?*") as heard:
        page.click("#first-run .choice button")
    assert heard.value.headers["content-type"] == "audio/wav"
    page.wait_for_selector("#first-run .choice button[data-state=playing]:text-is('Stop')")
    page.click("#first-run .choice button")
    page.wait_for_selector("#first-run .choice button[data-state=idle]:text-is('Listen')")
    options = page.locator("#first-run-language option").all_inner_texts()
    if "German" in options:  # with a recognizer for several languages
        page.select_option("#first-run-language", "de")
    press(page, "Next")
    page.wait_for_selector("#first-run :text('2 of 4')")
    if "German" in options:
        assert setup.settings.assistant.language == "de"
        assert '"language":"de"' in (stored(page, "repartee.settings") or "")
        press(page, "Skip all")
        assert "after a restart" in page.inner_text("#first-run .restart")


def test_command_for_a_better_voice_can_be_copied(page: Page, setup: Setup) -> None:
    def with_better_voice(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["voice"]["not_installed"] = {body["language"]["default"]: "en_US-joe-medium"}
        route.fulfill(response=answer, json=body)

    def elsewhere(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"writable": False})

    page.add_init_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.route("**/v1/repartee/settings", with_better_voice)
    page.reload()
    page.wait_for_selector("#first-run .download-model:text-is('Download')")  # on the server's own machine
    assert "Joe (US, medium), can be downloaded" in page.inner_text("#first-run .body")
    page.route("**/v1/repartee/setup", elsewhere)
    page.reload()
    page.click("#first-run .hint button:text-is('Copy')")
    wait_until(page, lambda: page.evaluate("window.copied") == "repartee models pull en_US-joe-medium", "the command")


def test_model_is_downloaded_in_the_settings_and_the_server_restarted(page: Page, setup: Setup) -> None:
    def answer_pull(*lines: dict[str, object]) -> None:
        body = "".join(json.dumps(line) + "\n" for line in lines)
        page.unroute("**/models/pull")
        page.route("**/models/pull", lambda route: route.fulfill(body=body))

    page.keyboard.press("Escape")
    page.click("#settings-open")
    page.wait_for_selector("#settings-models:not([hidden])")
    page.select_option("#model-choice", "qwen3-0.6b")
    assert "licence: Apache-2.0" in page.inner_text("#settings-models")
    answer_pull({"done_bytes": 1, "total_bytes": 2}, {"problem": "The disk is full; free some space there."})
    page.click(".download-model")
    page.wait_for_selector("#settings-models .error >> text=free some space")
    answer_pull({"ready": "qwen3-0.6b", "restart": True, "note": "From now on it answers."})
    page.click(".download-model")
    page.wait_for_selector("#settings-models >> text=qwen3-0.6b is there. From now on it answers.")
    asked: list[object] = []

    def restart(route: Route) -> None:
        asked.append(route.request.post_data_json)
        talk = {"error": {"code": "others_talk", "message": "another conversation is running and would end"}}
        route.fulfill(status=200, json=talk)  # a 409 would be a message in the console

    page.route("**/v1/repartee/restart", restart)
    page.click(".restart-now")
    wait_until(page, lambda: asked == [{"own": False, "anyway": False}], "the request")


def test_microphone_is_judged_in_words(page: Page, setup: Setup) -> None:
    go_to(page, 2)
    page.click("#first-run .check")
    meter = page.locator("#first-run [role=meter]")
    wait_until(page, lambda: int(meter.get_attribute("aria-valuenow") or 0) > 10, "a level")
    verdict = page.locator("#first-run .status[data-verdict=fine]")
    verdict.wait_for(timeout=20_000)
    assert verdict.inner_text() == "Fine: the microphone hears you well."
    assert page.locator("#first-run .check").is_enabled()


def test_refused_microphone_gives_the_remedy(page: Page, setup: Setup) -> None:
    refuse = "async () => { throw new DOMException('', 'NotAllowedError') }"
    page.evaluate(f"() => {{ navigator.mediaDevices.getUserMedia = {refuse} }}")
    go_to(page, 2)
    page.click("#first-run .check")
    page.wait_for_selector("#first-run .status[data-verdict=silent]")
    assert "Allow it beside the address" in page.inner_text("#first-run .status")


def test_who_answers_is_written_with_a_key_only_on_request(page: Page, setup: Setup) -> None:
    go_to(page, 3)
    page.click("#first-run label:has-text('Groq, a cloud: its key is in GROQ_API_KEY')")
    assert page.inner_text("#first-run .details .hint") == "GROQ_API_KEY is set."
    page.click("#first-run label:has-text('Mistral, a cloud')")
    page.fill("#first-run input[type=password]", KEY)
    press(page, "Next")
    page.wait_for_selector("#first-run :text('4 of 4')")
    (endpoint,) = setup.settings.llm.endpoints
    assert (endpoint.name, endpoint.api_key_env) == ("mistral", "MISTRAL_API_KEY")
    assert KEY not in setup.file.read_text(encoding="utf-8")
    press(page, "Back")
    page.click("#first-run label:has-text('Mistral, a cloud')")
    page.fill("#first-run input[type=password]", KEY)
    page.check("#first-run .check-line input")
    press(page, "Next")
    page.wait_for_selector("#first-run :text('4 of 4')")
    assert setup.settings.llm.endpoints[0].headers.values == {"Authorization": f"Bearer {KEY}"}
    press(page, "Done")
    assert page.inner_text("#first-run-title") != "Ready"
    shown = page.inner_text("#first-run .body")
    assert f"Written to {setup.file}, readable by you only:" in shown
    assert "The server uses this after a restart: stop and start repartee serve." in shown
    assert "Then press Start conversation" in shown
    assert KEY not in page.content()


def test_steps_that_are_opened_again_still_ask_for_the_restart(page: Page, setup: Setup) -> None:
    go_to(page, 3)
    page.click("#first-run label:has-text('Groq, a cloud: its key is in GROQ_API_KEY')")
    press(page, "Next")
    page.wait_for_selector("#first-run :text('4 of 4')")
    page.reload()
    page.wait_for_selector("#first-run[open]")
    go_to(page, 4)
    press(page, "Skip")
    assert page.inner_text("#first-run-title") == "One more step"
    assert "after a restart" in page.inner_text("#first-run .restart")


async def _end(service: AbstractAsyncContextManager[llm_server.Server]) -> None:
    await service.__aexit__(None, None, None)


def test_service_is_tested_with_one_question(page: Page, setup: Setup) -> None:
    service = llm_server.serving(llm_server.answer("one"))

    async def begin() -> str:
        server = await service.__aenter__()
        server.models = llm_server.status(200, {"object": "list", "data": [{"id": "small"}]})
        return server.url

    url = asyncio.run_coroutine_threadsafe(begin(), setup.server.loop).result(10)
    go_to(page, 3)
    page.click("#first-run label:has-text('by its address')")
    page.fill("#first-run input[type=url]", url)
    page.click("#first-run button:has-text('Test it')")
    page.wait_for_selector("#first-run .status[data-verdict=fine]")
    assert page.inner_text("#first-run .details .status").startswith("It answers: first words after ")
    assert page.input_value("#first-run input[list]") == "small"
    page.fill("#first-run input[type=url]", "nonsense")
    press(page, "Next")
    page.wait_for_selector("#first-run .error:has-text('must begin with http')")
    assert step(page) == "First steps · 3 of 4"
    asyncio.run_coroutine_threadsafe(_end(service), setup.server.loop).result(10)
    assert not setup.file.exists()


def test_other_machine_sees_the_command_instead(page: Page, setup: Setup) -> None:
    def as_by_a_proxy(route: Route, request: Request) -> None:
        route.continue_(headers={**request.headers, "x-forwarded-host": "voice.example"})

    page.route("**/v1/repartee/setup", as_by_a_proxy)
    page.reload()
    page.wait_for_selector("#first-run .choice")
    press(page, "Next")
    press(page, "Skip")
    assert page.inner_text("#first-run pre") == "repartee init"
    wait_until(page, lambda: "skills answer" in page.inner_text("#first-run .read-only"), "who answers")
    assert page.locator("#first-run .choices").is_hidden()
    press(page, "Next")
    assert step(page) == "First steps · 4 of 4"
    assert not setup.file.exists()


def test_conversations_are_kept_only_on_request(page: Page, setup: Setup) -> None:
    go_to(page, 4)
    assert page.input_value("#first-run input:checked") == "no"
    page.click("#first-run label:has-text('In this browser only')")
    press(page, "Done")
    assert step(page) == "Done"
    assert stored(page, "repartee.keep") == "browser"


def test_everything_can_be_reached_on_a_phone(page: Page) -> None:
    go_to(page, 3)
    page.click("#first-run label:has-text('Mistral, a cloud')")
    for width, height in ((320, 480), (390, 844), (844, 390)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator("#first-run button:has-text('Test it')").scroll_into_view_if_needed()
        for part in ("#first-run button:has-text('Test it')", "#first-run .row .primary"):
            box = page.locator(part).bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height
            assert box["height"] >= 44
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.thorough)])
def test_axe_finds_nothing_in_any_step(page: Page, scheme: Literal["dark", "light"]) -> None:
    def violations(state: str) -> list[str]:
        found = Axe().run(page).response["violations"]
        return [f"{state}: {one['id']}: {node['html']}" for one in found for node in one["nodes"]]

    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_selector("#first-run .choice")
    found = violations("voice")
    press(page, "Skip")
    found += violations("microphone")
    press(page, "Skip")
    page.click("#first-run label:has-text('Mistral, a cloud')")
    page.fill("#first-run input[type=password]", KEY)
    found += violations("who answers")
    press(page, "Skip")
    found += violations("conversations")
    press(page, "Skip")
    found += violations("summary")
    assert found == []
