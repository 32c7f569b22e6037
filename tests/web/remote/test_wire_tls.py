"""The connection of `repartee talk` to a server with TLS: what it accepts, and what it says otherwise."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.websockets import WebSocket
from support.servers.certificates import write_pair
from support.servers.web_server import running_server

from assistant.config.loading import load_settings
from assistant.config.server_settings import ServerSection
from repartee.satellite_check import check_satellite
from web.remote.address import address_of
from web.remote.close_reasons import CloseReason
from web.remote.server_trust import client_tls
from web.remote.wire import RemoteWire, ServerLostError
from web.sockets.tls import ServerTls, server_tls

TOKEN = "a-token-of-enough-characters"


@dataclass
class Listener:
    """Leaves as soon as the session is open."""

    wire: RemoteWire | None = None
    events: list[str] = field(default_factory=list)

    def event(self, event: Mapping[str, Any]) -> None:
        self.events.append(event["type"])
        assert self.wire is not None
        self.wire.leave()

    def resume(self) -> Mapping[str, str]:
        return {}

    def connection_lost(self, ending: CloseReason) -> None:
        raise AssertionError(ending.sentence)


async def greet(websocket: WebSocket) -> None:
    await websocket.send_json({"type": "session.created", "session": {}})
    await websocket.receive()


def tls_of(folder: Path) -> ServerTls:
    cert_file, key_file = write_pair(folder)
    found = server_tls(ServerSection(tls_cert=str(cert_file), tls_key=str(key_file)), {})
    assert found is not None
    return found


def talk(folder: Path, how: str) -> list[str]:
    """Connects with the fingerprint, the file, nothing, or a wrong fingerprint; returns the events."""

    async def main() -> list[str]:
        tls = tls_of(folder)
        async with running_server(converse=greet, token=TOKEN, tls=tls) as server:
            address = address_of(f"wss://127.0.0.1:{server.port}")
            fingerprint = {"fingerprint": tls.certificate.fingerprint, "wrong": "00" * 32}.get(how)
            trusted = client_tls(address, fingerprint, str(tls.certificate.cert_file) if how == "file" else None)
            listener = Listener()
            listener.wire = RemoteWire(address, TOKEN, listener, trusted)
            await listener.wire.run()
            return listener.events

    return asyncio.run(main())


@pytest.mark.parametrize("how", ["fingerprint", "file"])
def test_named_certificate_is_accepted(tmp_path: Path, how: str) -> None:
    assert talk(tmp_path, how) == ["session.created"]


@pytest.mark.parametrize(
    ("how", "said"), [("nothing", "add --tls-fingerprint or --tls-ca"), ("wrong", "another fingerprint")]
)
def test_other_certificates_are_refused(tmp_path: Path, how: str, said: str) -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(ServerLostError, match=said), flatten_subgroups=True):
        talk(tmp_path, how)


@pytest.mark.parametrize(
    ("how", "level", "text"),
    [
        ("fingerprint", "ok", "opens a conversation"),
        ("file", "ok", "opens a conversation"),
        ("nothing", "fail", "add --tls-fingerprint or --tls-ca"),
        ("both", "fail", "leave out --tls-ca"),
    ],
)
async def test_doctor_checks_the_certificate_as_a_satellite_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, level: str, text: str
) -> None:
    monkeypatch.setenv("REPARTEE_TOKEN", TOKEN)
    monkeypatch.setattr("repartee.satellite_check._devices", list)
    tls, settings = tls_of(tmp_path), load_settings(None, {}, ["talk.wake_word=okay_nabu"]).settings
    fingerprint = tls.certificate.fingerprint if how in {"fingerprint", "both"} else None
    ca_file = str(tls.certificate.cert_file) if how in {"file", "both"} else None
    async with running_server(converse=greet, token=TOKEN, tls=tls) as server:
        url = f"wss://127.0.0.1:{server.port}"
        result = (await asyncio.to_thread(check_satellite, settings, url, fingerprint, ca_file))[-1]
    assert (result.name, result.level) == ("server", level), result
    assert text in result.text
