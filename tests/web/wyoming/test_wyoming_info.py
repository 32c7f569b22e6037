"""The `info` of the Wyoming server, and the addresses where it listens."""

import io
import os
import socket
from pathlib import Path

import pytest
from rich.console import Console
from support.servers.web_server import ScriptedEnginePool
from support.servers.wyoming_client import wyoming_client, wyoming_server
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong

from assistant.config.errors import ConfigError
from web.startup_banner import StartupBanner
from web.wyoming.address import listen_wyoming


async def test_info_lists_installed_engines(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Describe())
        info = Info.from_event(await client.until("info"))
    (listening,), (speaking,) = info.asr, info.tts
    assert listening.supports_transcript_streaming
    assert [(model.name, model.languages[0]) for model in listening.models] == [("scripted recognizer", "en")]
    assert speaking.supports_synthesize_streaming
    assert all(voice.installed and voice.languages and voice.description for voice in speaking.voices)
    assert speaking.voices[0].name == server.connections.engine_pool.choices.default_voice
    assert {voice.name: voice.languages for voice in speaking.voices}["espeak-ng:fi"] == ["fi"]


async def test_server_answers_ping_and_ignores_unknown_events(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.client.write_event(Ping("are you there").event())
        assert Pong.from_event(await client.until("pong")).text == "are you there"
        event = Describe().event()
        event.type = "satellite-disco"
        await client.send(event, Ping("again"))
        assert Pong.from_event(await client.until("pong")).text == "again"


async def test_server_listens_on_a_unix_socket_of_its_group(tmp_path: Path) -> None:
    path = tmp_path / "repartee.sock"
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))  # left by a server that was killed
    stale.close()
    async with wyoming_server(tmp_path, uri=f"unix://{path}") as server, wyoming_client(server) as client:
        assert path.stat().st_mode & 0o777 == 0o660
        await client.send(Ping())
        assert (await client.until("pong")).data == {"text": None}
    assert not path.exists()


@pytest.mark.parametrize(
    "uri", ["tcp://:10300", "tcp://127.0.0.1", "10300", "http://127.0.0.1:10300", "unix://", "tcp://127.0.0.1:99999"]
)
def test_wrong_address_is_told_with_the_remedy(uri: str) -> None:
    with pytest.raises(ConfigError, match=r"write tcp://127\.0\.0\.1:10300"):
        listen_wyoming(uri)


def test_port_in_use_is_told() -> None:
    with listen_wyoming("tcp://127.0.0.1:0") as first:
        with pytest.raises(ConfigError, match=f"--wyoming {first.uri}.*in use"):
            listen_wyoming(first.uri)
        assert (first.is_open, first.who) == (False, "this machine only")


def test_open_address_is_told() -> None:
    with listen_wyoming("tcp://0.0.0.0:0") as everywhere:
        assert everywhere.is_open
        assert "no token" in everywhere.who


def test_system_without_unix_sockets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(ConfigError, match=r"no Unix sockets; write tcp"):
        listen_wyoming("unix:///run/repartee.sock")


def test_unix_socket_is_never_open_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "repartee.sock"
    modes: list[int] = []

    def listen(_listener: object, _backlog: int) -> None:
        modes.append(path.stat().st_mode & 0o777)

    monkeypatch.setattr(Path, "chmod", lambda *_: pytest.fail("the mode is changed after bind"))
    monkeypatch.setattr(socket.socket, "listen", listen)
    mask = os.umask(0o022)
    try:
        with listen_wyoming(f"unix://{path}"):
            assert modes == [0o660]
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(mask)


def test_unix_socket_in_use_is_told(tmp_path: Path) -> None:
    uri = f"unix://{tmp_path}/repartee.sock"
    with listen_wyoming(uri), pytest.raises(ConfigError, match="in use"):
        listen_wyoming(uri)


@pytest.mark.parametrize(("host", "told"), [("127.0.0.1", "this machine only"), ("0.0.0.0", "has no token")])
def test_start_shows_the_address_and_who_can_use_it(host: str, told: str) -> None:
    console = Console(file=io.StringIO(), width=150)
    with listen_wyoming(f"tcp://{host}:0") as listening:
        banner = StartupBanner(console, ScriptedEnginePool())
        banner.listening("127.0.0.1", 8765, token=False, insecure=False, wyoming=listening)
        assert isinstance(console.file, io.StringIO)
        (row,) = [line for line in console.file.getvalue().splitlines() if "wyoming" in line]
        assert listening.uri in row
        assert told in row
