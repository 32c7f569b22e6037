"""Claims conversations of other gateways; a claimed conversation that does not begin here goes back to Redis."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from web.handover.handovers import Handovers
from web.handover.snapshot import Snapshot


@dataclass(slots=True)
class Claimed:
    """A conversation of another gateway that continues here.

    Attributes:
        token: Its resume token, which stays.
        owner: Names the running conversation in Redis.
        snapshot: What the other gateway has written.
        begun: Whether it runs here, so that its keeper writes it.
    """

    token: str
    owner: str
    snapshot: Snapshot
    begun: bool = False


@asynccontextmanager
async def claimed_conversation(handovers: Handovers, token: str) -> AsyncGenerator[Claimed | None]:
    """Takes a conversation of another gateway, and writes it back unless it has begun when the block ends.

    Yields None if there is none that can be continued. A cancellation during the claim waits for its answer, at most
    for the time limits of the two calls: Redis has already given the conversation away.
    """
    owner = secrets.token_hex(8)
    async with asyncio.TaskGroup() as tasks:
        claiming = tasks.create_task(handovers.claim(token, owner), name="claim")
        try:
            snapshot = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            found = await claiming
            if found is not None:
                await handovers.save(token, owner, found)
            raise
    claimed = None if snapshot is None else Claimed(token, owner, snapshot)
    try:
        yield claimed
    finally:
        if claimed is not None and not claimed.begun:
            await handovers.save(token, owner, claimed.snapshot)
