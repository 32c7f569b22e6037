"""The commands `repartee conversations ...`."""

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assistant.commands.cli import app
from assistant.history.items import ItemId, UserMessage
from assistant.storage.conversation_file import TERMINAL, ConversationFile, owner_of_browser
from assistant.storage.conversation_store import conversations_path
from assistant.storage.store_format import Heading, heading_line, item_lines


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["conversations", *arguments])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConversationFile:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return ConversationFile(conversations_path({"XDG_DATA_HOME": str(tmp_path)}), time.time)


def said(text: str) -> list[UserMessage]:
    return [UserMessage(ItemId("item_1"), text, spoken=True)]


def test_own_conversations_are_listed_and_deleted(file: ConversationFile) -> None:
    assert "no conversation is kept" in run("list").stdout
    file.create(TERMINAL, "one", "", said("what time is it"))
    file.create(TERMINAL, "two", "", said("and the date"))
    file.create(owner_of_browser("b" * 40), "three", "", said("a secret of the page"))
    assert run("list").stdout.splitlines() == ["two     1 turn  and the date", "one     1 turn  what time is it"]
    assert run("delete", "one").output == "1 conversation deleted\n"
    for wrong in (["one"], ["three"], [], ["two", "--all"]):
        assert run("delete", *wrong).exit_code != 0
    assert run("delete", "--all").output == "1 conversation deleted\n"
    assert len(file.summaries(owner_of_browser("b" * 40), 9)) == 1


def test_place_of_browsers_conversations_is_named(file: ConversationFile) -> None:
    file.create(TERMINAL, "one", "", said("what time is it"))
    for listed in (run("list"), run()):
        assert (listed.exit_code, listed.stdout) == (0, "one     1 turn  what time is it\n")
        assert listed.stderr == (
            "conversations of browsers are listed in the page; those that this machine's server keeps are in "
            f"{file.path}\n"
        )


def test_imported_file_is_deleted_with_its_conversation(file: ConversationFile) -> None:
    folder = file.path.parent
    folder.mkdir(parents=True)
    (folder / "old.jsonl").write_bytes(heading_line(Heading("")) + item_lines(said("long ago")))
    assert run("list").stdout == "old     1 turn  long ago\n"
    assert (folder / "old.jsonl.imported").exists()
    run("delete", "old")
    assert not list(folder.glob("old*"))


def test_damaged_file_is_one_sentence(file: ConversationFile) -> None:
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(b"no database" * 100)
    result = run("list")
    assert result.exit_code != 0
    assert "Traceback" not in result.output
