"""A claimed conversation that does not begin stays claimable; claims of the same conversation exclude each other."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.servers.gateways import handovers
from support.servers.redis_process import running_redis

from assistant.history.history import HistorySnapshot
from web.handover.claims import claimed_conversation
from web.handover.handovers import Handovers
from web.handover.snapshot import Snapshot
from web.limits.session_limits import SessionRefusedError
from web.wire.values.session_config import SessionConfig

SNAPSHOT = Snapshot("sess_1", SessionConfig(instructions="Be brief."), HistorySnapshot(), last_turn=3)


class BrokenOffError(Exception):
    """Ends a conversation in a test."""


async def claim(gateway: Handovers, *, begun: bool) -> None:
    """Claims the conversation and breaks off, before or after it has begun."""
    async with claimed_conversation(gateway, "token") as claimed:
        assert claimed is not None
        assert claimed.snapshot == SNAPSHOT
        if begun:
            await claimed.begin()
        raise BrokenOffError


async def test_conversation_that_did_not_begin_can_be_claimed_again(redis_url: str) -> None:
    first, second = handovers(redis_url), handovers(redis_url)
    await first.save("token", "first", SNAPSHOT)
    with pytest.raises(BrokenOffError):
        await claim(second, begun=False)
    assert await first.renew("token", "first") == "kept", "the first gateway still has it"
    with pytest.raises(BrokenOffError):
        await claim(second, begun=True)
    assert await first.renew("token", "first") == "taken"
    # A conversation that has begun can be claimed from the same snapshot until its keeper has written it.
    with pytest.raises(BrokenOffError):
        await claim(first, begun=True)
    await first.aclose()
    await second.aclose()


@asynccontextmanager
async def saved(redis_url: str) -> AsyncGenerator[Handovers]:
    """Yields a gateway; the conversation "token" of the gateway "first" is in Redis."""
    gateway = handovers(redis_url)
    await gateway.save("token", "first", SNAPSHOT)
    yield gateway
    await gateway.aclose()


async def test_cancelled_claim_loses_no_conversation(redis_url: str) -> None:
    async with saved(redis_url) as gateway:
        for turns_of_the_loop in range(8):
            claiming = asyncio.create_task(claim(gateway, begun=False))
            for _ in range(turns_of_the_loop):
                await asyncio.sleep(0)
            claiming.cancel()
            await asyncio.gather(claiming, return_exceptions=True)
        assert await gateway.claim("token", "next") == SNAPSHOT


async def test_second_claim_is_refused_until_the_first_ends(redis_url: str) -> None:
    async with saved(redis_url) as gateway:
        async with claimed_conversation(gateway, "token") as claimed:
            assert claimed is not None
            with pytest.raises(SessionRefusedError, match="Another connection is resuming"):
                await claim(gateway, begun=True)
        with pytest.raises(BrokenOffError):
            await claim(gateway, begun=True)


async def test_snapshot_that_the_first_gateway_writes_meanwhile_is_continued(redis_url: str) -> None:
    async with saved(redis_url) as gateway:
        newer = Snapshot("sess_1", SNAPSHOT.config, HistorySnapshot(), last_turn=4)
        async with claimed_conversation(gateway, "token") as claimed:
            assert claimed is not None
            assert await gateway.save("token", "first", newer) == "kept"
            assert not await gateway.confirm("token", claimed.owner), "the claimed snapshot is not the newest"
            await claimed.begin()
            assert claimed.snapshot == newer
        assert await gateway.renew("token", "first") == "taken"


async def test_client_that_returns_to_the_first_gateway_ends_a_claim(redis_url: str) -> None:
    async with saved(redis_url) as gateway:
        async with claimed_conversation(gateway, "token") as claimed:
            assert claimed is not None
            assert await gateway.renew("token", "first") == "kept", "a renewal leaves the claim"
            assert await gateway.hold("token", "first") == "kept"
            with pytest.raises(SessionRefusedError):
                await claimed.begin()
        assert await gateway.renew("token", "first") == "kept"


async def test_claim_that_is_never_confirmed_expires(redis_url: str) -> None:
    lost, gateway = handovers(redis_url, claim_s=0.3), handovers(redis_url)
    await gateway.save("token", "first", SNAPSHOT)
    assert await lost.claim("token", "killed meanwhile") == SNAPSHOT
    assert await gateway.claim("token", "next") == "in_progress"
    await asyncio.sleep(0.4)
    assert await gateway.claim("token", "next") == SNAPSHOT
    assert not await lost.confirm("token", "killed meanwhile")
    assert await gateway.confirm("token", "next")
    await lost.aclose()
    await gateway.aclose()


async def test_claim_whose_first_answer_is_late_gets_the_conversation(tmp_path: Path) -> None:
    with running_redis(tmp_path) as redis:
        gateway, hasty = handovers(redis.url), handovers(redis.url, timeout_s=0.5)
        await gateway.save("token", "first", SNAPSHOT)
        redis.freeze()
        claiming = asyncio.create_task(hasty.claim("token", "second"))
        await asyncio.sleep(0.8)
        assert not claiming.done(), "it is claimed again after the time limit"
        redis.thaw()
        assert await claiming == SNAPSHOT
        await gateway.aclose()
        await hasty.aclose()


async def test_conversation_that_redis_lost_during_a_claim_continues(redis_url: str) -> None:
    async with saved(redis_url) as gateway, claimed_conversation(gateway, "token") as claimed:
        assert claimed is not None
        await gateway.drop("token", "first")
        await claimed.begin()
        assert await gateway.save("token", "first", SNAPSHOT) == "taken"
        assert await gateway.save("token", claimed.owner, SNAPSHOT) == "kept"


async def test_first_write_confirms_a_claim_while_redis_fails(tmp_path: Path) -> None:
    with running_redis(tmp_path) as redis:
        gateway, hasty = handovers(redis.url), handovers(redis.url, timeout_s=0.3)
        await gateway.save("token", "first", SNAPSHOT)
        assert await gateway.claim("token", "second") == SNAPSHOT
        redis.freeze()
        assert await hasty.confirm("token", "second"), "the conversation goes on"
        assert hasty.failing
        redis.thaw()
        assert await gateway.save("token", "second", SNAPSHOT) == "kept"
        assert await gateway.renew("token", "first") == "taken"
        await gateway.aclose()
        await hasty.aclose()
