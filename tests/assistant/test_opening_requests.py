"""Tests the requests of each endpoint kind without a user message, and without a token limit."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
from support.services.aws_server import own_environment
from support.services.endpoint_services import ALL_KINDS, routed, serving_kind

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from llm.chat import NO_LIMIT, PLAIN, ChatOptions, Message, Token

INSTRUCTED = (Message("system", "Greet the user first."),)
GREETED = (*INSTRUCTED, Message("user", "Hi."), Message("assistant", "Hello!"))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)


def settings_of(text: str) -> Settings:
    file = Path("given.toml")
    file.write_text(text, encoding="utf-8")
    return load_settings(file, {}, ()).settings


def asked(kind: str, messages: Sequence[Message], options: ChatOptions = PLAIN) -> tuple[str, str]:
    """Returns the request body and the answer."""

    async def main() -> tuple[str, str]:
        async with serving_kind(kind, "Hello", " there.") as service:
            model = routed(settings_of(f"[llm]\nmax_tokens = 77\n{service.table}"), {})
            await model.load()
            try:
                async with aclosing(model.stream(messages, options)) as events:
                    words = [event.text async for event in events if isinstance(event, Token)]
            finally:
                await model.aclose()
            return service.asked()[-1], "".join(words)

    return asyncio.run(main())


@pytest.mark.parametrize("messages", [(), GREETED], ids=["nothing", "answered already"])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_endpoint_kind_answers_without_a_user_message(kind: str, messages: Sequence[Message]) -> None:
    body, words = asked(kind, messages)
    assert words == "Hello there."
    if kind in {"openai", "sagemaker", "bedrock"}:
        said = [message for message in json.loads(body)["messages"] if message["role"] != "system"]
        assert said[0]["role"] == said[-1]["role"] == "user"


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_unlimited_reply_has_no_token_limit_if_the_service_permits(kind: str) -> None:
    limited, _ = asked(kind, INSTRUCTED)
    assert "77" in limited
    unlimited, _ = asked(kind, INSTRUCTED, ChatOptions(max_tokens=NO_LIMIT))
    needs_a_number = kind in {"tgi", "triton", "grpc"}
    assert ("77" in unlimited) == needs_a_number
