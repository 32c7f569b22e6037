"""Each kind of service measured as `repartee endpoints` does it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.services.aws_server import own_environment
from support.services.endpoint_services import ALL_KINDS, serving_kind, table_of
from support.services.grpc_server import answer, self_signed, serving

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.endpoint_probe import probe as endpoint_probe
from assistant.endpoint_probe.figures import EndpointMeasurement, ProbeAnswer
from assistant.endpoint_probe.handshake import Handshake, measure_handshake
from assistant.endpoint_probe.probe import measure_endpoint
from llm.protocols.protocol import HTTP
from llm.triton.protocol import GRPC


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)


def configured(table: str) -> Settings:
    Path("given.toml").write_text(table, encoding="utf-8")
    return load_settings(Path("given.toml"), {}, ()).settings


async def probed(table: str, requests: int = 2, environ: Mapping[str, str] | None = None) -> EndpointMeasurement:
    settings = configured(table)
    return await measure_endpoint(settings.llm.endpoints[0], settings, environ or {}, requests=requests)


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_each_kind_is_measured(kind: str) -> None:
    async with serving_kind(kind, "One", ", two", ", three.") as service:
        found, asked = await probed(service.table), len(service.asked())
    assert (found.problem, asked, len(found.answers)) == ("", 2, 2)
    assert found.handshake is not None
    assert found.handshake.connect_ms is not None
    assert found.handshake.tls_ms is None
    first_ms, late_ms = found.first_token_ms(50), found.first_token_ms(95)
    assert first_ms is not None
    assert late_ms is not None
    assert 0 < first_ms <= late_ms < 5000
    assert found.round_trip_ms is not None
    lists = "answers in " if kind == "openai" else f"answers; {kind} lists no models"
    assert found.state.startswith(lists)


async def test_several_connections_are_measured_for_a_comparison() -> None:
    async with serving_kind("tgi", "One.") as service:
        settings = configured(service.table)
        found = await measure_endpoint(settings.llm.endpoints[0], settings, {}, requests=1, handshakes=3)
    assert len(found.connects_ms) == 3
    assert found.handshake is not None
    assert found.handshake.connect_ms == found.connects_ms[0]


async def test_no_question_is_sent_if_none_is_requested() -> None:
    async with serving_kind("tgi", "One.") as service:
        found, asked = await probed(service.table, 0), len(service.asked())
    assert (found.state, found.problem, asked) == ("tgi lists no models", "", 0)
    assert found.round_trip_ms is not None


@pytest.mark.parametrize(("kind", "requests"), [("tgi", 0), ("tgi", 1), ("grpc", 1), ("bedrock", 1)])
def test_unreachable_endpoint_is_reported(kind: str, requests: int) -> None:
    scheme = "grpc" if kind == "grpc" else "http"
    found = asyncio.run(probed(table_of(kind, f"{scheme}://127.0.0.1:9"), requests))
    assert found.answers == ()
    assert kind in found.problem
    assert "start the server" in found.problem
    assert found.state == ("no answer" if requests else "no connection")


def test_invalid_endpoint_is_reported_without_a_request() -> None:
    found = asyncio.run(probed(table_of("tgi", "http://127.0.0.1:9").replace("chatml", "gone.jinja")))
    assert "the file does not exist" in found.problem
    text = '[[llm.endpoints]]\nname = "cloud"\nkind = "bedrock"\nmodel = "m"\n'
    found = asyncio.run(probed(text))
    assert (found.state, found.address) == ("not asked", "")
    assert "no AWS region" in found.problem


def test_unset_key_is_reported() -> None:
    found = asyncio.run(probed(table_of("tgi", "http://127.0.0.1:9", 'api_key_env = "KEY"')))
    assert (found.state, found.problem) == (
        "not asked: no key",
        "tgi: the environment variable KEY is not set; set it to the key",
    )


async def test_answers_before_a_failure_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_probe, "FIRST_TOKEN_TIMEOUT_S", 0.3)
    async with serving(answer("One."), (*answer("One.")[:0],)) as triton:
        found = await probed(table_of("grpc", triton.url), 3)
    assert found.state == "1 of 3 answers"
    assert len(found.answers) == 1
    assert found.problem


async def test_tls_is_timed_with_a_trusted_certificate(tmp_path: Path) -> None:
    key, certificate = self_signed(tmp_path)
    async with serving(answer("One."), tls=(key, certificate)) as triton:
        found = await probed(table_of("grpc", triton.url, f'ca_file = "{certificate}"'), 1)
        untrusted = (await measure_handshake(triton.url, GRPC.scheme_of(triton.url))).tls_ms
    assert found.problem == ""
    assert found.handshake is not None
    assert found.handshake.tls_ms is not None
    assert untrusted is None


def test_proxy_is_reported_instead_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    made = asyncio.run(measure_handshake("https://far.example/v1", HTTP[1]))
    assert made.proxy
    assert made.connect_ms is None


@pytest.mark.parametrize(
    "address",
    ["http://a..b/v1", "grpc://xn--zz", "grpc://\N{SNOWMAN}:8001"],
    ids=["empty label", "invalid punycode", "emoji"],
)
def test_invalid_host_name_has_no_figures(address: str) -> None:
    assert asyncio.run(measure_handshake(address, GRPC.scheme_of(address))) == Handshake()


async def test_first_reachable_address_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`localhost` is ::1 before it is 127.0.0.1, and many servers listen only at the latter."""
    async with serving_kind("tgi", "One.") as service:
        address = urlsplit(service.url)
        hosts = ["127.0.0.2", "127.0.0.1"]

        async def looked_up(*_: object, **__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
            return [(0, 1, 6, "", (host, address.port or 0)) for host in hosts]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
        made = await measure_handshake(f"http://localhost:{address.port}", HTTP[0])
        hosts.pop()
        assert (await measure_handshake(f"http://localhost:{address.port}", HTTP[0])).connect_ms is None
        assert made.connect_ms is not None


def test_few_answers_have_figures() -> None:
    endpoint = EndpointSection(
        name="a", url="http://h/v1", model="m", price_in_per_million=1.0, price_out_per_million=10.0
    )
    short = EndpointMeasurement(endpoint, "", answers=(ProbeAnswer(100.0, None, 1, 0.0),))
    assert short.tokens_per_s is None
    assert short.round_trip_ms is None
    assert short.turns_price == pytest.approx(1.0)
    assert EndpointMeasurement(endpoint, "").first_token_ms(50) is None
