"""The gRPC client and Triton's own client against a scripted Triton on real sockets."""

import asyncio
import gc
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import grpc
import numpy as np
import pytest
import tritonclient.grpc.aio as own  # type: ignore[import-untyped]
from support.services import llm_server
from support.services.grpc_server import (
    LAST,
    Fail,
    Hang,
    Part,
    Script,
    Triton,
    Wait,
    answer,
    relayed,
    self_signed,
    serving,
)
from support.services.llm_server import HELLO, ask
from support.services.scripted_answers import ASKED, KEY, check_nothing_private
from support.texts.text_cases import named_cases
from tritonclient.grpc import InferInput, InferRequestedOutput

from llm.chat import ChatEvent, ChatOptions, Finished, Function, Message, RequestSent, SlotAcquired, Token
from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow, LlmUnreachable
from llm.triton import grpc_channel
from llm.triton.grpc import TritonGrpcChat

P = ParamSpec("P")
Test = Callable[[Triton, TritonGrpcChat], Awaitable[None]]


def prompt(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages)


@asynccontextmanager
async def chatting(url: str, **settings: Any) -> AsyncGenerator[TritonGrpcChat]:
    limits = {"first_token_timeout_s": 5.0, "token_gap_timeout_s": 5.0, "connect_timeout_s": 3.0}
    model = TritonGrpcChat(
        "near",
        url,
        "m7",
        prompt=prompt,
        version="2",
        api_key=KEY + "\n",
        headers={"X-Tenant": "t1"},
        max_tokens=60,
        temperature=0.5,
        parameters={"top_k": 40, "top_p": 1, "seed": 3},
        **(limits | settings),
    )
    try:
        yield model
    finally:
        await model.aclose()


