"""`repartee demo --cache`: the second asking is answered from the cache, and screen and trace show it."""

import asyncio
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.engines.scripted_engines import script_recognizer
from support.services.llm_server import answer, serving

from assistant.commands import demo_cache
from assistant.commands.demo import demo
from assistant.commands.demo_cache import REQUESTS
from assistant.config.loading import load_settings
from audio.errors import EngineLoadError
from llm.cache.eligibility import exclusion, lexicon_of

pytestmark = pytest.mark.timeout(200)


async def run(folder: Path, *overrides: str) -> tuple[str, list[dict[str, Any]], int]:
    """Returns the screen on one line, the trace, and how often the model was asked."""
    screen = StringIO()
    async with serving(answer("Paris is the capital.")) as server:
        endpoint = f'llm.endpoints=[{{name="near", url="{server.url}", model="m"}}]'
        given = [endpoint, "tts.engine=espeak-ng", f"trace.dir={folder / 'traces'}", *overrides]
        loaded, console = load_settings(None, {}, given), Console(file=screen, width=250)
        await demo(None, folder / "out", loaded, {}, console, cache=True, ports=())
        asked = sum(seen.method == "POST" for seen in server.seen)
    lines = (folder / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    return " ".join(screen.getvalue().split()), [json.loads(line) for line in lines], asked


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.real_time
def test_second_asking_is_answered_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script_recognizer(monkeypatch, "Why is the sky blue?", "What time is it?", "Um, why's the sky blue?")
    monkeypatch.setattr(demo_cache, "PAUSE_S", 4.0)
    screen, records, _ = asyncio.run(run(tmp_path))
    assert [record["engines"]["answered_by"] for record in records] == ["near", "skills", "cache"]
    assert screen.count("from the cache") == 1
    last = records[-1]
    assert any(event["name"] == "cache" and "exact" in event["detail"] for event in last["events"])
    spans = {span["name"]: span for span in last["spans"] if not span["dropped"]}
    assert spans["llm_first_token"]["end_ms"] - spans["stt"]["end_ms"] <= 50


def test_without_a_language_model_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script_recognizer(monkeypatch, "what is the capital of france")
    with pytest.raises(EngineLoadError, match=r"--cache needs a language model.*repartee models pull"):
        asyncio.run(run(tmp_path, "llm.endpoints=[]", "llm.local_model=off"))


@pytest.mark.parametrize("language", REQUESTS)
def test_requests_of_the_demo_may_be_cached(language: str) -> None:
    lexicon, said = lexicon_of(language), list(REQUESTS[language])
    assert lexicon is not None
    assert [exclusion(text, said[:number], lexicon) for number, text in enumerate(said)] == ["", "time or place", ""]
