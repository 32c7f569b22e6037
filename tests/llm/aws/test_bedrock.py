"""The Bedrock client, compared with the real boto3 client, against a server that verifies every signature."""

import asyncio
import json
import logging
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from support.clocks.event_loop import in_event_loop
from support.services.aws_server import (
    HEAD,
    REGION,
    SECRET,
    TOKEN,
    AwsServer,
    answer,
    boto3_client,
    event,
    fault,
    own_environment,
    refusal,
    said,
    serving_aws,
    usage,
    wrapped,
)
from support.services.llm_server import HELLO, Abort, Script, Server, Wait, ask, chunk
from support.services.scripted_answers import ASKED, Client
from support.texts.text_cases import named_cases

from llm.aws.bedrock import BedrockChat
from llm.chat import CallInProgress, ChatEvent, ChatOptions, Finished, Function, FunctionCall, Message, Token
from llm.errors import LlmBroken, LlmError, LlmFiltered, LlmRefused, LlmTooSlow

NOVA = "eu.amazon.nova-lite-v1:0"
PROVISIONED = "arn:aws:bedrock:eu-central-1:123456789012:provisioned-model/abc123def456"
CLAUDE = "anthropic.claude-3-5-haiku-20241022-v1:0"
LLAMA = "meta.llama3-1-8b-instruct-v1:0"
STOP = event("messageStop", stopReason="end_turn")
WEATHER = Function("weather", "How it will be", '{"type":"object","properties":{"city":{"type":"string"}}}')


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)


def client(model: str = NOVA, **settings: Any) -> Client[BedrockChat]:
    def make(server: Server, first_token_s: float, token_gap_s: float) -> BedrockChat:
        deadlines: dict[str, Any] = {"first_token_timeout_s": first_token_s, "token_gap_timeout_s": token_gap_s}
        return BedrockChat("near", model, region=REGION, url=server.url, **deadlines, **settings)

    return Client(make, serving_aws)


def asked(
    *scripts: Script,
    messages: tuple[Message, ...] = HELLO,
    options: ChatOptions | None = None,
    model: str = NOVA,
    **settings: Any,
) -> tuple[list[ChatEvent], dict[str, Any], dict[str, str]]:
    """Returns the events after RequestSent, the request body and the request headers."""
    heard: list[ChatEvent] = []
    posts: list[tuple[dict[str, Any], dict[str, str]]] = []

    async def test(server: Server, chat: BedrockChat) -> None:
        async with aclosing(chat.stream(messages, options or ChatOptions())) as events:
            heard.extend([event async for event in events])
        assert isinstance(server, AwsServer)
        assert server.verified == ["bedrock"]
        posts.append((json.loads(server.posts[0].body), server.posts[0].headers))

    client(model, **settings).run(test, *scripts)
    return heard[2:], *posts[0]


def failure(*scripts: Script, **settings: Any) -> LlmError:
    return client(**settings).failing(*scripts)[1]


# Converse.


def test_token_counts_after_stop_are_read() -> None:
    counts = usage(cacheReadInputTokens=1500, cacheWriteInputTokens=20)
    heard, body, _ = asked(answer(said("Mount", " Éverest 😀") + STOP, counts))
    finished = Finished("end_turn", 9 + 1500 + 20, 2, cached_tokens=1500)
    assert heard == [Token("Mount"), Token(" Éverest 😀"), finished]
    assert body == {
        "system": [{"text": "You are terse."}],
        "messages": [{"role": "user", "content": [{"text": ASKED}]}],
        "inferenceConfig": {},
    }


@pytest.mark.parametrize("model", [NOVA, PROVISIONED], ids=["model", "provisioned throughput"])
def test_boto3_receives_the_same_answer(model: str) -> None:
    def by_boto3(url: str) -> str:
        client = boto3_client("bedrock-runtime", url, token=TOKEN)
        response = client.converse_stream(modelId=model, messages=[{"role": "user", "content": [{"text": "Hi"}]}])
        deltas = [event["contentBlockDelta"]["delta"] for event in response["stream"] if "contentBlockDelta" in event]
        client.close()
        return "".join(delta["text"] for delta in deltas)

    async def main() -> None:
        async with serving_aws(answer(said("Mount", " Éverest 😀") + STOP + usage()), token=TOKEN) as server:
            theirs = await asyncio.to_thread(by_boto3, server.url)
            chat = BedrockChat("cloud", model, region=REGION, url=server.url)
            ours = "".join(event.text for event in await ask(chat) if isinstance(event, Token))
            await chat.aclose()
        assert theirs == ours == "Mount Éverest 😀"
        assert server.verified == ["bedrock", "bedrock"]
        first, second = server.posts
        assert first.path == second.path
        assert first.path.count("/") == 3  # slashes of an ARN are part of the name

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SESSION_TOKEN", TOKEN)
        asyncio.run(main())


