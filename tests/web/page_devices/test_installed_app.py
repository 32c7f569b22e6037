"""The page as an app: manifest, icons, service worker, and media keys."""

import base64
import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page
from support.pages.page_browser import chromium, wait_until
from support.servers.scripted_server import Reply, Script, Server, serving

from web.app import STATIC
from web.shell import service_worker, shell_files

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

SCRIPT = Script([Reply("as you wish", np.zeros(48_000, np.int16))])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """A copy of the page's files that a test may change."""
    return Path(shutil.copytree(STATIC, tmp_path / "static"))


def installed(context: BrowserContext, server: Server) -> Page:
    """Opens the page and installs its service worker at once; the page itself waits until it is idle."""
    page = context.new_page()
    page.goto(server.url)
    page.evaluate(
        "navigator.serviceWorker.register('service-worker.js', {updateViaCache: 'none'})"
        ".then(() => navigator.serviceWorker.ready).then(() => undefined)"
    )
    wait_until(page, lambda: page.evaluate("navigator.serviceWorker.controller !== null"), "the service worker")
    return page


def stored(page: Page) -> dict[str, list[str]]:
    """Returns the addresses in each store."""
    found: dict[str, list[str]] = page.evaluate(
        "caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name).then((one) => one.keys())"
        ".then((keys) => [name, keys.map((key) => key.url)])))).then(Object.fromEntries)"
    )
    return found


# ---- manifest ----


def test_page_can_be_installed_and_stores_only_its_files(context: BrowserContext) -> None:
    with serving(SCRIPT) as server:
        page = installed(context, server)
        devtools = context.new_cdp_session(page)
        found = devtools.send("Page.getAppManifest")
        assert found["errors"] == []
        assert found["manifest"]["startUrl"] == server.url
        assert found["manifest"]["scope"] == server.url
        problems = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
        assert [one["errorId"] for one in problems if one["errorId"] != "in-incognito"] == []
        page.evaluate("fetch('healthz').then(() => fetch('v1/realtime'))")
        page.click("#start")
        page.wait_for_selector("body[data-phase=listening]")
        ((name, urls),) = stored(page).items()
        assert name.startswith("repartee-shell-")
        assert sorted(url.removeprefix(server.url) for url in urls) == sorted(shell_files(STATIC))


def test_icons_have_the_sizes_that_the_manifest_names() -> None:
    manifest: dict[str, Any] = json.loads((STATIC / "app" / "manifest.webmanifest").read_text())
    for icon in manifest["icons"]:
        content = (STATIC / "app" / icon["src"]).read_bytes()
        if icon["type"] == "image/png":
            with Image.open(io.BytesIO(content)) as image:
                assert "x".join(map(str, image.size)) == icon["sizes"]
    with Image.open(STATIC / "app" / "icon-maskable-512.png") as image:
        assert image.convert("RGBA").getchannel("A").getextrema() == (255, 255)  # opaque up to its edges


# ---- service worker ----


def test_script_names_every_file_of_the_page_with_its_hash() -> None:
    files = shell_files(STATIC)
    for name in ("", "static/main.js", "static/style/base.css", "static/audio/player-worklet.js", "static/favicon.svg"):
        content = (STATIC / (name.removeprefix("static/") or "index.html")).read_bytes()
        assert files[name] == base64.b64encode(hashlib.sha256(content).digest()).decode()
    assert not any(name.startswith("v1") for name in files)


def test_script_changes_with_any_file(static: Path) -> None:
    before = service_worker(static)
    assert service_worker(static) == before
    (static / "view" / "dom.js").write_text("// changed")
    assert service_worker(static) != before


def test_page_opens_without_the_server_and_says_so(context: BrowserContext) -> None:
    with serving(SCRIPT) as server:
        page = installed(context, server)
        port = server.port
        page.close()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url)
    page.wait_for_selector(".notice[data-problem=unreachable]")
    assert "could not be reached" in page.inner_text(".notice[data-problem=unreachable]")
    assert page.is_visible("#start")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgba(0, 0, 0, 0)"  # its style sheets
    assert errors == []
    with serving(SCRIPT, port):
        page.wait_for_event("load", timeout=30_000)
        page.wait_for_selector("#start")
        assert page.locator(".notice[data-problem=unreachable]").count() == 0


