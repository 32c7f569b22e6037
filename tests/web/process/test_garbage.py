"""Collections of the memory of ended conversations, in virtual time."""

import asyncio
import gc

import pytest
from support.clocks.virtual_time import run_virtual

from web.process.garbage import COLLECT_AFTER_S, LOOK_S, LOOKS, MAX_ENDED, GarbageCollection, freeze_loaded_objects


@pytest.fixture(autouse=True)
def collected(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Returns the loop times of collections; nothing is collected."""
    times_s: list[float] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)
    monkeypatch.setattr(gc, "collect", lambda: times_s.append(asyncio.get_running_loop().time()))
    return times_s


def test_conversations_that_end_together_share_a_collection(collected: list[float]) -> None:
    async def main() -> None:
        collection = GarbageCollection(lambda: False)
        for _ in range(3):
            collection.conversation_ended()
            await asyncio.sleep(1)
        await asyncio.sleep(60)
        assert len(collected) == collection.collections == 1

    run_virtual(main())


def test_collection_waits_for_the_end_of_a_turn(collected: list[float]) -> None:
    async def main() -> None:
        began_s = asyncio.get_running_loop().time()
        turn_ends_s = began_s + COLLECT_AFTER_S + 3
        collection = GarbageCollection(lambda: asyncio.get_running_loop().time() < turn_ends_s)
        collection.conversation_ended()
        await asyncio.sleep(60)
        assert turn_ends_s <= collected[0] <= turn_ends_s + 2 * LOOK_S

    run_virtual(main())


def test_turns_without_a_break_delay_it_only_so_long(collected: list[float]) -> None:
    async def main() -> None:
        began_s = asyncio.get_running_loop().time()
        GarbageCollection(lambda: True).conversation_ended()
        await asyncio.sleep(60)
        assert collected[0] - began_s <= COLLECT_AFTER_S + LOOKS * LOOK_S

    run_virtual(main())


def test_many_ended_conversations_are_collected_at_once(collected: list[float]) -> None:
    async def main() -> None:
        collection = GarbageCollection(lambda: True)
        began_s = asyncio.get_running_loop().time()
        for _ in range(MAX_ENDED + 3):
            collection.conversation_ended()
        assert collected == [], "their tasks have not ended yet"
        await asyncio.sleep(60)
        assert collected == [pytest.approx(began_s + LOOK_S)]
        collection.conversation_ended()
        await asyncio.sleep(60)
        assert len(collected) == 2

    run_virtual(main())


def test_closed_collection_does_nothing(collected: list[float]) -> None:
    async def main() -> None:
        collection = GarbageCollection(lambda: False)
        collection.conversation_ended()
        collection.close()
        await asyncio.sleep(60)
        assert collected == []

    run_virtual(main())


def test_loaded_modules_are_excluded_from_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    loaded = [[number] for number in range(1000)]
    before, thresholds = gc.get_freeze_count(), gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # Python's; a test before may have run a server in this process
    freeze_loaded_objects()
    try:
        assert gc.get_freeze_count() >= before + len(loaded)
        assert not any(one is loaded for one in gc.get_objects())
        assert gc.get_threshold() > (700, 10, 10)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
