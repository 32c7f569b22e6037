"""Checks of one endpoint over loopback: its model list, its times and its refusals."""

import asyncio
from collections.abc import Mapping

import pytest
from support.services.endpoint_services import serving_kind
from support.services.llm_server import HEAD, Script, Wait, answer, serving, status

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


def test_every_step_of_a_working_endpoint_is_timed() -> None:
    found = probed(HELLO)
    assert found.failure == ""
    assert found.models == ()
    for took_ms in (found.lookup_ms, found.connect_ms, found.list_ms, found.token_ms):
        assert took_ms is not None
        assert 0 <= took_ms < 5000
    assert found.tls_ms is None


def test_refused_key_names_its_variable() -> None:
    found = probed(status(401, {"error": {"message": "bad key"}}), key="NEAR_KEY", environ={"NEAR_KEY": "k-123456789"})
    assert "requires a valid key" in found.failure
    assert "k-123456789" not in repr(found)


def test_endpoint_with_unset_key_is_not_asked() -> None:
    found = probed(HELLO, key="NEAR_KEY")
    assert found.failure.startswith("the environment variable NEAR_KEY is not set: ")
    assert found.list_ms is None


def test_refused_connection_is_reported() -> None:
    endpoint = EndpointSection(name="near", url="http://127.0.0.1:9/v1", model="m")
    found = asyncio.run(probe(Settings(), endpoint, {}))
    assert "refuses connections" in found.failure
    assert found.connect_ms is None


def test_silent_endpoint_times_out(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("assistant.commands.doctor.endpoints.ANSWER_TIMEOUT_S", 0.2)
    found = probed((HEAD, Wait(5.0)))
    assert "within 0.2 s" in found.failure


async def test_unreadable_model_list_does_not_end_the_check() -> None:
    async with serving(HELLO) as server:
        server.models = status(200, b"<html>", "content-type: text/html\r\n")
        found = await probe(Settings(), EndpointSection(name="near", url=server.url, model="m"), {})
    assert (found.failure, found.models) == ("", None)
    assert "a web page" in found.list_failure
    assert found.token_ms is not None


async def test_endpoint_kind_without_model_list_is_only_asked_a_question() -> None:
    async with serving_kind("grpc", "Hello.") as service:
        endpoint = EndpointSection(name="near", kind="grpc", url=service.url, model="m7", template="chatml")
        found, asked = await probe(Settings(), endpoint, {}), len(service.asked())
    assert (found.failure, found.models, found.list_ms, found.list_failure) == ("", None, None, "")
    assert found.connect_ms is not None
    assert found.token_ms is not None
    assert asked == 1
