"""A client of the Wyoming server, by the protocol's own library, and a server with scripted engines for it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from support.servers.session_server import ScriptedEngineLoader, SessionServer, session_server, settings_for
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.event import Event, Eventable

from assistant.setup.engine_loader import EngineLoader
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm
from web.wyoming.address import listen_wyoming

WITHIN_S = 20.0


@dataclass(slots=True)
class WyomingClient:
    """One connection that records the events it receives."""

    client: AsyncClient
    events: list[Event] = field(default_factory=list)

    async def send(self, *events: Event | Eventable) -> None:
        for event in events:
            await self.client.write_event(event if isinstance(event, Event) else event.event())

    async def receive(self) -> Event | None:
        """Returns the next event; None if the server has closed the connection."""
        async with asyncio.timeout(WITHIN_S):
            event = await self.client.read_event()
        if event is not None:
            self.events.append(event)
        return event

    async def until(self, *kinds: str) -> Event:
        """Receives until an event of one of these types, and returns it."""
        while (event := await self.receive()) is not None:
            if event.type in kinds:
                return event
        raise AssertionError(f"closed without {kinds}, after {self.types}")

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    async def send_sound(
        self, pcm: Pcm, rate_hz: int = MIC_RATE_HZ, channels: int = 1, chunk: int = 1024, *, has_start: bool = True
    ) -> None:
        """Sends sound at once, and its end; `has_start`: with `audio-start`. `pcm`: shape (n,) or (n, channels)."""
        if has_start:
            await self.send(AudioStart(rate_hz, 2, channels))
        for start in range(0, len(pcm), chunk):
            await self.send(AudioChunk(rate_hz, 2, channels, pcm[start : start + chunk].tobytes()))
        await self.send(AudioStop())

    def sound(self) -> bytes:
        """Returns the sound received so far."""
        return b"".join(event.payload or b"" for event in self.events if event.type == "audio-chunk")


@asynccontextmanager
async def wyoming_server(
    folder: Path,
    *assignments: str,
    uri: str = "tcp://127.0.0.1:0",
    loader: EngineLoader | None = None,
    **engines: Any,
) -> AsyncGenerator[SessionServer]:
    """Runs a server with a Wyoming address while the block runs; `loader`: its engines, scripted ones by default."""
    engine_loader = loader or ScriptedEngineLoader(settings_for(folder, *assignments), {}, **engines)
    with listen_wyoming(uri) as listening:
        async with session_server(engine_loader, wyoming=listening) as server:
            yield server


@asynccontextmanager
async def wyoming_client(server: SessionServer) -> AsyncGenerator[WyomingClient]:
    """Connects a client while the block runs."""
    assert server.wyoming is not None
    async with AsyncClient.from_uri(server.wyoming.uri) as client:
        yield WyomingClient(client)


def speech(seconds: float = 1.0, silence_s: Sequence[float] = (0.3, 0.5), rate_hz: int = MIC_RATE_HZ) -> Pcm:
    """Returns loud noise between two silences, in seconds: speech for the scripted engines."""
    noise = np.random.default_rng(1).integers(-12_000, 12_000, round(seconds * rate_hz)).astype(np.int16)
    before, after = (np.zeros(round(length_s * rate_hz), np.int16) for length_s in silence_s)
    return np.concatenate([before, noise, after])


def seconds_of(client: WyomingClient) -> float:
    """Returns the length of the sound that a client has received, at the rate of replies."""
    return len(client.sound()) / 2 / REPLY_RATE_HZ