def test_request_bodies_are_valid_for_boto3() -> None:
    """The bodies are valid for the API model of the real client."""
    history = (
        *HELLO,
        Message("assistant", "", (FunctionCall("call/1", "weather", '{"city":"Ulm"}'),)),
        Message("tool", "sunny", call_id="call/1"),
    )
    script = answer(said("Hi") + STOP + usage())
    _, body, _ = asked(
        script, messages=history, options=ChatOptions((WEATHER,), max_tokens=9), cache=True, latency="optimized"
    )

    def by_boto3(url: str) -> None:
        client = boto3_client("bedrock-runtime", url)
        list(client.converse_stream(modelId=NOVA, **body)["stream"])
        client.close()

    async def main() -> None:
        async with serving_aws(script) as server:
            await asyncio.to_thread(by_boto3, server.url)
            assert json.loads(server.posts[0].body) == body

    asyncio.run(main())


def test_cache_and_latency_options() -> None:
    messages = (HELLO[0], HELLO[1], Message("system", "It is noon."))
    script = answer(said("Hi") + STOP + usage())
    _, body, _ = asked(script, messages=messages, cache=True, latency="optimized", max_tokens=7, temperature=0.5)
    cache_point = {"cachePoint": {"type": "default"}}
    assert body["system"] == [{"text": "You are terse."}, cache_point, {"text": "It is noon."}]
    assert body["performanceConfig"] == {"latency": "optimized"}
    assert body["inferenceConfig"] == {"maxTokens": 7, "temperature": 0.5}


def test_reasoning_is_removed() -> None:
    thought = event("contentBlockDelta", contentBlockIndex=0, delta={"reasoningContent": {"text": "hmm"}})
    heard, _, _ = asked(answer(thought + said("Hi") + STOP + usage()))
    assert heard[0] == Token("Hi")


def test_function_call_is_assembled() -> None:
    start = event("contentBlockStart", contentBlockIndex=1, start={"toolUse": {"toolUseId": "t1", "name": "weather"}})
    pieces = [
        event("contentBlockDelta", contentBlockIndex=1, delta={"toolUse": {"input": piece}})
        for piece in ('{"ci', 'ty":"Ulm"}')
    ]
    script = answer(said("See.") + start, *pieces, event("messageStop", stopReason="tool_use") + usage())
    options = ChatOptions((WEATHER,), choice="required")
    heard, body, _ = asked(script, options=options)
    assert heard[:-1] == [Token("See."), *[CallInProgress()] * 3, FunctionCall("t1", "weather", '{"city":"Ulm"}')]
    assert body["toolConfig"]["toolChoice"] == {"any": {}}
    (tool,) = body["toolConfig"]["tools"]
    assert tool["toolSpec"]["inputSchema"]["json"] == json.loads(WEATHER.parameters)
    heard, body, _ = asked(script, options=ChatOptions((WEATHER,), choice="none"))
    assert "toolConfig" not in body
    assert [type(event) for event in heard] == [Token, Finished]


# Finish reasons and errors.


@pytest.mark.parametrize("reason", ["guardrail_intervened", "content_filtered"])
def test_content_filter_is_not_retryable(reason: str) -> None:
    error = failure(answer(said("Hi") + event("messageStop", stopReason=reason) + usage()))
    assert isinstance(error, LlmFiltered)
    assert not error.retryable
    assert error.spoken == "My language model declined to answer that."


@pytest.mark.parametrize("reason", ["malformed_model_output", "malformed_tool_use"])
def test_malformed_output_is_broken(reason: str) -> None:
    assert isinstance(failure(answer(said("Hi") + event("messageStop", stopReason=reason))), LlmBroken)


def test_stream_without_stop_or_text_is_broken() -> None:
    assert "without an end mark" in str(failure(answer(said("Hi"))))
    assert "without any text (end_turn)" in str(failure(answer(STOP + usage())))


