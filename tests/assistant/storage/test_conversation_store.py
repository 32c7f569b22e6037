"""Tests of kept conversations: on disk, after a crash, with a full disk, and resumed."""

import asyncio
import errno
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.simulation import Simulation, Utterance

from assistant.end_of_turn.priors import PauseCounts
from assistant.events import ReplySent, ReplyStarted, ReplyStopped, TurnFinished
from assistant.history.history import History
from assistant.history.items import AssistantMessage, Item, ItemId, UserMessage
from assistant.storage.conversation_file import TERMINAL, ConversationFile, owner_of_browser
from assistant.storage.conversation_import import delete_imported, import_files
from assistant.storage.conversation_store import (
    DELETED,
    ConversationStore,
    Draft,
    ResumeError,
    conversations_folder,
    kept_pauses,
    unwritable,
)
from assistant.storage.store_format import Heading, heading_line, item_lines
from assistant.support import background_writer
from assistant.trace.record import TurnRecord
from assistant.turns.events import ReplyId

BEGAN = "2026-01-31T09:30:00+00:00"


def history(turns: int, since: int = 0) -> tuple[Item, ...]:
    items: list[Item] = []
    for number in range(since, since + turns):
        items.append(UserMessage(ItemId(f"item_{2 * number + 1}"), f"question {number}", spoken=True))
        items.append(AssistantMessage(ItemId(f"item_{2 * number + 2}"), f"Answer {number}."))
    return tuple(items)


def waiting(memory: ConversationStore) -> list[Item]:
    """Returns the items that are not written yet, without drafts."""
    return [entry for entry in memory._writer._waiting if not isinstance(entry, Draft)]


@asynccontextmanager
async def writing(memory: ConversationStore) -> AsyncGenerator[None]:
    """Writes in the background what is remembered in the block."""
    async with asyncio.TaskGroup() as group:
        writer = group.create_task(memory.run(), name="memory")
        yield
        writer.cancel()


async def write(memory: ConversationStore, *parts: tuple[Item, ...]) -> None:
    """Stores the parts one after another, each when the previous one has been written."""
    async with writing(memory):
        for part in parts:
            memory.remember(part)
            async with asyncio.timeout(10):
                await memory.settle()


@pytest.fixture(scope="module")
def record() -> TurnRecord:
    """Returns the record of a turn."""
    return Simulation([Utterance(500, 1500, "what time is it")]).run().records[0]


NOW_S = 1_800_000_000.0


def file_in(folder: Path) -> ConversationFile:
    return ConversationFile(folder / "conversations.sqlite3", lambda: NOW_S)


def new_store(folder: Path, report: Callable[[str], None] = pytest.fail, name: str = "one") -> ConversationStore:
    return ConversationStore(file_in(folder), name, BEGAN, report)


def reopened(
    folder: Path, wanted: str = "", name: str = "two", report: Callable[[str], None] = pytest.fail
) -> ConversationStore:
    return ConversationStore.open(file_in(folder), wanted, name, BEGAN, report)


def test_stored_conversation_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "repartee" / "conversations"
    memory = new_store(folder)
    assert not folder.exists(), "a conversation in which nothing was said leaves nothing"
    asyncio.run(write(memory, history(1), history(3)))
    again = reopened(folder)
    assert again.items == history(3)
    assert (again.name, again.continues, again.continued_at) == ("one", "one", BEGAN)
    if sys.platform != "win32":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_resumed_conversation_continues_in_its_place(tmp_path: Path) -> None:
    asyncio.run(write(new_store(tmp_path), history(1)))
    asyncio.run(write(reopened(tmp_path), history(2)))
    assert reopened(tmp_path).items == history(2)
    (summary,) = file_in(tmp_path).summaries(TERMINAL, 9)
    assert (summary.id, summary.title, summary.turns) == ("one", "question 0", 2)


