"""One end of a WebRTC call without a network: limits on what waits, and the settings of its session."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any

import pytest
from aiortc import RTCCertificate, RTCDtlsTransport, RTCIceGatherer, RTCIceTransport, RTCSctpTransport
from aiortc.rtcsctptransport import DataChunk
from starlette.types import Message
from starlette.websockets import WebSocket
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceModel, SequenceRecognizer, engines_of
from support.protocol.wire_client import SERVICE

from assistant.config.home_settings import HomeSection
from assistant.home.connection import HomeConnection
from assistant.support.json_http import JsonHttp
from web.http_api.errors import ApiError
from web.limits.session_acceptor import is_guest, pass_config
from web.session.session_offer import engines_for
from web.webrtc import call as webrtc_call
from web.webrtc.call import Call, limit_unfinished
from web.webrtc.calls import _scope_of, config_of_form
from web.wire.values.session_config import SessionConfig, SessionOffer


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
def test_only_the_call_of_a_client_secret_has_own_timers_and_lists_and_no_home(secret: SessionConfig | None) -> None:
    scope: dict[str, Any] = {"type": "http", "state": {}}
    pass_config(scope, secret)
    shown = _scope_of(scope, SessionConfig())
    engines = engines_of(SequenceRecognizer(()), SequenceModel(()), ScriptedVoice())
    lists = engines.skill_effects.lists
    timers, home = engines.skill_effects.timers, HomeConnection(HomeSection(), JsonHttp("http://127.0.0.1:9", 1.0))
    engines.skill_effects.home = home

    async def unused(*_: Any) -> Any:
        raise AssertionError

    socket = WebSocket(shown, unused, unused)
    kept = engines_for(engines, SessionConfig(), socket, is_guest=is_guest(shown)).skill_effects
    assert (kept.timers is timers) == (kept.lists is lists) == (kept.home is home) == (secret is None)


# ---- a data channel whose client sends parts of messages without an end ----

FIRST, LAST = 2, 1


def part(number: int, flags: int = 0, *, size: int = 1000, stream: int = 0) -> DataChunk:
    """The part of a message with this number. A message begins and ends with the flags."""
    chunk = DataChunk(flags=flags)
    chunk.tsn, chunk.stream_id, chunk.stream_seq, chunk.protocol = number, stream, 0, 51
    chunk.user_data = b"x" * size
    return chunk


def unfinished_parts(parts: Iterable[DataChunk]) -> tuple[bool, int, int]:
    """Receives parts. Returns whether the call was ended, and the parts and bytes that are kept."""
    kept: list[tuple[bool, int, int]] = []

    async def test(call: Call) -> None:
        gatherer = RTCIceGatherer()
        transport = RTCSctpTransport(
            RTCDtlsTransport(RTCIceTransport(gatherer), [RTCCertificate.generateCertificate()])
        )
        transport._last_received_tsn = 0
        limit_unfinished(transport, call._on_excess)
        for one in parts:
            await transport._receive_data_chunk(one)
        chunks = [one for stream in transport._inbound_streams.values() for one in stream.reassembly]
        kept.append((call._over, len(chunks), sum(len(one.user_data) for one in chunks)))

    run(test)
    return kept[0]


@pytest.mark.parametrize("size", [1, 1000])
def test_message_without_an_end_ends_the_call(size: int) -> None:
    over, parts, size = unfinished_parts(part(number, FIRST * (number == 1), size=size) for number in range(1, 8000))
    assert over
    assert parts <= webrtc_call.MAX_UNFINISHED_PARTS
    assert size <= (1 << 20) + webrtc_call.MAX_UNFINISHED_BYTES + 1000


def test_many_streams_end_the_call() -> None:
    over, parts, _ = unfinished_parts(part(number, FIRST, stream=number, size=1) for number in range(1, 1000))
    assert over
    assert parts <= webrtc_call.MAX_STREAMS


def test_long_message_that_ends_is_received() -> None:
    longest = [part(number, FIRST * (number == 1) + LAST * (number == 1000)) for number in range(1, 1001)]
    assert unfinished_parts(longest) == (False, 0, 0)


def test_session_of_a_form_is_checked_against_what_the_server_offers() -> None:
    form = '{"prompt": {"id": "plain"}}'
    offering = replace(SERVICE, offer=SessionOffer(prompts={"plain": "Be kind."}))
    assert config_of_form(SessionConfig(), form, offering).instructions == "Be kind."
    with pytest.raises(ApiError):
        config_of_form(SessionConfig(), form, SERVICE)
    with pytest.raises(ApiError, match=r"'p', which is not in server\.prompts") as refused:
        config_of_form(SessionConfig(), '{"prompt": {"id": "p"}}', offering)
    assert "plain" not in str(refused.value), "the names of prompts are told to nobody"


def test_session_of_a_form_with_too_many_values_is_not_parsed() -> None:
    with pytest.raises(ApiError) as refused:
        config_of_form(SessionConfig(), json.dumps({"tools": [[]] * 30_000}), SERVICE)
    assert (refused.value.code, refused.value.param) == ("invalid_json", "session")
    assert "20000 values" in str(refused.value)
