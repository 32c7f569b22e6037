"""The server over TLS: who is accepted, what clients verify, and renewal without a restart."""

import asyncio
import socket
import ssl
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from rich.console import Console
from starlette.websockets import WebSocket
from support.servers.certificates import write_pair
from support.servers.web_server import RunningServer, ScriptedEnginePool, running_server
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from assistant.checks.serving import certificate_finding
from assistant.config.errors import ConfigError
from assistant.config.server_settings import ServerSection
from assistant.tls.certificate import Certificate, read_certificate
from web.remote.address import address_of
from web.remote.close_reasons import why_not
from web.remote.server_trust import UnexpectedCertificateError, client_tls
from web.sockets import acceptor
from web.sockets.tls import ServerTls, server_tls
from web.startup_banner import StartupBanner, qr_lines


def tls_of(cert_file: Path, key_file: Path) -> ServerTls:
    found = server_tls(ServerSection(tls_cert=str(cert_file), tls_key=str(key_file)), {})
    assert found is not None
    return found


def trusting(cert_file: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=cert_file)


async def echoed(server: RunningServer, context: ssl.SSLContext, host: str = "127.0.0.1", origin: str = "") -> object:
    headers = {"Origin": origin} if origin else {}
    address = f"wss://{host}:{server.port}/v1/realtime"
    async with connect(address, host="127.0.0.1", ssl=context, additional_headers=headers, proxy=None) as socket:
        await socket.recv()
        await socket.send("hello")
        return await socket.recv()


async def test_page_and_realtime_are_served_encrypted(tmp_path: Path) -> None:
    pair = write_pair(tmp_path)
    tls = tls_of(*pair)
    async with running_server(tls=tls) as server:
        async with httpx.AsyncClient(verify=trusting(pair[0]), trust_env=False) as client:
            base = f"https://127.0.0.1:{server.port}"
            page = await client.get(f"{base}/")
            assert page.status_code == 200
            assert f"wss://127.0.0.1:{server.port}" in page.headers["content-security-policy"]
            known = (await client.get(f"{base}/readyz")).json()["tls"]
            assert known == {
                "fingerprint": tls.certificate.fingerprint,
                "expires": tls.certificate.expires.isoformat(),
                "self_signed": False,
            }
        for name in ("127.0.0.1", "voice.example"):  # the names of the certificate are allowed hosts
            origin = f"https://{name}:{server.port}"
            assert await echoed(server, trusting(pair[0]), name, origin) == "hello"
        with pytest.raises(InvalidStatus):  # the page of an unencrypted server is another origin
            await echoed(server, trusting(pair[0]), origin=f"http://127.0.0.1:{server.port}")


async def test_client_accepts_only_the_pinned_certificate(tmp_path: Path) -> None:
    asked: list[str] = []

    async def converse(websocket: WebSocket) -> None:
        asked.append(websocket.url.path)
        await websocket.send_text("")
        await websocket.send_text(await websocket.receive_text())

    pair = write_pair(tmp_path)
    tls = tls_of(*pair)
    other = read_certificate(*write_pair(tmp_path, stem="other"))
    async with running_server(converse=converse, tls=tls) as server:
        address = address_of(f"wss://127.0.0.1:{server.port}")
        pinned = client_tls(address, tls.certificate.fingerprint.replace(":", "").lower(), None)
        assert pinned is not None
        assert await echoed(server, pinned) == "hello"
        wrong = client_tls(address, other.fingerprint, None)
        assert wrong is not None
        with pytest.raises(UnexpectedCertificateError) as error:
            await echoed(server, wrong)
        reason = why_not(error.value, address)
        assert "another fingerprint than --tls-fingerprint" in reason.sentence
        assert not reason.again
        authorities = client_tls(address, None, str(pair[0]))
        assert authorities is not None
        assert await echoed(server, authorities) == "hello"
        with pytest.raises(ssl.SSLCertVerificationError) as unknown:  # nothing given: as a browser
            await echoed(server, ssl.create_default_context())
        assert "--tls-fingerprint" in why_not(unknown.value, address).sentence
        assert len(asked) == 2


