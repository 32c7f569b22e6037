"""One end of a WebRTC call without a network: limits on what waits, and the settings of its session."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from scripted_engines import SequenceModel, SequenceRecognizer, engines_of
from simulation import ScriptedVoice
from starlette.types import Message
from starlette.websockets import WebSocket
from wire_client import SERVICE

from assistant.config.home_settings import HomeSection
from assistant.home.connection import HomeConnection
from assistant.support.json_http import JsonHttp
from web.http_api.errors import ApiError
from web.session_acceptor import pass_config
from web.session_offer import engines_for
from web.webrtc import call as webrtc_call
from web.webrtc.call import Call
from web.webrtc.calls import _scope_of
from web.webrtc.session import config_of_form
from web.wire.session_config import SessionConfig, SessionOffer


class Channel:
    """A data channel whose client takes messages of this length."""

    readyState = "open"  # noqa: N815 - the names of aiortc
    bufferedAmount = 0  # noqa: N815

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.sent: list[str] = []

    def send(self, text: str) -> None:
        if len(text) > self.longest:
            raise ValueError
        self.sent.append(text)


def run(test: Callable[[Call], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        call = Call("rtc_1", {"type": "websocket"})
        await test(call)
        await call._peer.close()

    asyncio.run(main())


async def first_message(call: Call) -> Message:
    await call._receive()  # the handshake
    return await call._receive()


@pytest.mark.parametrize("message", [b"", b"x" * 1000, "{}"])
def test_flood_of_short_messages_ends_the_call(message: str | bytes) -> None:
    async def test(call: Call) -> None:
        for _ in range(100_000):
            call._on_message(message)
        assert call._over
        assert len(call._waiting) < 30_000
        assert (await first_message(call))["type"] == "websocket.receive"

    run(test)


@pytest.mark.parametrize("longest", [10_000, 1_000_000])
def test_event_longer_than_the_client_takes_does_not_end_the_session(longest: int) -> None:
    async def test(call: Call) -> None:
        channel: Any = Channel(longest)
        call._channel = channel
        for length in (100, webrtc_call.MAX_EVENT_CHARS + 1, 100):
            event = {"type": "conversation.item.retrieved", "item": "x" * length}
            await call._send({"type": "websocket.send", "text": json.dumps(event, separators=(",", ":"))})
        kinds = [json.loads(text)["type"] for text in channel.sent]
        assert kinds == ["conversation.item.retrieved", "error", "conversation.item.retrieved"]

    run(test)


@pytest.mark.parametrize("secret", [None, SessionConfig(instructions="Be brief.")])
def test_only_the_call_of_a_client_secret_has_own_timers_and_no_home(secret: SessionConfig | None) -> None:
    scope: dict[str, Any] = {"type": "http", "state": {}}
    pass_config(scope, secret)
    shown = _scope_of(scope, SessionConfig())
    engines = engines_of(SequenceRecognizer(()), SequenceModel(()), ScriptedVoice())
    timers, home = engines.skill_effects.timers, HomeConnection(HomeSection(), JsonHttp("http://127.0.0.1:9", 1.0))
    engines.skill_effects.home = home

    async def unused(*_: Any) -> Any:
        raise AssertionError

    kept = engines_for(engines, SessionConfig(), WebSocket(shown, unused, unused)).skill_effects
    assert (kept.timers is timers) == (kept.home is home) == (secret is None)


def test_session_of_a_form_is_checked_against_what_the_server_offers() -> None:
    form = '{"prompt": {"id": "plain"}}'
    offering = replace(SERVICE, offer=SessionOffer(prompts={"plain": "Be kind."}))
    assert config_of_form(SessionConfig(), form, offering).instructions == "Be kind."
    with pytest.raises(ApiError):
        config_of_form(SessionConfig(), form, SERVICE)


def test_session_of_a_form_with_too_many_values_is_not_parsed() -> None:
    with pytest.raises(ApiError) as refused:
        config_of_form(SessionConfig(), json.dumps({"tools": [[]] * 30_000}), SERVICE)
    assert (refused.value.code, refused.value.param) == ("invalid_json", "session")
    assert "20000 values" in str(refused.value)
