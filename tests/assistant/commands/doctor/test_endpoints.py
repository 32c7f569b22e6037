"""One endpoint, asked for real over loopback: what it lists, how soon it answers, and how it says no."""

import asyncio
from collections.abc import Mapping

import pytest
from endpoint_services import serving_kind
from llm_server import HEAD, Script, Wait, answer, serving, status

from assistant.commands.doctor.endpoints import EndpointProbe, probe
from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings

HELLO = answer("Hello", " there")


def probed(*scripts: Script, key: str = "", environ: Mapping[str, str] | None = None) -> EndpointProbe:
    async def scene() -> EndpointProbe:
        async with serving(*scripts) as server:
            endpoint = EndpointSection(name="near", url=server.url, model="m", api_key_env=key)
            found = await probe(Settings(), endpoint, environ or {})
            asked.extend(request.body for request in server.posts)
            return found

    asked: list[bytes] = []
    found = asyncio.run(scene())
    assert all(b'"max_tokens":8' in body for body in asked)
    return found


def test_one_that_works_is_timed_step_by_step() -> None:
    found = probed(HELLO)
    assert found.failure == ""
    assert found.models == ()
    for took_ms in (found.lookup_ms, found.connect_ms, found.list_ms, found.token_ms):
        assert took_ms is not None
        assert 0 <= took_ms < 5000
    assert found.tls_ms is None


def test_one_that_refuses_the_key_says_where_it_belongs() -> None:
    found = probed(status(401, {"error": {"message": "bad key"}}), key="NEAR_KEY", environ={"NEAR_KEY": "k-123456789"})
    assert "wants a valid key" in found.failure
    assert "k-123456789" not in repr(found)


def test_a_key_that_is_not_set_is_not_tried() -> None:
    found = probed(HELLO, key="NEAR_KEY")
    assert found.failure.startswith("the environment variable NEAR_KEY is not set: ")
    assert found.list_ms is None


def test_one_that_refuses_connections() -> None:
    endpoint = EndpointSection(name="near", url="http://127.0.0.1:9/v1", model="m")
    found = asyncio.run(probe(Settings(), endpoint, {}))
    assert "refuses connections" in found.failure
    assert found.connect_ms is None


def test_one_that_answers_without_a_word() -> None:
    found = probed(answer())
    assert found.token_ms == 0.0 or found.failure


def test_one_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("assistant.commands.doctor.endpoints.ANSWER_TIMEOUT_S", 0.2)
    found = probed((HEAD, Wait(5.0)))
    assert "within 0.2 s" in found.failure


def test_one_whose_list_of_models_is_a_page_is_asked_all_the_same() -> None:
    async def scene() -> EndpointProbe:
        async with serving(HELLO) as server:
            server.models = status(200, b"<html>", "content-type: text/html\r\n")
            return await probe(Settings(), EndpointSection(name="near", url=server.url, model="m"), {})

    found = asyncio.run(scene())
    assert (found.failure, found.models) == ("", None)
    assert "a web page" in found.list_failure
    assert found.token_ms is not None


def test_a_kind_that_lists_no_models_is_asked_for_words_alone() -> None:
    async def scene() -> tuple[EndpointProbe, int]:
        async with serving_kind("grpc", "Hello.") as service:
            endpoint = EndpointSection(name="near", kind="grpc", url=service.url, model="m7", template="chatml")
            return await probe(Settings(), endpoint, {}), len(service.asked())

    found, asked = asyncio.run(scene())
    assert (found.failure, found.models, found.list_ms, found.list_failure) == ("", None, None, "")
    assert found.connect_ms is not None
    assert found.token_ms is not None
    assert asked == 1