def in_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    async def whole(*args: P.args, **kwargs: P.kwargs) -> None:
        await test(*args, **kwargs)
        # Unfinished grpcio objects are finalized here, inside the loop, where a warning fails the test.
        gc.collect()
        await asyncio.sleep(0)

    @wraps(test)
    def run_in_loop(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(whole(*args, **kwargs))

    return run_in_loop


def run(test: Test, *scripts: Script, **settings: Any) -> None:
    async def main() -> None:
        async with serving(*scripts) as triton, chatting(triton.url, **settings) as model:
            await test(triton, model)

    in_loop(main)()


async def ask_and_cancel(triton: Triton, model: TritonGrpcChat) -> None:
    """Sends a request and closes it once the server has received it."""
    before = len(triton.seen)
    asking = asyncio.create_task(ask(model))
    async with asyncio.timeout(5):
        while len(triton.seen) == before:  # noqa: ASYNC110 - a list has no event
            await asyncio.sleep(0.005)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def failure_of(model: TritonGrpcChat, events: list[ChatEvent] | None = None) -> tuple[list[ChatEvent], LlmError]:
    """Returns the events before a failure, also appended to `events` as they arrive, and the error."""
    events = [] if events is None else events
    try:
        async with aclosing(model.stream(HELLO)) as stream:
            async for event in stream:
                events.append(event)
    except LlmError as error:
        check_nothing_private(error)
        return events, error
    raise AssertionError("no failure")


def events_of(*scripts: Script, details: bool = False) -> list[ChatEvent]:
    events: list[ChatEvent] = []

    async def test(_: Triton, model: TritonGrpcChat) -> None:
        events.extend(await ask(model))

    run(test, *scripts, details=details)
    return events


def failing(*scripts: Script, **settings: Any) -> tuple[list[ChatEvent], LlmError, float]:
    """Returns the events before the failure, the error, and the seconds until then."""
    found: list[tuple[list[ChatEvent], LlmError, float]] = []

    async def test(_: Triton, model: TritonGrpcChat) -> None:
        await model.load()
        began_s = asyncio.get_running_loop().time()
        events, error = await failure_of(model)
        found.append((events, error, asyncio.get_running_loop().time() - began_s))

    run(test, *scripts, **settings)
    return found[0]


def texts(events: list[ChatEvent]) -> list[str]:
    return [said.text for said in events if isinstance(said, Token)]


# An answer.


def test_events_of_an_answer() -> None:
    queued, sent, *rest = events_of(answer("Hi", " there"))
    assert queued == SlotAcquired()
    assert isinstance(sent, RequestSent)
    assert rest == [Token("Hi"), Token(" there"), Finished("done")]


def test_round_trip_is_known_after_warming() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        await model.load()
        sent = (await ask(model))[1]
        assert isinstance(sent, RequestSent)
        assert sent.round_trip_s is not None
        assert 0 < sent.round_trip_s < 1
        assert triton.asked_ready == 1

    run(test, answer("Hi"))


def test_finish_reason_and_counts_on_request() -> None:
    script = (
        Part(b"Hi", more=(("finish_reason", b"None"), ("num_input_tokens", 9), ("num_output_tokens", 1))),
        Part(
            b" you", final=True, more=(("finish_reason", b"length"), ("num_input_tokens", 9), ("num_output_tokens", 2))
        ),
    )
    assert events_of(script, details=True)[-1] == Finished("length", 9, 3)


def test_wait_for_end_mark_after_reason_is_bounded() -> None:
    async def test(_: Triton, model: TritonGrpcChat) -> None:
        async with asyncio.timeout(2):
            assert (await ask(model))[-1] == Finished("stop")

    run(test, (Part(b"Hi", more=(("finish_reason", b"stop"),)), Wait(10)), details=True)


def test_incomplete_character_at_end_is_replaced() -> None:
    assert texts(events_of((Part("é".encode()[:1] + b"", final=False), LAST))) == ["�"]


def test_request_to_vllm_backend() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        await ask(model)
        (seen,) = triton.seen
        assert (seen.request.model_name, seen.request.model_version) == ("m7", "2")
        assert seen.metadata["authorization"] == f"Bearer {KEY}"
        assert seen.metadata["x-tenant"] == "t1"
        assert seen.metadata["triton_grpc_error"] == "true"
        assert seen.request.parameters["triton_enable_empty_final_response"].bool_param
        assert [output.name for output in seen.request.outputs] == ["text_output"]
        inputs = {
            tensor.name: raw for tensor, raw in zip(seen.request.inputs, seen.request.raw_input_contents, strict=True)
        }
        assert inputs["text_input"][4:].decode() == prompt(HELLO)
        assert inputs["stream"] == inputs["exclude_input_in_output"] == b"\1"
        assert json.loads(inputs["sampling_parameters"][4:]) == {
            "max_tokens": 60,
            "temperature": 0.5,
            "top_k": 40,
            "top_p": 1,
            "seed": 3,
        }

    run(test, answer("Hi"))


def test_request_to_tensorrt_llm_backend() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        await ask(model)
        inputs = {tensor.name: tensor for tensor in triton.seen[0].request.inputs}
        assert {name: tensor.datatype for name, tensor in inputs.items()} == {
            "text_input": "BYTES",
            "stream": "BOOL",
            "exclude_input_in_output": "BOOL",
            "max_tokens": "INT32",
            "temperature": "FP32",
            "top_k": "INT32",
            "top_p": "FP32",
            "seed": "UINT64",
        }
        assert all(list(tensor.shape) == [1, 1] for tensor in inputs.values())

    run(test, answer("Hi"), backend="tensorrt_llm")


def test_requests_have_own_token_limit_and_id() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        await ask(model)
        async with aclosing(model.stream(HELLO, ChatOptions(max_tokens=5))) as events:
            assert [event async for event in events][-1] == Finished("done")
        first, second = (seen.request for seen in triton.seen)
        assert first.id != second.id
        assert json.loads(second.raw_input_contents[3][4:])["max_tokens"] == 5

    run(test, answer("Hi"))


# Triton's own client.


async def ask_with_tritons_client(url: str, request_id: str) -> tuple[str, list[str]]:
    """Returns the text and the errors that Triton's own client receives for our request."""
    sampling = json.dumps({"max_tokens": 60, "temperature": 0.5, "top_k": 40, "top_p": 1, "seed": 3})
    values = (("text_input", prompt(HELLO)), ("stream", True), ("exclude_input_in_output", True))
    inputs = []
    for name, value in (*values, ("sampling_parameters", sampling)):
        kind = "BOOL" if isinstance(value, bool) else "BYTES"
        tensor = InferInput(name, [1], kind)
        tensor.set_data_from_numpy(np.array([value], dtype=bool if kind == "BOOL" else np.object_))
        inputs.append(tensor)

    async def requests() -> AsyncGenerator[dict[str, object]]:
        yield {
            "model_name": "m7",
            "model_version": "2",
            "request_id": request_id,
            "inputs": inputs,
            "outputs": [InferRequestedOutput("text_output")],
        }

    said, errors = "", []
    async with own.InferenceServerClient(url.removeprefix("grpc://")) as client:
        assert await client.is_server_ready()
        async for result, error in client.stream_infer(requests()):
            if error is not None:
                errors.append(str(error))
            elif (output := result.as_numpy("text_output")) is not None:
                said += output[0].decode()
    return said, errors


def test_triton_client_sends_and_receives_the_same() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        ours = texts(await ask(model))
        request = triton.seen[0].request
        theirs, errors = await ask_with_tritons_client(triton.url, request.id)
        assert "".join(ours) == theirs == "Hi there"
        assert errors == []
        # Triton's asynchronous client has no option to request the end mark alone.
        del request.parameters["triton_enable_empty_final_response"]
        assert triton.seen[1].request == request

    run(test, answer("Hi", " there"))


def test_triton_client_receives_the_same_error() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        _, error = await failure_of(model)
        _, errors = await ask_with_tritons_client(triton.url, "1")
        assert isinstance(error, LlmRefused)
        assert len(errors) == 1
        assert "engine died" in errors[0]
        assert '"engine died"' in str(error)

    run(test, (Part(error="engine died"),))


# Cancelling.


def test_closing_stream_cancels_call_at_once() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        stream = model.stream(HELLO)
        async with aclosing(stream):
            async for event in stream:
                if isinstance(event, Token):
                    break
        async with asyncio.timeout(1):
            await triton.left.wait()
        sent = triton.sent
        await asyncio.sleep(0.05)
        assert triton.sent == sent

    run(test, (Part(b"x"), Hang()))


@pytest.mark.parametrize("script", [(Wait(10),), (Part(b"x"), Hang())], ids=["before a token", "between tokens"])
def test_cancelling_task_cancels_call(script: Script) -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        await model.load()
        await ask_and_cancel(triton, model)
        async with asyncio.timeout(1):
            await triton.left.wait()

    run(test, script)


def test_cancelled_call_keeps_connection() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        await model.load()
        for _ in range(3):
            await ask_and_cancel(triton, model)
        await model.load()
        assert len(triton.peers) == 1
        assert len(triton.seen) == 3

    run(test, (Part(b"x"), Hang()))


def test_cancelling_one_answer_keeps_the_other() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        await model.load()
        async with asyncio.timeout(10), asyncio.TaskGroup() as both:
            other = both.create_task(ask(model))
            while not triton.seen:  # noqa: ASYNC110 - a list has no event
                await asyncio.sleep(0.005)
            await ask_and_cancel(triton, model)
            assert not other.done()
        assert texts(other.result()) == ["b", "c"]

    run(test, (Part(b"b"), Wait(0.5), Part(b"c"), LAST), (Part(b"x"), Hang()))


# Refusals.


@pytest.mark.parametrize("in_stream", [True, False])
def test_prompt_that_is_too_long_is_shortened_and_asked_again(in_stream: bool) -> None:
    too_long = "The decoder prompt (length 5000) is longer than the maximum model length of 4096."
    refusal = Part(error=too_long) if in_stream else Fail(grpc.StatusCode.INVALID_ARGUMENT, too_long)
    turns = [Message(role, f"{role} {n} " + "word " * 200) for n in range(4) for role in ("user", "assistant")]

    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        for _ in range(2):
            events = [event async for event in model.stream((*turns, HELLO[-1]))]
            assert texts(events) == ["Yes."]
        sizes = [len(one.request.SerializeToString()) for one in triton.seen]
        assert len(sizes) == 3, "only the first was refused"
        assert max(sizes[1:]) < sizes[0]

    run(test, (refusal,), (Part(b"Yes."), LAST), (Part(b"Yes."), LAST))


@named_cases(
    ("step", "kind", "expected_text"),
    {
        "unknown model": (Part(error="Request for unknown model: 'm7' is not found"), LlmRefused, "check its url"),
        "cancelled request": (Part(error="Request was cancelled"), LlmBroken, "broke off"),
        "private text": (Part(error=f"bad: {ASKED} {KEY}"), LlmRefused, "see the log of its model server"),
        "UNAUTHENTICATED": (Fail(grpc.StatusCode.UNAUTHENTICATED, f"not {KEY}"), LlmRefused, "api_key_env"),
        "UNAVAILABLE": (Fail(grpc.StatusCode.UNAVAILABLE, "not healthy"), LlmRefused, "not healthy"),
        "CANCELLED": (Fail(grpc.StatusCode.CANCELLED), LlmBroken, "broke off"),
    },
)
def test_error_codes_are_refused(step: Part | Fail, kind: type[LlmError], expected_text: str) -> None:
    events, error, _ = failing((step,))
    assert type(error) is kind
    assert error.retryable
    assert expected_text in str(error)
    assert [type(event) for event in events] == [SlotAcquired, RequestSent]


# Invalid answers.


def test_call_that_ends_without_its_last_response_is_broken() -> None:
    events, error, _ = failing((Part(b"x"),))
    assert isinstance(error, LlmBroken)
    assert error.retryable
    assert texts(events) == ["x"]


@in_loop
async def test_web_server_is_reported() -> None:
    async with llm_server.serving(llm_server.answer("Hi")) as server:
        url = server.url.replace("http://", "grpc://").removesuffix("/v1")
        async with chatting(url, connect_timeout_s=1.0) as model:
            _, error = await failure_of(model)
            assert isinstance(error, LlmUnreachable)


# Deadlines.


@pytest.mark.parametrize(
    "script", [(Wait(5),), (Part(b""), Hang()), (Part(None), Hang())], ids=["nothing", "empty texts", "no texts"]
)
def test_first_token_deadline_counts_content_only(script: Script) -> None:
    _, error, took_s = failing(script, first_token_timeout_s=0.15)
    assert isinstance(error, LlmTooSlow)
    assert "first_token_timeout_s" in str(error)
    assert 0.14 < took_s < 2


def test_empty_parts_do_not_extend_token_gap_deadline() -> None:
    script = (Part(b"x"), Wait(0.3), Part(b"b"), Wait(0.3), Part(b""), Wait(5))
    events, error, took_s = failing(script, token_gap_timeout_s=0.8)
    assert isinstance(error, LlmTooSlow)
    assert texts(events) == ["x", "b"]
    assert "token_gap_timeout_s" in str(error)
    assert 1.0 < took_s < 3


@in_loop
async def test_silent_server_times_out_while_connecting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with chatting(f"grpc://127.0.0.1:{port}", connect_timeout_s=0.2) as model:
            _, error = await failure_of(model)
            assert isinstance(error, LlmUnreachable)
            await model.load()  # never fails


# Lost and restored connections.


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@in_loop
async def test_closed_port_is_unreachable() -> None:
    async with chatting(f"grpc://127.0.0.1:{free_port()}") as model:
        await model.load()
        began_s = asyncio.get_running_loop().time()
        events, error = await failure_of(model)
        assert isinstance(error, LlmUnreachable)
        assert "refuses connections" in str(error)
        assert events == [SlotAcquired()]
        assert asyncio.get_running_loop().time() - began_s < 1


@in_loop
async def test_server_that_returns_is_used_again() -> None:
    port = free_port()
    async with chatting(f"grpc://127.0.0.1:{port}") as model:
        async with serving(answer("one"), port=port):
            assert texts(await ask(model)) == ["one"]
        for _ in range(3):
            _, error = await failure_of(model)
            assert isinstance(error, LlmUnreachable)
        async with serving(answer("two"), port=port):
            began_s = asyncio.get_running_loop().time()
            assert texts(await ask(model)) == ["two"]
            assert asyncio.get_running_loop().time() - began_s < 1


@in_loop
async def test_restarted_server_answers_next_question() -> None:
    port = free_port()
    async with chatting(f"grpc://127.0.0.1:{port}") as model:
        async with serving(answer("one"), port=port):
            await model.load()
        async with serving(answer("two"), port=port) as triton:
            assert texts(await ask(model)) == ["two"]
            assert len(triton.seen) == 1


@in_loop
async def test_silently_lost_connection_is_retried() -> None:
    async with serving(answer("Hi")) as triton, relayed(triton) as relay:
        async with chatting(relay.url) as model:
            await model.load()
            relay.break_next = True
            events = await ask(model)
            assert [type(event) for event in events] == [SlotAcquired, RequestSent, Token, Finished]
            assert relay.accepted == 2
            assert len(triton.seen) == 1
        # The server's connections close before the event loop does.
        await asyncio.sleep(0.05)


def test_server_that_dies_inside_answer_is_broken() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        async def die_after_a_word() -> None:
            await triton.spoke.wait()
            await triton.die()

        async with asyncio.TaskGroup() as group:
            group.create_task(die_after_a_word())
            events, error = await failure_of(model)
        assert isinstance(error, LlmBroken)
        assert "broke off" in str(error)
        assert texts(events) == ["x"]

    run(test, (Part(b"x"), Wait(0.1), Part(b""), Wait(10)))


def test_closing_client_ends_running_calls() -> None:
    async def test(_: Triton, model: TritonGrpcChat) -> None:
        said: list[ChatEvent] = []
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            asking = group.create_task(failure_of(model, said))
            while not texts(said):  # noqa: ASYNC110 - a list has no event
                await asyncio.sleep(0.005)
            await model.aclose()
            await model.aclose()
        events, error = asking.result()
        assert isinstance(error, LlmBroken)
        assert texts(events) == ["x"]

    run(test, (Part(b"x"), Wait(10)))


@pytest.mark.slow
def test_idle_pings_cost_connection_only_if_forbidden() -> None:
    """Forbidden is Triton's default behaviour, and the reason why idle pings are off by default."""

    async def forbidden() -> None:
        async with (
            serving(answer("Hi")) as triton,
            chatting(triton.url, keepalive_s=1.0) as pinging,
            chatting(triton.url) as quiet,
        ):
            await pinging.load()
            await quiet.load()
            before = len(triton.peers)
            await asyncio.sleep(4)
            await quiet.load()
            assert len(triton.peers) == before
            await pinging.load()
            assert len(triton.peers) == before + 1
            assert texts(await ask(pinging)) == ["Hi"]

    async def permitted() -> None:
        permitting = (("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.min_ping_interval_without_data_ms", 500))
        async with serving(answer("Hi"), options=permitting) as triton, chatting(triton.url, keepalive_s=1.0) as model:
            await model.load()
            await asyncio.sleep(4)
            assert texts(await ask(model)) == ["Hi"]
            assert len(triton.peers) == 1

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for scene in (forbidden(), permitted()):
                tasks.create_task(scene)

    in_loop(main)()


# TLS.


@in_loop
async def test_tls_with_custom_certificate(certificate: tuple[Path, Path]) -> None:
    async with serving(answer("Hi"), tls=certificate) as triton:
        async with chatting(triton.url, ca_file=certificate[1]) as model:
            assert texts(await ask(model)) == ["Hi"]
            assert triton.seen[0].metadata["authorization"] == f"Bearer {KEY}"
        https = triton.url.replace("grpcs://", "https://")
        async with chatting(https, ca_file=certificate[1]) as model:
            assert texts(await ask(model)) == ["Hi"]
        async with chatting(triton.url) as model:
            _, error = await failure_of(model)
            assert isinstance(error, LlmUnreachable)
            assert "TLS" in str(error)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Returns the files of a key and of its self-signed certificate for localhost."""
    return self_signed(tmp_path_factory.mktemp("tls"))


# Settings.


@named_cases(
    ("url", "settings", "named"),
    {
        "no scheme": ("localhost:8001", {}, "url"),
        "ftp": ("ftp://h:1", {}, "url"),
        "path in address": ("grpc://h:8001/v2/models", {}, "without a path"),
        "password in address": ("grpc://me:pw@h", {}, "api_key_env"),
        "port too large": ("grpc://h:99999", {}, "url"),
        "zero gap timeout": ("grpc://h", {"token_gap_timeout_s": 0}, "token_gap_timeout_s"),
        "zero connect timeout": ("grpc://h", {"connect_timeout_s": 0}, "connect_timeout_s"),
        "zero keep-alive": ("grpc://h", {"keepalive_s": 0}, "keepalive_s"),
        "unknown backend": ("grpc://h", {"backend": "onnx"}, "tensorrt_llm"),
        "invalid key": ("grpc://h", {"api_key": "a b"}, "api_key_env"),
        "invalid header": ("grpc://h", {"headers": {"a": "\n"}}, "headers"),
        "parameter out of range": ("grpc://h", {"backend": "tensorrt_llm", "parameters": {"top_k": 1 << 40}}, "top_k"),
        "details for tensorrt_llm": ("grpc://h", {"backend": "tensorrt_llm", "details": True}, "details"),
        "no model": ("grpc://h", {"model": ""}, "model"),
        "missing certificate file": ("grpcs://h", {"ca_file": Path("gone.pem")}, "ca_file"),
    },
)
def test_invalid_settings_are_named(url: str, settings: dict[str, object], named: str) -> None:
    making: Callable[..., TritonGrpcChat] = TritonGrpcChat
    with pytest.raises(ValueError, match="'near'.*" + named):
        making("near", url, **{"model": "m7", "prompt": prompt, **settings})


@pytest.mark.parametrize(
    ("url", "target", "secure"),
    [
        ("grpc://h", "h:8001", False),
        ("http://h:9/", "h:9", False),
        ("grpcs://h.example", "h.example:443", True),
        ("https://[::1]:8443", "[::1]:8443", True),
    ],
    ids=["default port", "http", "grpcs", "IPv6"],
)
def test_addresses_are_parsed(url: str, target: str, *, secure: bool) -> None:
    assert grpc_channel.target_of("near", url) == (target, secure)


def test_functions_are_refused() -> None:
    async def test(triton: Triton, model: TritonGrpcChat) -> None:
        options = ChatOptions(functions=(Function("f", "", "{}"),))
        with pytest.raises(LlmRefused, match="does not support functions"):
            await anext(model.stream(HELLO, options))
        assert triton.seen == []

    run(test, answer("Hi"))


def test_detail_has_kind_model_and_address() -> None:
    model = TritonGrpcChat("near", "grpc://h", "m7", prompt=prompt)
    assert model.detail == "grpc m7 at grpc://h:8001"


@in_loop
async def test_stop_ends_answer_and_cancels_call() -> None:
    script = (Part(b"Mount."), Part(b"<|im_"), Part(b"end|>And then?"), Wait(20))
    async with serving(script) as triton:
        model = TritonGrpcChat("near", triton.url, "m7", prompt=prompt, stops=("<|im_end|>",))
        heard = [event async for event in model.stream(HELLO) if isinstance(event, Token | Finished)]
        assert heard == [Token("Mount."), Finished("stop_sequence")]
        async with asyncio.timeout(5):
            await triton.left.wait()
        await model.aclose()
