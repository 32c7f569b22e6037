"""Claims conversations of other gateways; a claimed conversation that does not begin here stays claimable."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from web.handover.handovers import Handovers
from web.handover.snapshot import Snapshot
from web.limits.session_limits import RESUMING, SessionRefusedError

CLAIMS = 3
"""Claims of one connection, if the other gateway writes between them."""


@dataclass(slots=True)
class Claimed:
    """A conversation of another gateway that may continue here.

    Attributes:
        handovers: Has claimed it.
        token: Its resume token, which stays.
        owner: Names the running conversation in Redis.
        snapshot: The last snapshot of the other gateway.
        begun: Whether it is this gateway's.
    """

    handovers: Handovers
    token: str
    owner: str
    snapshot: Snapshot
    begun: bool = False

    async def begin(self) -> None:
        """Takes the conversation from the other gateway. Raises SessionRefusedError if another connection has it.

        If the other gateway has written a newer snapshot meanwhile, as when it notices that the client is gone, that
        one is claimed.
        """
        for _ in range(CLAIMS):
            if await self.handovers.confirm(self.token, self.owner):
                self.begun = True
                return
            snapshot = await self.handovers.claim(self.token, self.owner)
            if not isinstance(snapshot, Snapshot):
                break
            self.snapshot = snapshot
        raise SessionRefusedError(RESUMING)


@asynccontextmanager
async def claimed_conversation(handovers: Handovers, token: str) -> AsyncGenerator[Claimed | None]:
    """Claims a conversation of another gateway, and ends the claim unless it has begun when the block ends.

    Yields None if there is none that can be continued. Raises SessionRefusedError while another connection claims it.
    """
    owner = secrets.token_hex(8)
    claimed = None
    try:
        snapshot = await handovers.claim(token, owner)
        if snapshot == "in_progress":
            raise SessionRefusedError(RESUMING)
        claimed = None if snapshot is None else Claimed(handovers, token, owner, snapshot)
        yield claimed
    except asyncio.CancelledError:
        if claimed is None:  # Redis may have got the claim
            await handovers.release(token, owner)
        raise
    finally:
        if claimed is not None and not claimed.begun:
            await handovers.release(token, owner)
