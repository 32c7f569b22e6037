"""The chat client against a scripted service on real sockets."""

import asyncio
import gc
import json
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpcore
import pytest
from support.clocks.event_loop import in_event_loop
from support.clocks.stopwatch import Duration, Stopwatch
from support.services.llm_server import (
    DONE,
    HEAD,
    HEAD_UNTIL_CLOSE,
    HELLO,
    LAST_CHUNK,
    Abort,
    Close,
    Drip,
    Script,
    Server,
    Wait,
    answer,
    ask,
    chunk,
    event,
    serving,
    status,
    usage,
)
from support.services.scripted_answers import ASKED, KEY, Client, check_nothing_private
from support.texts.text_cases import named_cases

from llm.chat import PLAIN, ChatEvent, Finished, RequestSent, SlotAcquired, Token
from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow, LlmUnreachable
from llm.http import service as http_service
from llm.http import stream as http_stream
from llm.openai.chat import ROUTE, OpenAIChat


def near(url: str, first_token_timeout_s: float = 5.0, token_gap_timeout_s: float = 5.0, **more: Any) -> OpenAIChat:
    return OpenAIChat(
        "near",
        url,
        "m7",
        api_key=KEY,
        first_token_timeout_s=first_token_timeout_s,
        token_gap_timeout_s=token_gap_timeout_s,
        **more,
    )


NEAR = Client(lambda server, first_s, gap_s: near(server.url, first_s, gap_s))


@asynccontextmanager
async def chatting(url: str, *, connect_timeout_s: float = 3.0) -> AsyncGenerator[OpenAIChat]:
    model = near(url, connect_timeout_s=connect_timeout_s)
    try:
        yield model
    finally:
        await model.aclose()


def failing(*scripts: Script, **limits: float) -> tuple[list[ChatEvent], LlmError, Duration]:
    """Returns the events before the failure, the error, and the time until then."""
    watch = Stopwatch()
    events, error = NEAR.failing(*scripts, **limits)
    return events, error, watch.duration


def texts(events: list[ChatEvent]) -> list[str]:
    return [said.text for said in events if isinstance(said, Token)]


# An answer.


def test_events_of_an_answer() -> None:
    body = (
        event(role="assistant", content="") + event("Hi") + event(" there") + event(finish="stop") + usage(9, 2) + DONE
    )
    queued, sent, *rest = NEAR.events_of((HEAD, chunk(body), LAST_CHUNK))
    assert queued == SlotAcquired()
    assert isinstance(sent, RequestSent)
    assert sent.round_trip_s is not None
    assert 0 < sent.round_trip_s < 5
    assert rest == [Token("Hi"), Token(" there"), Finished("stop", 9, 2)]


@in_event_loop
async def test_request_body_and_headers() -> None:
    async with serving(answer("Hi")) as server:
        model = OpenAIChat(
            "near",
            server.url,
            "m7",
            api_key=f"{KEY}\n",
            max_tokens=80,
            temperature=0.2,
            headers={"x-tenant": "a b"},
        )
        await ask(model)
        await model.aclose()
    (post,) = server.posts
    assert post.path == "/v1/chat/completions"
    assert post.headers["authorization"] == f"Bearer {KEY}"
    assert post.headers["x-tenant"] == "a b"
    assert json.loads(post.body) == {
        "model": "m7",
        "messages": [{"role": message.role, "content": message.content} for message in HELLO],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 80,
        "temperature": 0.2,
    }


@in_event_loop
async def test_request_without_key_has_no_authorization() -> None:
    async with serving(answer("Hi")) as server:
        model = OpenAIChat("near", server.url, "m7")
        await ask(model)
        await model.aclose()
    assert "authorization" not in server.posts[0].headers


def test_request_sent_precedes_response() -> None:
    async def test(server: Server, model: OpenAIChat) -> None:
        async with aclosing(model.stream(HELLO)) as stream, asyncio.timeout(4):
            assert await anext(stream) == SlotAcquired()
            assert isinstance(await anext(stream), RequestSent)

    NEAR.run(test, (Wait(5),))


def test_answer_delivered_byte_by_byte() -> None:
    body = (
        b": ping\r\n\r\n"
        + event("é😀")
        + b'{"choices": [{"delta": {"content": "b"}}]}\r\n'
        + event(finish="stop")
        + DONE
    )
    body = body.replace(b"\\u00e9", "é".encode())
    script = (HEAD, *(chunk(bytes([byte])) for byte in body), LAST_CHUNK)
    assert NEAR.events_of(script)[2:] == [Token("é😀"), Token("b"), Finished("stop")]


