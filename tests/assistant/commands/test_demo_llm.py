"""`repartee demo --llm`: which model answers, what screen and trace show, and the requests of a found server.

Each demo runs in real time; three run at once on one event loop.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support.conversations.real_time_conversation import WHAT_TIME
from support.engines.scripted_engines import script_recognizer
from support.services.llm_server import Script, Seen, Wait, answer, serving, status

from assistant.commands.demo import demo
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(200)]

LIST = status(200, {"object": "list", "data": [{"id": "m", "owned_by": "vllm"}]})
CONFIGURED = '[{name="mine", url="http://127.0.0.1:9/v1", model="m"}]'


@dataclass(frozen=True, slots=True)
class Case:
    """A demo with one server on this machine, or none.

    Attributes:
        llm: As `--llm`.
        models: Models that the server lists; None: there is no server.
        overrides: Settings.
    """

    llm: str | None
    models: Script | None
    overrides: tuple[str, ...] = ()


CASES = {
    "found": Case(None, LIST),
    "auto": Case("auto", LIST),
    "auto, and none there": Case("auto", None),
    "skills": Case("skills", LIST, (f"llm.endpoints={CONFIGURED}",)),
    "configured": Case(None, LIST, (f"llm.endpoints={CONFIGURED}",)),
    "hangs": Case(None, (Wait(60),)),
}
AT_ONCE = 3
"""Concurrent conversations: a core runs about ten, but each loads its engines at the start."""


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A finished demo.

    Attributes:
        screen: On one line.
        record: Its turn in the trace.
        seen: Requests of the server.
        url: Address of the server.
    """

    screen: str
    record: dict[str, object]
    seen: list[Seen]
    url: str


async def run(folder: Path, case: Case) -> DemoRun:
    screen = StringIO()
    given = ["skills.before_llm=false", f"trace.dir={folder / 'traces'}", *case.overrides]
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(answer("It is noon.")))
        ports = [int(server.url.removesuffix("/v1").rpartition(":")[2])] if case.models is not None else []
        server.models = case.models or ()
        loaded, console = load_settings(None, {}, given), Console(file=screen, width=250)
        await demo(WHAT_TIME, folder / "out", loaded, {}, console, llm=case.llm, verbose=True, ports=ports)
    (line,) = (folder / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    return DemoRun(" ".join(screen.getvalue().split()), json.loads(line), server.seen, server.url)


async def all_run(folder: Path) -> dict[str, DemoRun]:
    free = asyncio.Semaphore(AT_ONCE)

    async def one(name: str, case: Case) -> DemoRun:
        async with free:
            return await run(folder / name, case)

    async with asyncio.TaskGroup() as tasks:
        running = {name: tasks.create_task(one(name, case)) for name, case in CASES.items()}
    return {name: task.result() for name, task in running.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DemoRun]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        script_recognizer(monkeypatch, "what time is it")
        return asyncio.run(all_run(tmp_path_factory.mktemp("demo")))


def posts(ran: DemoRun) -> int:
    return sum(seen.method == "POST" for seen in ran.seen)


def fallbacks(ran: DemoRun) -> list[str]:
    found = ran.record["fallbacks"]
    assert isinstance(found, list)
    return [fallback for fallback in found if fallback.startswith("llm:")]


def test_found_server_is_mentioned_and_not_used(runs: dict[str, DemoRun]) -> None:
    ran = runs["found"]
    assert f"found: vLLM at {ran.url} (m); use it with --llm auto or `repartee endpoints add`" in ran.screen
    assert [(seen.method, seen.path) for seen in ran.seen] == [("GET", "/v1/models")]
    assert "It is noon." not in ran.screen
    assert len(fallbacks(ran)) == 1


def test_auto_uses_the_found_server(runs: dict[str, DemoRun]) -> None:
    ran = runs["auto"]
    assert f"language model: vLLM at {ran.url}, m, for this run" in ran.screen
    assert "It is noon." in ran.screen
    assert posts(ran) >= 1
    assert "--llm auto: found on localhost" in ran.screen
    assert fallbacks(ran) == []


def test_auto_without_a_server_continues_with_a_note(runs: dict[str, DemoRun]) -> None:
    ran = runs["auto, and none there"]
    assert "no language model was found on localhost (ports ); the built-in skills answer" in ran.screen
    assert "no language model was found on localhost" in fallbacks(ran)[0]
    assert ran.record["outcome"] == "answered"


def test_skills_answer_if_requested(runs: dict[str, DemoRun]) -> None:
    ran = runs["skills"]
    assert "no language model, as requested: the built-in skills answer" in ran.screen
    assert ran.seen == []
    assert fallbacks(ran) == []
    assert ran.record["outcome"] == "answered"


def test_nothing_is_searched_if_an_endpoint_is_configured(runs: dict[str, DemoRun]) -> None:
    ran = runs["configured"]
    assert ran.seen == []
    assert "found:" not in ran.screen


def test_hanging_server_is_neither_awaited_nor_mentioned(runs: dict[str, DemoRun]) -> None:
    ran = runs["hangs"]
    assert "found:" not in ran.screen
    assert ran.record["outcome"] == "answered"


def test_unknown_endpoint_name_ends_the_demo_first(tmp_path: Path) -> None:
    loaded = load_settings(None, {}, [])
    screen = StringIO()
    with pytest.raises(ConfigError, match='--llm "mine": no such endpoint'):
        asyncio.run(demo(WHAT_TIME, tmp_path / "out", loaded, {}, Console(file=screen), llm="mine"))
    assert screen.getvalue() == ""
    assert not (tmp_path / "out").exists()
