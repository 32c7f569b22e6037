"""Tests of stored conversations: on disk, after a crash, with a full disk, and resumed."""

import asyncio
import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation import Simulation, Utterance

from assistant.events import ReplyStarted, TurnFinished
from assistant.history.history import History
from assistant.history.items import AssistantMessage, Item, ItemId, UserMessage
from assistant.storage.conversation_store import ConversationStore, ResumeError, conversations_folder, unwritable
from assistant.storage.store_format import parse_conversation
from assistant.support import background_writer
from assistant.turns.events import ReplyId

BEGAN = "2026-01-31T09:30:00+00:00"


def history(turns: int, since: int = 0) -> tuple[Item, ...]:
    items: list[Item] = []
    for number in range(since, since + turns):
        items.append(UserMessage(ItemId(f"item_{2 * number + 1}"), f"question {number}", spoken=True))
        items.append(AssistantMessage(ItemId(f"item_{2 * number + 2}"), f"Answer {number}."))
    return tuple(items)


async def write(memory: ConversationStore, *parts: tuple[Item, ...]) -> None:
    """Stores the parts one after another, each when the previous one has been written."""
    async with asyncio.TaskGroup() as group:
        writer = group.create_task(memory.run(), name="memory")
        for part in parts:
            memory.remember(part)
            async with asyncio.timeout(10):
                await memory.settle()
        writer.cancel()


def test_stored_conversation_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "repartee" / "conversations"
    memory = ConversationStore.create(folder, "one", BEGAN, pytest.fail)
    assert not folder.exists(), "a conversation in which nothing was said leaves nothing"
    asyncio.run(write(memory, history(1), history(3)))
    assert ConversationStore.names(folder)[0] == "one"
    again = ConversationStore.open(folder, "", "two", BEGAN, pytest.fail)
    assert again.items == history(3)
    assert (again.continues, again.continued_at) == ("one", BEGAN)
    if sys.platform != "win32":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(memory.path.stat().st_mode) == 0o600


def test_resumed_conversation_gets_its_own_file(tmp_path: Path) -> None:
    asyncio.run(write(ConversationStore.create(tmp_path, "one", BEGAN, pytest.fail), history(1)))
    old = (tmp_path / "one.jsonl").read_bytes()
    first, second = (ConversationStore.open(tmp_path, "one", name, BEGAN, pytest.fail) for name in ("two", "three"))
    assert not first.path.exists()
    asyncio.run(write(first, history(1, since=1)))
    asyncio.run(write(second, history(2, since=5)))
    assert (tmp_path / "one.jsonl").read_bytes() == old
    assert ConversationStore.open(tmp_path, "two", "x", BEGAN, pytest.fail).items == history(2)
    found = parse_conversation(second.path.read_bytes())
    assert found.items == history(1) + history(2, since=5)
    assert found.heading is not None
    assert found.heading.continues == "one"
    assert list(tmp_path.glob("*.part")) == []


def test_incomplete_line_is_skipped_and_reported(tmp_path: Path) -> None:
    asyncio.run(write(ConversationStore.create(tmp_path, "one", BEGAN, pytest.fail), history(2)))
    path = tmp_path / "one.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    complaints: list[str] = []
    again = ConversationStore.open(tmp_path, "one", "two", BEGAN, complaints.append)
    assert again.items == history(2)[:-1]
    assert complaints == ["one: a line is damaged and left out of the conversation"]


@pytest.mark.parametrize(
    ("wanted", "error"),
    [("x", 'no conversation begins with "x"'), ("on", "2 conversations begin with")],
    ids=["unknown", "ambiguous"],
)
def test_ambiguous_conversation_name_is_rejected(tmp_path: Path, wanted: str, error: str) -> None:
    with pytest.raises(ResumeError, match=r"talk\.remember"):
        ConversationStore.open(tmp_path / "none", wanted, "x", BEGAN, pytest.fail)
    for name in ("one", "once", "two"):
        asyncio.run(write(ConversationStore.create(tmp_path, name, BEGAN, pytest.fail), history(1)))
    with pytest.raises(ResumeError, match=error):
        ConversationStore.open(tmp_path, wanted, "x", BEGAN, pytest.fail)
    with pytest.raises(ResumeError):
        ConversationStore.open(tmp_path, "../" + tmp_path.name + "/one", "x", BEGAN, pytest.fail)
    assert ConversationStore.open(tmp_path, "tw", "x", BEGAN, pytest.fail).items == history(1)
    os.utime(tmp_path / "one.jsonl", (2e9, 2e9))
    assert ConversationStore.names(tmp_path)[0] == "one"


def test_file_of_a_newer_version_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"conversation":9,"began_at":"","continues":""}\n')
    with pytest.raises(ResumeError, match="newer version"):
        ConversationStore.open(tmp_path, "one", "two", BEGAN, pytest.fail)


