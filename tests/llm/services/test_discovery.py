"""Discovery against real servers on loopback: known products, and other services on these ports."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from support.clocks.event_loop import in_event_loop
from support.clocks.stopwatch import Duration, Stopwatch
from support.services.llm_server import LAST_CHUNK, Abort, Close, Drip, Script, Wait, chunk, serving, status

from llm.discovery import MAX_BYTES, UNKNOWN, FoundServer, discover

JSON = "content-type: application/json\r\n"
PAGE = "content-type: text/html\r\n"
CHUNKED = f"HTTP/1.1 200 OK\r\n{JSON}transfer-encoding: chunked\r\n\r\n".encode()


def models(*names: str, owner: str = "library") -> dict[str, object]:
    return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": owner} for name in names]}


LIST = json.dumps(models("m")).encode()


def port_of(url: str) -> int:
    return int(url.removesuffix("/v1").rpartition(":")[2])


def found_with(*scripts: Script, timeout_s: float = 5.0) -> tuple[FoundServer, ...]:
    """Returns the servers found if each of the scripts is served by one."""

    async def look() -> tuple[FoundServer, ...]:
        async with AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(serving()) for _ in scripts]
            for server, script in zip(servers, scripts, strict=True):
                server.models = script
            return await discover([port_of(server.url) for server in servers], timeout_s)

    return asyncio.run(look())


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as bound:  # bound but not listening, so that no other program can use it
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@in_event_loop
async def test_server_is_found() -> None:
    async with serving() as server:
        server.models = status(200, models("llama3.2:latest", "nomic-embed-text:latest"), JSON)
        (found,) = await discover([port_of(server.url)], 5)
        assert (found.name, found.url) == ("Ollama", server.url)
        assert (found.models, found.others) == (("llama3.2:latest",), ("nomic-embed-text:latest",))
        assert 0 < found.round_trip_ms < 5000
        assert found.usable
        assert not found.needs_key
        (request,) = server.seen
        assert (request.method, request.path) == ("GET", "/v1/models")
        assert "authorization" not in request.headers
        assert request.headers["host"] == f"127.0.0.1:{port_of(server.url)}"


def test_servers_are_found_concurrently_in_port_order() -> None:
    slow: Script = (Wait(0.3), *status(200, models("a", owner="vllm")))
    found = found_with(slow, status(200, models("b", owner="llamacpp")), slow, slow)
    assert [server.name for server in found] == ["vLLM", "llama.cpp", "vLLM", "vLLM"]

    async def timed() -> Duration:
        async with serving() as one, serving() as two, serving() as three:
            one.models = two.models = three.models = (Wait(30),)
            watch = Stopwatch()
            assert await discover([port_of(server.url) for server in (one, two, three)], 0.4) == ()
            return watch.duration

    took = asyncio.run(timed())
    assert took.elapsed_s >= 0.4
    assert took.undisturbed_s < 1.0


def test_slow_or_foreign_server_does_not_hide_others() -> None:
    page = status(200, b"<!doctype html>", PAGE)
    found = found_with((Wait(30),), page, status(200, models("m", owner="vllm")), (Abort(),), timeout_s=1.5)
    assert [server.name for server in found] == ["vLLM"]


def test_closed_port_is_ignored(closed_port: int) -> None:
    assert asyncio.run(discover([closed_port])) == ()
    assert asyncio.run(discover([])) == ()


@pytest.mark.parametrize(
    "script",
    [
        (CHUNKED, *(chunk(LIST[at : at + 7]) for at in range(0, len(LIST), 7)), LAST_CHUNK),
        (f"HTTP/1.0 200 OK\r\n{JSON}\r\n".encode() + LIST, Close()),
        (b"HTTP/1.1 200 OK\r\n\r\n" + LIST, Close()),
        (b"HTTP/1.1 100 Continue\r\n\r\n", *status(200, models("m"), JSON)),
    ],
    ids=["chunked", "until-close-1.0", "until-close-1.1", "after-100"],
)
def test_list_is_read_in_every_http_framing(script: Script) -> None:
    (found,) = found_with(script)
    assert (found.name, found.models) == ("Ollama", ("m",))


def test_server_without_models_is_not_usable() -> None:
    (found,) = found_with(status(200, {"object": "list", "data": None}))
    assert (found.name, found.models, found.usable) == (UNKNOWN, (), False)
    (found,) = found_with(status(200, models("nomic-embed-text")))
    assert (found.name, found.others, found.usable) == ("Ollama", ("nomic-embed-text",), False)


@pytest.mark.parametrize("code", [401, 403])
def test_server_that_needs_key_is_reported(code: int) -> None:
    (found,) = found_with(status(code, {"error": "Unauthorized"}, JSON))
    assert (found.name, found.needs_key, found.models, found.usable) == (UNKNOWN, True, (), False)


HUGE = json.dumps(models(*(f"model-{n}" for n in range(MAX_BYTES // 40)))).encode()


OTHER_SERVICES: dict[str, Script] = {
    "web page": status(200, b"<!doctype html><title>Jenkins</title>", PAGE),
    "huge body": status(200, HUGE, JSON),
    "huge body in pieces": (CHUNKED, Drip(chunk(b"x" * 60_000), 0.0)),
    "huge content length": (b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n", Drip(b" " * 60_000, 0.0)),
    "endless headers": (b"HTTP/1.1 200 OK\r\n", Drip(b"x-more: and more\r\n", 0.0)),
    "endless blanks": (CHUNKED, Drip(chunk(b" "), 0.05)),
    "silent": (Wait(30),),
    "silent after headers": (CHUNKED, Wait(30)),
    "truncated JSON": status(200, b'{"object": "list", "data": [{"id": '),
    "list": status(200, [1, 2]),
    "other table": status(200, {"data": [{"id": "m"}]}),
    "models without id": status(200, {"object": "list", "data": [{"sku": "m"}]}),
    "compressed": (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8b\x08\x00",),
    "redirect": status(301, b"", "location: /elsewhere/v1/models\r\n"),
    "invalid redirect": status(302, b"", "location: http://[not-an-address/\r\n"),
    "login page": status(401, b"<html>log in</html>", f'{PAGE}www-authenticate: Basic realm="x"\r\n'),
    "detail without challenge": status(401, {"detail": "Not authenticated"}),
    "not found": status(404, {"error": "no such route"}),
    "server error": status(500, models("m")),
    "loading model": status(503, {"error": {"message": "Loading model", "code": 503}}),
    "truncated body": (b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{", Close()),
    "invalid chunk": (CHUNKED, b"zz\r\n"),
    "SSH": (b"SSH-2.0-OpenSSH_9.6\r\n",),
    "TLS": (b"\x16\x03\x01\x00\xff\x00\x01\r\n\r\n",),
    "closed connection": (Close(),),
    "reset connection": (Abort(),),
}


def test_other_services_are_ignored() -> None:
    assert found_with(*OTHER_SERVICES.values(), timeout_s=1.0) == ()


@in_event_loop
async def test_redirect_is_not_followed() -> None:
    async with serving() as other, serving() as server:
        other.models = status(200, models("m"))
        server.models = status(307, b"", f"location: {other.url}/models\r\n")
        assert await discover([port_of(server.url)], 5) == ()
        assert len(server.seen) == 1
        assert other.connections == 0


@in_event_loop
async def test_environment_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as proxy, serving() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        server.models = status(200, models("m"))
        assert len(await discover([port_of(server.url)], 5)) == 1
        assert proxy.connections == 0


@in_event_loop
async def test_connections_are_closed() -> None:
    async with serving() as served, serving() as silent:
        served.models, silent.models = status(200, models("m")), (Wait(30),)
        await discover([port_of(served.url), port_of(silent.url)], 0.5)
        async with asyncio.timeout(10):
            await served.quiet.wait()
            await silent.quiet.wait()


@in_event_loop
async def test_cancelled_search_closes_connections() -> None:
    async with serving() as silent:
        silent.models = (Wait(30),)
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            searching = group.create_task(discover([port_of(silent.url)], 30))
            await silent.asked.wait()
            searching.cancel()
        async with asyncio.timeout(10):
            await silent.quiet.wait()
