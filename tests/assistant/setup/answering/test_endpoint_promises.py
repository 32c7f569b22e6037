"""The table of services in docs/endpoints.md, cell by cell, against every kind of service on real sockets."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from support.services import aws_server, grpc_server, llm_server
from support.services.aws_server import own_environment, serving_aws
from support.services.endpoint_services import ALL_KINDS, serving_kind, table_of
from support.services.generate_events import error, last, output, token
from support.services.grpc_server import Hang, Part
from support.services.llm_server import DONE, HEAD, HELLO, LAST_CHUNK, Script, Wait, chunk

from assistant.config.llm_settings import LlmSection
from assistant.config.loading import load_settings
from assistant.setup.answering.llm_clients import model_of
from llm.chat import ChatEvent, ChatModel, ChatOptions, Finished, Function, FunctionCall, Token
from llm.errors import LlmError, LlmRefused

LAMP = Function("lamp", "Switch it.", '{"type":"object","properties":{"on":{"type":"boolean"}}}')
CALLING = ChatOptions(functions=(LAMP,))
PAGE = Path(__file__).parents[4] / "docs" / "endpoints.md"

Steps = tuple[Script, grpc_server.Script]
"""Steps of an HTTP server and of a gRPC server; the other is empty."""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)


def cells() -> Mapping[str, Mapping[str, str]]:
    """Returns the table: kind to heading to cell."""
    text = PAGE.read_text(encoding="utf-8").partition("## Kinds of services\n")[2]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    heads, _, *lines = [[cell.strip() for cell in row] for row in rows[: 2 + len(ALL_KINDS)]]
    return {line[0].strip("`"): dict(zip(heads, line, strict=True)) for line in lines}


CELLS = cells()


@asynccontextmanager
async def asking(
    kind: str, steps: Steps, *more: str
) -> AsyncGenerator[tuple[ChatModel, Callable[[], Awaitable[object]], Callable[[], int]]]:
    """Yields the client of a server with these steps, an awaitable for the disconnection, and the request count."""
    http, grpc = steps
    serving = serving_aws if kind in {"sagemaker", "bedrock"} else llm_server.serving
    if kind == "grpc":
        async with grpc_server.serving(grpc) as triton, client(table_of(kind, triton.url, *more)) as model:
            yield model, triton.left.wait, lambda: len(triton.seen)
        return
    async with serving(http) as server:
        url = server.url if kind == "openai" else server.url.removesuffix("/v1")

        async def left() -> None:
            await server.left_at_s

        async with client(table_of(kind, url, *more)) as model:
            yield model, left, lambda: len(server.posts)


def configured(table: str) -> LlmSection:
    Path("given.toml").write_text(table, encoding="utf-8")
    return load_settings(Path("given.toml"), {}, ()).settings.llm


@asynccontextmanager
async def client(table: str) -> AsyncGenerator[ChatModel]:
    settings = configured(table)
    model = model_of(settings.endpoints[0], settings, {})
    try:
        yield model
    finally:
        await model.aclose()


def heard(kind: str, steps: Steps, *more: str, options: ChatOptions | None = None) -> list[ChatEvent]:
    """Returns all events until the end; raises errors."""

    async def scene() -> list[ChatEvent]:
        async with (
            asking(kind, steps, *more) as (model, _, _),
            aclosing(model.stream(HELLO, options or ChatOptions())) as events,
        ):
            return [event async for event in events]

    return asyncio.run(scene())


def body(kind: str, *, text: bytes | str, ends: bool = True, fault: bool = False) -> Steps:
    """Returns an answer of one token; then its end, an error in the service's own words, or nothing."""
    text = str(text)
    if kind == "grpc":
        parts: tuple[Part | Hang, ...] = (Part(text.encode()),)
        parts += (Part(error="out of memory"),) if fault else (grpc_server.LAST,) if ends else (Hang(),)
        return (), parts
    said = {
        "openai": llm_server.event(text),
        "tgi": token(text),
        "triton": output(text, num_input_tokens=9, num_output_tokens=1),
        "sagemaker": aws_server.part(token(text)),
        "bedrock": aws_server.said(text),
    }[kind]
    wrong = {
        "openai": b'data: {"error":{"message":"out of memory","code":500}}\n\n',
        "tgi": error("out of memory", "generation"),
        "triton": b'data: {"error":"out of memory"}\n\n',
        "sagemaker": aws_server.fault("ModelStreamError", Message="x", ErrorCode="ModelInvocationTimeExceeded"),
        "bedrock": aws_server.fault("modelStreamErrorException", message="x"),
    }[kind]
    end = {
        "openai": llm_server.event(finish="stop") + llm_server.usage(9, 1) + DONE,
        "tgi": last(),
        "triton": b"",
        "sagemaker": aws_server.part(last()),
        "bedrock": aws_server.event("messageStop", stopReason="end_turn") + aws_server.usage(cacheReadInputTokens=4),
    }[kind]
    if fault:
        return (HEAD, chunk(said + wrong), LAST_CHUNK), ()
    return ((HEAD, chunk(said + end), LAST_CHUNK) if ends else (HEAD, chunk(said), Wait(5))), ()


def torn(kind: str) -> Steps:
    """Returns a body that ends after one token without an end mark."""
    http, grpc = body(kind, text="Hi", ends=False)
    return (*http[:-1], LAST_CHUNK) if http else (), grpc[:-1]


