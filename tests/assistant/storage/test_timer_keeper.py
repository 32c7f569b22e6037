"""The task that keeps timers in their file: it never blocks, reports failures once, and writes the rest at the end."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from support.conversations.stored_timers import NOON, say_missed, timer
from support.services.quiet_home import home_with

from assistant.home import SERVERS_HOME, Device, PlannedCalls, ServiceCall
from assistant.skills.answers import SetAlarm
from assistant.skills.timers.stored_timers import Pending
from assistant.skills.timers.user_timers import SharedTimers, UserTimers
from assistant.storage import timer_keeper
from assistant.storage.timer_file import Exchanged, TimerFile
from assistant.storage.timer_keeper import TimerKeeper
from assistant.support.notice import notice


@dataclass
class Running:
    keeper: TimerKeeper
    conversation: UserTimers
    problems: list[str]
    made: list[str | None]

    def begin(self, name: str) -> None:
        self.conversation.apply(timer(600, name), asyncio.get_running_loop().time())

    @property
    def names(self) -> set[str | None]:
        return {one.name for one in self.conversation.running(0.0).timers}


@asynccontextmanager
async def kept(path: Path) -> AsyncGenerator[Running]:
    """Runs a keeper. The wall clock stands still."""
    keys = iter(range(1000))
    problems: list[str] = []
    made: list[str | None] = []
    timers = SharedTimers(lambda: NOON, say_missed, lambda: f"{id(problems)} {next(keys)}")
    file = TimerFile(path, NOON.timestamp, timeout_s=0.05)
    running = Running(
        TimerKeeper(timers, file, problems.append, lambda alarm: made.append(alarm.set_to.about)),
        timers.join(),
        problems,
        made,
    )
    task = asyncio.create_task(running.keeper.run())
    try:
        yield running
    finally:
        task.cancel()
        await asyncio.wait([task])


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - another thread or process does it
            await asyncio.sleep(0.01)


async def until_stored(path: Path, *names: str) -> None:
    await eventually(lambda: stored(path) == set(names))


def stored(path: Path) -> set[str]:
    if not path.exists():
        return set()
    database = sqlite3.connect(path)
    try:
        return {name for (name,) in database.execute("SELECT name FROM timers")}
    except sqlite3.OperationalError:  # no table yet
        return set()
    finally:
        database.close()


def add_damaged_entry(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO timers VALUES "
            "('a', NULL, 'x', NULL, NULL, '0001-01-01T00:00:00', 1, 'y', NULL, NULL, '', NULL)"
        )


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timer_keeper, "READ_EVERY_S", 0.02)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "timers.sqlite3"


async def test_timers_are_there_after_a_restart(path: Path) -> None:
    async with kept(path) as first:
        first.begin("pasta")
        await until_stored(path, "pasta")
        first.begin("tea")  # written at the end
    async with kept(path) as second:
        await eventually(lambda: second.names == {"pasta", "tea"})
    assert first.problems == second.problems == []


async def test_two_keepers_share_their_timers(path: Path) -> None:
    async with kept(path) as talk, kept(path) as serve:
        for number in range(5):
            talk.begin(f"talk {number}")
            serve.begin(f"serve {number}")
        await eventually(lambda: len(talk.names) == len(serve.names) == 10)
    assert talk.problems == serve.problems == []


async def test_damaged_file_is_reported_once_and_timers_live_in_memory(path: Path) -> None:
    await asyncio.to_thread(path.write_bytes, b"damaged" * 1000)
    async with kept(path) as running:
        await eventually(lambda: bool(running.problems))
        running.begin("pasta")
        await asyncio.sleep(0.1)
        assert running.names == {"pasta"}
        loop_s = asyncio.get_running_loop().time()
        assert running.conversation.due(loop_s + 600, NOON) == ("pasta done",)
    (problem,) = running.problems
    assert problem.startswith(f"{path} cannot be used (file is not a database): timers and alarms are kept in memory")
    assert "skills.store_timers = false" in problem
    assert await asyncio.to_thread(path.read_bytes) == b"damaged" * 1000


async def test_damaged_entry_is_reported_once_and_the_others_work(path: Path) -> None:
    async with kept(path) as first:
        first.begin("pasta")
        await until_stored(path, "pasta")
    await asyncio.to_thread(add_damaged_entry, path)
    async with kept(path) as second:
        await eventually(lambda: second.names == {"pasta"})
    assert second.problems == [notice("entries_damaged", file=path, count=1)]
    async with kept(path) as third:
        await eventually(lambda: third.names == {"pasta"})
    assert third.problems == []


async def test_file_that_cannot_be_written_is_reported_and_its_timers_still_ring(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with kept(path) as first:
        first.begin("pasta")
        await until_stored(path, "pasta")
    monkeypatch.setattr("assistant.storage.timer_file._write", refuse)
    async with kept(path) as second:
        await eventually(lambda: second.names == {"pasta"})
        second.begin("tea")
        await eventually(lambda: bool(second.problems))
        assert second.names == {"pasta", "tea"}
    (problem,) = second.problems
    assert "readonly database" in problem


def refuse(database: sqlite3.Connection, _write: object) -> None:
    """Fails as SQLite does with a file that cannot be written; tests may run as root, who can write all."""
    database.execute("PRAGMA query_only = ON")
    try:
        database.execute("DELETE FROM timers")
    finally:
        database.execute("PRAGMA query_only = OFF")


async def test_locked_file_is_reported_and_written_later(path: Path) -> None:
    async with kept(path) as running:
        running.begin("pasta")
        await until_stored(path, "pasta")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        running.begin("tea")
        await eventually(lambda: bool(running.problems))
        assert running.names == {"pasta", "tea"}
        other.close()
        await until_stored(path, "pasta", "tea")
    (problem,) = running.problems
    assert "database is locked" in problem


async def test_removed_file_is_written_again(path: Path) -> None:
    async with kept(path) as running:
        running.begin("pasta")
        await until_stored(path, "pasta")
        await asyncio.to_thread(path.unlink)
        await until_stored(path, "pasta")
        assert running.names == {"pasta"}
    assert running.problems == []


async def test_changes_that_cannot_be_written_at_the_end_are_reported(path: Path) -> None:
    async with kept(path) as running:
        running.begin("pasta")
        await until_stored(path, "pasta")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        running.begin("tea")
    other.close()
    assert running.problems[-1] == f"{path}: the last changes of timers and alarms are not stored."


async def test_stored_timers_are_known_after_the_first_reading(tmp_path: Path) -> None:
    path = tmp_path / "timers.sqlite3"
    async with kept(path) as running:
        running.begin("pasta")
        await until_stored(path, "pasta")
    async with kept(path) as running:
        assert running.names == set()
        await running.keeper.wait_for_first_reading()
        assert running.names == {"pasta"}


async def test_first_reading_is_not_waited_for_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timer_keeper, "FIRST_READ_TIMEOUT_S", 0.01)
    timers = SharedTimers(lambda: NOON, say_missed, lambda: "key")
    await TimerKeeper(
        timers, TimerFile(tmp_path / "t", NOON.timestamp), lambda _text: None, lambda _alarm: None
    ).wait_for_first_reading()


async def plan(running: Running, path: Path, *weekdays: int) -> None:
    """Plans a command and lets its time come."""
    calls = PlannedCalls((ServiceCall("light", "turn_off", ("light.lamp",)),), SERVERS_HOME)
    due_at = (NOON + timedelta(hours=1)).replace(tzinfo=None)
    running.conversation.apply(SetAlarm(due_at, "failed", "Lamp off", weekdays=weekdays, planned=calls), 0.0)
    await until_stored(path, "Lamp off")


def let_it_be_due(running: Running) -> None:
    running.keeper.timers.homes.add_home(home_with(Device("light.lamp", "Lamp", "on", "light")))
    running.keeper.timers.local_now = lambda: NOON + timedelta(hours=1)


async def test_due_command_is_made_and_leaves_the_file(path: Path) -> None:
    async with kept(path) as running:
        await plan(running, path)
        let_it_be_due(running)
        await eventually(lambda: running.made == ["Lamp off"])
        assert stored(path) == set()


async def test_due_command_waits_until_the_file_has_it_no_more(path: Path) -> None:
    async with kept(path) as running:
        await plan(running, path)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        let_it_be_due(running)
        await eventually(lambda: bool(running.problems))
        await asyncio.sleep(0.2)
        assert running.made == []
        other.close()
        await eventually(lambda: running.made == ["Lamp off"])
        assert stored(path) == set()


async def test_due_command_does_not_wait_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timer_keeper, "CALLS_WAIT_S", 0.2)
    async with kept(path) as running:
        await plan(running, path)
        monkeypatch.setattr("assistant.storage.timer_file._write", refuse)
        let_it_be_due(running)
        await eventually(lambda: running.made == ["Lamp off"])


@pytest.mark.parametrize("weekdays", [(), tuple(range(7))])
async def test_command_that_was_not_made_at_the_end_is_made_after_a_restart(
    path: Path, weekdays: tuple[int, ...]
) -> None:
    async with kept(path) as first:
        await plan(first, path, *weekdays)
        exchange = first.keeper.file.exchange
        reached, leaves = threading.Event(), threading.Event()

        def exchange_slowly(pending: Pending) -> Exchanged:
            exchanged = exchange(pending)
            if first.keeper.timers.due_calls:
                reached.set()
                leaves.wait(10)
            return exchanged

        first.keeper.file.exchange = exchange_slowly  # type: ignore[method-assign]
        let_it_be_due(first)
        await asyncio.to_thread(reached.wait, 10)
        asyncio.get_running_loop().call_later(0.1, leaves.set)
    assert first.made == []
    async with kept(path) as second:
        let_it_be_due(second)
        await eventually(lambda: second.made == ["Lamp off"])
