"""A satellite reconnects for ever: nobody is there to start it again. In virtual time."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from websockets.exceptions import InvalidUpgrade

from web.remote.address import address_of
from web.remote.close_reasons import CloseReason
from web.remote.wire import MAX_REFUSED_WAIT_S, MAX_WAIT_S, RemoteWire, ServerLostError

pytestmark = pytest.mark.virtual_time

NIGHT_S = 12 * 3600.0
NO_NAME = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


@dataclass
class Attempts:
    """Times and sentences of the failed attempts; leaves after `last_s`."""

    last_s: float
    wire: RemoteWire = field(init=False)
    at_s: list[float] = field(default_factory=list)
    sentences: set[str] = field(default_factory=set)

    def event(self, _event: Mapping[str, Any]) -> None:
        raise AssertionError("there is no server")

    def resume(self) -> Mapping[str, str]:
        return {}

    def connection_lost(self, ending: CloseReason) -> None:
        self.at_s.append(asyncio.get_running_loop().time())
        self.sentences.add(ending.sentence)
        if self.at_s[-1] - self.at_s[0] > self.last_s:
            self.wire.leave()

    @property
    def longest_wait_s(self) -> float:
        return max(later - earlier for earlier, later in zip(self.at_s, self.at_s[1:], strict=False))


async def attempts_with(error: Exception, monkeypatch: pytest.MonkeyPatch, *, keeps_trying: bool = True) -> Attempts:
    async def fail(_wire: RemoteWire) -> None:
        raise error

    monkeypatch.setattr(RemoteWire, "_connected", fail)
    attempts = Attempts(NIGHT_S)
    attempts.wire = RemoteWire(address_of("ws://voice.example"), None, attempts, keeps_trying=keeps_trying)
    await attempts.wire.run()
    return attempts


@pytest.mark.parametrize(
    "error",
    [NO_NAME, ConnectionRefusedError(), TimeoutError(), OSError(101, "Network is unreachable")],
    ids=["no name", "no server", "no answer", "no network"],
)
async def test_temporary_failure_is_retried_all_night(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = await attempts_with(error, monkeypatch)
    assert len(attempts.at_s) > NIGHT_S / MAX_WAIT_S / 1.25
    assert attempts.longest_wait_s <= MAX_WAIT_S * 1.25
    assert len(attempts.sentences) == 1


@pytest.mark.parametrize(
    "error",
    [ssl.SSLCertVerificationError(1, "expired"), InvalidUpgrade("Connection", "close")],
    ids=["certificate", "no WebSocket"],
)
async def test_refusal_is_retried_rarely(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = await attempts_with(error, monkeypatch)
    assert len(attempts.at_s) < NIGHT_S / MAX_REFUSED_WAIT_S / 0.75 + 10
    assert attempts.longest_wait_s <= MAX_REFUSED_WAIT_S * 1.25


async def test_first_failure_ends_a_program_with_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerLostError, match="the host was not found"):
        await attempts_with(NO_NAME, monkeypatch, keeps_trying=False)
