"""Proxies and certificates from the environment, as a client uses them."""

import asyncio
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from support.clocks.event_loop import in_event_loop
from support.services.grpc_server import self_signed
from support.services.llm_server import HELLO, Server, answer, ask, serving, status
from support.texts.text_cases import named_cases

from llm.chat import Token
from llm.environment import CHECK_PROXY
from llm.errors import LlmRefused, LlmUnreachable
from llm.http.client import client_of
from llm.http.failure import unreachable
from llm.listing import ask as ask_for_models
from llm.openai.chat import OpenAIChat

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"):
        monkeypatch.delenv(name, raising=False)


@named_cases(
    ("name", "value", "named"),
    {
        "FTP proxy": ("ALL_PROXY", "ftp://me:secret@proxy.example:21", "ALL_PROXY"),
        "invalid IPv6 proxy": ("HTTPS_PROXY", "http://me:secret@[::1", "HTTPS_PROXY"),
        "invalid port": ("HTTPS_PROXY", "http://me:secret@proxy.example:70000", "HTTPS_PROXY"),
        "SOCKS proxy": ("ALL_PROXY", "socks5://me:secret@127.0.0.1:1", "ALL_PROXY"),
        "missing certificates": ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE"),
        "file without certificates": ("SSL_CERT_FILE", __file__, "SSL_CERT_FILE"),
    },
)
def test_unusable_environment_is_reported(monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"llm endpoint 'near': .*{named}") as refused:
        OpenAIChat("near", "https://llm.example/v1", "m7")
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
    with pytest.raises(ValueError, match=named):
        asyncio.run(ask_for_models("near", "https://llm.example/v1", api_key=None, timeout_s=1))


@named_cases(
    "no_proxy",
    {
        "addresses": "localhost,127.0.0.1,::1,[::1]",
        "networks": "10.0.0.0/8,fd00::/8",
        "invalid IPv6 address": "[::1",
        "invalid address with password": "http://me:secret@[",
        "blanks and separators": "a b,,;,%%,://",
        "star": "*",
    },
)
@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_any_no_proxy_value_is_accepted(monkeypatch: pytest.MonkeyPatch, name: str, no_proxy: str) -> None:
    monkeypatch.setenv(name, no_proxy)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    OpenAIChat("near", "https://llm.example/v1", "m7")


def test_host_in_no_proxy_bypasses_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> list[str]:
        async with serving(answer("Hi"), answer("Hi")) as server:
            monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
            monkeypatch.setenv("NO_PROXY", "[::1],llm.example,fd00::/8")
            through, direct = (OpenAIChat("near", f"http://{host}/v1", "m7") for host in ("far.example", "llm.example"))
            try:
                heard = [event.text for event in await ask(through) if isinstance(event, Token)]
                with pytest.raises(LlmUnreachable, match="name that cannot be looked up: check its url"):
                    await ask(direct)
            finally:
                await through.aclose()
                await direct.aclose()
        return heard

    assert asyncio.run(scene()) == ["Hi"]