def test_body_may_end_with_connection() -> None:
    assert texts(NEAR.events_of((HEAD_UNTIL_CLOSE, event("Hi"), event(finish="stop"), Close()))) == ["Hi"]


def test_slow_consumer_does_not_miss_deadline() -> None:
    async def test(_: Server, model: OpenAIChat) -> None:
        said = []
        async with aclosing(model.stream(HELLO)) as stream:
            async for token in stream:
                said.append(token)
                await asyncio.sleep(0.3)
        assert texts(said) == ["x", "b"]

    script = (HEAD, chunk(event("x")), Wait(0.35), chunk(event("b") + event(finish="stop") + DONE), LAST_CHUNK)
    NEAR.run(test, script, token_gap_timeout_s=0.25)


# Connections.


@pytest.mark.parametrize("chunked", [False, True], ids=["with length", "chunked"])
def test_long_model_list_is_fetched_once(*, chunked: bool) -> None:
    async def test(server: Server, model: OpenAIChat) -> None:
        body = json.dumps({"data": [{"id": "m7", "about": "x" * http_stream.LONG_BODY_BYTES}]}).encode()
        server.models = (HEAD, chunk(body), LAST_CHUNK) if chunked else status(200, body)
        for _ in range(3):
            await model.load()
        assert [seen.method for seen in server.seen] == ["GET"] * 2 + ["HEAD"] * 4
        assert {seen.path for seen in server.seen} == {"/v1/models"}
        await ask(model)
        assert server.connections == 2

    NEAR.run(test, answer("Hi"))


@in_event_loop
async def test_load_survives_network_failure() -> None:
    async with chatting(f"http://127.0.0.1:{closed_port()}/v1") as model:
        await model.load()


@in_event_loop
async def test_load_does_not_wait_for_silent_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_stream, "WARM_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with chatting(f"http://127.0.0.1:{silent.getsockname()[1]}/v1") as model, asyncio.timeout(10):
            watch = Stopwatch()
            await model.load()
            assert watch.undisturbed_s < 0.5


@pytest.mark.parametrize("disconnect", [Close(), Abort()], ids=["closed", "reset"])
def test_stale_connection_is_replaced_silently(disconnect: Close | Abort) -> None:
    """The service reads the second request of a connection and closes it: an unavoidable race."""

    async def test(server: Server, model: OpenAIChat) -> None:
        await ask(model)
        second = await ask(model)
        assert [type(said) for said in second] == [SlotAcquired, RequestSent, Token, Finished]
        assert texts(second) == ["again"]
        assert server.connections == 2

    NEAR.run(test, answer("Hi"), (disconnect,), answer("again"))


def test_closed_new_connection_is_not_retried() -> None:
    async def test(server: Server, model: OpenAIChat) -> None:
        with pytest.raises(LlmUnreachable):
            await ask(model)
        assert len(server.posts) == 1

    NEAR.run(test, (Close(),))


def test_started_answer_is_never_retried() -> None:
    async def test(server: Server, model: OpenAIChat) -> None:
        await ask(model)
        with pytest.raises(LlmBroken):
            await ask(model)
        assert len(server.posts) == 2

    NEAR.run(test, answer("Hi"), (HEAD, Abort()), answer("again"))


# Cancellation.


@pytest.mark.parametrize("script", [(Wait(5),), (HEAD, Wait(5))], ids=["before the headers", "after them"])
def test_cancelling_task_disconnects_at_once(script: Script) -> None:
    async def test(server: Server, model: OpenAIChat) -> None:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(ask(model))
            async with asyncio.timeout(4):
                await server.asked.wait()
            await asyncio.sleep(0.05)
            asking.cancel()
        watch = Stopwatch()
        async with asyncio.timeout(4):
            await server.left_at_s
        assert watch.undisturbed_s < 0.2
        assert texts(await ask(model)) == ["again"]

    NEAR.run(test, script, answer("again"))


