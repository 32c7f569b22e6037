"""Client secrets as the token of telephone calls: the call has the secret's session settings."""

import asyncio
import os
from pathlib import Path

import httpx
import pytest
from support.protocol.phone_caller import CONNECTED, close_code, start_message
from support.servers.call_server import TOKEN
from support.servers.session_server import ScriptedEngineLoader, SessionServer, session_server, settings_for
from websockets.exceptions import InvalidStatus

from web.access.client_secrets import ClientSecrets
from web.limits.session_acceptor import passed_config
from web.phone.caller_access import CallerAccess
from web.phone.session import config_of_call
from web.wire.values.session_config import AudioFormat, SemanticVad, SessionConfig, SessionKind

pytestmark = pytest.mark.real_time


async def secret_of(server: SessionServer, token: str | None, **fields: str) -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    session = fields or {"instructions": "Speak like a pirate."}
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(
            f"http://127.0.0.1:{server.port}/v1/realtime/client_secrets", headers=headers, json={"session": session}
        )
    return str(answer.json()["value"])


async def closed_with(server: SessionServer, in_start: str | None = None, query: str = "", header: str = "") -> int:
    """Begins a call; returns the close code, 0 if the server keeps the call."""
    return await close_code(server.port, CONNECTED, start_message(in_start), query=query, token=header)


@pytest.mark.parametrize("token", [TOKEN, None])
def test_client_secret_admits_a_call(tmp_path: Path, token: str | None) -> None:
    async def main() -> None:
        loader = ScriptedEngineLoader(settings_for(tmp_path, "turn.hangover_ms=200"), os.environ)
        async with session_server(loader, token) as server:
            secret = await secret_of(server, token)
            assert await closed_with(server, in_start=secret) == 0
            assert await closed_with(server, query=f"?token={secret}") == 0
            assert await closed_with(server, header=secret) == 0
            assert await closed_with(server, in_start="ek_unknown") == 1008
            with pytest.raises(InvalidStatus):
                await closed_with(server, header="ek_unknown")

    asyncio.run(main())


def test_secret_of_a_transcription_session_opens_no_call(tmp_path: Path) -> None:
    async def main() -> None:
        loader = ScriptedEngineLoader(settings_for(tmp_path), os.environ)
        async with session_server(loader, TOKEN) as server:
            secret = await secret_of(server, TOKEN, type="transcription")
            assert await closed_with(server, in_start=secret) == 1008
            assert await closed_with(server, header=secret) == 1008

    asyncio.run(main())


class OtherGateway:
    """A gateway that has issued one client secret."""

    def __init__(self, secret: str, config: SessionConfig) -> None:
        self.secret, self.config = secret, config

    async def publish_secret(self, value: str, config: SessionConfig, seconds: float) -> None:
        raise AssertionError

    async def find_secret(self, value: str) -> SessionConfig | None:
        return self.config if value == self.secret else None


@pytest.mark.parametrize(("kind", "admitted"), [("realtime", True), ("transcription", False)])
def test_secret_of_another_gateway_admits_a_call(kind: SessionKind, *, admitted: bool) -> None:
    secret, scope = f"ek_{'a' * 43}", {"type": "websocket", "state": {}}
    other = OtherGateway(secret, SessionConfig(kind=kind, instructions="Be brief."))
    may_call = CallerAccess(lambda _scope, _offered: False, ClientSecrets(lambda: 0.0, other))
    assert asyncio.run(may_call(scope, [secret])) is admitted
    config = passed_config(scope)
    assert config is not None
    assert config.instructions == "Be brief."
    assert asyncio.run(may_call({"type": "websocket", "state": {}}, [f"ek_{'b' * 43}"])) is False


def test_call_has_the_settings_of_its_client_secret() -> None:
    secret = SessionConfig(
        instructions="Speak like a pirate.", turn_detection=None, modality="text", tool_choice="required"
    )
    config = config_of_call(secret)
    assert config.instructions == "Speak like a pirate."
    assert (config.input_format, config.output_format) == (AudioFormat.ULAW, AudioFormat.ULAW)
    assert (config.turn_detection, config.modality, config.tool_choice) == (SemanticVad(), "audio", "auto")