@given(st.lists(st.booleans(), min_size=1, max_size=4))
def test_full_disk_is_reported_once_and_gets_no_partial_line(fails: list[bool]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        complaints: list[str] = []
        memory = ConversationStore.create(Path(folder), "one", BEGAN, complaints.append)
        patch.setattr(background_writer, "RETRY_S", 0.001)
        left = list(fails)
        patch.setattr(os, "write", _failing(left))
        asyncio.run(write(memory, history(1), history(2)))
        assert parse_conversation(memory.path.read_bytes()).items == history(2)
        tried = fails[: len(fails) - len(left)]
        outages = sum(failed and not before for before, failed in zip([False, *tried], tried, strict=False))
        assert len(complaints) == outages
        assert all("No space left on device" in complaint for complaint in complaints)


def _failing(left: list[bool]) -> Callable[[int, bytes], int]:
    """A disk that accepts half of the data and then is full."""
    real, torn = os.write, [False]

    def failing(file: int, content: bytes) -> int:
        if torn[0]:
            torn[0] = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if left and left.pop(0):
            torn[0] = True
            return real(file, bytes(content)[: len(content) // 2])
        return real(file, content)

    return failing


def test_deleted_file_is_not_created_again(tmp_path: Path) -> None:

    async def converse() -> None:
        said: asyncio.Queue[str] = asyncio.Queue(2)
        memory = ConversationStore.create(tmp_path, "one", BEGAN, said.put_nowait)
        await write(memory, history(1))
        memory.path.unlink()
        async with asyncio.TaskGroup() as group:
            writer = group.create_task(memory.run(), name="memory")
            memory.remember(history(2))
            async with asyncio.timeout(5):
                assert "talk.remember = false" in await said.get()
            writer.cancel()
        assert not memory.path.exists()
        assert said.get_nowait().endswith("the end of the conversation is not stored.")

    asyncio.run(converse())


def test_lost_items_are_reported_when_the_disk_has_room_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    memory = ConversationStore.create(tmp_path, "one", BEGAN, complaints.append)
    monkeypatch.setattr(background_writer, "RETRY_S", 0.001)
    monkeypatch.setattr(background_writer, "MAX_WAITING", 2)
    monkeypatch.setattr(os, "write", _failing([True]))
    asyncio.run(write(memory, history(3)))
    assert complaints[0].endswith("set talk.remember = false.")
    assert complaints[1:] == [f"{memory.path}: the disk was full or too slow; 4 lines are lost."]
    assert parse_conversation(memory.path.read_bytes()).items == history(3)[-2:]


def test_unwritable_folder_is_reported_in_advance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unwritable(tmp_path / "not" / "yet") == ""
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "conversations"
    file.touch()
    remedy = "the conversation is not stored."
    assert unwritable(file) == f"{file} is a file: {remedy} Remove it, or set talk.remember = false."
    with pytest.raises(ResumeError, match=rf"^{file} is a file, not a folder of conversations: remove it\.$"):
        ConversationStore.open(file, "", "two", BEGAN, pytest.fail)

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert unwritable(tmp_path).startswith(f"{tmp_path} cannot be written (No space left on device): {remedy} Make")


def test_failed_first_write_loses_the_whole_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    monkeypatch.setattr(background_writer, "RETRY_S", 0.001)
    (tmp_path / "file").touch()

    async def main() -> None:
        complained = asyncio.Event()

        def report_problem(what: str) -> None:
            complaints.append(what)
            complained.set()

        memory = ConversationStore.create(tmp_path / "file", "one", BEGAN, report_problem)
        async with asyncio.TaskGroup() as group:
            writer = group.create_task(memory.run(), name="memory")
            memory.remember(history(1))
            async with asyncio.timeout(10):
                await complained.wait()
            writer.cancel()

    asyncio.run(main())
    assert complaints[-1].endswith("; the conversation is not stored.")


CONVERSATION = textwrap.dedent("""
    import asyncio, os, sys
    from pathlib import Path
    from assistant.history.items import ItemId, UserMessage
    from assistant.storage.conversation_store import ConversationStore

    async def main():
        memory = ConversationStore.create(Path(sys.argv[1]), "one", "2026-01-31T09:30:00+00:00", print)
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
    complaints: list[str] = []
    again = ConversationStore.open(tmp_path, "", "two", BEGAN, complaints.append)
    assert finished <= len(again.items) <= finished + 1
    assert [item.id for item in again.items] == [f"item_{number}" for number in range(len(again.items))]
    assert len(complaints) <= 1


def test_turn_is_stored_only_when_finished(tmp_path: Path) -> None:
    simulation = Simulation(
        [Utterance(500, 1500, "what time is it"), Utterance(5500, 6500, "and the date")],
        replies=["Ten.", "The first of May."],
    )
    result = simulation.run()

    async def told() -> list[int]:
        memory = ConversationStore.create(tmp_path, "one", BEGAN, pytest.fail)
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


def test_items_of_a_running_reply_are_not_stored_yet(tmp_path: Path) -> None:
    record = Simulation([Utterance(500, 1500, "what time is it")]).run().records[0]

    async def told() -> list[Item]:
        memory = ConversationStore.create(tmp_path, "one", BEGAN, pytest.fail)
        items = history(2)
        memory.record(ReplyStarted(ReplyId(7, 1), items[3].id, spoken=True), items)
        memory.record(TurnFinished(replace(record, turn=6)), items)
        return list(memory._writer._waiting)

    assert asyncio.run(told()) == list(history(2)[:3])


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


def test_resumed_long_conversation_is_stored_completely(tmp_path: Path) -> None:
    """Items outside the prompt have ids too."""
    asyncio.run(write(ConversationStore.create(tmp_path, "one", BEGAN, pytest.fail), history(9)))

    async def go_on() -> list[Item]:
        memory = ConversationStore.open(tmp_path, "", "two", BEGAN, pytest.fail)
        conversation = History("", 2)
        conversation.restore(memory.items)
        conversation.add_user_text("and now")
        memory.remember(conversation.items)
        return list(memory._writer._waiting)

    assert asyncio.run(go_on()) == [UserMessage(ItemId("item_19"), "and now", spoken=True)]


def test_conversations_folder_is_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert conversations_folder({"XDG_DATA_HOME": "/data"}) == Path("/data/repartee/conversations")
    assert conversations_folder({}) == Path("~/.local/share/repartee/conversations").expanduser()
    monkeypatch.setattr(sys, "platform", "win32")
    assert conversations_folder({"LOCALAPPDATA": "/local"}) == Path("/local/repartee/conversations")
