"""The TGI client against a scripted service on real sockets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import datetime

import pytest
from support.services.chat_templates import DATED
from support.services.generate_events import error, last, token
from support.services.llm_server import HEAD, HELLO, LAST_CHUNK, Abort, Drip, Server, Wait, ask, chunk, serving, status
from support.services.scripted_answers import ASKED, KEY, Client, base

from llm import token_deadlines
from llm.chat import ChatOptions, Finished, Function, RequestSent, SlotAcquired, Token
from llm.errors import LlmBroken, LlmRefused, LlmTooSlow
from llm.templates.chat_template import ChatTemplate, load_template
from llm.templates.template_file import TemplateSource
from llm.tgi.chat import TgiChat

LLAMA2 = load_template("near", "llama2")
ANSWER = (HEAD, chunk(token("Hi") + token(".") + last()), LAST_CHUNK)

Test = Callable[[Server, TgiChat], Awaitable[None]]


def make_client(server: Server, first_token_timeout_s: float, token_gap_timeout_s: float) -> TgiChat:
    return TgiChat(
        "near",
        base(server),
        template=LLAMA2,
        api_key=KEY,
        first_token_timeout_s=first_token_timeout_s,
        token_gap_timeout_s=token_gap_timeout_s,
    )


TGI = Client(make_client)


def test_events_of_an_answer() -> None:
    queued, sent, *rest = TGI.events_of(ANSWER)
    assert queued == SlotAcquired()
    assert isinstance(sent, RequestSent)
    assert rest == [Token("Hi"), Token("."), Finished("eos_token", 12, 3)]


def test_answer_delivered_byte_by_byte() -> None:
    body = b": \n\n" + token("é😀").replace(b"\\u00e9", "é".encode()) + token("<s>", special=True) + last()
    script = (HEAD, *(chunk(bytes([byte])) for byte in body), LAST_CHUNK)
    assert TGI.events_of(script)[2:] == [Token("é😀"), Finished("eos_token", 12, 3)]


def test_request_body() -> None:
    async def main() -> None:
        async with serving(ANSWER) as server:
            model = TgiChat(
                "near",
                base(server) + "/generate_stream/",
                template=LLAMA2,
                model="llama",
                api_key=f"{KEY}\n",
                max_tokens=80,
                temperature=0.2,
                parameters={"top_p": 0.9},
                headers={"x-tenant": "a b"},
            )
            assert model.detail == f"tgi llama (llama2) at {base(server)}/"
            await ask(model)
            await model.aclose()
        (post,) = server.posts
        assert post.path == "/generate_stream"
        assert post.headers["authorization"] == f"Bearer {KEY}"
        assert post.headers["x-tenant"] == "a b"
        assert json.loads(post.body) == {
            "inputs": f"[INST] <<SYS>>\nYou are terse.\n<</SYS>>\n\n{ASKED} [/INST]",
            "parameters": {
                "max_new_tokens": 80,
                "temperature": 0.2,
                "do_sample": True,
                "top_p": 0.9,
                "stop": ["</s>", "[INST]"],
                "details": True,
                "return_full_text": False,
            },
        }

    asyncio.run(main())


@pytest.mark.parametrize(
    ("temperature", "sampling"),
    [(None, {}), (0.0, {"do_sample": False}), (1, {"do_sample": True, "temperature": 1})],
    ids=["not set", "zero", "one"],
)
def test_temperature_zero_disables_sampling(temperature: float | None, sampling: dict[str, object]) -> None:
    async def main() -> None:
        async with serving(ANSWER) as server:
            model = TgiChat("near", base(server), template=LLAMA2, temperature=temperature)
            async with aclosing(model.stream(HELLO, ChatOptions(max_tokens=7))) as stream:
                async for _ in stream:
                    pass
            await ask(model)
            await model.aclose()
        one, other = (json.loads(post.body)["parameters"] for post in server.posts)
        assert {key: one[key] for key in one if key in {"do_sample", "temperature"}} == sampling
        assert (one["max_new_tokens"], other["max_new_tokens"]) == (7, 512)

    asyncio.run(main())


def test_bos_token_and_date_are_optional() -> None:
    async def main() -> None:
        now = datetime(2026, 3, 7).astimezone()
        dated = ChatTemplate("near", "own", TemplateSource(DATED, {"bos_token": "<s>", "eos_token": "</s>"}), now=now)
        async with serving(ANSWER) as server:
            model = TgiChat("near", base(server), template=dated, bos=True, now=lambda: now)
            await ask(model)
            await model.aclose()
        assert json.loads(server.posts[0].body)["inputs"].startswith("<s>Today is 07 Mar 2026.")

    asyncio.run(main())


def test_load_opens_two_connections() -> None:
    async def test(server: Server, model: TgiChat) -> None:
        await model.load()
        assert [(request.method, request.path) for request in server.seen] == [("GET", "/info")] * 2
        await ask(model)
        await ask(model)
        assert server.connections == 2

    TGI.run(test, ANSWER)


def test_functions_are_refused_before_request() -> None:
    async def test(server: Server, model: TgiChat) -> None:
        options = ChatOptions(functions=(Function("weather", "", "{}"),))
        with pytest.raises(LlmRefused, match="does not support functions"):
            async with aclosing(model.stream(HELLO, options)) as stream:
                await anext(stream)
        assert server.seen == []

    TGI.run(test, ANSWER)


@pytest.mark.parametrize("tokens", [0, 1], ids=["before the first token", "after it"])
def test_closing_stream_disconnects_at_once(tokens: int) -> None:
    async def test(server: Server, model: TgiChat) -> None:
        loop = asyncio.get_running_loop()
        async with aclosing(model.stream(HELLO)) as stream:
            for _ in range(2 + tokens):
                await anext(stream)
            left_s = loop.time()
        async with asyncio.timeout(0.5):
            assert await server.left_at_s - left_s < 0.5
        assert (await ask(model))[2] == Token("Hi")

    TGI.run(test, (HEAD, *(chunk(token("x")) for _ in range(tokens)), Wait(5)), ANSWER)


def test_stop_ends_answer_though_service_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_deadlines, "USAGE_TIMEOUT_S", 0.1)

    async def test(server: Server, model: TgiChat) -> None:
        async with asyncio.timeout(5):
            assert (await ask(model))[2:] == [Token("Hi"), Finished("stop_sequence")]
            await server.quiet.wait()

    TGI.run(test, (HEAD, chunk(token("Hi") + token("[INST] and")), Drip(chunk(b": ping\n\n"), 0.05)))


@pytest.mark.parametrize(
    "empty_event",
    [b": ping\n\n", token("<s>", special=True), token(""), token("\u200b"), token("\ufe0f")],
    ids=["keep-alive", "special token", "empty token", "zero-width token", "filler"],
)
def test_empty_tokens_do_not_extend_first_token_deadline(empty_event: bytes) -> None:
    events, fault = TGI.failing((HEAD, Drip(chunk(empty_event), 0.02)), first_token_timeout_s=0.15)
    assert isinstance(fault, LlmTooSlow)
    assert "first_token_timeout_s" in str(fault)
    assert [type(event) for event in events] == [SlotAcquired, RequestSent]


def test_stalled_answer_is_too_slow() -> None:
    events, fault = TGI.failing((HEAD, chunk(token("Hi")), Drip(chunk(b": ping\n\n"), 0.02)), token_gap_timeout_s=0.1)
    assert isinstance(fault, LlmTooSlow)
    assert "token_gap_timeout_s" in str(fault)
    assert events[-1] == Token("Hi")


@pytest.mark.parametrize(
    ("code", "kind"),
    [(422, "validation"), (424, "generation"), (429, "overloaded"), (500, "incomplete_generation")],
    ids=["validation", "generation", "overloaded", "incomplete generation"],
)
def test_refusal_before_stream(code: int, kind: str) -> None:
    _, fault = TGI.failing(status(code, {"error": f"no: {ASKED}", "error_type": kind}))
    assert isinstance(fault, LlmRefused)
    assert fault.retryable


def test_refusal_inside_stream() -> None:
    events, fault = TGI.failing((HEAD, chunk(error("Model is overloaded", "overloaded")), LAST_CHUNK))
    assert isinstance(fault, LlmRefused)
    assert "Model is overloaded" in str(fault)
    assert len(events) == 2


@pytest.mark.parametrize("end", [LAST_CHUNK, Abort()], ids=["regular end", "reset"])
def test_answer_without_its_last_line_is_broken(end: bytes | Abort) -> None:
    events, fault = TGI.failing((HEAD, chunk(token("Hi")), end))
    assert isinstance(fault, LlmBroken)
    assert events[-1] == Token("Hi")


@pytest.mark.parametrize(
    ("url", "limit_s", "fault"),
    [
        ("ftp://x", 1.0, "url must look like http://127.0.0.1:8080, not"),
        ("http://127.0.0.1:1", 0.0, "first_token_timeout_s must be greater than 0"),
    ],
    ids=["address", "deadline"],
)
def test_invalid_settings_are_refused_at_construction(url: str, limit_s: float, fault: str) -> None:
    with pytest.raises(ValueError, match=f"llm endpoint 'near': {fault}"):
        TgiChat("near", url, template=LLAMA2, first_token_timeout_s=limit_s)
