"""The app over real sockets."""

import asyncio
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from support.servers.session_server import close_frame
from support.servers.web_server import RunningServer, ScriptedEnginePool, running_server
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from assistant.config.server_settings import ServerSection
from audio.errors import EngineLoadError
from web.app import STATIC
from web.limits import session_acceptor
from web.limits.session_limits import LOADING
from web.observation.health import EngineState, readiness

TOKEN = "a-token-of-enough-characters"

MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|"
    r"new Function|set(?:Timeout|Interval)\(\s*[\"'`]"
)
"""Ways of JavaScript to make markup or code of a text."""


async def get(server: RunningServer, path: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(server.http + path, headers=headers, timeout=20)


async def until(server: RunningServer, path: str, is_so: Callable[[httpx.Response], bool]) -> None:
    """Repeats a request until the answer is as expected, for at most 20 s."""
    async with asyncio.timeout(20):
        while not is_so(await get(server, path)):  # noqa: ASYNC110 - it is the server's answer that is waited for
            await asyncio.sleep(0.01)


async def refused(url: str, **how: object) -> tuple[int, str]:
    """Returns status and code of a refused handshake."""
    with pytest.raises(InvalidStatus) as failed:
        async with connect(url, proxy=None, **how):  # type: ignore[arg-type]  # as each test says
            pass
    response = failed.value.response
    return response.status_code, json.loads(response.body or b"")["error"]["code"]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("<!doctype html><title>Repartee</title>")
    (tmp_path / "talk").mkdir()
    (tmp_path / "talk" / "page.js").write_text("export {};")
    return tmp_path


# Foreign pages


async def test_foreign_origin_or_host_gets_403_over_http() -> None:
    async with running_server() as server:
        for path in ("/", "/static/x.js", "/healthz", "/readyz", "/metrics", "/v1/realtime"):
            for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
                response = await get(server, path, **headers)
                assert response.status_code == 403, (path, headers)
                assert response.json()["error"]["code"].startswith("foreign_")
                assert "access-control-allow-origin" not in response.headers
        assert (
            server.metrics.registry.get_sample_value("repartee_requests_refused_total", {"reason": "foreign_host"}) == 6
        )


async def test_foreign_origin_or_host_gets_403_over_websocket(caplog: pytest.LogCaptureFixture) -> None:
    async with running_server() as server:
        assert await refused(server.ws, origin=Origin("https://evil.example")) == (403, "foreign_origin")
        assert await refused(server.ws, origin=Origin("null")) == (403, "foreign_origin")
        rebound = server.ws.replace("127.0.0.1", "evil.example")
        assert await refused(rebound, host="127.0.0.1", port=server.port) == (403, "foreign_host")
        assert server.limits.current == 0
    assert [record for record in caplog.records if record.exc_info] == []


async def test_own_page_and_clients_without_origin_can_connect() -> None:
    async with running_server(section=ServerSection(port=0, allowed_origins="https://app.example")) as server:
        for origin in (None, Origin(server.http), Origin("https://app.example")):
            async with connect(f"{server.ws}?model=any", origin=origin, proxy=None) as client:
                assert await client.recv() == "model=any"
                await client.send("hello")
                assert await client.recv() == "hello"


# Token


async def test_token_is_required_in_either_form() -> None:
    async with running_server(token=TOKEN) as server:
        assert await refused(server.ws) == (401, "token_missing")
        assert await refused(server.ws, additional_headers={"Authorization": "Bearer sk-x"}) == (401, "token_wrong")
        async with connect(server.ws, additional_headers={"Authorization": f"Bearer {TOKEN}"}, proxy=None) as client:
            assert client.subprotocol is None
        offered = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{TOKEN}")]
        async with connect(server.ws, subprotocols=offered, proxy=None) as client:
            assert client.subprotocol == "realtime"
        wanted = await get(server, "/metrics")
        assert (wanted.status_code, wanted.headers["www-authenticate"]) == (401, "Bearer")
        assert (await get(server, "/metrics", Authorization=f"Bearer {TOKEN}")).status_code == 200
        assert (await get(server, "/healthz")).status_code == 200


async def test_remote_client_behind_local_proxy_needs_token() -> None:
    elsewhere = {"X-Forwarded-For": "203.0.113.7"}
    async with running_server() as server:
        assert await refused(server.ws, additional_headers=elsewhere) == (403, "foreign_address")
        assert (await get(server, "/", **elsewhere)).status_code == 403


async def test_own_page_can_connect_behind_tls_proxy() -> None:
    async with running_server(token=TOKEN, section=ServerSection(port=0, allowed_hosts="voice.example")) as server:
        forwarded = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https", "Authorization": f"Bearer {TOKEN}"}
        async with connect(
            "ws://voice.example/v1/realtime",
            host="127.0.0.1",
            port=server.port,
            origin=Origin("https://voice.example"),
            additional_headers=forwarded,
            proxy=None,
        ) as client:
            assert await client.recv() == ""


# The page


async def test_page_policy_forbids_foreign_and_inline_resources(page: Path) -> None:
    async with running_server(static=page) as server:
        response = await get(server, "/")
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
        host = f"127.0.0.1:{server.port}"
        assert policy["default-src"] == "'self'"
        assert policy["connect-src"] == f"'self' ws://{host} wss://{host}"
        assert policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in response.headers["content-security-policy"]
        assert response.headers["permissions-policy"].startswith("microphone=(self)")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "server" not in response.headers


def test_page_never_makes_markup_or_code_of_a_text() -> None:
    scripts = sorted(STATIC.rglob("*.js"))
    assert len(scripts) > 20
    found = [(file.name, word) for file in scripts for word in MARKUP.findall(file.read_text(encoding="utf-8"))]
    assert found == []


async def test_static_files_are_revalidated_and_have_correct_types(page: Path) -> None:
    async with running_server(static=page) as server:
        for path, kind in (("/", "text/html"), ("/static/talk/page.js", "text/javascript")):
            response = await get(server, path)
            assert response.headers["content-type"].startswith(kind)
            assert response.headers["cache-control"] == "no-cache"
            again = await get(server, path, **{"If-None-Match": response.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")


async def test_unknown_paths_get_404(page: Path) -> None:
    async with running_server(static=page) as server:
        for path in (
            "/static/",
            "/static/none.js",
            "/static/..%2f..%2fapp.py",
            "/metrics/",
            "/nothing",
        ):
            response = await get(server, path)
            assert response.status_code == 404, path
            assert "content-security-policy" in response.headers


MISSING_PATHS = (
    "/v1", "/v1/", "/v1/models", "/v1/models/repartee", "/v1/realtime/client_secrets", "/v1/realtime/calls",
    "/v1/realtime/calls/call_1/accept", "/v1/audio/speech", "/v1/audio/transcriptions", "/v1/nothing",
)  # fmt: skip


async def test_missing_api_paths_answer_with_a_json_error() -> None:
    async with running_server() as server, httpx.AsyncClient(trust_env=False) as client:
        for method, path in itertools.product(("GET", "POST", "DELETE"), MISSING_PATHS):
            response = await client.request(method, server.http + path, timeout=20)
            assert response.status_code == 404, (method, path)
            assert response.headers["content-type"] == "application/json"
            assert "content-security-policy" in response.headers
            error = response.json()["error"]
            assert error.keys() == {"message", "type", "param", "code"}
            assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", None, "unknown_url")
            assert error["message"].startswith(f"Unknown request URL: {method} {path}. ")


async def test_refusals_under_v1_have_the_fields_of_openai_errors() -> None:
    async with running_server(token=TOKEN) as server:
        for path in ("/v1/models", "/v1/realtime"):
            for headers, status in (({"Origin": "https://evil.example"}, 403), ({}, 401)):
                response = await get(server, path, **headers)
                assert response.status_code == status
                assert response.json()["error"].keys() == {"message", "type", "param", "code"}


async def test_unknown_websocket_path_is_404() -> None:
    async with running_server() as server:
        for path in ("/", "/v1", "/v1/realtime/calls", "/v1/responses", "/static/x", "/metrics", "/x"):
            assert await refused(f"ws://127.0.0.1:{server.port}{path}") == (404, "unknown_url"), path


async def test_realtime_path_may_end_with_a_slash() -> None:
    engine_pool = ScriptedEnginePool()
    engine_pool.may_load.set()
    async with running_server(engine_pool=engine_pool) as server:
        async with connect(f"{server.ws}/?model=repartee", proxy=None) as client:
            assert await client.recv() == "model=repartee"
        for method in ("GET", "POST"):
            async with httpx.AsyncClient(trust_env=False) as client:
                assert (await client.request(method, f"{server.http}/v1/realtime/", timeout=20)).status_code == 426


async def test_unsupported_session_kinds_get_an_error_event() -> None:
    engine_pool = ScriptedEnginePool()
    engine_pool.may_load.set()
    async with running_server(engine_pool=engine_pool) as server:
        for query, param in (
            ("intent=translation", "intent"),
            ("call_id=call_1", "call_id"),
            ("intent=transcription&call_id=call_1", "call_id"),
            ("model=repartee&intent=translation", "intent"),
        ):
            url = f"{server.ws}?{query}"
            async with connect(url, subprotocols=[Subprotocol("realtime")], proxy=None) as client:
                assert client.subprotocol == "realtime"
                event = json.loads(await client.recv())
                assert event["type"] == "error"
                assert event["error"]["type"] == "invalid_request_error"
                assert (event["error"]["code"], event["error"]["param"]) == ("not_supported", param), query
                assert (await close_frame(client)).code == 1008
            assert server.limits.current == 0


async def test_missing_upgrade_header_is_explained() -> None:
    async with running_server() as server:
        response = await get(server, "/v1/realtime")
        assert (response.status_code, response.headers["upgrade"]) == (426, "websocket")
        assert "proxies must pass on the headers Upgrade and Connection" in response.json()["error"]["message"]


# Health


async def test_healthz_answers_at_once_and_readyz_after_loading() -> None:
    engine_pool = ScriptedEnginePool([EngineState("stt", "loading", "whisper"), EngineState("tts", "ready", "piper")])
    async with running_server(engine_pool) as server:
        assert (await get(server, "/healthz")).status_code == 200
        waiting = await get(server, "/readyz")
        assert waiting.status_code == 503
        assert waiting.json() == {
            "status": "loading",
            "pending": [{"stage": "stt", "state": "loading", "engine": "whisper"}],
            "refusing": LOADING.message,
        }
        async with connect(server.ws, proxy=None) as client:
            assert json.loads(await client.recv())["error"]["code"] == "server_loading"
            close = await close_frame(client)
        assert close.code == 1013
        engine_pool.may_load.set()
        await until(server, "/readyz", lambda response: response.status_code == 200)
    assert engine_pool.closed


def test_readyz_reports_failed_engines_and_draining() -> None:
    states = [
        EngineState("stt", "failed", "whisper", why="/home/somebody/model is broken"),
        EngineState("tts", "ready"),
    ]
    status, body = readiness(states, draining=False)
    assert (status, body["status"]) == (503, "failed")
    assert body["pending"] == [{"stage": "stt", "state": "failed", "engine": "whisper"}]
    ready = [EngineState("stt", "ready")]
    draining = {"status": "draining", "pending": [], "refusing": "it shuts down"}
    assert readiness(ready, draining=True, refusing="it shuts down") == (503, draining)
    assert readiness(ready, draining=False)[0] == 200
    assert readiness([], draining=False)[0] == 503


async def test_readyz_tells_load_balancers_whether_a_session_would_be_admitted() -> None:
    async with running_server(section=ServerSection(port=0, max_sessions=1)) as server:

        async def states() -> list[tuple[int, bool]]:
            answers = [await get(server, path) for path in ("/readyz", "/readyz?admits")]
            return [(answer.status_code, answer.json()["refusing"] is None) for answer in answers]

        assert await states() == [(200, True), (200, True)]
        async with connect(server.ws, proxy=None) as client:
            await client.recv()
            assert await states() == [(200, False), (503, False)]
            assert server.limits.current == 1
        await until(server, "/readyz?admits", lambda response: response.status_code == 200)


async def test_server_stays_alive_if_an_engine_cannot_be_loaded() -> None:
    engine_pool = ScriptedEnginePool([EngineState("stt", "failed")], EngineLoadError("no model"))
    engine_pool.may_load.set()
    async with running_server(engine_pool=engine_pool) as server:
        assert (await get(server, "/healthz")).status_code == 200
        assert (await get(server, "/readyz")).status_code == 503


async def test_metrics_are_served_for_prometheus() -> None:
    async with running_server() as server:
        async with connect(server.ws, proxy=None) as client:
            await client.recv()
            response = await get(server, "/metrics")
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert "repartee_sessions 1.0" in response.text.splitlines()
        assert 'repartee_engine_ready{engine="scripted",stage="stt"} 1.0' in response.text
        asked = {"Accept": "application/openmetrics-text; version=1.0.0"}
        response = await get(server, "/metrics", **asked)
        assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
        assert response.text.endswith("# EOF\n")


# Limits


async def test_full_server_refuses_until_a_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_acceptor, "SLOT_TIMEOUT_S", 0.2)
    async with running_server(section=ServerSection(port=0, max_sessions=1), resumable="mine") as server:
        async with connect(server.ws, proxy=None) as first:
            await first.recv()
            async with connect(server.ws, proxy=None) as second:
                error = json.loads(await second.recv())["error"]
                assert (error["code"], error["type"]) == ("server_full", "server_error")
                close = await close_frame(second)
                assert (close.code, close.reason[:11]) == (1013, "server_full")
            async with connect(f"{server.ws}?resume=mine", proxy=None) as back:
                assert await back.recv() == "resume=mine"
        await until(server, "/metrics", lambda response: "repartee_sessions 0.0" in response.text.splitlines())
        async with connect(server.ws, proxy=None) as third:
            assert await third.recv() == ""


async def test_sessions_are_told_when_the_server_shuts_down() -> None:
    async with running_server() as server, connect(server.ws, proxy=None) as client:
        await client.recv()
        server.server.should_exit = True
        assert json.loads(await client.recv())["error"]["code"] == "server_draining"
        close = await close_frame(client)
        assert (close.code, close.reason[:15]) == (1012, "server_draining")
