"""The list of models of a service at a given address."""

import asyncio
import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.clocks.event_loop import in_event_loop
from support.services.llm_server import Abort, Close, Script, Server, Wait, serving, status
from support.texts.text_cases import named_cases

from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow, LlmUnreachable
from llm.listing import MAX_BYTES, Listing, ask

KEY = "sk-not-a-real-key"
LIST = {"object": "list", "data": [{"id": "m", "owned_by": "vllm"}, {"id": "bge-m3"}]}
PAGE = "content-type: text/html; charset=utf-8\r\n"


async def _asked(server: Server, key: str | None, timeout_s: float) -> Listing:
    return await ask("near", server.url, api_key=key, timeout_s=timeout_s)


def listing_of(script: Script, *, key: str | None = None, timeout_s: float = 5.0) -> Listing:
    async def run() -> Listing:
        async with serving() as server:
            server.models = script
            return await _asked(server, key, timeout_s)

    return asyncio.run(run())


def test_model_list_is_read() -> None:
    found = listing_of(status(200, LIST))
    assert found.models is not None
    assert (found.models.chat, found.models.others, found.models.product) == (("m",), ("bge-m3",), "vLLM")
    assert 0 < found.round_trip_ms < 5000


@in_event_loop
async def test_key_is_sent_and_redirect_not_followed() -> None:
    async with serving() as other, serving() as server:
        server.models = status(307, b"", f"location: {other.url}/models?token=x\r\n")
        final = f"set its url to the final address ({other.url}), not {server.url}"
        with pytest.raises(LlmError, match=f"{re.escape(final)}$"):
            await _asked(server, KEY, 5)
        assert other.connections == 0
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert server.seen[0].path == "/v1/models"


@in_event_loop
async def test_list_is_found_from_any_address_form() -> None:
    async with serving() as server:
        for url in (f"{server.url}/", f"{server.url}/chat/completions", f"{server.url}?version=1"):
            await ask("near", url, api_key=None, timeout_s=5)
        assert [seen.path for seen in server.seen] == ["/v1/models", "/v1/models", "/v1/models?version=1"]


@pytest.mark.parametrize("code", [404, 405, 501])
def test_service_without_list_is_accepted(code: int) -> None:
    assert listing_of(status(code, {"error": "no route"})).models is None


@pytest.mark.parametrize(
    "script",
    [status(200, {"ok": True}), status(200, b"plain"), status(200, b" " * (MAX_BYTES + 1))],
    ids=("other", "text", "huge"),
)
def test_unreadable_list_is_none(script: Script) -> None:
    found = listing_of(script)
    assert found.models is None
    assert not found.needs_key


@pytest.mark.parametrize("code", [401, 403])
def test_missing_or_wrong_key_is_reported(code: int) -> None:
    assert listing_of(status(code, {"error": f"Incorrect key {KEY}"}), key=KEY).needs_key


@named_cases(
    ("script", "kind", "expected_text"),
    {
        "web page": (status(200, b"<html>", PAGE), LlmBroken, "answers with a web page"),
        "web page with status 404": (status(404, b"<html>", PAGE), LlmBroken, "answers with a web page"),
        "web page with status 403": (status(403, b"<html>", PAGE), LlmBroken, "answers with a web page"),
        "server error": (status(500, {"error": "boom"}), LlmRefused, "HTTP 500"),
        "too many requests": (status(429, {"error": "slow down"}), LlmRefused, "accepts no more requests"),
        "silent server": ((Wait(30),), LlmTooSlow, "did not answer within 0.4 s"),
        "closed connection": ((Close(),), LlmUnreachable, "closed the connection without an answer"),
        "reset connection": ((Abort(),), LlmUnreachable, "closed the connection without an answer"),
    },
)
def test_failure_names_remedy(script: Script, kind: type[LlmError], expected_text: str) -> None:
    with pytest.raises(kind, match=expected_text) as refused:
        listing_of(script, timeout_s=0.4 if kind is LlmTooSlow else 5.0)
    assert "'near'" in str(refused.value)


def test_unreachable_server_is_reported() -> None:
    with pytest.raises(LlmUnreachable, match="refuses connections: start the server"):
        asyncio.run(ask("near", "http://127.0.0.1:9/v1", api_key=None, timeout_s=5))


def test_invalid_settings_are_refused_before_request() -> None:
    with pytest.raises(ValueError, match="url must look like"):
        asyncio.run(ask("near", "localhost:8000", api_key=None, timeout_s=5))
    with pytest.raises(ValueError, match="api_key_env") as refused:
        asyncio.run(ask("near", "http://127.0.0.1:9/v1", api_key="two words", timeout_s=5))
    assert "two words" not in str(refused.value)


def test_error_does_not_quote_key() -> None:
    with pytest.raises(LlmError) as refused:
        listing_of(status(500, {"error": f"cannot look up {KEY}"}), key=KEY)
    assert KEY not in str(refused.value)


@settings(max_examples=30)
@example("http://xn--/")
@example("//:@")
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20))
def test_invalid_redirect_is_reported(place: str) -> None:
    with pytest.raises(LlmError):
        listing_of(status(302, b"", f"location: {place}\r\n"))


def test_large_list_is_read() -> None:
    body = json.dumps({"data": [{"id": f"model-{n}", "about": "x" * 2000} for n in range(500)]}).encode()
    found = listing_of(status(200, body))
    assert found.models is not None
    assert len(found.models.chat) == 500