def test_conversation_resumed_twice_at_once_loses_nothing(tmp_path: Path) -> None:
    asyncio.run(write(new_store(tmp_path), history(1)))
    first, second = (reopened(tmp_path, "one", name) for name in ("two", "three"))
    asyncio.run(write(first, history(1, since=1)))
    asyncio.run(write(second, history(2, since=5), history(1, since=9)))
    assert reopened(tmp_path, "one").items == history(2)
    copy = file_in(tmp_path).load(TERMINAL, "three")
    assert copy is not None
    assert copy.items == history(1) + history(2, since=5) + history(1, since=9)
    assert (copy.continues, second.name) == ("one", "three")


def test_damaged_item_is_skipped_and_reported(tmp_path: Path) -> None:
    asyncio.run(write(new_store(tmp_path), history(2)))
    with closing(sqlite3.connect(tmp_path / "conversations.sqlite3")) as database, database:
        database.execute("UPDATE items SET line = ? WHERE number = 4", (b'{"answered":"Ans',))
    complaints: list[str] = []
    assert reopened(tmp_path, report=complaints.append).items == history(2)[:-1]
    assert complaints == ["one: an item is damaged and left out of the conversation"]


@pytest.mark.parametrize(
    ("wanted", "error"),
    [("x", 'no conversation begins with "x"'), ("on", "2 conversations begin with")],
    ids=["unknown", "ambiguous"],
)
def test_ambiguous_conversation_name_is_rejected(tmp_path: Path, wanted: str, error: str) -> None:
    with pytest.raises(ResumeError, match=r"talk\.remember"):
        reopened(tmp_path / "none", wanted)
    for name in ("one", "once", "two"):
        asyncio.run(write(new_store(tmp_path, name=name), history(1)))
    with pytest.raises(ResumeError, match=error):
        reopened(tmp_path, wanted)
    with pytest.raises(ResumeError):
        reopened(tmp_path, "../" + tmp_path.name + "/one")
    assert reopened(tmp_path, "tw", "x").items == history(1)
    assert reopened(tmp_path, "", "x").name == "two", "the latest"


def test_file_of_a_newer_version_is_rejected(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "conversations.sqlite3")) as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(ResumeError, match="newer version"):
        reopened(tmp_path)
    before = (tmp_path / "conversations.sqlite3").read_bytes()
    assert kept_unstored(tmp_path).endswith(
        "the conversation is not kept. Move the file away, or set talk.remember = false."
    )
    assert (tmp_path / "conversations.sqlite3").read_bytes() == before


def kept_unstored(folder: Path) -> str:
    """Returns the one sentence about a conversation that cannot be stored, and goes on."""
    complaints: list[str] = []
    memory = new_store(folder, complaints.append)
    asyncio.run(write(memory, history(1), history(2), history(3)))
    assert not memory.is_stored
    (complaint,) = complaints
    assert unwritable(file_in(folder)), "it is told at the start, too"
    return complaint


@pytest.mark.parametrize(
    "content", [b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 5000], ids=["text", "torn"]
)
def test_damaged_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "conversations.sqlite3").write_bytes(content)
    assert "cannot be used" in kept_unstored(tmp_path)
    assert (tmp_path / "conversations.sqlite3").read_bytes() == content, "it is left for the user to look at"


def failing(memory: ConversationStore, fails: list[bool], patch: pytest.MonkeyPatch) -> None:
    """Lets the disk be full where `fails` says so."""
    real = ConversationFile._append

    def full_or_not(file: ConversationFile, database: sqlite3.Connection, number: int, items: Sequence[Item]) -> int:
        last = real(file, database, number, items)
        if fails and fails.pop(0):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return last

    patch.setattr(background_writer, "RETRY_S", 0.001)
    patch.setattr(ConversationFile, "_append", full_or_not)
    assert not memory.is_stored