def call(kind: str) -> Steps:
    """Returns an answer that calls a function."""
    pieces = [{"index": 0, "id": "c1", "type": "function", "function": {"name": "lamp", "arguments": '{"on":true}'}}]
    as_openai = llm_server.event(tool_calls=pieces) + llm_server.event(finish="tool_calls") + DONE
    if kind == "openai":
        return (HEAD, chunk(as_openai), LAST_CHUNK), ()
    if kind == "sagemaker":
        return aws_server.answer(aws_server.part(as_openai)), ()
    begin = {"toolUse": {"toolUseId": "c1", "name": "lamp"}}
    return aws_server.answer(
        aws_server.event("messageStart", role="assistant"),
        aws_server.event("contentBlockStart", contentBlockIndex=0, start=begin),
        aws_server.event("contentBlockDelta", contentBlockIndex=0, delta={"toolUse": {"input": '{"on":true}'}}),
        aws_server.event("messageStop", stopReason="tool_use") + aws_server.usage(),
    ), ()


def test_table_has_every_kind() -> None:
    assert sorted(CELLS) == sorted(ALL_KINDS)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_kind_streams_tokens(kind: str) -> None:
    """Received tokens are passed on while the rest is still to come."""

    async def scene() -> ChatEvent:
        async with (
            asking(kind, body(kind, text="Hi", ends=False)) as (model, _, _),
            aclosing(model.stream(HELLO)) as events,
        ):
            async with asyncio.timeout(2):
                return [await anext(events) for _ in range(3)][-1]

    assert asyncio.run(scene()) == Token("Hi")


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_kind_supports_tools_as_documented(kind: str) -> None:
    if CELLS[kind]["tools"] == "no":

        async def scene() -> int:
            async with asking(kind, body(kind, text="Hi")) as (model, _, asked):
                stream = model.stream(HELLO, CALLING)  # never raises: only iterating may
                with pytest.raises(LlmRefused, match="function"):
                    await anext(stream)
                return asked()

        assert asyncio.run(scene()) == 0
        return
    *_, phrase_words, finished = heard(kind, call(kind), options=CALLING)
    assert isinstance(phrase_words, FunctionCall)
    assert (phrase_words.call_id, phrase_words.name, json.loads(phrase_words.arguments)) == ("c1", "lamp", {"on": True})
    assert isinstance(finished, Finished)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("sagemaker", 'template = "chatml"'),
        ("bedrock", 'api = "invoke"\nfamily = "llama"\ntemplate = "chatml"'),
    ],
    ids=["sagemaker", "bedrock"],
)
def test_endpoint_with_template_refuses_tools(kind: str, more: str) -> None:
    told = {"sagemaker": "without `template`", "bedrock": "yes, but for Llama by `invoke`"}
    assert CELLS[kind]["tools"] == told[kind]
    with pytest.raises(LlmRefused, match="does not support functions"):
        heard(kind, body(kind, text="Hi"), more, options=CALLING)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_kind_counts_tokens_as_documented(kind: str) -> None:
    finished = heard(kind, body(kind, text="Hi"))[-1]
    assert isinstance(finished, Finished)
    if kind == "grpc":
        assert CELLS[kind]["counts tokens"] == "with `details`"  # tests/llm/triton/test_grpc.py tests the counts
        assert finished.completion_tokens is None
        return
    assert finished.prompt_tokens is not None
    assert finished.completion_tokens is not None
    assert (finished.cached_tokens == 4) == ("cached ones too" in CELLS[kind]["counts tokens"])


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_error_during_the_stream_is_raised(kind: str) -> None:
    with pytest.raises(LlmError):
        heard(kind, body(kind, text="Hi", fault=True))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_incomplete_answer_is_an_error_except_for_triton(kind: str) -> None:
    """Triton's generate extension has no end mark: there the end of the body is the end of the answer."""
    if kind == "triton":
        assert "missing" not in CELLS[kind]["errors mid-stream"]
        assert isinstance(heard(kind, torn(kind))[-1], Finished)
        return
    with pytest.raises(LlmError):
        heard(kind, torn(kind))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_cancelled_answer_closes_the_connection(kind: str) -> None:
    async def scene() -> None:
        async with asking(kind, body(kind, text="Hi", ends=False)) as (model, left, _):
            async with aclosing(model.stream(HELLO)) as events:
                for _ in range(3):
                    await anext(events)
            async with asyncio.timeout(1):
                await left()

    assert CELLS[kind]["a cancelled answer closes"] == ("the call alone" if kind == "grpc" else "the connection")
    asyncio.run(scene())


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_reasoning_is_not_spoken_for_any_kind(kind: str) -> None:
    assert words(kind, "<think>", "Hm.", "</think>", "\nHi.") == "Hi."


THINKER = "{% for message in messages %}{{ message.content }}\n{% endfor %}<|im_start|>assistant\n<think>\n"


@pytest.mark.parametrize("kind", ["tgi", "triton", "grpc", "sagemaker"])
def test_template_with_its_own_bos_token_gets_no_other(kind: str, tmp_path: Path) -> None:
    (tmp_path / "thinker.jinja").write_text(THINKER, encoding="utf-8")
    assert words(kind, "Hm.", "</think>", "\nHi.", template="thinker.jinja") == "Hi."


def words(kind: str, *texts: str, template: str = "") -> str:
    """Returns the text of an answer."""

    async def scene() -> str:
        async with serving_kind(kind, *texts) as service:
            table = service.table
            if template:
                table = table.replace('template = "chatml"\n', "") + f'template = "{template}"\n'
            async with client(table) as model, aclosing(model.stream(HELLO)) as events:
                return "".join([event.text async for event in events if isinstance(event, Token)])

    return asyncio.run(scene())
