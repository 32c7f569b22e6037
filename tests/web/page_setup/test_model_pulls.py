"""Models that the page downloads, and the restart that follows: over HTTP, from this machine only."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console
from support.pages.page_asker import Asker, served
from support.programs import program
from support.servers.proxies import free_ports

from assistant.models.catalogue import named
from assistant.models.errors import ModelError
from assistant.models.pull import PullCancelledError
from web.page_api import model_pulls

PULL, RESTART = "/v1/repartee/models/pull", "/v1/repartee/restart"
VOICE = "de_DE-thorsten-medium"

Progress = Callable[[int, int], None]


def use(monkeypatch: pytest.MonkeyPatch, pull: Callable[[Progress], None]) -> None:
    def scripted(_name: str, _console: Console, on_progress: Progress) -> None:
        pull(on_progress)

    monkeypatch.setattr(model_pulls, "pull", scripted)


def lines_of(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


def test_models_have_size_and_licence(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        models = {one["name"]: one for one in (await asker.ask("GET", "/v1/repartee/models")).json()["models"]}
        model = named(VOICE)
        assert model is not None
        assert models[VOICE]["licence"] == model.licence
        assert models[VOICE]["kind"] == "piper"
        assert models[VOICE]["size"].endswith("MB")

    served(tmp_path, test)


def test_download_streams_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(on_progress: Progress) -> None:
        on_progress(5_000_000, 20_000_000)
        time.sleep(0.5)
        on_progress(20_000_000, 20_000_000)

    async def test(asker: Asker) -> None:
        use(monkeypatch, pull)
        *progress, last = lines_of(await asker.ask("POST", PULL, {"name": VOICE}))
        assert {"done_bytes": 5_000_000, "total_bytes": 20_000_000} in progress
        assert last == {"ready": VOICE, "restart": False, "note": ""}

    served(tmp_path, test)


def test_failed_download_says_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(_on_progress: Progress) -> None:
        raise ModelError("small was not downloaded: the hub did not answer; check the network, then pull it again.")

    async def test(asker: Asker) -> None:
        use(monkeypatch, pull)
        last = lines_of(await asker.ask("POST", PULL, {"name": VOICE}))[-1]
        assert "check the network" in last["problem"]

    served(tmp_path, test)


def test_download_ends_when_the_page_leaves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    def pull(on_progress: Progress) -> None:
        try:
            while True:
                on_progress(1, 2)
                time.sleep(0.02)
        except PullCancelledError:
            ended.append("cancelled")

    async def test(asker: Asker) -> None:
        use(monkeypatch, pull)
        headers = {"origin": asker.origin, "sec-fetch-site": "same-origin"}
        async with (
            httpx.AsyncClient(trust_env=False, base_url=asker.origin) as client,
            client.stream("POST", PULL, json={"name": VOICE}, headers=headers) as answer,
        ):
            await anext(answer.aiter_lines())
            second = await asker.ask("POST", PULL, {"name": VOICE})
            assert (second.status_code, second.json()["error"]["code"]) == (409, "pull_running")
        async with asyncio.timeout(10):
            while not ended:  # noqa: ASYNC110 - another thread
                await asyncio.sleep(0.02)
        unknown = await asker.ask("POST", PULL, {"name": "no-such-model"})
        assert unknown.json()["error"]["code"] == "model_not_found"

    served(tmp_path, test)


def test_another_page_may_download_nothing(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        for headers in (
            {"origin": "http://evil.example"},
            {"x_forwarded_for": "10.0.0.1"},
            {"content_type": "text/plain"},
        ):
            answer = await asker.ask("POST", PULL, {"name": VOICE}, **headers)
            assert answer.status_code == 403, headers

    served(tmp_path, test)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_server_starts_again_with_the_same_arguments(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    config = tmp_path / "config.toml"
    config.write_text('[stt]\nengine = "auto"\n')
    words = [str(program.REPARTEE), "serve", "--config", str(config), "--port", str(port)]
    with (
        httpx.Client(trust_env=False, base_url=f"http://127.0.0.1:{port}") as client,
        subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process,
    ):

        def number() -> str:
            """Waits until the server is ready. Returns the number of its process as the page knows it."""
            for _ in range(600):
                try:
                    if client.get("/readyz").status_code == 200:
                        return str(client.get("/v1/repartee/setup").json()["process"])
                except httpx.TransportError:
                    pass
                time.sleep(0.1)
            raise AssertionError("the server is not ready")

        try:
            before = number()
            assert client.post(RESTART, json={}, headers={"origin": "http://evil.example"}).status_code == 403
            headers = {"origin": f"http://127.0.0.1:{port}"}
            assert client.post(RESTART, json={}, headers=headers).status_code == 202
            for _ in range(600):
                if number() != before:
                    break
                time.sleep(0.1)
            assert number() != before
            assert process.poll() is None
        finally:
            process.kill()