@given(st.lists(st.booleans(), min_size=1, max_size=4))
def test_full_disk_is_reported_once_and_gets_no_partial_turn(fails: list[bool]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        complaints: list[str] = []
        memory = new_store(Path(folder), complaints.append)
        left = list(fails)
        failing(memory, left, patch)
        asyncio.run(write(memory, history(1), history(2)))
        assert reopened(Path(folder)).items == history(2)
        tried = fails[: len(fails) - len(left)]
        outages = sum(failed and not before for before, failed in zip([False, *tried], tried, strict=False))
        assert len(complaints) == outages
        assert all("disk is full" in complaint for complaint in complaints)


async def test_locked_file_is_reported_and_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(new_store(tmp_path, name="zero"), history(1))
    monkeypatch.setattr(background_writer, "RETRY_S", 0.01)
    said: asyncio.Queue[str] = asyncio.Queue(2)
    file = ConversationFile(tmp_path / "conversations.sqlite3", lambda: NOW_S, timeout_s=0.01)
    memory = ConversationStore(file, "one", BEGAN, said.put_nowait)
    with closing(sqlite3.connect(tmp_path / "conversations.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with writing(memory):
            memory.remember(history(1))
            async with asyncio.timeout(5):
                assert "locked" in await said.get()
                other.execute("ROLLBACK")
                await memory.settle()

    assert reopened(tmp_path, "one").items == history(1)


async def test_deleted_conversation_is_not_stored_again(tmp_path: Path) -> None:
    complaints: list[str] = []
    memory = new_store(tmp_path, complaints.append)
    await write(memory, history(1))
    assert file_in(tmp_path).delete(TERMINAL, "one") == ["one"]
    await write(memory, history(2), history(3))
    assert complaints == [DELETED]
    assert file_in(tmp_path).summaries(TERMINAL, 9) == []


def test_removed_file_is_not_created_again(tmp_path: Path) -> None:
    complaints: list[str] = []
    memory = new_store(tmp_path, complaints.append)

    async def converse() -> None:
        await write(memory, history(1))
        for name in ("conversations.sqlite3", "conversations.sqlite3-wal", "conversations.sqlite3-shm"):
            (tmp_path / name).unlink()
        await write(memory, history(2))

    asyncio.run(converse())
    assert complaints == [DELETED]
    assert list(tmp_path.iterdir()) == []


def test_lost_items_are_reported_when_the_disk_has_room_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    memory = new_store(tmp_path, complaints.append)
    monkeypatch.setattr(background_writer, "MAX_WAITING", 2)
    failing(memory, [True], monkeypatch)
    asyncio.run(write(memory, history(3)))
    assert complaints[0].endswith("set talk.remember = false.")
    assert complaints[1:] == [f"{memory.path}: the disk was full or too slow; 4 lines are lost."]
    assert reopened(tmp_path).items == history(3)[-2:]


def test_unwritable_folder_is_reported_in_advance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unwritable(file_in(tmp_path / "not" / "yet")) == ""
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "conversations"
    file.touch()
    remedy = "the conversation is not stored."
    assert unwritable(file_in(file)) == f"{file} is a file: {remedy} Remove it, or set talk.remember = false."

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    what = f"{tmp_path} cannot be written (No space left on device): {remedy} Make"
    assert unwritable(file_in(tmp_path)).startswith(what)


async def test_failed_first_write_loses_the_whole_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    monkeypatch.setattr(background_writer, "RETRY_S", 0.001)
    (tmp_path / "file").touch()
    complained = asyncio.Event()

    def report_problem(what: str) -> None:
        complaints.append(what)
        complained.set()

    memory = new_store(tmp_path / "file", report_problem)
    async with writing(memory):
        memory.remember(history(1))
        async with asyncio.timeout(10):
            await complained.wait()
    assert complaints[-1].endswith("; the conversation is not stored.")


def test_old_files_are_imported_once_and_none_is_lost(tmp_path: Path) -> None:
    head = heading_line(Heading(BEGAN, "zero"))
    (tmp_path / "one.jsonl").write_bytes(head + item_lines(history(2)))
    (tmp_path / "torn.jsonl").write_bytes((head + item_lines(history(1)))[:-5])
    (tmp_path / "newer.jsonl").write_text('{"conversation":9,"began_at":"","continues":""}\n')
    os.utime(tmp_path / "one.jsonl", (2e9, 2e9))
    file = file_in(tmp_path)
    problems = import_files(file)
    assert [problem.split(" ")[0] for problem in problems] == [str(tmp_path / "newer.jsonl"), "torn:"]
    assert reopened(tmp_path, "one").items == history(2)
    assert reopened(tmp_path, "").name == "one", "the latest by its date"
    assert reopened(tmp_path, "torn").items == history(1)[:1]
    names = {path.name for path in tmp_path.iterdir() if "sqlite" not in path.name}
    assert names == {"one.jsonl.imported", "torn.jsonl.imported", "newer.jsonl"}
    (tmp_path / "one.jsonl.imported").rename(tmp_path / "one.jsonl")
    import_files(file)
    assert len(file.summaries(TERMINAL, 9)) == 2
    assert file.delete(TERMINAL, "one") == ["one"]
    delete_imported(file, "one")
    assert not list(tmp_path.glob("one*"))


def test_file_that_cannot_be_renamed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_path: Path, _target: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "rename", refused)
    path = tmp_path / "one.jsonl"
    path.write_bytes((heading_line(Heading(BEGAN)) + item_lines(history(1)))[:-5])
    assert len(import_files(file_in(tmp_path))) == 1
    monkeypatch.setattr(Path, "read_bytes", lambda _path: pytest.fail("it is read again"))
    assert import_files(file_in(tmp_path)) == []
    assert path.exists()


async def test_talk_and_server_write_at_once(tmp_path: Path) -> None:
    """Several processes would do the same: each has a connection of its own."""
    async with asyncio.TaskGroup() as group:
        for number in range(6):
            owner = TERMINAL if number % 2 else owner_of_browser(str(number))
            memory = ConversationStore(file_in(tmp_path), f"c{number}", BEGAN, pytest.fail, owner=owner)
            group.create_task(write(memory, *(history(1, since=turn) for turn in range(10))))
    file = file_in(tmp_path)
    for number in range(6):
        owner = TERMINAL if number % 2 else owner_of_browser(str(number))
        kept = file.load(owner, f"c{number}")
        assert kept is not None
        assert kept.items == history(10)


CONVERSATION = textwrap.dedent("""
    import asyncio, os, sys
    from pathlib import Path
    from assistant.history.items import ItemId, UserMessage
    from assistant.storage.conversation_file import ConversationFile
    from assistant.storage.conversation_store import ConversationStore

    async def main():
        file = ConversationFile(Path(sys.argv[1]) / "conversations.sqlite3", lambda: 0.0)
        memory = ConversationStore(file, "one", "2026-01-31T09:30:00+00:00", print)
        async with asyncio.TaskGroup() as group:
            group.create_task(memory.run())
            for number in range(1_000_000):
                memory.remember([UserMessage(ItemId(f"item_{number}"), "a question " * 50, spoken=True)])
                await memory.settle()
                print(number + 1, flush=True)

    asyncio.run(main())
""")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_finished_turns_survive_sigkill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CONVERSATION, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    ) as process:
        assert process.stdout is not None
        finished = 0
        while finished < 30:
            finished = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        finished = max([finished, *(int(line) for line in process.stdout.read().split())])
    again = reopened(tmp_path)
    assert finished <= len(again.items) <= finished + 1
    assert [item.id for item in again.items] == [f"item_{number}" for number in range(len(again.items))]


def test_turn_is_stored_only_when_finished(tmp_path: Path) -> None:
    simulation = Simulation(
        [Utterance(500, 1500, "what time is it"), Utterance(5500, 6500, "and the date")],
        replies=["Ten.", "The first of May."],
    )
    result = simulation.run()

    async def told() -> list[int]:
        memory = new_store(tmp_path)
        items = result.history.items
        waiting: list[int] = []
        for _, event in result.events:
            # The history as it is in the end holds the second turn from the beginning on: `tell` is not to take it.
            if isinstance(event, ReplyStarted | TurnFinished):
                seen = items[:2] if not waiting or waiting[-1] < 2 else items
                memory.record(event, seen)
                waiting.append(len(memory._writer._waiting))
        return waiting

    assert asyncio.run(told()) == [0, 2, 2, 4]


async def test_items_of_a_running_reply_are_not_stored_yet(tmp_path: Path, record: TurnRecord) -> None:
    memory = new_store(tmp_path)
    items = history(2)
    memory.record(ReplyStarted(ReplyId(7, 1), items[3].id, spoken=True), items)
    memory.record(TurnFinished(replace(record, turn=6)), items)
    assert waiting(memory) == list(history(2)[:3])


async def test_words_of_turns_that_wait_for_them_are_stored_when_they_are_known(
    tmp_path: Path, record: TurnRecord
) -> None:
    memory, conversation = new_store(tmp_path), History("", 10)
    for turn in (1, 2, 3):
        conversation.announce_user_item()
        conversation.place_user_message(turn)
    async with writing(memory):
        for turn, text in ((1, "one"), (2, ""), (3, "three")):
            conversation.add_user_text(text, turn)
            memory.record(TurnFinished(replace(record, turn=turn)), conversation.items_with_words)
            await memory.settle()
            stored = [item.text for item in reopened(tmp_path).items if isinstance(item, UserMessage)]
            assert stored == ["one", "", "three"][:turn]


def sent(turn: int, text: str) -> ReplySent:
    return ReplySent(ReplyId(turn, 1), text, None, None, None, None)


@pytest.mark.parametrize("searched", [False, True])
async def test_complete_reply_is_stored_until_what_was_heard_replaces_it(
    tmp_path: Path, record: TurnRecord, *, searched: bool
) -> None:
    items, path = history(2), tmp_path / "conversations.sqlite3"
    heard = (*items[:3], AssistantMessage(items[3].id, "Answer", complete=False))

    def stored() -> tuple[Item, ...]:
        if searched:
            assert file_in(tmp_path).search(TERMINAL, "answer", 1)
        return reopened(tmp_path).items

    memory = new_store(tmp_path)
    async with writing(memory):
        for turn, event_items in ((1, items[:2]), (2, items)):
            memory.record(ReplyStarted(ReplyId(turn, 1), event_items[-1].id, spoken=True), event_items)
            memory.record(sent(turn, f"Answer {turn - 1}."), event_items)
            await memory.settle()
            assert stored() == event_items
            memory.record(TurnFinished(replace(record, turn=turn)), event_items if turn == 1 else heard)
            await memory.settle()
        assert stored() == heard

    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT turns FROM conversations").fetchall() == [(2,)]
        assert database.execute("SELECT count(*) FROM items").fetchone() == (4,)
    assert file_in(tmp_path).search(TERMINAL, "Answer 0", 9)
    assert not file_in(tmp_path).search(TERMINAL, "Answer 1", 9)


async def test_pauses_are_written_with_each_finished_turn(tmp_path: Path, record: TurnRecord) -> None:
    memory, items = new_store(tmp_path), history(2)
    file = memory._file
    file.keeps_pauses = True
    async with writing(memory):
        for turn, event_items in ((1, items[:2]), (2, items)):
            counts = PauseCounts(2.0 * turn, turn)
            memory.record(TurnFinished(replace(record, turn=turn)), event_items, counts)
            await memory.settle()
            assert kept_pauses(file, TERMINAL) == (counts, None)


async def test_draft_outlasts_the_turns_that_finish_while_its_reply_plays(tmp_path: Path, record: TurnRecord) -> None:
    """First side talk, then the reply before, which plays to its end."""
    items = history(2)
    side_talk = UserMessage(ItemId("item_9"), "not now", spoken=True)
    memory = new_store(tmp_path)
    async with writing(memory):

        async def stored_after(turn: int, event_items: tuple[Item, ...]) -> tuple[Item, ...]:
            memory.record(TurnFinished(replace(record, turn=turn)), event_items)
            await memory.settle()
            return reopened(tmp_path).items

        memory.record(ReplyStarted(ReplyId(1, 1), items[1].id, spoken=True), items[:2])
        memory.record(sent(1, "Answer 0."), items[:2])
        assert await stored_after(2, (*items[:2], side_talk)) == items[:2]
        memory.record(ReplyStarted(ReplyId(3, 1), items[3].id, spoken=True), items)
        memory.record(sent(3, "Answer 1."), items)
        assert await stored_after(1, items) == items
        memory.record(ReplyStopped(ReplyId(3, 1), "Answer", 500.0, "voice"), items)
        assert await stored_after(4, items) == items[:3]
        heard = (*items[:3], AssistantMessage(items[3].id, "Answer", complete=False))
        assert await stored_after(3, heard) == heard


async def test_retracted_reply_leaves_no_draft(tmp_path: Path) -> None:
    items = history(1)
    memory = new_store(tmp_path)
    async with writing(memory):
        memory.record(ReplyStarted(ReplyId(1, 1), items[1].id, spoken=True), items)
        memory.record(sent(1, "Answer 0."), items)
        await memory.settle()
        memory.record(ReplyStopped(ReplyId(1, 1), "", 0.0, "went on"), items[:1])
        await memory.settle()
        assert reopened(tmp_path).items == items[:1]


async def test_reply_withdrawn_after_heard_words_has_no_draft_any_more(tmp_path: Path) -> None:
    items = history(1)
    memory = new_store(tmp_path)
    async with writing(memory):
        memory.record(ReplyStarted(ReplyId(1, 1), items[1].id, spoken=True), items)
        memory.record(sent(1, "Answer 0."), items)
        memory.record(ReplyStopped(ReplyId(1, 1), "Answer", 100.0, "went on"), items)
        await memory.settle()
        assert reopened(tmp_path).items == items[:1]


async def test_retracted_reply_keeps_the_draft_of_the_reply_that_still_plays(tmp_path: Path) -> None:
    items = history(2)
    memory = new_store(tmp_path)
    async with writing(memory):
        memory.record(ReplyStarted(ReplyId(1, 1), items[1].id, spoken=True), items[:2])
        memory.record(sent(1, "Answer 0."), items[:2])
        memory.record(ReplyStarted(ReplyId(2, 1), items[3].id, spoken=True), items)
        memory.record(ReplyStopped(ReplyId(2, 1), "", 0.0, "went on"), items[:3])
        await memory.settle()
        assert reopened(tmp_path).items == items[:2]


def test_resumed_history_has_the_same_messages() -> None:
    conversation = History("Be brief.", 20)
    conversation.restore(history(2))
    assert [message.content for message in conversation.messages()][1:] == [
        "question 0", "Answer 0.", "question 1", "Answer 1.",
    ]  # fmt: skip
    assert conversation.reserve() == "item_5"
    long = History("", 2)
    long.restore(history(9))
    assert [message.content for message in long.messages()] == ["question 8", "Answer 8."]
    assert long.reserve() == "item_19", "an id that was forgotten is not given to anything else"


async def test_resumed_long_conversation_is_stored_completely(tmp_path: Path) -> None:
    """Items outside the prompt have ids too."""
    await write(new_store(tmp_path), history(9))
    memory = reopened(tmp_path)
    conversation = History("", 2)
    conversation.restore(memory.items)
    conversation.add_user_text("and now")
    memory.remember(conversation.items)
    assert waiting(memory) == [UserMessage(ItemId("item_19"), "and now", spoken=True)]


def test_conversations_folder_is_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert conversations_folder({"XDG_DATA_HOME": "/data"}) == Path("/data/repartee/conversations")
    assert conversations_folder({}) == Path("~/.local/share/repartee/conversations").expanduser()
    monkeypatch.setattr(sys, "platform", "win32")
    assert conversations_folder({"LOCALAPPDATA": "/local"}) == Path("/local/repartee/conversations")
