"""Gateways of the tests: real servers with scripted engines that share one Redis."""

import os
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis as redis_client
from support.servers.session_server import (
    Event,
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    session_server,
    settings_for,
)

from web.handover.handovers import Handovers
from web.handover.sealing import Seal, token_hash
from web.handover.snapshot import VERSION, Snapshot, decoded
from web.handover.store import PREFIX, HandoverStore
from web.observation.metrics import Metrics

SECRET = "a-secret-of-all-gateways"
TRACED = {"type": "realtime", "repartee": {"events": True}}


PATIENT_S = 20.0
"""Time limit of a call to Redis in most tests: a busy machine is no failure."""


def handovers(
    url: str,
    metrics: Metrics | None = None,
    *,
    version: int = VERSION,
    keep_s: float = 60,
    timeout_s: float = PATIENT_S,
    claim_s: float = PATIENT_S,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Handovers:
    """Returns the hand-over of one gateway."""
    store = HandoverStore(url, None, keep_s=keep_s, timeout_s=timeout_s, claim_s=claim_s)
    return Handovers(store, Seal(SECRET), metrics or Metrics(), version=version, now=now)


def loader(folder: Path, *assignments: str) -> ScriptedEngineLoader:
    """Returns engines with a short silence timeout."""
    return ScriptedEngineLoader(settings_for(folder, "turn.hangover_ms=100", *assignments), os.environ)


@asynccontextmanager
async def gateway(
    engines: ScriptedEngineLoader,
    url: str,
    *,
    behind: str = "",
    timeout_s: float = PATIENT_S,
    claim_s: float = PATIENT_S,
) -> AsyncGenerator[SessionServer]:
    """Runs one gateway.

    Args:
        engines: Its engines.
        url: Address of Redis.
        behind: The host name of the proxy in front of it, whose clients need the token; "": there is none.
        timeout_s: Time limit of its calls to Redis.
        claim_s: How long its claims hold that are not confirmed.
    """
    async with session_server(
        engines,
        SECRET if behind else None,
        [behind] if behind else [],
        make_handovers=lambda metrics: handovers(url, metrics, timeout_s=timeout_s, claim_s=claim_s),
    ) as server:
        yield server


class SharedRedis:
    """Reads the gateways' data in Redis."""

    def __init__(self, url: str, password: str | None = None) -> None:
        self.client: Any = redis_client.Redis.from_url(url, password=password)
        weakref.finalize(self, self.client.connection_pool.disconnect)  # a socket that is left open fails a test

    def sealed(self, token: str) -> bytes | None:
        """Returns the sealed conversation; None if there is none that could be claimed."""
        found: bytes | None = self.client.hget(PREFIX + token_hash(token), "sealed")
        return found

    def snapshot(self, token: str) -> Snapshot | None:
        """Returns the conversation that could be claimed."""
        sealed = self.sealed(token)
        return None if sealed is None else decoded(Seal(SECRET).open(token, VERSION, sealed))

    def texts(self, token: str) -> list[str]:
        """Returns the texts of the messages of the conversation that could be claimed."""
        snapshot = self.snapshot(token)
        return [] if snapshot is None else [getattr(item, "text", "") for item in snapshot.history.items]


def repartee_of(client: RecordingClient) -> Event:
    """Returns what the server told of its extensions when the client connected."""
    found: Event = client.events_of("session.created")[0]["session"]["repartee"]
    return found


def texts_of(client: RecordingClient) -> list[str]:
    """Returns the words of the messages that the client has been sent, in order."""
    texts = []
    for event in client.events_of("conversation.item.done"):
        texts += [part.get("text") or part.get("transcript") or "" for part in event["item"]["content"]]
    return texts