def test_cancelling_at_any_step_closes_connection() -> None:
    """Cancels after each possible number of event-loop iterations; plain httpcore loses a connection at one of them."""

    async def cancelled_after(turns: int, model: OpenAIChat) -> bool:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(ask(model))
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
        return asking.cancelled()

    async def test(server: Server, model: OpenAIChat) -> None:
        for turns in range(40):
            assert await cancelled_after(turns, model)
        async with asyncio.timeout(10):
            await server.quiet.wait()
        assert server.connections > 20
        gc.collect()
        assert not [kept for kept in gc.get_objects() if isinstance(kept, httpcore.AsyncHTTPConnection)]
        server.scripts[:] = [answer("again")]
        assert texts(await ask(model)) == ["again"]

    NEAR.run(test, (Wait(0.004), HEAD, Wait(5)))


def test_cancelling_at_end_of_answer_frees_connection() -> None:
    """Plain httpcore leaves the connection busy forever if it is cancelled while it returns it to the pool."""

    async def test(server: Server, model: OpenAIChat) -> None:
        for turns in range(60):
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(ask(model))
                for _ in range(turns):
                    await asyncio.sleep(0)
                asking.cancel()
        gc.collect()
        pooled = [kept for kept in gc.get_objects() if isinstance(kept, httpcore.AsyncHTTPConnection)]
        assert [kept.info() for kept in pooled if not kept.is_idle()] == []
        assert not asking.cancelled(), "the last of these answers came to its end before it could be cancelled"

    NEAR.run(test, answer("Hi"))


@in_event_loop
async def test_cancelling_in_tls_handshake_closes_connection() -> None:
    met, left = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            met.set()
        left.set()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with server, chatting(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as model:
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            asking = group.create_task(ask(model))
            await met.wait()
            asking.cancel()
        async with asyncio.timeout(10):
            await left.wait()


def test_waiting_for_slot_counts_toward_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_stream, "MAX_ANSWERS", 1)

    async def test(server: Server, model: OpenAIChat) -> None:
        async with aclosing(model.stream(HELLO)) as first:
            while not isinstance(await anext(first), Token):
                pass
            with pytest.raises(LlmTooSlow, match="no connection"):
                await ask(model)
        server.scripts[:] = [answer("again")]
        assert texts(await ask(model)) == ["again"]

    NEAR.run(test, (HEAD, chunk(event("x")), Wait(5)), first_token_timeout_s=1.0)


# Unreachable services.


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def unreachable(url: str, *, connect_timeout_s: float = 3.0) -> LlmError:
    async def main() -> LlmError:
        async with chatting(url, connect_timeout_s=connect_timeout_s) as model, asyncio.timeout(15):
            watch = Stopwatch()
            with pytest.raises(LlmUnreachable) as caught:
                await ask(model)
            assert watch.undisturbed_s < 0.9
            return caught.value

    error = asyncio.run(main())
    check_nothing_private(error)
    assert error.retryable
    assert error.spoken == "I can't reach my language model right now."
    return error


def test_refused_connection_is_reported() -> None:
    assert "start the server" in str(unreachable(f"http://127.0.0.1:{closed_port()}/v1"))


def test_unaccepted_connection_times_out() -> None:
    # A full backlog: Linux drops the SYN, as a firewall does.
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        with socket.socket() as one, socket.socket() as two:
            for filler in (one, two):
                filler.setblocking(False)
                filler.connect_ex(address)
            error = unreachable(f"http://127.0.0.1:{address[1]}/v1", connect_timeout_s=0.1)
    assert "in time" in str(error)


