"""An answer that is much longer than was asked for is broken off here."""

import asyncio
from collections.abc import Callable

import pytest
from support.services.generate_events import token
from support.services.llm_server import HEAD, HELLO, LAST_CHUNK, Server, chunk, event, serving

from llm.answer_length import LONG_TOKEN_CHARS, SPARE_CHARS, AnswerLength, asked_tokens
from llm.chat import NO_LIMIT, ChatModel, ChatOptions, Token
from llm.errors import LlmBroken
from llm.openai.chat import OpenAIChat
from llm.templates.chat_template import load_template
from llm.tgi.chat import TgiChat

MAX_TOKENS = 10
MOST_CHARS = MAX_TOKENS * LONG_TOKEN_CHARS + SPARE_CHARS
PIECE = "word " * 20


def openai(server: Server) -> ChatModel:
    return OpenAIChat("near", server.url, "m", max_tokens=MAX_TOKENS)


def tgi(server: Server) -> ChatModel:
    return TgiChat("near", server.url, template=load_template("near", "llama2"), max_tokens=MAX_TOKENS)


@pytest.mark.parametrize(("make", "piece"), [(openai, event(PIECE)), (tgi, token(PIECE))], ids=["openai", "tgi"])
def test_answer_of_a_service_that_ignores_max_tokens_is_broken_off(
    make: Callable[[Server], ChatModel], piece: bytes
) -> None:
    texts: list[str] = []

    async def read(model: ChatModel) -> None:
        async for one in model.stream(HELLO):
            if isinstance(one, Token):
                texts.append(one.text)  # noqa: PERF401 - kept when the answer is broken off

    async def main() -> None:
        endless = (HEAD, *[chunk(piece)] * (2 * MOST_CHARS // len(PIECE)), LAST_CHUNK)
        async with serving(endless) as server:
            model = make(server)
            try:
                with pytest.raises(LlmBroken, match=f"more than {MOST_CHARS} characters.*keeps to max_tokens"):
                    await read(model)
            finally:
                await model.aclose()

    asyncio.run(main())
    assert MOST_CHARS - len(PIECE) <= len("".join(texts)) <= MOST_CHARS


def test_answer_within_its_limit_passes() -> None:
    length = AnswerLength("near", MAX_TOKENS)
    for _ in range(MAX_TOKENS):
        length.add_text("x" * LONG_TOKEN_CHARS)
    unlimited = AnswerLength("near", None)
    unlimited.add_text("x" * 1_000_000)


@pytest.mark.parametrize(
    ("own", "setting", "parameters", "always", "most"),
    [
        (None, 80, {}, False, 80),
        (20, 80, {}, False, 20),
        (NO_LIMIT, 80, {}, False, None),
        (NO_LIMIT, 80, {}, True, 80),
        (None, 80, {"max_completion_tokens": 900}, False, 900),
        (None, 80, {"inferenceConfig": {"maxTokens": 700}}, False, 700),
        (None, None, {"max_new_tokens": 512}, True, 512),
        (None, 80, {"max_tokens": "many"}, False, None),
        (None, None, {}, False, None),
    ],
)
def test_limit_is_the_one_that_was_asked_for(
    own: int | None, setting: int | None, parameters: dict[str, object], most: int | None, *, always: bool
) -> None:
    assert asked_tokens(ChatOptions(max_tokens=own), setting, parameters, always=always) == most
