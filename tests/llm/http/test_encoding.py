"""Compressed answers are refused before their body is read."""

import asyncio
import gzip
import json
import tracemalloc

import pytest
from support.clocks.event_loop import in_event_loop
from support.services.llm_server import HELLO, Wait, ask, serving

from llm.discovery import look
from llm.errors import LlmBroken
from llm.http.encoding import coding_of
from llm.http_errors import SPOKEN_PROXY
from llm.listing import ask as ask_for_models
from llm.openai.chat import OpenAIChat

BOMB = gzip.compress(gzip.compress(b"\0" * 50_000_000))


def _compressed(coding: str, status: int = 200, body: bytes = BOMB) -> tuple[bytes, ...]:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: text/event-stream\r\ncontent-encoding: {coding}\r\n"
    return (f"{head}content-length: {len(body)}\r\n\r\n".encode() + body,)


CODINGS = ("gzip", "gzip, gzip", "deflate", "br", "zstd", "identity, gzip", "GZIP")


@pytest.mark.parametrize(
    ("coding", "status"), [*((coding, 200) for coding in CODINGS), *(("gzip", code) for code in (302, 401, 404, 500))]
)
def test_compressed_answer_is_refused_unread(coding: str, status: int) -> None:
    async def run() -> None:
        async with serving(_compressed(coding, status)) as server:
            model = OpenAIChat("near", server.url, "m7")
            try:
                with pytest.raises(LlmBroken) as refused:
                    await ask(model)
            finally:
                await model.aclose()
            said = f"llm endpoint 'near' at {server.url} answers compressed (HTTP {status}, Content-Encoding: "
            assert str(refused.value).startswith(
                f"{said}{coding.lower()}), which is not supported: turn compression off"
            )
            assert refused.value.retryable
            assert refused.value.spoken == SPOKEN_PROXY
            assert server.seen[-1].headers["accept-encoding"] == "identity"

    tracemalloc.start()
    try:
        asyncio.run(run())
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "coding", ["", "identity", " Identity "], ids=["no coding", "identity", "identity with blanks"]
)
def test_plain_answer_is_read(coding: str) -> None:
    assert not coding_of({"content-encoding": coding})


def test_hostile_coding_is_not_quoted() -> None:
    assert coding_of({"content-encoding": "\x1b]0;x\x07"}) == "unknown"


@in_event_loop
async def test_compressed_list_of_models_is_refused() -> None:
    async with serving() as server:
        server.models = _compressed("gzip")
        with pytest.raises(LlmBroken, match="Content-Encoding: gzip"):
            await ask_for_models("near", server.url, api_key=None, timeout_s=5)


def test_compressed_list_is_no_server_on_this_machine() -> None:
    body = json.dumps({"object": "list", "data": [{"id": "m7"}]}).encode()

    async def run(coding: str) -> bool:
        async with serving() as server:
            server.models = _compressed(coding, 200, body)
            found = await look(int(server.url.split(":")[2].removesuffix("/v1")), 5.0)
            assert server.seen[-1].headers["accept-encoding"] == "identity"
            return found is not None

    assert asyncio.run(run("identity"))
    assert not asyncio.run(run("gzip"))


@in_event_loop
async def test_refused_answer_leaves_the_connection_closed() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1000000\r\n\r\n"
    async with serving((head, Wait(30))) as server:
        model = OpenAIChat("near", server.url, "m7")
        with pytest.raises(LlmBroken):
            async with asyncio.timeout(5):
                await ask(model, HELLO)
        async with asyncio.timeout(5):
            await server.quiet.wait()
        await model.aclose()
