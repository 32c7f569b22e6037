"""A claimed conversation that does not begin goes back to Redis."""

import asyncio
from pathlib import Path

import pytest
from gateways import handovers
from redis_process import redis_process

from assistant.history.history import HistorySnapshot
from web.handover.claims import claimed_conversation
from web.handover.handovers import Handovers
from web.handover.snapshot import Snapshot
from web.wire.session_config import SessionConfig

SNAPSHOT = Snapshot("sess_1", SessionConfig(instructions="Be brief."), HistorySnapshot(), last_turn=3)


class BrokenOffError(Exception):
    """Ends a conversation in a test."""


async def claim(gateway: Handovers, *, begun: bool) -> None:
    """Claims the conversation and breaks off, before or after it has begun."""
    async with claimed_conversation(gateway, "token") as claimed:
        assert claimed is not None
        claimed.begun = begun
        raise BrokenOffError


def test_conversation_that_did_not_begin_can_be_claimed_again(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        first, second = handovers(url), handovers(url)
        await first.save("token", "first", SNAPSHOT)
        with pytest.raises(BrokenOffError):
            await claim(second, begun=False)
        with pytest.raises(BrokenOffError):
            await claim(first, begun=True)
        assert await first.claim("token", "third") is None, "the keeper of the conversation that began writes it"
        await first.aclose()
        await second.aclose()

    with redis_process(tmp_path) as url:
        asyncio.run(main(url))


def test_cancelled_claim_loses_no_conversation(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        gateway = handovers(url)
        await gateway.save("token", "first", SNAPSHOT)
        for turns_of_the_loop in range(8):
            claiming = asyncio.create_task(claim(gateway, begun=False))
            for _ in range(turns_of_the_loop):
                await asyncio.sleep(0)
            claiming.cancel()
            await asyncio.gather(claiming, return_exceptions=True)
        assert await gateway.claim("token", "next") == SNAPSHOT
        await gateway.aclose()

    with redis_process(tmp_path) as url:
        asyncio.run(main(url))
