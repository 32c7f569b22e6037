"""Lists and notes in their file: they survive a crash, two programs share them, and failures are reported once."""

import asyncio
import sqlite3
import stat
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

from assistant.skills.lists.items import AddItems, ListItem, RemoveItems, UserLists
from assistant.storage.list_file import ListFile
from assistant.storage.list_keeper import ListKeeper


@asynccontextmanager
async def kept(path: Path) -> AsyncGenerator[tuple[UserLists, list[str]]]:
    """Runs a keeper; gives its lists and what it reports."""
    problems: list[str] = []
    keeper = ListKeeper(UserLists(stored=True), ListFile(path, timeout_s=0.05), problems.append)
    task = asyncio.create_task(keeper.run())
    await asyncio.sleep(0)  # it begins
    try:
        yield keeper.lists, problems
    finally:
        task.cancel()
        await asyncio.wait([task])


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - the file has no event
            await asyncio.sleep(0.01)


def texts(lists: UserLists) -> list[str]:
    return [one.text for one in lists.items]


def stored(path: Path) -> list[str]:
    file = ListFile(path)
    try:
        return [one.text for one in file.exchange({})]
    finally:
        file.close()


async def test_item_is_on_disk_without_an_orderly_end(tmp_path: Path) -> None:
    async with kept(tmp_path / "lists") as (lists, _):
        lists.change(AddItems("shopping", ("milk", "eggs")))
        await eventually(lambda: (tmp_path / "lists").exists() and stored(tmp_path / "lists") == ["milk", "eggs"])
    assert stat.S_IMODE((tmp_path / "lists").stat().st_mode) == 0o600


async def test_last_change_is_written_at_the_end_and_nothing_creates_no_file(tmp_path: Path) -> None:
    async with kept(tmp_path / "lists"):
        await asyncio.sleep(0.05)
    assert not (tmp_path / "lists").exists()
    async with kept(tmp_path / "lists") as (lists, _):
        lists.change(AddItems("notes", ("Call Anna",)))
    assert stored(tmp_path / "lists") == ["Call Anna"]


async def test_two_programs_share_lists(tmp_path: Path) -> None:
    async with kept(tmp_path / "lists") as (one, _), kept(tmp_path / "lists") as (two, problems):
        one.change(AddItems("shopping", ("milk",)))
        two.change(AddItems("shopping", ("eggs",)))
        await eventually(lambda: sorted(texts(one)) == sorted(texts(two)) == ["eggs", "milk"])
        change = one.change(RemoveItems(tuple(item.key for item in one.items)))
        await eventually(lambda: not two.items)
        one.revert(change)  # the turn was retracted
        await eventually(lambda: len(two.items) == 2)
        assert problems == []


async def test_locked_file_is_written_later_and_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "lists"
    async with kept(path) as (lists, problems):
        lists.change(AddItems("shopping", ("milk",)))
        await eventually(lambda: path.exists() and stored(path) == ["milk"])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            lists.change(AddItems("shopping", ("eggs",)))
            await eventually(lambda: bool(problems))
            assert texts(lists) == ["milk", "eggs"]
            other.execute("ROLLBACK")
        await eventually(lambda: stored(path) == ["milk", "eggs"])
        assert len(problems) == 1
        assert "milk" not in problems[0]


async def test_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "lists"
    path.write_bytes(b"no database" * 200)
    before = path.read_bytes()
    async with kept(path) as (lists, problems):
        lists.change(AddItems("shopping", ("milk",)))
        await eventually(lambda: bool(problems))
        assert texts(lists) == ["milk"]
    assert path.read_bytes() == before
    assert len(problems) == 1
    assert "kept in memory until the program ends" in problems[0]


def test_impossible_row_is_left_out(tmp_path: Path) -> None:
    file = ListFile(tmp_path / "lists")
    file.exchange({"a": ListItem("a", "shopping", "milk", 1)})
    file.close()
    with closing(sqlite3.connect(tmp_path / "lists")) as database, database:
        database.execute("INSERT INTO items VALUES ('b', 'shopping', x'ff', 2)")
    assert stored(tmp_path / "lists") == ["milk"]