def test_fault_after_last_text_loses_only_counts() -> None:
    late = fault("internalServerException", message="x")
    assert asked(answer(said("Hi") + STOP + late))[0] == [Token("Hi"), Finished("end_turn")]
    assert asked((HEAD, chunk(said("Hi") + STOP), Wait(0.02), Abort()))[0] == [Token("Hi"), Finished("end_turn")]
    script = answer(
        wrapped(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"}),
        wrapped(type="message_delta", delta={"stop_reason": "end_turn"}),
        wrapped(type="error", error={"type": "overloaded_error", "message": "Overloaded"}),
    )
    heard, _, _ = asked(script, api="invoke", family="anthropic")
    assert heard == [Token("Hi"), Finished("end_turn")]


@named_cases(
    ("frame", "kind"),
    {
        "throttling": (fault("throttlingException", message="Too many tokens"), LlmRefused),
        "service unavailable": (fault("serviceUnavailableException", message="x"), LlmRefused),
        "internal server error": (fault("internalServerException", message="x"), LlmRefused),
        "validation": (fault("validationException", message="x"), LlmRefused),
        "model stream error 500": (fault("modelStreamErrorException", message="x", originalStatusCode=500), LlmBroken),
        "model stream error 400": (fault("modelStreamErrorException", message="x", originalStatusCode=400), LlmRefused),
        "model timeout": (fault("modelTimeoutException", message="x"), LlmTooSlow),
    },
)
def test_refusal_inside_stream(frame: bytes, kind: type[LlmError]) -> None:
    error = failure(answer(said("Hi") + frame))
    assert isinstance(error, kind)
    assert error.retryable


@named_cases(
    ("code", "kind", "message", "expected_text"),
    {
        "throttling": (429, "ThrottlingException", "Too many requests", "raise its quota"),
        "model not ready": (429, "ModelNotReadyException", "", "not ready"),
        "service unavailable": (503, "ServiceUnavailableException", "", "not ready"),
        "quota exceeded": (400, "ServiceQuotaExceededException", "", "raise its quota"),
        "model timeout": (408, "ModelTimeoutException", "", "its model took too long"),
        "validation": (
            400,
            "ValidationException",
            "messages: too long",
            'check what eu.amazon.nova-lite-v1:0 accepts: "mess',
        ),
        "invalid model": (
            400,
            "ValidationException",
            "The provided model identifier is invalid.",
            "finds no eu.amazon.nova",
        ),
        "not found": (404, "ResourceNotFoundException", "", "finds no eu.amazon.nova"),
        "access denied": (403, "AccessDeniedException", "You don't have access", "may be used in eu-central-1"),
        "model error": (424, "ModelErrorException", "", "see the model's log"),
        "internal server error": (500, "InternalServerException", "", "failed (internalserver)"),
    },
)
def test_refusal_before_stream(code: int, kind: str, message: str, expected_text: str) -> None:
    error = failure(refusal(code, kind, message=message))
    assert error.retryable
    assert expected_text in str(error)


# InvokeModel.


def test_anthropic_by_invoke() -> None:
    cached = {"input_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 1}
    metrics = {"inputTokenCount": 9, "outputTokenCount": 5, "invocationLatency": 7, "firstByteLatency": 3}
    script = answer(
        wrapped(type="message_start", message={"role": "assistant", "usage": cached}),
        wrapped(type="content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
        wrapped(type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hmm"}),
        wrapped(type="content_block_start", index=1, content_block={"type": "text", "text": ""}),
        wrapped(type="ping") + wrapped(type="content_block_delta", index=1, delta={"type": "text_delta", "text": "Hi"}),
        wrapped(type="content_block_start", index=2, content_block={"type": "tool_use", "id": "t1", "name": "weather"}),
        wrapped(type="content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '{"city":'}),
        wrapped(type="content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '"Ulm"}'}),
        wrapped(type="message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 5}),
        wrapped(type="message_stop", **{"amazon-bedrock-invocationMetrics": metrics}),
    )
    options = ChatOptions((WEATHER,), choice="weather")
    heard, body, headers = asked(script, options=options, model=CLAUDE, api="invoke", cache=True, latency="optimized")
    call = FunctionCall("t1", "weather", '{"city":"Ulm"}')
    assert heard == [Token("Hi"), *[CallInProgress()] * 3, call, Finished("tool_use", 13, 5, cached_tokens=4)]
    assert body["anthropic_version"] == "bedrock-2023-05-31"
    assert body["max_tokens"] == 1024
    assert body["system"] == [{"type": "text", "text": "You are terse.", "cache_control": {"type": "ephemeral"}}]
    assert body["tool_choice"] == {"type": "tool", "name": "weather"}
    assert headers["x-amzn-bedrock-performanceconfig-latency"] == "optimized"


def test_anthropic_error_inside_stream() -> None:
    script = answer(wrapped(type="error", error={"type": "overloaded_error", "message": "Overloaded"}))
    error = failure(script, api="invoke", family="anthropic")
    assert error.spoken == "My language model is too busy right now."
    script = answer(
        wrapped(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"}),
        wrapped(type="message_delta", delta={"stop_reason": "refusal"}),
    )
    assert not failure(script, api="invoke", family="anthropic").retryable


def test_llama_by_invoke_matches_boto3() -> None:
    metrics = {"inputTokenCount": 31, "outputTokenCount": 2}
    script = answer(
        wrapped(generation="Mount", prompt_token_count=31, generation_token_count=1, stop_reason=None),
        wrapped(
            generation=" Everest", prompt_token_count=None, generation_token_count=2, stop_reason="stop",
            **{"amazon-bedrock-invocationMetrics": metrics},
        ),
    )  # fmt: skip
    heard, body, _ = asked(
        script, model=LLAMA, api="invoke", prompt=lambda messages: f"<|user|>{messages[-1].content}", max_tokens=9
    )
    assert heard == [Token("Mount"), Token(" Everest"), Finished("stop", 31, 2)]
    assert body == {"prompt": f"<|user|>{ASKED}", "max_gen_len": 9}

    def by_boto3(url: str) -> str:
        client = boto3_client("bedrock-runtime", url)
        response = client.invoke_model_with_response_stream(modelId=LLAMA, body=json.dumps(body))
        chunks = [json.loads(event["chunk"]["bytes"]) for event in response["body"]]
        client.close()
        return "".join(chunk["generation"] for chunk in chunks)

    async def main() -> None:
        async with serving_aws(script) as server:
            assert await asyncio.to_thread(by_boto3, server.url) == "Mount Everest"

    asyncio.run(main())


@in_event_loop
async def test_llama_by_invoke_refuses_functions() -> None:
    chat = BedrockChat("cloud", LLAMA, region=REGION, api="invoke", prompt=lambda _: "")
    async with aclosing(chat.stream(HELLO, ChatOptions((WEATHER,)))) as events:
        with pytest.raises(LlmRefused, match="does not support functions: use api 'converse'") as refusal:
            await anext(events)
    assert refusal.value.retryable
    await chat.aclose()


# Settings and secrets.


def test_invalid_settings_are_named() -> None:
    with pytest.raises(ValueError, match="set family to anthropic or llama"):
        BedrockChat("cloud", PROVISIONED, region=REGION, api="invoke")
    with pytest.raises(ValueError, match="needs a chat template"):
        BedrockChat("cloud", LLAMA, region=REGION, api="invoke")
    with pytest.raises(ValueError, match="api must be one of converse, invoke, not 'chat'"):
        BedrockChat("cloud", NOVA, region=REGION, api="chat")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'cloud'.*latency must be one of"):
        BedrockChat("cloud", NOVA, region=REGION, latency="low")  # type: ignore[arg-type]


def test_log_contains_neither_key_nor_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client().events_of(answer(said("Everest.") + STOP + usage()))
    assert "HTTP Request" in caplog.text
    assert SECRET not in caplog.text
    assert "CanonicalRequest" not in caplog.text
    assert ASKED not in caplog.text
    assert "Everest" not in caplog.text


def test_reasoning_mark_at_prompt_end_is_recognized() -> None:
    pieces = [wrapped(generation=text, stop_reason=None) for text in ("Hm.", "</think>", "Mount.")]
    last = wrapped(generation="", stop_reason="stop")
    heard, _, _ = asked(answer(*pieces, last), model=LLAMA, api="invoke", prompt=lambda _: "Hello<think>\n")
    assert [event for event in heard if isinstance(event, Token)] == [Token("Mount.")]


def test_answer_to_prompt_ends_at_stop() -> None:
    pieces = [wrapped(generation=text, stop_reason=None) for text in ("Mount.", "<|eot", "_id|>And then?")]
    heard, body, _ = asked(answer(*pieces), model=LLAMA, api="invoke", prompt=lambda _: "Hello", stops=("<|eot_id|>",))
    assert [e for e in heard if isinstance(e, Token | Finished)] == [Token("Mount."), Finished("stop_sequence")]
    assert body["prompt"] == "Hello"
