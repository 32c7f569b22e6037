"""The trace context of a request reaches every kind of service."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from support.services import aws_server, grpc_server, llm_server

from llm.aws.bedrock import BedrockChat
from llm.aws.sagemaker import SageMakerChat
from llm.chat import PLAIN, ChatModel, ChatOptions
from llm.errors import LlmError
from llm.openai.chat import OpenAIChat
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router
from llm.templates.chat_template import load_template
from llm.tgi.chat import TgiChat
from llm.triton.generate import TritonChat
from llm.triton.grpc import TritonGrpcChat

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACED = ChatOptions(traceparent=TRACEPARENT)
REFUSED = llm_server.status(400, {"error": "not today"})

HTTP: dict[str, Callable[[str], ChatModel]] = {
    "openai": lambda url: OpenAIChat("near", url, "m"),
    "tgi": lambda url: TgiChat("near", url.removesuffix("/v1"), template=load_template("near", "llama2")),
    "triton": lambda url: TritonChat("near", url.removesuffix("/v1"), "m", template=load_template("near", "llama2")),
}
AWS: dict[str, Callable[[str], ChatModel]] = {
    "sagemaker": lambda url: SageMakerChat("far", "m", region=aws_server.REGION, url=url),
    "bedrock": lambda url: BedrockChat("far", "amazon.nova-lite-v1:0", region=aws_server.REGION, url=url),
}


async def ask(model: ChatModel, options: ChatOptions) -> None:
    with suppress(LlmError):
        async with aclosing(model.stream(llm_server.HELLO, options)) as events:
            async for _ in events:
                pass
    await model.aclose()


@pytest.mark.parametrize("make", HTTP.values(), ids=HTTP)
def test_http_services_receive_trace_context(make: Callable[[str], ChatModel]) -> None:
    async def main() -> None:
        async with llm_server.serving(REFUSED) as server:
            await ask(make(server.url), TRACED)
            await ask(make(server.url), PLAIN)
            told, untold = server.posts
        assert told.headers["traceparent"] == TRACEPARENT
        assert "traceparent" not in untold.headers

    asyncio.run(main())


@pytest.mark.parametrize("make", AWS.values(), ids=AWS)
def test_aws_signature_excludes_trace_context(
    make: Callable[[str], ChatModel], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    aws_server.own_environment(monkeypatch, tmp_path)

    async def main() -> None:
        async with aws_server.serving_aws(aws_server.refusal(400, "ValidationException", message="no")) as server:
            await ask(make(server.url), TRACED)
            (seen,) = server.posts
            assert server.verified
        assert seen.headers["traceparent"] == TRACEPARENT
        assert "traceparent" not in seen.headers["authorization"], "a proxy that rewrites it would break the signature"

    asyncio.run(main())


def test_grpc_service_receives_trace_context() -> None:
    async def main() -> None:
        async with grpc_server.serving((grpc_server.Fail(grpc.StatusCode.INVALID_ARGUMENT),)) as triton:
            await ask(TritonGrpcChat("near", triton.url, "m", prompt=lambda messages: "hello"), TRACED)
        assert triton.seen[0].metadata["traceparent"] == TRACEPARENT

    asyncio.run(main())


def test_failover_endpoint_receives_trace_context() -> None:
    async def main() -> None:
        refused = llm_server.status(503, {"error": "busy"})
        async with llm_server.serving(refused) as one, llm_server.serving(llm_server.answer("Yes.")) as other:
            routing = Routing(
                [Endpoint("one"), Endpoint("other")], "ordered", HedgeBudget(0.0), lambda: 0.5
            )  # fmt: skip
            models = [OpenAIChat("one", one.url, "m"), OpenAIChat("other", other.url, "m")]
            await ask(Router(models, routing, first_token_timeout_s=5.0), TRACED)
            assert [seen.headers["traceparent"] for seen in (*one.posts, *other.posts)] == [TRACEPARENT] * 2

    asyncio.run(main())


def test_options_without_trace_context_have_no_header() -> None:
    assert PLAIN.headers == {}
    assert replace(PLAIN, traceparent=TRACEPARENT).headers == {"traceparent": TRACEPARENT}
