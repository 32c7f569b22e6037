"""When the snapshot of a running conversation is written, renewed and deleted; in virtual time, without Redis."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from assistant.history.history import HistorySnapshot
from web.handover.handovers import Handovers, Kept
from web.handover.keeper import REACHABLE, RENEW_EVERY_S, UNREACHABLE, HandoverKeeper
from web.handover.snapshot import Snapshot
from web.wire.values.session_config import SessionConfig

pytestmark = pytest.mark.virtual_time

SNAPSHOT = Snapshot("sess_1", SessionConfig(), HistorySnapshot())


@dataclass(slots=True)
class ScriptedHandovers:
    """Answers as scripted, and records the calls.

    Attributes:
        calls: Name of each call, with the number of the last turn of what was written.
        saved: Answer to `save`.
        renewed: Answer to `renew`.
    """

    calls: list[str] = field(default_factory=list)
    saved: Kept = "kept"
    renewed: str = "kept"
    failing: bool = False

    async def save(self, _token: str, _owner: str, snapshot: Snapshot) -> Kept:
        self.calls.append(f"save {snapshot.last_turn}")
        return self.saved

    async def renew(self, _token: str, _owner: str) -> str:
        self.calls.append("renew")
        return self.renewed

    async def drop(self, _token: str, _owner: str) -> None:
        self.calls.append("drop")


@dataclass(slots=True)
class Running:
    """A conversation and its keeper.

    Attributes:
        snapshot: The conversation as it is now.
        told: What its client was told.
        ended: Whether it has ended because another gateway continues it.
    """

    handovers: ScriptedHandovers = field(default_factory=ScriptedHandovers)
    snapshot: Snapshot = SNAPSHOT
    told: list[str] = field(default_factory=list)
    ended: bool = False

    def keeper(self) -> HandoverKeeper:
        return HandoverKeeper(
            cast("Handovers", self.handovers), "token", lambda: self.snapshot, self._on_taken, self.told.append
        )

    def _on_taken(self) -> None:
        self.ended = True

    async def calls_within(self, intervals: int) -> list[str]:
        """Waits for this many intervals of renewal; returns the calls since the last time."""
        await asyncio.sleep(intervals * RENEW_EVERY_S + 0.1)
        calls, self.handovers.calls = self.handovers.calls, []
        return calls


async def test_unchanged_conversation_is_renewed_and_a_changed_one_written() -> None:
    running = Running()
    keeping = asyncio.create_task(running.keeper().run())
    assert await running.calls_within(3) == ["save 0", "renew", "renew"]
    running.snapshot = replace(SNAPSHOT, last_turn=1)
    assert await running.calls_within(2) == ["save 1", "renew"]
    running.handovers.renewed = "missing"
    assert await running.calls_within(1) == ["renew", "save 1"]
    assert running.told == []
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_conversation_too_long_to_hand_over_is_encoded_once_a_change() -> None:
    running = Running(ScriptedHandovers(saved="unfit"))
    keeping = asyncio.create_task(running.keeper().run())
    assert await running.calls_within(3) == ["save 0", "renew", "renew"]
    running.handovers.renewed = "missing"
    assert await running.calls_within(2) == ["renew", "renew"]
    assert running.told == [UNREACHABLE]
    running.handovers.saved = "kept"
    running.snapshot = replace(SNAPSHOT, last_turn=1)
    assert await running.calls_within(1) == ["save 1"]
    assert running.told == [UNREACHABLE, REACHABLE]
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_conversation_taken_by_another_gateway_is_left_alone() -> None:
    running = Running()
    keeper = running.keeper()
    keeping = asyncio.create_task(keeper.run())
    running.handovers.renewed = "taken"
    assert await running.calls_within(2) == ["save 0", "renew"]
    assert running.ended
    await keeping
    await keeper.end(keep=True)
    await keeper.end(keep=False)
    assert running.handovers.calls == []


async def test_failed_write_is_repeated_and_told_once() -> None:
    running = Running(ScriptedHandovers(saved="failed"))
    keeping = asyncio.create_task(running.keeper().run())
    assert await running.calls_within(2) == ["save 0", "save 0"]
    assert running.told == [UNREACHABLE]
    running.handovers.saved = "kept"
    assert await running.calls_within(2) == ["save 0", "renew"]
    assert running.told == [UNREACHABLE, REACHABLE]
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
