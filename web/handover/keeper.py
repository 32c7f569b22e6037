"""Keeps the snapshot of one running conversation in Redis: after each turn, and at a lost connection."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from web.handover.handovers import Handovers, Kept
from web.handover.snapshot import Snapshot

RENEW_EVERY_S = 5.0
"""Interval at which a conversation is renewed, changes between turns are written, and failed writes are repeated."""

UNREACHABLE = (
    "If the connection is lost, this conversation continues only at the same server: the others cannot be told of it."
)
REACHABLE = "This conversation can continue at the other servers again."


@dataclass(slots=True)
class HandoverKeeper:
    """Writes the snapshots of one conversation. Not thread-safe: use it on the event loop.

    Attributes:
        handovers: Writes to Redis.
        token: The conversation's resume token.
        snapshot: Returns the conversation as it is now.
        on_taken: Called when another gateway has continued the conversation: it ends here.
        tell: Tells the client a sentence about where it can resume.
        renew_every_s: See `RENEW_EVERY_S`; a third of the time that a conversation is kept, if that is less.
        owner: Names this running conversation in Redis.
    """

    handovers: Handovers
    token: str
    snapshot: Callable[[], Snapshot]
    on_taken: Callable[[], None]
    tell: Callable[[str], None]
    renew_every_s: float = RENEW_EVERY_S
    owner: str = field(default_factory=lambda: secrets.token_hex(8))
    _saved: Snapshot | None = None
    _unfit: Snapshot | None = None  # it is not written again before it changes
    _told_failure: bool = False
    _taken: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def note_change(self) -> None:
        """Has the conversation written soon: a turn has ended, or the client was disconnected. Never waits."""
        self._changed.set()

    async def run(self) -> None:
        """Writes until it is cancelled."""
        while not self._taken:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.renew_every_s):
                    await self._changed.wait()
            self._changed.clear()
            await self._keep()

    async def confirm(self) -> None:
        """Checks whether another gateway has taken the conversation, before a client resumes it here.

        A gateway that has only claimed it does not get it any more.
        """
        if self.handovers.failing:
            return  # it would not answer, and the client would wait for the time limit
        if await self.handovers.hold(self.token, self.owner) == "taken":
            self._end_here()

    async def end(self, *, keep: bool) -> None:
        """Writes the last snapshot, with which another gateway continues, or deletes what is in Redis."""
        if self._taken:
            return
        if keep:
            await self._keep()
        else:
            await self.handovers.drop(self.token, self.owner)

    async def _keep(self) -> None:
        kept = await self._written(self.snapshot())
        if kept == "taken":
            self._end_here()
            return
        failed = kept != "kept"
        if failed != self._told_failure:
            self._told_failure = failed
            self.tell(UNREACHABLE if failed else REACHABLE)

    async def _written(self, snapshot: Snapshot) -> Kept:
        """Writes a snapshot that has changed, or that Redis has lost; renews another one."""
        if snapshot in (self._saved, self._unfit):
            result = await self.handovers.renew(self.token, self.owner)
            if snapshot == self._unfit and result != "taken":
                return "unfit"  # an earlier snapshot was renewed
            if result != "missing":
                return result
        kept = await self.handovers.save(self.token, self.owner, snapshot)
        self._saved = snapshot if kept == "kept" else None
        self._unfit = snapshot if kept == "unfit" else None
        return kept

    def _end_here(self) -> None:
        self._taken = True
        self.on_taken()