def test_unspecified_address_bypasses_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> list[str]:
        async with serving(answer("Hi")) as server:
            monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
            model = OpenAIChat("near", server.url.replace("127.0.0.1", "0.0.0.0"), "m7")
            try:
                return [event.text for event in await ask(model) if isinstance(event, Token)]
            finally:
                await model.aclose()

    assert asyncio.run(scene()) == ["Hi"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_unreachable_proxy_is_named_instead_of_server(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://me:secret@127.0.0.1:9")
    with pytest.raises(LlmUnreachable) as refused:
        asyncio.run(ask_for_models("near", f"{scheme}://llm.example/v1", api_key=None, timeout_s=5))
    where = f"llm endpoint 'near' at {scheme}://llm.example/v1"
    assert str(refused.value) == f"{where} is behind a proxy that refuses connections: {CHECK_PROXY}"


@named_cases(
    ("error", "expected_text"),
    {
        "unknown proxy name": (socket.gaierror(-2, "secret"), "proxy that has a name that cannot be looked up"),
        "proxy timeout": (httpx.ConnectTimeout("secret"), "proxy that did not accept the connection in time"),
        "proxy unreachable": (httpx.ConnectError("secret"), "proxy that cannot be reached"),
        "proxy refuses": (httpx.ProxyError("secret"), "proxy that refuses the connection"),
        "untrusted certificate": (
            ssl.SSLCertVerificationError("secret"),
            "certificate that is not trusted: check its url",
        ),
        "closed connection": (httpx.ReadError("secret"), "closed the connection without an answer: check that its url"),
    },
)
def test_failure_behind_proxy_names_who_failed(
    monkeypatch: pytest.MonkeyPatch, error: Exception, expected_text: str
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    raised = error if isinstance(error, httpx.HTTPError) else httpx.ConnectError("secret")
    raised.__cause__ = None if raised is error else error
    text = str(unreachable("near", "https://llm.example/v1", raised))
    assert expected_text in text
    assert ("NO_PROXY" in text) == ("proxy" in expected_text)
    monkeypatch.setenv("no_proxy", "example")
    assert ("proxy" in str(unreachable("near", "https://llm.example/v1", raised))) == isinstance(
        error, httpx.ProxyError
    )
    assert "secret" not in text


@in_event_loop
async def test_proxy_password_request_names_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    no = status(407, b"")
    async with serving(no) as proxy:
        proxy.models = no
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        message = f"at http://llm.example/v1 is behind a proxy that refuses the connection: {CHECK_PROXY}"
        with pytest.raises(LlmRefused, match=message):
            await ask_for_models("near", "http://llm.example/v1", api_key=None, timeout_s=5)
        model = OpenAIChat("near", "http://llm.example/v1", "m7")
        try:
            with pytest.raises(LlmRefused, match=message):
                await ask(model)
        finally:
            await model.aclose()


@pytest.mark.parametrize(
    ("name", "value"),
    [("NO_PROXY", "fd00::/8"), ("SSL_CERT_FILE", "/nowhere/ca.pem"), ("HTTP_PROXY", "http://proxy.example:70000")],
    ids=["NO_PROXY", "SSL_CERT_FILE", "HTTP_PROXY"],
)
def test_loopback_server_ignores_unusable_environment(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    url = httpx.URL("http://127.0.0.1:8000/v1")
    asyncio.run(client_of("near", url, {}, timeout=httpx.Timeout(1)).aclose())


def test_configured_certificate_is_trusted_on_loopback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key, certificate = self_signed(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    heard: list[str] = []

    async def asked(url: str) -> None:
        model = OpenAIChat("near", url, "m7")
        try:
            heard.extend(event.text for event in await ask(model) if isinstance(event, Token))
        finally:
            await model.aclose()

    async def scene() -> None:
        script = Server([answer("Hi")])
        server = await asyncio.start_server(script.handle, "127.0.0.1", 0, ssl=context)
        async with server:
            url = f"https://localhost:{server.sockets[0].getsockname()[1]}/v1"
            with pytest.raises(LlmUnreachable, match="not trusted: check its url, or set SSL_CERT_FILE"):
                await asked(url)
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            await asked(url)
            await script.hang_up()

    asyncio.run(scene())
    assert heard == ["Hi"]


def test_ipv6_address_is_reached() -> None:
    async def scene() -> list[str]:
        script = Server([answer("Hi")])
        try:
            server = await asyncio.start_server(script.handle, "::1", 0)
        except OSError:
            pytest.skip("this machine has no IPv6")
        async with server:
            model = OpenAIChat("near", f"http://[::1]:{server.sockets[0].getsockname()[1]}/v1", "m7")
            try:
                await model.load()
                texts = [event.text async for event in model.stream(HELLO) if isinstance(event, Token)]
            finally:
                await model.aclose()
            await script.hang_up()
        return texts

    assert asyncio.run(scene()) == ["Hi"]
