"""Limits how fast one client sends requests, on a clock of the test's own."""

from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send
from support.servers.session_server import scripted_server

from web.access import rate_limits
from web.access.access_control import AccessControl
from web.access.client_secrets import ClientSecrets
from web.access.rate_limits import MAX_CLIENTS, RATES, Rate, RateLimits
from web.app import _Gate
from web.observation.metrics import Metrics
from web.wire.values.session_config import SessionConfig


@dataclass
class Clock:
    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_rate_of_an_address_is_limited() -> None:
    clock, rate = Clock(), RATES["client_secrets"]
    limits = RateLimits(clock)
    asked = [limits.allows("client_secrets", "10.0.0.1") for _ in range(rate.burst + 1)]
    assert asked == [True] * rate.burst + [False]
    assert limits.allows("client_secrets", "10.0.0.2")
    assert limits.allows("requests", "10.0.0.1")
    clock.now_s += 1 / rate.per_s
    assert [limits.allows("client_secrets", "10.0.0.1") for _ in range(2)] == [True, False]


def test_tokens_behind_one_address_have_rates_of_their_own() -> None:
    limits = RateLimits(Clock())
    for _ in range(RATES["requests"].burst):
        assert limits.allows("requests", "10.0.0.1", ["Bearer one"])
    assert not limits.allows("requests", "10.0.0.1", ["Bearer one"])
    assert limits.allows("requests", "10.0.0.1", ["Bearer two"])


@pytest.mark.parametrize(
    "spelling", [["bearer one"], ["BEARER  one "], ["Basic one"]], ids=["lower case", "blanks", "another scheme"]
)
def test_spellings_of_one_token_have_one_rate(spelling: list[str]) -> None:
    limits = RateLimits(Clock())
    for _ in range(RATES["requests"].burst):
        assert limits.allows("requests", "10.0.0.1", ["Bearer one"])
    assert not limits.allows("requests", "10.0.0.1", spelling)


def test_several_tokens_of_one_request_have_one_rate() -> None:
    limits = RateLimits(Clock())
    for number in range(RATES["requests"].burst):
        assert limits.allows("requests", "10.0.0.1", ["Bearer one", f"Bearer {number}"])
    assert not limits.allows("requests", "10.0.0.1", ["Bearer one", "Bearer other"])


def test_ipv6_addresses_of_one_network_have_one_rate() -> None:
    limits = RateLimits(Clock())
    burst = RATES["connections"].burst
    assert all(limits.allows("connections", f"2001:db8:1:2::{number:x}") for number in range(burst))
    assert not limits.allows("connections", "2001:db8:1:2:ffff::1")
    assert limits.allows("connections", "2001:db8:1:3::1")
    assert limits.allows("connections", "::ffff:10.0.0.1")
    assert limits.allows("connections", "::ffff:10.0.0.2")


@pytest.mark.parametrize("path", ["/v1/realtime", "/v1/phone"])
async def test_address_that_opens_websockets_too_fast_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rate_limits.RATES, "connections", Rate(3, 1.0))

    async def reached(_scope: Scope, _receive: Receive, _send: Send) -> None:
        answers.append(101)

    async def send(message: Message) -> None:
        if message["type"] == "websocket.http.response.start":
            answers.append(message["status"])
            assert (b"retry-after", b"1") in message["headers"]

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def connect(address: str) -> None:
        headers = [(b"host", b"repartee.example")]
        scope: Scope = {
            "type": "websocket", "path": path, "scheme": "ws", "headers": headers, "client": (address, 1),
            "query_string": b"", "subprotocols": [], "extensions": {"websocket.http.response": {}},
        }  # fmt: skip
        await gate(scope, receive, send)

    answers: list[int] = []
    allowed = AccessControl("0.0.0.0", 80, insecure=True, allowed_hosts=["repartee.example"])
    gate = _Gate(reached, allowed, Metrics(), None)
    for _ in range(4):
        await connect("203.0.113.1")
    await connect("203.0.113.2")
    assert answers == [101, 101, 101, 429, 101]
    answers.clear()
    for _ in range(9):
        await connect("127.0.0.1")
    assert answers == [101] * 9


