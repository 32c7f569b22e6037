"""Clients of services over HTTP have this in common; against scripted services on real sockets."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.clocks.stopwatch import Stopwatch
from support.services import aws_server
from support.services.aws_server import REGION, own_environment, part, serving_aws
from support.services.endpoint_services import script_of
from support.services.generate_events import error, output, token
from support.services.llm_server import (
    HEAD,
    HELLO,
    LAST_CHUNK,
    Abort,
    Close,
    Drip,
    Script,
    Server,
    Wait,
    ask,
    chunk,
    event,
    status,
)
from support.services.scripted_answers import ASKED, KEY, Client, base

from llm import token_deadlines
from llm.aws.bedrock import BedrockChat
from llm.aws.sagemaker import SageMakerChat
from llm.chat import (
    PLAIN,
    ChatEvent,
    ChatModel,
    ChatOptions,
    Finished,
    Function,
    FunctionCall,
    Message,
    RequestSent,
    SlotAcquired,
    Token,
)
from llm.errors import LlmBroken, LlmRefused, LlmTooSlow
from llm.openai.chat import OpenAIChat
from llm.templates.chat_template import load_template
from llm.tgi.chat import TgiChat
from llm.triton.generate import TritonChat

LLAMA2 = load_template("near", "llama2")


@dataclass(frozen=True)
class Service:
    """A kind of service.

    Attributes:
        make: Makes a client from its address and settings.
        warm: Method and path of the request that opens a connection.
        text: One piece of an answer.
        fault: An error inside a stream.
        empty: Messages without content.
        stop: The end of the text, which token counts may follow; b"" if they never do.
    """

    make: Callable[..., ChatModel]
    warm: tuple[str, str]
    text: Callable[[str], bytes]
    fault: Callable[[str], bytes]
    empty: tuple[bytes, ...]
    stop: bytes = b""
    is_aws: bool = False
    takes_functions: bool = True

    @property
    def head(self) -> bytes:
        return aws_server.HEAD if self.is_aws else HEAD

    @property
    def client(self) -> Client[ChatModel]:
        def make(server: Server, first_s: float, gap_s: float) -> ChatModel:
            return self.make(server, first_token_timeout_s=first_s, token_gap_timeout_s=gap_s)

        return Client(make, serving_aws) if self.is_aws else Client(make)

    def refusal(self, code: int, text: str) -> Script:
        if self.is_aws:
            return aws_server.refusal(code, "ValidationException", message=text)
        return status(code, {"error": {"message": text}})


def bedrock(server: Server, **settings: Any) -> ChatModel:
    return BedrockChat("near", "eu.amazon.nova-lite-v1:0", region=REGION, url=server.url, **settings)


SERVICES = {
    "openai": Service(
        lambda server, **settings: OpenAIChat("near", server.url, "m7", api_key=KEY, **settings),
        ("GET", "/v1/models"),
        event,
        lambda text: b"data: " + json.dumps({"error": {"message": text}}).encode() + b"\n\n",
        (event(role="assistant", content=""), event(reasoning_content="hmm"), b": keep-alive\n\n"),
        event(finish="stop"),
    ),
    "tgi": Service(
        lambda server, **settings: TgiChat("near", base(server), template=LLAMA2, api_key=KEY, **settings),
        ("GET", "/info"),
        token,
        lambda text: error(text, "overloaded"),
        (token("<s>", special=True), token(""), token("\u200b"), token("\ufe0f")),
        takes_functions=False,
    ),
    "triton": Service(
        lambda server, **settings: TritonChat("near", base(server), "m7", template=LLAMA2, api_key=KEY, **settings),
        ("GET", "/v2/health/ready"),
        output,
        lambda text: b"data: " + json.dumps({"error": text}).encode() + b"\n\n",
        (output(""),),
        takes_functions=False,
    ),
    "sagemaker": Service(
        lambda server, **settings: SageMakerChat("near", "m7", region=REGION, url=server.url, **settings),
        ("GET", "/ping"),
        lambda text: part(event(text)),
        lambda text: part(b"data: " + json.dumps({"error": {"message": text}}).encode() + b"\n\n"),
        (part(b": keep-alive\n\n"),),
        part(event(finish="stop")),
        is_aws=True,
    ),
    "bedrock": Service(
        bedrock,
        ("GET", "/ping"),
        lambda text: aws_server.event("contentBlockDelta", contentBlockIndex=0, delta={"text": text}),
        lambda text: aws_server.fault("validationException", message=text),
        (aws_server.event("messageStart", role="assistant"),),
        aws_server.event("messageStop", stopReason="end_turn"),
        is_aws=True,
    ),
}
EVERY = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)


def complete(service: Service) -> Script:
    return script_of(next(kind for kind, one in SERVICES.items() if one is service), "Hi")


def texts(events: list[ChatEvent]) -> list[str]:
    return [said.text for said in events if isinstance(said, Token)]


@EVERY
def test_load_opens_two_connections_that_answers_use(service: Service) -> None:
    async def test(server: Server, model: ChatModel) -> None:
        await model.load()
        assert [(request.method, request.path) for request in server.seen] == [service.warm] * 2
        for _ in range(3):
            assert texts(await ask(model)) == ["Hi"]
        assert server.connections == 2

    service.client.run(test, complete(service))


@EVERY
@pytest.mark.parametrize("tokens", [0, 1], ids=["before the first token", "after it"])
def test_closing_stream_disconnects_at_once(service: Service, tokens: int) -> None:
    async def test(server: Server, model: ChatModel) -> None:
        async with aclosing(model.stream(HELLO)) as stream:
            for _ in range(2 + tokens):
                await anext(stream)
            watch = Stopwatch()
        assert watch.undisturbed_s < 0.1
        async with asyncio.timeout(4):
            await server.left_at_s
        assert watch.undisturbed_s < 0.2
        assert texts(await ask(model)) == ["Hi"]

    begun: Script = (service.head, *(chunk(service.text("x")) for _ in range(tokens)), Wait(5))
    service.client.run(test, begun, complete(service))


@pytest.mark.parametrize(
    ("service", "message"),
    [(service, message) for service in SERVICES.values() for message in (b"", *service.empty)],
    ids=[f"{kind} {number}" for kind, service in SERVICES.items() for number in range(1 + len(service.empty))],
)
def test_first_token_deadline_counts_content_only(service: Service, message: bytes) -> None:
    script = (service.head, Drip(chunk(message), 0.02)) if message else (Wait(5),)
    watch = Stopwatch()
    events, fault = service.client.failing(script, first_token_timeout_s=0.15)
    assert isinstance(fault, LlmTooSlow)
    assert fault.retryable
    assert "first_token_timeout_s" in str(fault)
    assert fault.spoken == "My language model did not answer in time."
    assert [type(said) for said in events] == [SlotAcquired, RequestSent]
    assert watch.duration.elapsed_s > 0.14
    assert watch.undisturbed_s < 0.8


@EVERY
def test_stalled_answer_is_too_slow(service: Service) -> None:
    stalled = (service.head, chunk(service.text("Hi")), Drip(chunk(service.empty[0]), 0.02))
    events, fault = service.client.failing(stalled, token_gap_timeout_s=0.1)
    assert isinstance(fault, LlmTooSlow)
    assert "token_gap_timeout_s" in str(fault)
    assert fault.spoken == "My language model stopped in the middle of its answer."
    assert events[-1] == Token("Hi")


@EVERY
@pytest.mark.parametrize("end", [Close(), Abort()], ids=["closed", "reset"])
@pytest.mark.parametrize(
    ("came", "spoken"),
    [([], "gave no answer"), (["Hi"], "broke off in the middle of its answer")],
    ids=["none", "some"],
)
def test_lost_connection_is_broken(service: Service, end: Close | Abort, came: list[str], spoken: str) -> None:
    events, fault = service.client.failing((service.head, *(chunk(service.text(text)) for text in came), end))
    assert isinstance(fault, LlmBroken)
    assert fault.retryable
    assert fault.spoken == f"My language model {spoken}."
    assert texts(events) == came


@EVERY
@pytest.mark.parametrize("code", [400, 503])
def test_refusal_before_the_stream_is_retryable_and_quotes_nothing_private(service: Service, code: int) -> None:
    events, fault = service.client.failing(service.refusal(code, f"Because of '{ASKED}' and {KEY}."))
    assert isinstance(fault, LlmRefused)
    assert fault.retryable
    assert [type(said) for said in events] == [SlotAcquired, RequestSent]


@EVERY
@pytest.mark.parametrize("came", [[], ["Hi"]], ids=["first", "later"])
def test_error_inside_the_stream_is_a_refusal_and_quotes_nothing_private(service: Service, came: list[str]) -> None:
    body = b"".join(map(service.text, came)) + service.fault(f"cannot do {ASKED.upper()}, {KEY}")
    events, fault = service.client.failing((service.head, chunk(body), LAST_CHUNK))
    assert isinstance(fault, LlmRefused)
    assert ASKED.upper() not in str(fault)
    assert texts(events) == came


@pytest.mark.parametrize("kind", [kind for kind, service in SERVICES.items() if service.takes_functions])
def test_error_does_not_quote_call_arguments(kind: str) -> None:
    service = SERVICES[kind]
    arguments = json.dumps({"who": "Doktor Müllerschön", "why": "chest pain"})
    asked = (
        Message("user", "call my doctor"),
        Message("assistant", "", calls=(FunctionCall("c1", "dial", arguments),)),
        Message("tool", "busy", call_id="c1"),
    )

    async def test(_: Server, model: ChatModel) -> None:
        with pytest.raises(LlmRefused) as refusal:
            await ask(model, asked)
        assert "chest" not in str(refusal.value)
        assert "Müller" not in str(refusal.value)

    for text in ("bad call: Doktor Müllerschön, chest pain", "bad arguments: Müllerschön"):
        service.client.run(test, service.refusal(400, text))
        service.client.run(test, (service.head, chunk(service.fault(text)), LAST_CHUNK))


@pytest.mark.parametrize("kind", [kind for kind, service in SERVICES.items() if not service.takes_functions])
def test_functions_are_refused_before_request(kind: str) -> None:
    async def test(server: Server, model: ChatModel) -> None:
        options = ChatOptions(functions=(Function("weather", "", "{}"),))
        with pytest.raises(LlmRefused, match="does not support functions"):
            async with aclosing(model.stream(HELLO, options)) as stream:
                await anext(stream)
        assert server.seen == []

    SERVICES[kind].client.run(test, complete(SERVICES[kind]))


@pytest.mark.parametrize("kind", [kind for kind, service in SERVICES.items() if service.stop])
def test_wait_for_token_counts_is_bounded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_deadlines, "USAGE_TIMEOUT_S", 0.05)
    service = SERVICES[kind]
    *_, text, finished = service.client.events_of((service.head, chunk(service.text("Hi") + service.stop), Wait(5)))
    assert text == Token("Hi")
    assert isinstance(finished, Finished)
    assert finished.completion_tokens is None


@EVERY
def test_service_receives_the_trace_context(service: Service) -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    async def test(server: Server, model: ChatModel) -> None:
        for options in (ChatOptions(traceparent=traceparent), PLAIN):
            async with aclosing(model.stream(HELLO, options)) as stream:
                async for _ in stream:
                    pass
        told, untold = server.posts
        assert told.headers["traceparent"] == traceparent
        assert "traceparent" not in untold.headers
        # A proxy that rewrites it would break a signature.
        assert "traceparent" not in told.headers["authorization"]

    service.client.run(test, complete(service))
