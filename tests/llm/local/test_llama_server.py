"""The chat client, the listing and discovery against llama.cpp's own server, with a model whose answers are known."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from support.clocks.event_loop import in_event_loop
from support.models.synthetic_gguf import ANSWER, CONTEXT_TOKENS, ENDLESS, TOOL_TEMPLATE
from support.services.llama_server import MODEL, LlamaServer, llama_server

from llm.chat import ChatEvent, ChatOptions, Finished, Function, FunctionCall, Message, RequestSent, SlotAcquired, Token
from llm.discovery import discover
from llm.errors import LlmError, LlmRefused
from llm.listing import ask as ask_list
from llm.openai.chat import OpenAIChat

pytestmark = pytest.mark.thorough

QUESTION = (Message("system", "Answer. "), Message("user", "what time is it?"))
"""The model ends its answer."""

STORY = (Message("user", "tell me a story"),)
"""The model goes on until it is stopped."""

KEY = "sk-very-secret-key"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    with llama_server(tmp_path_factory.mktemp("llama")) as running:
        yield running


@asynccontextmanager
async def chatting(url: str, *, max_tokens: int | None = 40, api_key: str | None = None) -> AsyncGenerator[OpenAIChat]:
    model = OpenAIChat("near", url, MODEL, max_tokens=max_tokens, temperature=0.0, api_key=api_key)
    try:
        yield model
    finally:
        await model.aclose()


async def ask(model: OpenAIChat, messages: tuple[Message, ...], options: ChatOptions | None = None) -> list[ChatEvent]:
    async with aclosing(model.stream(messages, options or ChatOptions())) as events:
        return [event async for event in events]


def asked(url: str, messages: tuple[Message, ...], *, max_tokens: int = 40) -> list[ChatEvent]:
    async def main() -> list[ChatEvent]:
        async with chatting(url, max_tokens=max_tokens) as model:
            return await ask(model, messages)

    return asyncio.run(main())


def refused(url: str, messages: tuple[Message, ...], *, api_key: str | None = None) -> LlmError:
    async def main() -> None:
        async with chatting(url, api_key=api_key) as model:
            await ask(model, messages)

    with pytest.raises(LlmError) as caught:
        asyncio.run(main())
    return caught.value


def text_of(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


# Answers.


def test_answer_streams_to_its_end(server: LlamaServer) -> None:
    queued, sent, *rest = asked(server.url, QUESTION)
    assert queued == SlotAcquired()
    assert isinstance(sent, RequestSent)
    assert text_of(rest) == ANSWER
    assert (
        len([event for event in rest if isinstance(event, Token)]) == len(ANSWER.split()) + 1
    )  # é arrives as one token
    finished = rest[-1]
    assert isinstance(finished, Finished)
    assert finished.reason == "stop"
    assert finished.prompt_tokens == len("Answer. what time is it?") + 1  # one token per letter, and the begin token
    assert finished.completion_tokens == 10  # with the two bytes of é, and the end token


def test_max_tokens_ends_answer(server: LlamaServer) -> None:
    events = asked(server.url, STORY, max_tokens=7)
    assert text_of(events) == "".join((ENDLESS * 4)[:7])
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert (finished.reason, finished.completion_tokens) == ("length", 7)


def test_cached_tokens_are_counted(server: LlamaServer) -> None:
    asked(server.url, QUESTION)
    finished = asked(server.url, QUESTION)[-1]
    assert isinstance(finished, Finished)
    assert finished.cached_tokens is not None
    assert finished.cached_tokens > 0


@in_event_loop
async def test_functions_can_be_offered(server: LlamaServer) -> None:
    """The template does not support functions, so the model answers with text; the server must accept the request."""
    parameters = json.dumps({"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]})
    options = ChatOptions(functions=(Function("lamp", "Switch the lamp.", parameters),))
    call = FunctionCall("call_1", "lamp", '{"on": true}')
    history = (
        Message("user", "light! "),
        Message("assistant", "", calls=(call,)),
        Message("tool", "{}", call_id="call_1"),
        *QUESTION,
    )
    async with chatting(server.url) as model:
        assert text_of(await ask(model, history, options)) == ANSWER


def test_function_is_called_and_result_answered(tmp_path: Path) -> None:
    """The server's grammar forces the model to write a call; it writes the shortest one."""
    parameters = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}
    lamp = Function("lamp", "Switch the lamp.", json.dumps(parameters | {"additionalProperties": False}))

    async def main(url: str) -> None:
        async with chatting(url, max_tokens=60) as model:
            *_, call, finished = await ask(model, QUESTION, ChatOptions(functions=(lamp,), choice="required"))
            assert isinstance(call, FunctionCall)
            assert (call.name, set(json.loads(call.arguments))) == ("lamp", {"on"})
            assert call.call_id
            assert isinstance(finished, Finished)
            assert finished.reason == "tool_calls"
            assert finished.completion_tokens is not None
            history = (
                *QUESTION,
                Message("assistant", "", calls=(call,)),
                Message("tool", "is it on?", call_id=call.call_id),
            )
            assert text_of(await ask(model, history, ChatOptions(functions=(lamp,), choice="none"))) == ANSWER

    with llama_server(tmp_path, template=TOOL_TEMPLATE) as running:
        asyncio.run(main(running.url))


@in_event_loop
async def test_additional_parameters_are_accepted(server: LlamaServer) -> None:
    parameters = {"stop": [" noon"], "top_k": 1, "logit_bias": {}}
    model = OpenAIChat("near", server.url, MODEL, max_tokens=40, temperature=0.0, parameters=parameters)
    try:
        events = await ask(model, QUESTION)
    finally:
        await model.aclose()
    assert text_of(events) == " It is"
    assert isinstance(events[-1], Finished)


# Stopping.


# Refusals.


def test_too_long_prompt_is_refused_as_retryable(server: LlamaServer) -> None:
    error = refused(server.url, (Message("user", "a" * (CONTEXT_TOKENS + 10)),))
    assert isinstance(error, LlmRefused)
    assert error.retryable
    assert "HTTP 400" in str(error)
    assert text_of(asked(server.url, QUESTION)) == ANSWER


def test_unknown_address_is_reported(server: LlamaServer) -> None:
    error = refused(f"{server.root}/elsewhere", QUESTION)
    assert isinstance(error, LlmRefused)
    assert "check its url" in str(error)


def test_rejected_key_is_reported(tmp_path: Path) -> None:
    with llama_server(tmp_path, api_key=KEY) as locked:
        error = refused(locked.url, QUESTION, api_key="sk-another-secret")
        assert isinstance(error, LlmRefused)
        assert "api_key_env" in str(error)
        assert "another-secret" not in str(error)

        async def main() -> None:
            async with chatting(locked.url, api_key=KEY) as model:
                assert text_of(await ask(model, QUESTION)) == ANSWER

        asyncio.run(main())


# Discovery.


def test_models_are_listed(server: LlamaServer) -> None:
    listing = asyncio.run(ask_list("near", server.url, api_key=None, timeout_s=2.0))
    assert listing.models is not None
    assert listing.models.chat == (MODEL,)
    assert listing.models.product == "llama.cpp"
    assert not listing.needs_key


def test_server_is_discovered_by_name(server: LlamaServer) -> None:
    (found,) = asyncio.run(discover((server.port,), timeout_s=2.0))
    assert (found.name, found.url, found.models) == ("llama.cpp", server.url, (MODEL,))
    assert found.usable