@dataclass
class GateOfAddress:
    """Sends requests of one address through the gate of a server with a token, and returns their statuses."""

    gate: _Gate
    address: str = "203.0.113.1"

    async def status(self, path: str, key: str = "", kind: str = "websocket") -> int:
        statuses: list[int] = []

        async def send(message: Message) -> None:
            if message["type"].endswith("response.start"):
                statuses.append(message["status"])

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        headers = [(b"host", b"repartee.example")]
        if key:
            headers.append((b"authorization", f"Bearer {key}".encode()))
        scope: Scope = {
            "type": kind, "path": path, "scheme": "ws" if kind == "websocket" else "http", "headers": headers,
            "client": (self.address, 1), "query_string": b"", "subprotocols": [], "method": "GET",
            "extensions": {"websocket.http.response": {}},
        }  # fmt: skip
        await self.gate(scope, receive, send)
        return statuses[0] if statuses else 101


TOKEN = "a-token-of-enough-characters"


def gate_of(client_secrets: ClientSecrets | None = None) -> GateOfAddress:
    async def reached(_scope: Scope, _receive: Receive, _send: Send) -> None:
        pass

    allowed = AccessControl("0.0.0.0", 80, token=TOKEN, allowed_hosts=["repartee.example"])
    return GateOfAddress(_Gate(reached, allowed, Metrics(), client_secrets))


@pytest.mark.parametrize("key", [TOKEN, "a-wrong-token-of-that-length", "ek_unknown", ""])
async def test_client_beyond_its_rate_gets_429_whatever_its_key(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rate_limits.RATES, "connections", Rate(3, 0.001))
    gate = gate_of(ClientSecrets(Clock()))
    statuses = [await gate.status("/v1/realtime", key) for _ in range(5)]
    assert statuses == [101 if key == TOKEN else 401] * 3 + [429] * 2


@pytest.mark.parametrize("path", ["/v1/realtime", "/v1/models", "/v1/repartee/setup"])
async def test_wrong_keys_of_one_address_are_limited(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rate_limits.RATES, "wrong_keys", Rate(3, 0.001))
    kind = "websocket" if path == "/v1/realtime" else "http"
    gate = gate_of(ClientSecrets(Clock()))
    statuses = [await gate.status(path, f"a-wrong-token-of-that-length-{n}", kind) for n in range(5)]
    assert statuses == [101 if path == "/v1/repartee/setup" else 401] * 3 + [429] * 2
    assert await gate.status(path, TOKEN, kind) == 101
    assert await gate.status("/v1/realtime") == 401  # without a key, nothing is guessed
    gate.address = "203.0.113.2"
    assert await gate.status(path, "another-wrong-token-of-that-length", kind) != 429


async def test_no_client_secret_is_looked_up_beyond_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rate_limits.RATES, "wrong_keys", Rate(3, 0.001))
    client_secrets = ClientSecrets(Clock())
    value = client_secrets.make(SessionConfig(voice="amy"), 60)
    assert value is not None
    gate = gate_of(client_secrets)
    assert await gate.status("/v1/realtime", value) == 101
    assert [await gate.status("/v1/realtime", "ek_unknown") for _ in range(4)] == [401, 401, 401, 429]
    assert await gate.status("/v1/realtime", value) == 429  # else the answer would tell which one is right
    gate.address = "203.0.113.2"
    assert await gate.status("/v1/realtime", value) == 101


def test_clients_are_forgotten_in_order() -> None:
    limits = RateLimits(Clock())
    for number in range(MAX_CLIENTS + 10):
        limits.allows("requests", str(number))
    assert len(limits._left["requests"]) == MAX_CLIENTS


def test_tokens_are_not_kept() -> None:
    limits = RateLimits(Clock())
    limits.allows("requests", "10.0.0.1", ["Bearer secret-token"])
    assert "secret-token" not in repr(limits)


async def test_tokens_that_nobody_checks_have_no_rate_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rate_limits.RATES, "requests", Rate(3, 0.001))
    async with scripted_server(tmp_path) as (server, _):
        url = f"http://127.0.0.1:{server.port}/v1/models"
        async with httpx.AsyncClient(trust_env=False) as client:
            answers = [await client.get(url, headers={"Authorization": f"Bearer {n}"}) for n in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]


async def test_client_that_sends_too_fast_gets_429(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rate_limits.RATES, "requests", Rate(3, 0.001))
    async with scripted_server(tmp_path) as (server, _):
        base = f"http://127.0.0.1:{server.port}"
        async with httpx.AsyncClient(trust_env=False, base_url=base) as client:
            answers = [await client.get("/v1/models") for _ in range(4)]
            assert [one.status_code for one in answers] == [200, 200, 200, 429]
            assert answers[-1].json()["error"]["code"] == "rate_limit_exceeded"
            assert answers[-1].headers["retry-after"] == "2"
            assert (await client.post("/v1/audio/speech", json={})).status_code == 429
            assert (await client.get("/readyz")).status_code == 200
