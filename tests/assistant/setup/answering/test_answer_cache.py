"""The answer cache as the settings build it: choices, problems, and answers through the whole chain of chat models."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.services.llm_server import answer, serving

from assistant.config.loading import load_settings
from assistant.registry.engine_choice import EngineChoice
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.loading import close_engine
from llm.chat import AnsweringEndpoint, Message

CAPITAL = "What is the capital of Peru?"


def loader_of(tmp_path: Path, url: str, *overrides: str) -> EngineLoader:
    endpoint = f'llm.endpoints=[{{name="near", url="{url}", model="m"}}]'
    given = [endpoint, "tts.engine=espeak-ng", f"cache.file={tmp_path / 'a.sqlite3'}", "cache.enabled=true", *overrides]
    return EngineLoader(load_settings(None, {}, given).settings, {"XDG_DATA_HOME": str(tmp_path)})


def talk(
    tmp_path: Path, requests: Sequence[str], *overrides: str
) -> tuple[list[str], EngineLoader, EngineChoice | None]:
    """Asks each request in a conversation of its own. Returns who answered, the loader, and the choice of the cache."""

    async def scene() -> tuple[list[str], EngineLoader]:
        by = []
        async with serving(answer("Lima is the capital.")) as server:
            loader = loader_of(tmp_path, server.url, *overrides)
            for request in requests:
                engines = await loader.engines()
                messages = (Message("user", request),)
                name = ""
                async for event in engines.model.stream(messages):
                    name = event.by if isinstance(event, AnsweringEndpoint) else name
                engines.on_answer_heard(messages)
                if loader._cache is not None:
                    await loader._cache.settle()
                by.append(name)
                await close_engine(engines.recognizer, lambda _what: None)
            await loader.aclose()
        return by, loader

    by, loader = asyncio.run(scene())
    return by, loader, next((chosen for chosen in loader.chosen if chosen.stage == "cache"), None)


def test_second_conversation_is_answered_from_the_cache(tmp_path: Path) -> None:
    by, loader, chosen = talk(tmp_path, [CAPITAL, CAPITAL, "what is two plus two", "What time is it?"])
    assert by == ["near", "cache", "skills", "skills"]
    assert chosen is not None
    assert chosen.name == "sqlite"
    assert loader.traced["cache"] == "sqlite"


def test_cache_is_off_by_default(tmp_path: Path) -> None:
    by, _, chosen = talk(tmp_path, [CAPITAL, CAPITAL], "cache.enabled=false")
    assert by == ["near", "near"]
    assert chosen is None
    assert not (tmp_path / "a.sqlite3").exists()


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (["cache.store=redis", "cache.redis_url=redis://127.0.0.1:1/0"], "cannot be used"),
        (["assistant.language=nl"], "answers are cached in en, de, fr only, not in nl"),
    ],
    ids=["no server", "language"],
)
def test_unusable_cache_is_reported_and_the_model_asked(tmp_path: Path, overrides: list[str], why: str) -> None:
    by, loader, chosen = talk(tmp_path, [CAPITAL, CAPITAL], *overrides)
    assert by == ["near", "near"]
    assert chosen is not None
    assert chosen.fallback
    assert why in chosen.why
    assert any(text.startswith("cache: ") and why in text for text in loader.fallbacks)


def test_threshold_of_one_loads_no_embedding_model(tmp_path: Path) -> None:
    by, _, chosen = talk(tmp_path, [CAPITAL, CAPITAL], "cache.threshold=1")
    assert by == ["near", "cache"]
    assert chosen is not None
    assert chosen.detail == "same words only"
