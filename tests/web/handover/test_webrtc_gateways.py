"""WebRTC calls that continue at another gateway: real calls by aiortc, a real Redis, scripted engines."""

import asyncio
from pathlib import Path

import pytest
from support.protocol.webrtc_caller import WebRtcCaller, has_network, in_call
from support.servers.gateways import TRACED, SharedRedis, gateway, loader
from support.servers.session_server import eventually

from web.handover import session_snapshot

QUESTION, ANSWER = "what time is it?", "It is ten o'clock."

pytestmark = [pytest.mark.real_time, pytest.mark.skipif(not has_network(), reason="this machine has no network")]


async def ask(caller: WebRtcCaller) -> None:
    """Has one turn, whose reply is heard."""
    caller.request_reply(QUESTION)
    await caller.until("repartee.trace")
    assert caller.of("output_audio_buffer.started")


def texts_of(caller: WebRtcCaller) -> list[str]:
    items = [event["item"] for event in caller.of("conversation.item.done")]
    return [part.get("text") or part.get("transcript") or "" for item in items for part in item["content"]]


async def test_call_continues_at_another_gateway(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_snapshot, "RENEW_EVERY_S", 0.1)
    redis = SharedRedis(redis_url)
    async with (
        asyncio.timeout(90),
        gateway(loader(tmp_path / "a"), redis_url) as a,
        gateway(loader(tmp_path / "b"), redis_url) as b,
        in_call(a.port, session=TRACED) as first,
    ):
        created = first.of("session.created")[0]["session"]
        token = created["repartee"]["resume_token"]
        await ask(first)
        await eventually(lambda: redis.texts(token) == [QUESTION, ANSWER])
        async with in_call(b.port, query=f"?resume={token}") as second:
            resumed = second.of("session.created")[0]["session"]
            assert resumed["repartee"]["resumed"] is True
            assert resumed["id"] == created["id"]
            await second.until("conversation.item.done", 2)
            assert texts_of(second) == [QUESTION, ANSWER]
            await ask(second)
            await eventually(lambda: redis.texts(token) == [QUESTION, ANSWER] * 2)
            # The call at the first gateway ends.
            await eventually(lambda: first.peer.connectionState == "closed")
            assert a.limits.current == 0
        assert b.value("repartee_handovers_total", outcome="continued") == 1