@pytest.mark.parametrize(
    ("server", "fingerprint", "ca_file", "said"),
    [
        ("ws://10.0.0.2:1", "ab" * 32, None, "--tls-fingerprint: ws://10.0.0.2:1 is not encrypted"),
        ("wss://10.0.0.2:1", "ab" * 31, None, "must be a SHA-256 fingerprint"),
        ("wss://10.0.0.2:1", "ab" * 32, "ca.pem", "leave out --tls-ca"),
        ("wss://10.0.0.2:1", None, "no-such.pem", "--tls-ca no-such.pem: is not a PEM file"),
    ],
)
def test_wrong_trust_options_are_refused(server: str, fingerprint: str | None, ca_file: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        client_tls(address_of(server), fingerprint, ca_file)


def test_nothing_is_accepted_without_a_check() -> None:
    assert client_tls(address_of("wss://10.0.0.2"), None, None) is None


async def test_renewed_certificate_is_used_without_restart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pair = write_pair(tmp_path)
    tls = tls_of(*pair)
    before = tls.certificate
    async with running_server(tls=tls) as server:
        old = trusting(pair[0])
        async with connect(f"wss://127.0.0.1:{server.port}/v1/realtime", ssl=old, proxy=None) as socket:
            await socket.recv()
            write_pair(tmp_path, ends=timedelta(days=60))
            await tls.look(renew=False)
            assert tls.certificate.fingerprint != before.fingerprint
            assert await echoed(server, trusting(pair[0])) == "hello"
            with pytest.raises(ssl.SSLCertVerificationError):
                await echoed(server, old)
            await socket.send("still open")
            assert await socket.recv() == "still open"
        renewed = tls.certificate
        pair[1].write_text("damaged, and longer than nothing", encoding="utf-8")
        new = trusting(pair[0])
        await tls.look(renew=False)
        assert tls.certificate == renewed
        assert await echoed(server, new) == "hello"
    assert "the renewed certificate is not used" in caplog.text


async def test_own_certificate_is_renewed_for_a_new_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = server_tls(ServerSection(tls_self_signed=True), {"XDG_DATA_HOME": str(tmp_path)})
    assert found is not None
    assert found.self_signed
    before = found.certificate
    await found.look(renew=True)
    assert found.certificate == before
    monkeypatch.setattr("assistant.tls.subjects.lan_addresses", lambda: ["10.1.2.3"])
    await found.look(renew=True)
    assert "10.1.2.3" in found.certificate.addresses
    assert found.certificate.fingerprint != before.fingerprint


async def test_silent_connections_do_not_keep_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "MAX_HANDSHAKES", 4)
    pair = write_pair(tmp_path)
    async with running_server(tls=tls_of(*pair)) as server:
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(9)]
        assert await echoed(server, trusting(pair[0])) == "hello"
        async with asyncio.timeout(5):
            assert await silent[0][0].read() == b""  # the oldest was dropped
        for _, writer in silent:
            writer.close()


async def test_client_without_tls_gets_no_answer(tmp_path: Path) -> None:
    async with running_server(tls=tls_of(*write_pair(tmp_path))) as server, httpx.AsyncClient() as client:
        with pytest.raises(httpx.TransportError):
            await client.get(f"http://127.0.0.1:{server.port}/readyz")


def banner_of(tls: ServerTls, host: str, *, terminal: bool = False) -> str:
    console = Console(width=100, force_terminal=terminal, color_system=None)
    with console.capture() as captured:
        StartupBanner(console, ScriptedEnginePool()).listening(host, 8765, token=True, insecure=False, tls=tls)
    return captured.get()


def test_old_versions_of_tls_are_not_spoken(tmp_path: Path) -> None:
    context = tls_of(*write_pair(tmp_path)).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert not any(cipher["name"].startswith(("RC4", "DES", "NULL", "EXP")) for cipher in context.get_ciphers())


def test_banner_shows_addresses_and_fingerprint(tmp_path: Path) -> None:
    tls = tls_of(*write_pair(tmp_path))
    near = banner_of(tls, "127.0.0.1", terminal=True)
    assert "https://127.0.0.1:8765" in near
    assert "wss://127.0.0.1:8765/v1/realtime" in near
    assert tls.certificate.fingerprint in near
    assert "phone" not in near
    far = banner_of(tls, "10.0.0.2")
    assert "phone  https://10.0.0.2:8765" in far
    assert "▀" not in far
    assert "▀" in banner_of(tls, "10.0.0.2", terminal=True)


def test_qr_code_is_square_with_quiet_border() -> None:
    lines = qr_lines("https://192.168.1.5:8765")
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == (len(lines[0]) + 1) // 2
    assert lines[0].strip() == ""
    assert {line[:2] for line in lines} == {"  "}


def test_doctor_checks_the_certificate(tmp_path: Path) -> None:
    def level(section: ServerSection) -> str:
        return certificate_finding(section, {"XDG_DATA_HOME": str(tmp_path)}).level

    def section(*pair: Path) -> ServerSection:
        return ServerSection(tls_cert=str(pair[0]), tls_key=str(pair[1]))

    assert level(ServerSection()) == "info"
    assert level(ServerSection(tls_self_signed=True)) == "ok"
    assert level(section(*write_pair(tmp_path))) == "ok"
    assert level(section(*write_pair(tmp_path, ends=timedelta(days=5)))) == "warn"
    assert level(section(*write_pair(tmp_path, ends=timedelta(hours=-1)))) == "fail"


async def test_client_that_never_finishes_its_handshake_does_not_delay_the_shutdown(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepting = acceptor.Acceptor(listening, asyncio.Protocol, tls=tls_of(*write_pair(tmp_path)).context)
        _, writer = await asyncio.open_connection(*listening.getsockname())
        await asyncio.sleep(0.1)
        accepting.close()
        async with asyncio.timeout(2):
            await accepting.wait_closed()
        writer.close()


def test_unexpected_error_of_a_renewed_certificate_does_not_end_the_server(tmp_path: Path) -> None:
    def broken() -> Certificate:
        raise RuntimeError

    tls = tls_of(*write_pair(tmp_path))
    before, tls._read = tls.certificate, broken
    asyncio.run(tls.look(renew=True))
    assert tls.certificate is before