def test_update_replaces_all_files_together(context: BrowserContext, static: Path) -> None:
    with serving(SCRIPT, static=static) as server:
        page = installed(context, server)
        (before,) = stored(page)
        for name in ("main.js", "view/dom.js"):
            with (static / name).open("a") as file:
                file.write("\n(globalThis.loaded ??= []).push('new');\n")
        page.reload()  # the page comes from the server, all its modules too
        wait_until(page, lambda: page.evaluate("globalThis.loaded !== undefined"), "the modules")
        assert page.evaluate("globalThis.loaded") == ["new", "new"]
        wait_until(page, lambda: list(stored(page)) not in ([before], []) and len(stored(page)) == 1, "the new store")
        page.close()
    page = context.new_page()
    page.goto(server.url)
    page.wait_for_selector(".notice[data-problem=unreachable]", timeout=30_000)
    assert page.evaluate("globalThis.loaded") == ["new", "new"]


def test_files_of_two_versions_are_not_stored_together(
    context: BrowserContext, static: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(SCRIPT, static=static) as server:
        stale = service_worker(static)
        monkeypatch.setattr("web.shell.service_worker", lambda _static: stale)
        with (static / "main.js").open("a") as file:
            file.write("\n// changed since the script was made\n")
        page = context.new_page()
        page.goto(server.url)
        state = page.evaluate(
            "navigator.serviceWorker.register('service-worker.js').then(({installing}) => new Promise((done) => "
            "(installing.onstatechange = () => done(installing.state))))"
        )
        assert state == "redundant"


def test_server_that_requires_its_token_serves_the_app_without_it(context: BrowserContext) -> None:
    with serving(Script(SCRIPT.replies, token="a-secret-token-of-tests")) as server:
        page = installed(context, server)
        page.reload()
        page.click("#start")
        page.wait_for_selector("#token-dialog[open]")
        page.fill("#token", "a-secret-token-of-tests")
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-phase=listening]")


def test_script_is_checked_each_time_and_never_stale() -> None:
    with serving(SCRIPT) as server:
        answer = httpx.get(f"{server.url}service-worker.js")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-type"].startswith("text/javascript")


# ---- media keys ----

KEYS = """
const set = navigator.mediaSession.setActionHandler.bind(navigator.mediaSession);
window.keys = {};
navigator.mediaSession.setActionHandler = (action, handler) => {
    set(action, handler);
    if (handler) window.keys[action] = handler; else delete window.keys[action];
};
"""


PAUSE_WHILE_SPEAKING = """() => new Promise((done) => {
    const look = () => {
        if (document.body.dataset.phase !== "speaking") return setTimeout(look, 5);
        window.keys.pause();
        done();
    };
    look();
})"""
"""A step of the test would come too late for a short reply."""


def test_media_keys_mute_interrupt_and_end(context: BrowserContext) -> None:
    with serving(SCRIPT) as server:
        page = context.new_page()
        page.add_init_script(KEYS)
        page.goto(server.url)
        assert page.evaluate("Object.keys(window.keys)") == []
        page.click("#start")
        page.wait_for_selector("body[data-phase=listening]")
        state = "[navigator.mediaSession.playbackState, navigator.mediaSession.metadata?.title ?? null]"
        assert page.evaluate(state) == ["playing", "Conversation"]
        assert page.evaluate("navigator.mediaSession.metadata.artwork.length") == 2
        page.evaluate("window.keys.pause()")
        assert page.get_attribute("#mute", "aria-pressed") == "true"
        assert page.evaluate(state)[0] == "paused"
        page.evaluate("window.keys.play()")
        assert page.get_attribute("#mute", "aria-pressed") == "false"
        page.fill("#text-input", "hello")
        page.keyboard.press("Enter")
        page.evaluate(PAUSE_WHILE_SPEAKING)  # a reply is interrupted first
        page.wait_for_selector("body[data-phase=listening]")
        assert page.get_attribute("#mute", "aria-pressed") == "false"
        page.evaluate("window.keys.stop()")
        page.wait_for_selector("body[data-phase=idle]")
        assert page.evaluate("Object.keys(window.keys)") == []
        assert page.evaluate(state) == ["none", None]
