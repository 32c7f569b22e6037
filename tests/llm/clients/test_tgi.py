"""The TGI client against a scripted service on real sockets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import datetime

import pytest
from support.clocks.event_loop import in_event_loop
from support.services.chat_templates import DATED
from support.services.generate_events import last, token
from support.services.llm_server import HEAD, HELLO, LAST_CHUNK, Drip, Server, ask, chunk, serving
from support.services.scripted_answers import ASKED, KEY, Client, base

from llm import token_deadlines
from llm.chat import ChatOptions, Finished, RequestSent, SlotAcquired, Token
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


@in_event_loop
async def test_request_body() -> None:
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


@pytest.mark.parametrize(
    ("temperature", "sampling"),
    [(None, {}), (0.0, {"do_sample": False}), (1, {"do_sample": True, "temperature": 1})],
    ids=["not set", "zero", "one"],
)
@in_event_loop
async def test_temperature_zero_disables_sampling(temperature: float | None, sampling: dict[str, object]) -> None:
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


@in_event_loop
async def test_bos_token_and_date_are_optional() -> None:
    now = datetime(2026, 3, 7).astimezone()
    dated = ChatTemplate("near", "own", TemplateSource(DATED, {"bos_token": "<s>", "eos_token": "</s>"}), now=now)
    async with serving(ANSWER) as server:
        model = TgiChat("near", base(server), template=dated, bos=True, now=lambda: now)
        await ask(model)
        await model.aclose()
    assert json.loads(server.posts[0].body)["inputs"].startswith("<s>Today is 07 Mar 2026.")


def test_stop_ends_answer_though_service_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_deadlines, "USAGE_TIMEOUT_S", 0.1)

    async def test(server: Server, model: TgiChat) -> None:
        async with asyncio.timeout(5):
            assert (await ask(model))[2:] == [Token("Hi"), Finished("stop_sequence")]
            await server.quiet.wait()

    TGI.run(test, (HEAD, chunk(token("Hi") + token("[INST] and")), Drip(chunk(b": ping\n\n"), 0.05)))


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
