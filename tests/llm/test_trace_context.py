"""The trace context of a request reaches a service over gRPC, and an endpoint that replaces another."""

from contextlib import aclosing, suppress

import grpc
from support.clocks.event_loop import in_event_loop
from support.services import grpc_server, llm_server

from llm.chat import ChatModel, ChatOptions
from llm.errors import LlmError
from llm.openai.chat import OpenAIChat
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router
from llm.triton.grpc import TritonGrpcChat

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def ask(model: ChatModel) -> None:
    with suppress(LlmError):
        async with aclosing(model.stream(llm_server.HELLO, ChatOptions(traceparent=TRACEPARENT))) as events:
            async for _ in events:
                pass
    await model.aclose()


@in_event_loop
async def test_grpc_service_receives_trace_context() -> None:
    async with grpc_server.serving((grpc_server.Fail(grpc.StatusCode.INVALID_ARGUMENT),)) as triton:
        await ask(TritonGrpcChat("near", triton.url, "m", prompt=lambda messages: "hello"))
    assert triton.seen[0].metadata["traceparent"] == TRACEPARENT


@in_event_loop
async def test_failover_endpoint_receives_trace_context() -> None:
    refused = llm_server.status(503, {"error": "busy"})
    async with llm_server.serving(refused) as one, llm_server.serving(llm_server.answer("Yes.")) as other:
        routing = Routing([Endpoint("one"), Endpoint("other")], "ordered", HedgeBudget(0.0), lambda: 0.5)
        models = [OpenAIChat("one", one.url, "m"), OpenAIChat("other", other.url, "m")]
        await ask(Router(models, routing, first_token_timeout_s=5.0))
        assert [seen.headers["traceparent"] for seen in (*one.posts, *other.posts)] == [TRACEPARENT] * 2
