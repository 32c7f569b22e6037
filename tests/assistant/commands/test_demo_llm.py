"""`repartee demo --llm`: what screen and trace show of a found server, and its requests."""

import asyncio
import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support.conversations.real_time_conversation import WHAT_TIME
from support.engines.scripted_engines import script_recognizer
from support.services.llm_server import Server, answer, serving, status

from assistant.commands.demo import demo
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(200)]

LIST = status(200, {"object": "list", "data": [{"id": "m", "owned_by": "vllm"}]})


async def run(folder: Path, server: Server, llm: str | None, *settings: str) -> tuple[str, list[str]]:
    """Runs a demo beside a server. Returns its screen on one line, and the fallbacks of the language model."""
    screen, port = StringIO(), int(server.url.removesuffix("/v1").rpartition(":")[2])
    loaded = load_settings(None, {}, ["skills.before_llm=false", f"trace.dir={folder / 'traces'}", *settings])
    console = Console(file=screen, width=250)
    await demo(WHAT_TIME, folder / "out", loaded, {}, console, llm=llm, verbose=True, ports=[port])
    (line,) = (folder / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    fallbacks = json.loads(line)["fallbacks"]
    return " ".join(screen.getvalue().split()), [one for one in fallbacks if one.startswith("llm:")]


async def test_found_server_is_mentioned_and_only_used_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_recognizer(monkeypatch, "what time is it")
    noon = answer("It is noon.")
    async with serving(noon) as unused, serving(noon) as used, serving(noon) as unsearched, serving(noon) as own:
        unused.models = used.models = unsearched.models = LIST
        endpoint = f'llm.endpoints=[{{name="mine", url="{own.url}", model="m"}}]'
        (without, fallback), (screen, no_fallback), (configured, _) = await asyncio.gather(
            run(tmp_path / "without", unused, None),
            run(tmp_path / "auto", used, "auto"),
            run(tmp_path / "configured", unsearched, None, endpoint),
        )
    assert f"found: vLLM at {unused.url} (m); use it with --llm auto or `repartee endpoints add`" in without
    assert [(seen.method, seen.path) for seen in unused.seen] == [("GET", "/v1/models")]
    assert "It is noon." not in without
    assert len(fallback) == 1
    assert f"language model: vLLM at {used.url}, m, for this run" in screen
    assert "It is noon." in screen
    assert used.posts
    assert "--llm auto: found on localhost" in screen
    assert no_fallback == []
    assert "It is noon." in configured
    assert unsearched.connections == 0, "with an endpoint nothing is searched"


def test_unknown_endpoint_name_ends_the_demo_first(tmp_path: Path) -> None:
    loaded = load_settings(None, {}, [])
    screen = StringIO()
    with pytest.raises(ConfigError, match='--llm "mine": no such endpoint'):
        asyncio.run(demo(WHAT_TIME, tmp_path / "out", loaded, {}, Console(file=screen), llm="mine"))
    assert screen.getvalue() == ""
    assert not (tmp_path / "out").exists()
