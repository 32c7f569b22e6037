"""The SageMaker client, compared with the real boto3 client, against a server that verifies every signature."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import pytest
from support.clocks.event_loop import in_event_loop
from support.services.aws_server import (
    HEAD,
    REGION,
    TOKEN,
    AwsServer,
    answer,
    boto3_client,
    fault,
    own_environment,
    part,
    refusal,
    serving_aws,
)
from support.services.llm_server import HELLO, Abort, Script, Server, Wait, ask, chunk, status
from support.services.scripted_answers import Client
from support.texts.text_cases import named_cases

from llm.aws.sagemaker import SageMakerChat
from llm.chat import ChatEvent, ChatOptions, Finished, Function, RequestSent, SlotAcquired, Token
from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow, LlmUnreachable

TGI = (
    b'data:{"index":1,"token":{"id":5,"text":"Mount","logprob":-0.1,"special":false},"generated_text":null}\n\n'
    b": keep-alive\n\n"
    + 'data:{"index":2,"token":{"id":6,"text":" Évérest 😀","special":false},"generated_text":null}\n\n'.encode()
    + b'data:{"index":3,"token":{"id":2,"text":"</s>","special":true},"generated_text":"Mount",'
    b'"details":{"finish_reason":"eos_token","generated_tokens":3,"input_length":21}}\n\n'
)
TEXT = "Mount Évérest 😀"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)


FAR = Client(
    lambda server, first_token_s, token_gap_s: SageMakerChat(
        "near",
        "my-endpoint",
        region=REGION,
        url=server.url,
        first_token_timeout_s=first_token_s,
        token_gap_timeout_s=token_gap_s,
    ),
    serving_aws,
)


def events_of(*scripts: Script) -> list[ChatEvent]:
    events: list[ChatEvent] = []

    async def test(server: Server, model: SageMakerChat) -> None:
        events.extend(await ask(model))
        assert isinstance(server, AwsServer)
        assert server.verified == ["sagemaker"]

    FAR.run(test, *scripts)
    return events


def failure(*scripts: Script) -> LlmError:
    return FAR.failing(*scripts)[1]


def texts(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


# An answer.


def test_events_of_answer_split_in_lines_and_characters() -> None:
    cut = TGI.index("😀".encode()) + 2
    queued, sent, *rest = events_of(answer(part(TGI[:9]) + part(TGI[9:cut]), part(TGI[cut:])))
    assert queued == SlotAcquired()
    assert isinstance(sent, RequestSent)
    assert rest == [Token("Mount"), Token(" Évérest 😀"), Finished("eos_token", 21, 3)]


def test_boto3_receives_the_same_answer() -> None:
    heard: list[bytes] = []

    def by_boto3(url: str) -> bytes:
        client = boto3_client("sagemaker-runtime", url, token=TOKEN)
        response = client.invoke_endpoint_with_response_stream(
            EndpointName="my-endpoint", Body=b"{}", ContentType="application/json", InferenceComponentName="c7"
        )
        data = b"".join(event["PayloadPart"]["Bytes"] for event in response["Body"])
        client.close()
        return data

    async def main() -> None:
        async with serving_aws(answer(part(TGI)), token=TOKEN) as server:
            heard.append(await asyncio.to_thread(by_boto3, server.url))
            model = SageMakerChat("far", "my-endpoint", region=REGION, url=server.url, inference_component="c7")
            assert texts(await ask(model)) == TEXT
            await model.aclose()
        theirs, ours = server.posts
        assert theirs.path == ours.path == "/endpoints/my-endpoint/invocations-response-stream"
        component = "x-amzn-sagemaker-inference-component"
        assert theirs.headers[component] == ours.headers[component] == "c7"
        assert server.verified == ["sagemaker", "sagemaker"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SESSION_TOKEN", TOKEN)
        asyncio.run(main())
    assert heard == [TGI]


def test_request_with_messages() -> None:
    function = Function("weather", "", '{"type":"object"}')

    async def test(server: Server, model: SageMakerChat) -> None:
        async with aclosing(model.stream(HELLO, ChatOptions((function,), max_tokens=40))) as events:
            assert [event async for event in events]
        body = json.loads(server.posts[0].body)
        assert body["messages"] == [{"role": message.role, "content": message.content} for message in HELLO]
        assert body["stream"] is True
        assert body["max_tokens"] == 40
        assert body["tools"][0]["function"]["name"] == "weather"

    FAR.run(test, answer(part(TGI)))


@in_event_loop
async def test_request_with_prompt_and_variant() -> None:
    async with serving_aws(answer(part(TGI))) as server:
        model = SageMakerChat(
            "far", "my-endpoint", region=REGION, url=server.url, max_tokens=9, temperature=0.5,
            prompt=lambda messages: f"<s>{len(messages)}", target_variant="blue",
        )  # fmt: skip
        await ask(model)
        await model.aclose()
    post = server.posts[0]
    assert post.headers["x-amzn-sagemaker-target-variant"] == "blue"
    parameters = {"details": True, "return_full_text": False, "temperature": 0.5, "max_new_tokens": 9}
    assert json.loads(post.body) == {"inputs": "<s>2", "parameters": parameters, "stream": True}
    assert model.detail == f"sagemaker my-endpoint (by prompt, without functions) at {server.url}"


def test_wrong_secret_is_refused_by_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x" * 40)
    error = failure(answer(part(TGI)))
    assert "rejects the signature (invalidsignature)" in str(error)
    assert error.spoken == "My language model refused the request: the key is not accepted."


# Cancellation and deadlines.


def test_fault_after_last_text_loses_only_counts() -> None:
    line = b'{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n'
    late = fault("InternalStreamFailure", Message="x")
    assert events_of(answer(part(line) + late))[2:] == [Token("Hi"), Finished("stop")]


@in_event_loop
async def test_functions_are_refused_with_prompt() -> None:
    model = SageMakerChat("far", "e", region=REGION, prompt=lambda _: "")
    options = ChatOptions((Function("weather", "", "{}"),))
    async with aclosing(model.stream(HELLO, options)) as events:
        with pytest.raises(LlmRefused, match="does not support functions: use an endpoint") as refusal:
            await anext(events)
    assert refusal.value.retryable
    await model.aclose()


# Refusals.


@named_cases(
    ("code", "kind", "fields", "retryable", "expected_text"),
    {
        "model not ready": (429, "ModelNotReadyException", {}, True, "not ready (modelnotready)"),
        "service unavailable": (503, "ServiceUnavailable", {}, True, "not ready (serviceunavailable)"),
        "throttling": (
            400,
            "ThrottlingException",
            {"message": "Rate exceeded"},
            True,
            "no more requests for now (throttling): wait",
        ),
        "validation": (
            400,
            "ValidationError",
            {"message": "bad header"},
            True,
            "rejects the request (validationerror)",
        ),
        "endpoint not found": (
            400,
            "ValidationError",
            {"message": "Endpoint my-endpoint of account 1 not found."},
            True,
            "finds no my-end",
        ),
        "model says 422": (
            424,
            "ModelError",
            {"OriginalStatusCode": 422, "OriginalMessage": "inputs too long"},
            True,
            "model: HTTP 422",
        ),
        "model says 400": (424, "ModelError", {"OriginalStatusCode": 400}, True, "check what my-endpoint accepts"),
        "model says 503": (424, "ModelError", {"OriginalStatusCode": 503}, True, "model: HTTP 503"),
        "model says 500": (
            424,
            "ModelError",
            {"OriginalStatusCode": 500, "Message": "boom"},
            True,
            "failed with 500: see the model",
        ),
        "internal failure": (500, "InternalFailure", {}, True, "failed (internalfailure)"),
        "access denied": (
            403,
            "AccessDeniedException",
            {"Message": "User: x"},
            True,
            "allow sagemaker:InvokeEndpointWith",
        ),
        "expired token": (403, "ExpiredTokenException", {}, True, "credentials that expired"),
        "unrecognized client": (403, "UnrecognizedClientException", {}, True, "does not accept its AWS credentials"),
    },
)
def test_refusal_before_stream(
    code: int, kind: str, fields: dict[str, object], retryable: bool, expected_text: str
) -> None:
    error = failure(refusal(code, kind, **fields))
    assert isinstance(error, LlmRefused)
    assert error.retryable is retryable
    assert expected_text in str(error)


def test_clock_skew_is_measured_and_named() -> None:
    expected_text = (
        "Signature expired: 20240101T000000Z is now earlier than 20240101T000700Z (20240101T001200Z - 5 min.)"
    )
    assert "clock is 720 s behind: set it" in str(
        failure(refusal(403, "InvalidSignatureException", message=expected_text))
    )


@pytest.mark.parametrize(
    ("frame", "kind", "retryable"),
    [
        (fault("ModelStreamError", Message="x", ErrorCode="StreamBroken"), LlmBroken, True),
        (fault("ModelStreamError", Message="x", ErrorCode="ModelInvocationTimeExceeded"), LlmTooSlow, False),
        (fault("InternalStreamFailure", Message="x"), LlmRefused, True),
    ],
    ids=["stream broken", "model timeout", "internal failure"],
)
def test_refusal_inside_stream_follows_earlier_text(frame: bytes, kind: type[LlmError], retryable: bool) -> None:
    heard: list[ChatEvent] = []

    async def test(_: Server, model: SageMakerChat) -> None:
        async with aclosing(model.stream(HELLO)) as events:
            heard.extend([await anext(events) for _ in range(3)])
            with pytest.raises(kind) as caught:
                await anext(events)
        assert caught.value.retryable is retryable

    FAR.run(test, answer(part(TGI[: TGI.index(b"\n") + 1]) + frame))
    assert texts(heard) == "Mount"


@in_event_loop
async def test_boto3_reports_same_faults_inside_stream() -> None:
    """The real client treats the messages of these tests as errors."""
    frame = fault("ModelStreamError", Message="x", ErrorCode="StreamBroken")

    def by_boto3(url: str) -> str:
        client = boto3_client("sagemaker-runtime", url)
        response = client.invoke_endpoint_with_response_stream(EndpointName="e", Body=b"{}")
        try:
            with pytest.raises(Exception, match="ModelStreamError") as caught:
                list(response["Body"])
        finally:
            response["Body"].close()
            client.close()
        return type(caught.value).__name__

    async with serving_aws(answer(part(TGI[:40]), frame)) as server:
        assert await asyncio.to_thread(by_boto3, server.url) == "EventStreamError"


def test_truncated_stream_is_broken() -> None:
    assert isinstance(failure(answer(part(TGI[:100]))), LlmBroken)
    assert isinstance(failure(answer(part(TGI)[:90])), LlmBroken)
    assert isinstance(failure((HEAD, chunk(part(TGI[:100])), Abort())), LlmBroken)


def test_body_without_end_mark_ends_with_last_message() -> None:
    whole = part(b'{"outputs":["Hi"]}\n') + part(b'{"outputs":[" you"]}\n')
    assert events_of(answer(whole))[2:] == [Token("Hi"), Token(" you"), Finished("done")]
    assert "inside a frame" in str(failure(answer(whole[:-4])))


def test_damaged_message_is_broken() -> None:
    whole = part(TGI)
    damaged = whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:]
    error = failure(answer(part(b"\n") + damaged))
    assert isinstance(error, LlmBroken)
    assert "damaged frame" in str(error)


def test_other_service_is_broken() -> None:
    assert "web page" in str(failure((b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",)))
    assert "not answer in AWS's event stream" in str(failure(status(200, {"outputs": ["Hi"]})))


# Settings.


def test_missing_region_names_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"'far': no AWS region: set region, AWS_REGION"):
        SageMakerChat("far", "e")
    with pytest.raises(ValueError, match="must look like us-east-1"):
        SageMakerChat("far", "e", region="Frankfurt")


def test_region_from_environment_and_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile work]\nregion = us-west-2\n", encoding="utf-8")
    at = "sagemaker e at https://runtime.sagemaker.{}.amazonaws.com"
    assert SageMakerChat("far", "e", profile="work").detail == at.format("us-west-2")
    monkeypatch.setenv("AWS_REGION", "ap-south-1")
    assert SageMakerChat("far", "e").detail == at.format("ap-south-1")


def test_unknown_payload_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'far': payload must be one of auto, tgi"):
        SageMakerChat("far", "e", region=REGION, payload="json")  # type: ignore[arg-type]


def test_missing_credentials_name_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path, keys=False)
    error = failure(answer(part(TGI)))
    assert "set AWS_ACCESS_KEY_ID" in str(error)
    assert error.retryable


@in_event_loop
async def test_unreachable_service_is_reported() -> None:
    model = SageMakerChat("far", "e", region=REGION, url="http://127.0.0.1:9")
    with pytest.raises(LlmUnreachable):
        await ask(model)
    await model.aclose()


@in_event_loop
async def test_stop_ends_answer_and_closes_request() -> None:
    lines = [
        b'data:{"index":1,"token":{"id":5,"text":"%s","logprob":-0.1,"special":false},"generated_text":null}\n\n' % text
        for text in (b"Mount.", b"<|im_", b"end|>And then?")
    ]
    async with serving_aws((HEAD, *(chunk(part(line)) for line in lines), Wait(20))) as server:
        model = SageMakerChat(
            "far", "e", region=REGION, url=server.url, prompt=lambda _: "Hello", stops=("<|im_end|>",)
        )
        assert [e for e in await ask(model) if isinstance(e, Token | Finished)] == [
            Token("Mount."),
            Finished("stop_sequence"),
        ]
        async with asyncio.timeout(5):
            await server.left_at_s
        await model.aclose()
