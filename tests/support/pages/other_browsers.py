"""Firefox by WebDriver BiDi and WebKitGTK by WebDriver, for tests of the page; both play on a virtual sound card."""

import itertools
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

STARTS_WITHIN_S = 60.0
ANSWERS_WITHIN_S = 60.0

FIREFOX_PREFERENCES = """
user_pref("media.navigator.streams.fake", true);
user_pref("media.navigator.permission.disabled", true);
user_pref("media.autoplay.default", 0);
user_pref("media.cubeb.sandbox", false);
user_pref("app.normandy.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
"""
"""A fake microphone that is allowed, and no sandbox between the sound card and the browser."""

Evaluate = Callable[[str], Any]


@dataclass(frozen=True)
class BrowserPage:
    """A page that is open in a browser.

    Attributes:
        evaluate: Returns the value of a JavaScript expression.
        click: Clicks the element of this selector.
        submit: Types a text into the element of this selector, and Enter.
    """

    evaluate: Evaluate
    click: Callable[[str], object]
    submit: Callable[[str, str], object]

    def wait_for(self, expression: str, limit_s: float = 30) -> None:
        """Waits until a JavaScript expression is true."""
        end = time.monotonic() + limit_s
        while not self.evaluate(expression):
            state = self.evaluate("document.body.innerText")
            assert time.monotonic() < end, f"not within {limit_s:g} s: {expression}; the page says:\n{state}"
            time.sleep(0.1)


def need(*programs: str, packages: str) -> None:
    """Skips the test if a program is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: apt-get install {packages}")


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextmanager
def _running(command: list[str], environ: Mapping[str, str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environ, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)


def _within(limit_s: float, attempt: Callable[[], Any], failures: tuple[type[Exception], ...]) -> Any:
    end = time.monotonic() + limit_s
    while True:
        try:
            return attempt()
        except failures:
            assert time.monotonic() < end, f"the browser did not start within {limit_s:g} s"
            time.sleep(0.2)


@contextmanager
def firefox(url: str, environ: Mapping[str, str], folder: Path) -> Iterator[BrowserPage]:
    """Opens a page of phone size in headless Firefox."""
    need("firefox-esr", packages="firefox-esr")
    (folder / "user.js").write_text(FIREFOX_PREFERENCES)
    port = _free_port()
    command = [
        "firefox-esr",
        "--headless",
        "--no-remote",
        "--profile",
        str(folder),
        "--remote-debugging-port",
        str(port),
    ]
    with _running(command, environ, folder / "firefox.log"):
        address = f"ws://127.0.0.1:{port}/session"
        connection: ClientConnection = _within(
            STARTS_WITHIN_S, lambda: connect(address, max_size=None, proxy=None), (OSError,)
        )
        numbers = itertools.count(1)

        def call(method: str, **params: object) -> dict[str, Any]:
            number = next(numbers)
            connection.send(json.dumps({"id": number, "method": method, "params": params}))
            while True:
                message: dict[str, Any] = json.loads(connection.recv(timeout=ANSWERS_WITHIN_S))
                if message.get("id") == number:
                    assert message["type"] == "success", message
                    result: dict[str, Any] = message["result"]
                    return result

        call("session.new", capabilities={})
        context = call("browsingContext.getTree")["contexts"][0]["context"]
        call("browsingContext.setViewport", context=context, viewport={"width": 390, "height": 844})
        call("browsingContext.navigate", context=context, url=url, wait="complete")

        def evaluate(expression: str) -> Any:
            result = call(
                "script.evaluate",
                expression=f"JSON.stringify({expression}) ?? 'null'",
                target={"context": context},
                awaitPromise=True,
                userActivation=True,
            )
            assert result["type"] == "success", result
            return json.loads(result["result"]["value"])

        def click(selector: str) -> None:
            evaluate(f"void document.querySelector('{selector}').click()")

        def submit(selector: str, text: str) -> None:
            element = f"document.querySelector('{selector}')"
            evaluate(f"void ({element}.value = '{text}', {element}.form.requestSubmit())")

        with connection:
            yield BrowserPage(evaluate, click, submit)
            call("browser.close")


def _minibrowser() -> Path:
    found = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    if not found:
        pytest.skip("needs WebKitGTK's MiniBrowser: apt-get install webkit2gtk-driver")
    return found[-1]


@contextmanager
def webkit(url: str, environ: Mapping[str, str], folder: Path) -> Iterator[BrowserPage]:
    """Opens a page in WebKitGTK on a virtual display. Under automation its microphone is a fake one."""
    need("WebKitWebDriver", "Xvfb", packages="webkit2gtk-driver xvfb")
    options = {"binary": str(_minibrowser()), "args": ["--automation"]}
    display, port = f":{_free_port() % 10_000 + 100}", _free_port()
    environ = {**environ, "DISPLAY": display, "GDK_BACKEND": "x11", "WEBKIT_DISABLE_COMPOSITING_MODE": "1"}
    screen = ["Xvfb", display, "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    with (
        _running(screen, environ, folder / "screen.log"),
        _running(["WebKitWebDriver", f"--port={port}"], environ, folder / "webkit.log"),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=ANSWERS_WITHIN_S, trust_env=False) as client,
    ):
        _within(STARTS_WITHIN_S, lambda: client.get("/status"), (httpx.TransportError,))

        def call(path: str, body: object) -> Any:
            answer = client.post(path, json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()["value"]

        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        session = f"/session/{call('/session', wanted)['sessionId']}"
        call(f"{session}/window/rect", {"width": 390, "height": 844})
        call(f"{session}/url", {"url": url})

        def evaluate(expression: str) -> Any:
            return call(f"{session}/execute/sync", {"script": f"return {expression}", "args": []})

        def element(selector: str) -> str:
            (found,) = call(f"{session}/element", {"using": "css selector", "value": selector}).values()
            return f"{session}/element/{found}"

        def click(selector: str) -> None:
            call(f"{element(selector)}/click", {})

        def submit(selector: str, text: str) -> None:
            call(f"{element(selector)}/value", {"text": f"{text}\ue007"})

        yield BrowserPage(evaluate, click, submit)
        client.delete(session)