async def unreachable_behind(greeting: bytes, scheme: str) -> LlmError:
    """Returns the error for a server that sends `greeting` to every client and disconnects."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server, chatting(f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as model:
        with pytest.raises(LlmUnreachable) as caught:
            await ask(model)
    check_nothing_private(caught.value)
    return caught.value


def test_https_to_plain_server_is_reported() -> None:
    error = asyncio.run(unreachable_behind(b"HTTP/1.1 400 Bad Request\r\n\r\n", "https"))
    assert "http://" in str(error)


def test_non_http_server_is_reported() -> None:
    error = asyncio.run(unreachable_behind(b"220 mail ready, " + ASKED.encode() + b"\r\n", "http"))
    assert "HTTP server" in str(error)


# Refusals.


def test_key_error_names_configured_headers() -> None:
    async def main() -> str:
        async with serving(status(401, {"error": {"message": "no"}})) as server:
            model = OpenAIChat("near", server.url, "m7", headers={"api-key": KEY})
            with pytest.raises(LlmRefused) as caught:
                await ask(model)
            await model.aclose()
            return str(caught.value)

    assert "set its headers" in asyncio.run(main())


def test_huge_error_page_is_not_read_completely() -> None:
    head = b"HTTP/1.1 503 X\r\ntransfer-encoding: chunked\r\n\r\n"
    _, error, took = failing((head, Drip(chunk(b"x" * 50_000), 0.001)))
    assert isinstance(error, LlmRefused)
    assert took.undisturbed_s < 0.5


# Invalid answers.


@named_cases(
    "tail",
    {
        "reset": (Abort(),),
        "closed": (Close(),),
        "reset inside counts": (chunk(usage(9, 2)[:20]), Abort()),
        "truncated counts": (chunk(usage(9, 2)[:20]), LAST_CHUNK),
        "reset after end mark": (chunk(DONE), Abort()),
    },
)
def test_complete_text_survives_connection_loss(tail: Script) -> None:
    events = NEAR.events_of((HEAD, chunk(event("It is four.")), chunk(event(finish="stop")), Wait(0.02), *tail))
    assert events[2:] == [Token("It is four."), Finished("stop")]


@pytest.mark.parametrize(
    "content_type", ["text/html; charset=utf-8", "text/event-stream"], ids=["HTML", "event stream"]
)
def test_web_page_is_broken(content_type: str) -> None:
    page = b"<!doctype html><title>Sign in</title>\n"
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {len(page)}\r\n\r\n"
    _, error, _ = failing((head.encode() + page,))
    assert isinstance(error, LlmBroken)
    assert "proxy" in str(error)
    assert error.spoken == "Something other than my language model answered."


def test_redirect_is_reported_without_secrets() -> None:
    error = failing(status(307, headers="location: https://me:pw@elsewhere.example/v1?key=x\r\n"))[1]
    assert isinstance(error, LlmBroken)
    assert "final address (https://elsewhere.example/v1)" in str(error)


@pytest.mark.parametrize(
    "place",
    ["mailto:me", "http://[::1/x", "http://xn--/", "//:@"],
    ids=["mail address", "invalid IPv6", "invalid punycode", "no scheme"],
)
def test_invalid_redirect_target_is_reported(place: str) -> None:
    async def test(server: Server, model: OpenAIChat) -> None:
        server.models = status(302, b"", f"location: {place}\r\n")
        await model.load()
        with pytest.raises(LlmError) as caught:
            await ask(model)
        check_nothing_private(caught.value)

    NEAR.run(test, status(302, b"", f"location: {place}\r\n"))


def test_status_204_names_no_redirect_target() -> None:
    error = failing(status(204))[1]
    assert "answers HTTP 204 instead of a reply: check its url" in str(error)


def test_large_packet_is_delivered_in_small_pieces() -> None:
    """Parsing a large packet in one go would block the event loop, and with it every conversation."""
    sizes: list[int] = []

    async def test(server: Server, _: OpenAIChat) -> None:
        service = http_service.HttpService("near", server.url, {}, route=ROUTE, model="m7")
        async with aclosing(service.post(ROUTE, {}, PLAIN, ())) as incoming:
            async for item in incoming:
                sizes.extend([len(item)] if isinstance(item, bytes) else [])
        await service.aclose()

    NEAR.run(test, (HEAD, chunk(b": a\n" * (1 << 18)), LAST_CHUNK))
    assert sum(sizes) == 1 << 20
    assert max(sizes) <= http_stream.PIECE_BYTES


# Deadlines.


@pytest.mark.parametrize(
    "thought",
    [event(reasoning_content="hmm"), event("<think>hmm"), event(content=[{"type": "thinking"}])],
    ids=["separate field", "marked text", "content part"],
)
def test_timeout_while_reasoning_names_remedy(thought: bytes) -> None:
    events, error, _ = failing((HEAD, Drip(chunk(thought), 0.02)), first_token_timeout_s=0.15)
    assert isinstance(error, LlmTooSlow)
    assert "still thinking: turn that off" in str(error)
    assert texts(events) == []


def test_unmarked_reasoning_is_passed_on_at_most_once() -> None:
    async def test(_: Server, model: OpenAIChat) -> None:
        await ask(model)
        assert texts(await ask(model)) == ["It is four."]

    NEAR.run(test, answer("Four, I guess.", "\n</think>\n\n", "It is four."))


WITHOUT_FIRST_MARK = event("The user asks.\n</think>\n\n") + event("Four.") + event(finish="stop") + DONE


@pytest.mark.parametrize(
    ("model", "listed", "parameters", "expected_texts"),
    [
        ("Qwen/QwQ-32B", {}, {}, ["Four."]),
        ("mine", {"root": "Qwen/QwQ-32B"}, {}, ["Four."]),
        ("mine", {"root": "Qwen/Qwen3-32B"}, {}, ["Four."]),
        ("Qwen/QwQ-32B", {}, {"reasoning_format": "hidden"}, ["Four."]),
    ],
    ids=["by name", "by list", "unknown", "configured otherwise"],
)
def test_reasoning_of_known_models_is_removed(
    model: str, listed: dict[str, str], parameters: dict[str, object], expected_texts: list[str]
) -> None:
    async def test(server: Server, _: OpenAIChat) -> None:
        server.models = status(200, {"data": [{"id": "mine", **listed}]})
        client = OpenAIChat("near", server.url, model, parameters=parameters)
        await client.load()
        assert texts(await ask(client)) == expected_texts
        await client.load()
        assert texts(await ask(client))[-1] == "Four."
        await client.aclose()

    NEAR.run(test, (HEAD, chunk(WITHOUT_FIRST_MARK), LAST_CHUNK))


def test_separated_reasoning_does_not_delay_text() -> None:
    async def test(server: Server, _: OpenAIChat) -> None:
        client = OpenAIChat("near", server.url, "deepseek-r1", first_token_timeout_s=0.5)
        assert texts(await ask(client)) == ["It is", " four."]
        await client.aclose()

    thought = event(role="assistant", content="") + event(reasoning_content="Hm.") + event("It is")
    NEAR.run(test, (HEAD, chunk(thought), Wait(0.7), chunk(event(" four.") + event(finish="stop") + DONE), LAST_CHUNK))


@pytest.mark.parametrize("is_private_host", [True, False], ids=["private address", "public address"])
def test_loading_model_gets_wakeup_request_if_private(
    monkeypatch: pytest.MonkeyPatch, *, is_private_host: bool
) -> None:
    monkeypatch.setattr(http_service, "is_private", lambda _host: is_private_host)

    async def test(server: Server, model: OpenAIChat) -> None:
        with pytest.raises(LlmTooSlow, match=r"no first content token .*: if the model is still being loaded"):
            await ask(model)
        async with asyncio.timeout(5):
            while len(server.posts) < 1 + is_private_host:  # noqa: ASYNC110 - the server counts, and says nothing
                await asyncio.sleep(0.01)
        assert texts(await ask(model)) == ["Hi"]
        question, *_, last = (json.loads(post.body) for post in server.posts)
        short = {**question, "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 1}
        bodies = [json.loads(post.body) for post in server.posts]
        assert bodies == ([question, short, last] if is_private_host else [question, last])

    NEAR.run(test, (Wait(5),), answer("Hi"), first_token_timeout_s=0.3)


def test_keep_alives_do_not_extend_token_gap_deadline() -> None:
    script = (HEAD, chunk(event("x")), Wait(0.3), chunk(event("b")), Drip(chunk(b": keep-alive\n\n"), 0.02))
    events, error, took = failing(script, token_gap_timeout_s=0.8)
    assert isinstance(error, LlmTooSlow)
    assert texts(events) == ["x", "b"]
    assert "token_gap_timeout_s" in str(error)
    assert error.spoken == "My language model stopped in the middle of its answer."
    assert took.elapsed_s > 1.0
    assert took.undisturbed_s < 1.5


# Settings and secrets.


def test_invalid_settings_are_named() -> None:
    with pytest.raises(ValueError, match=r"'near'.*url"):
        OpenAIChat("near", "localhost:8000", "m7")
    with pytest.raises(ValueError, match=r"'near'.*token_gap_timeout_s"):
        OpenAIChat("near", "http://h/v1", "m7", token_gap_timeout_s=0)


def test_detail_has_kind_model_and_address() -> None:
    model = OpenAIChat("near", "http://h:1/v1/chat/completions?token=x", "m7", api_key=KEY)
    assert model.detail == "openai m7 at http://h:1/v1"


def test_log_contains_neither_key_nor_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        NEAR.events_of(answer("Mount Everest."))
        failing(status(401, {"error": {"message": KEY}}))
    logged = caplog.text + repr(OpenAIChat("near", "http://h/v1", "m7", api_key=KEY))
    assert "HTTP Request" in logged
    assert KEY not in logged
    assert ASKED not in logged
    assert "Everest" not in logged
