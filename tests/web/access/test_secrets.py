"""Keys of services and of the server reach no client, trace, metric or log line, also if a service repeats them.

Clients learn no address of the operator's network either.
"""

import json
import logging
from pathlib import Path

import httpx
import pytest
from support.servers.session_server import SpokenEngineLoader, connected_client, session_server, settings_for
from support.services.llm_server import serving

from web.observation.server_log import LogFormatter
from web.wire.outgoing.hidden_addresses import HIDDEN

API_KEY = "sk-canary-of-the-service"
QUERY_KEY = "canary-in-the-query"
TOKEN = "canary-token-of-the-server"
CACHE_PASSWORD = "canary-of-the-cache"
SECRETS = (API_KEY, QUERY_KEY, TOKEN, CACHE_PASSWORD)


def found_in(text: str) -> list[str]:
    return [one for one in SECRETS if one in text]


def loader(folder: Path, url: str) -> SpokenEngineLoader:
    endpoint = (
        f'{{name = "near", kind = "openai", url = "{url}?key={QUERY_KEY}", model = "m", api_key_env = "NEAR_KEY"}}'
    )
    settings = settings_for(
        folder,
        "tts.engine=espeak-ng",
        f"llm.endpoints=[{endpoint}]",
        "cache.enabled=true",
        "cache.store=redis",
        f"cache.redis_url=redis://user:{CACHE_PASSWORD}@127.0.0.1:9/0?password={CACHE_PASSWORD}",
    )
    return SpokenEngineLoader(settings, {"NEAR_KEY": API_KEY, "REPARTEE_TOKEN": TOKEN})


def hostile(status: int) -> tuple[bytes, ...]:
    """Returns an answer that repeats what the service was sent."""
    message = f"Incorrect API key provided: {API_KEY}; see /v1?key={QUERY_KEY}"
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": "x"}}).encode()
    location = f"location: http://127.0.0.1:9/?key={QUERY_KEY}\r\n"
    return (f"HTTP/1.1 {status} X\r\n{location}content-length: {len(body)}\r\n\r\n".encode() + body,)


@pytest.mark.slow
@pytest.mark.parametrize("status", [302, 401])
async def test_secrets_reach_no_output(status: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving(hostile(status)) as llm, session_server(loader(tmp_path, llm.url), TOKEN) as server:
        header = {"Authorization": f"Bearer {TOKEN}"}
        async with connected_client(server, header) as caller:
            await caller.send("session.update", session={"type": "realtime", "repartee": {"events": True}})
            await caller.ask("explain photosynthesis to me please", until="repartee.trace")
            (done,) = caller.events_of("response.done")
            assert done["response"]["status"] == "failed"
            notice = caller.events_of("repartee.notice")[-1]
            events = json.dumps(caller.events)
            for text in (done["response"]["status_details"]["error"]["message"], notice["text"]):
                assert status != 302 or ("llm endpoint 'near' answers HTTP 302" in text and HIDDEN in text)
            assert "http://" not in events
        async with httpx.AsyncClient(trust_env=False, headers=header) as client:
            metrics = await client.get(f"http://127.0.0.1:{server.port}/metrics", timeout=20)
            ready = await client.get(f"http://127.0.0.1:{server.port}/readyz", timeout=20)
        told = (events, metrics.text, ready.text)
    assert "repartee_turns_total" in told[1]
    traces = json.dumps(server.records())
    assert '"outcome"' in traces
    line = LogFormatter("%(message)s")
    logged = "\n".join(
        line.format(record)
        for record in caplog.records
        if not record.name.startswith(("httpx", "httpcore", "websockets.client"))  # of this test's clients
    )
    assert "near" in logged
    assert [found_in(text) for text in (*told, traces, logged)] == [[]] * 5
