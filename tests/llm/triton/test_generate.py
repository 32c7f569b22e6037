"""The Triton client against a scripted service on real sockets."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from functools import partial

import pytest
from support.clocks.event_loop import in_event_loop
from support.services.chat_templates import DATED
from support.services.generate_events import output
from support.services.llm_server import HEAD, HELLO, LAST_CHUNK, Server, Wait, ask, chunk, serving
from support.services.scripted_answers import ASKED, KEY, Client, base

from llm import token_deadlines
from llm.chat import ChatOptions, Finished, RequestSent, SlotAcquired, Token
from llm.templates.chat_template import ChatTemplate, load_template
from llm.templates.template_file import TemplateSource
from llm.triton.generate import BACKENDS, TENSORRT_LLM, TritonChat, TritonInputs

CHATML = load_template("near", "chatml")
PROMPT = f"<|im_start|>system\nYou are terse.<|im_end|>\n<|im_start|>user\n{ASKED}<|im_end|>\n<|im_start|>assistant\n"
ANSWER = (HEAD, chunk(output("Hi") + output(".")), LAST_CHUNK)
ROUTE = "/v2/models/m7/generate_stream"

Test = Callable[[Server, TritonChat], Awaitable[None]]


def make_client(
    server: Server, first_token_timeout_s: float, token_gap_timeout_s: float, *, echo: bool = False
) -> TritonChat:
    return TritonChat(
        "near",
        base(server),
        "m7",
        template=CHATML,
        api_key=KEY,
        echo=echo,
        first_token_timeout_s=first_token_timeout_s,
        token_gap_timeout_s=token_gap_timeout_s,
    )


TRITON = Client(make_client)
ECHOING = Client(partial(make_client, echo=True))


def request_of(**settings: object) -> tuple[str, dict[str, object]]:
    """Returns path and body of one request, without its id."""

    async def main() -> Server:
        async with serving(ANSWER) as server:
            model = TritonChat("near", base(server), **{"model": "m7", "template": CHATML, **settings})  # type: ignore[arg-type]
            await ask(model)
            await model.aclose()
        return server

    (post,) = asyncio.run(main()).posts
    body = json.loads(post.body)
    assert re.fullmatch("repartee-[0-9a-f]{8}-1", body.pop("id"))
    return post.path, body


def test_events_of_an_answer() -> None:
    queued, sent, *rest = TRITON.events_of(ANSWER)
    assert queued == SlotAcquired()
    assert isinstance(sent, RequestSent)
    assert rest == [Token("Hi"), Token("."), Finished("done")]


def test_request_to_vllm() -> None:
    path, body = request_of(max_tokens=80, temperature=0.2, parameters={"top_p": 0.9})
    assert path == ROUTE
    assert body == {
        "text_input": PROMPT,
        "parameters": {
            "stream": True,
            "exclude_input_in_output": True,
            "max_tokens": 80,
            "temperature": 0.2,
            "top_p": 0.9,
        },
    }


def test_request_to_tensorrt_llm() -> None:
    path, body = request_of(model="ensemble", version="3", inputs=BACKENDS["tensorrt_llm"])
    assert path == "/v2/models/ensemble/versions/3/generate_stream"
    assert body == {
        "text_input": PROMPT,
        "stream": True,
        "exclude_input_in_output": True,
        "max_tokens": 512,
        "stop_words": ["<|im_end|>", "<|im_start|>"],
    }


def test_request_with_custom_inputs() -> None:
    inputs = TritonInputs(nested=False, text="PROMPT", max_tokens="limit", stream="", exclude_input="")
    _, body = request_of(inputs=inputs, temperature=0.0)
    assert body == {"PROMPT": PROMPT, "limit": 512, "temperature": 0.0}


def test_model_names_are_url_encoded() -> None:
    assert request_of(model="a b/ü")[0] == "/v2/models/a%20b%2F%C3%BC/generate_stream"


def test_bos_token_and_date_are_optional() -> None:
    now = datetime(2026, 3, 7).astimezone()
    dated = ChatTemplate("near", "own", TemplateSource(DATED, {"bos_token": "<s>", "eos_token": "</s>"}), now=now)
    _, body = request_of(template=dated, bos=True, now=lambda: now)
    assert str(body["text_input"]).startswith("<s>Today is 07 Mar 2026.")


@in_event_loop
async def test_address_with_route_and_prefix() -> None:
    async with serving(ANSWER) as server:
        model = TritonChat("near", f"{base(server)}/far{ROUTE}", "m7", template=CHATML, api_key=f"{KEY}\n")
        assert model.detail == f"triton m7 (chatml) at {base(server)}/far"
        async with aclosing(model.stream(HELLO, ChatOptions(max_tokens=7))) as stream:
            async for _ in stream:
                pass
        await ask(model)
        await model.aclose()
    one, other = server.posts
    assert one.path == f"/far{ROUTE}"
    assert one.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(one.body)["parameters"]["max_tokens"] == 7
    assert json.loads(other.body)["id"] == json.loads(one.body)["id"].removesuffix("1") + "2"


def test_echoed_prompt_is_removed() -> None:
    script = (HEAD, chunk(output(PROMPT[:9]) + output(PROMPT[9:] + "Hi")), LAST_CHUNK)
    assert ECHOING.events_of(script)[2:] == [Token("Hi"), Finished("done")]


def test_stop_ends_answer_and_generation_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_deadlines, "USAGE_TIMEOUT_S", 60.0)  # there are no token counts to wait for

    async def test(server: Server, model: TritonChat) -> None:
        async with asyncio.timeout(3):
            assert (await ask(model))[2:] == [Token("Hi"), Finished("stop_sequence")]
            await server.left_at_s

    TRITON.run(test, (HEAD, chunk(output("Hi<|im_") + output("end|> and")), Wait(5)))


@pytest.mark.parametrize(
    ("model", "url", "fault"),
    [
        ("", "http://127.0.0.1:1", "model must name a model"),
        ("m7", "x", "url must look like http://127.0.0.1:8000, not"),
    ],
    ids=["no model", "address"],
)
def test_invalid_settings_are_refused_at_construction(model: str, url: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"llm endpoint 'near': {fault}"):
        TritonChat("near", url, model, template=CHATML)


def test_inputs_invalid_for_protocol_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be nested in parameters: leave it empty"):
        TritonInputs(nested=True, stop="stop")
    with pytest.raises(ValueError, match="must name the model's input and output"):
        TritonInputs(nested=False, text="")
    assert TENSORRT_LLM.stop == "stop_words"
