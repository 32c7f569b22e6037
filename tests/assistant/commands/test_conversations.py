"""The commands `repartee conversations ...`."""

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assistant.end_of_turn.priors import PauseCounts
from assistant.history.items import ItemId, UserMessage
from assistant.storage.conversation_file import TERMINAL, ConversationFile, owner_of_browser
from assistant.storage.conversation_store import conversations_path
from assistant.storage.store_format import Heading, heading_line, item_lines
from repartee.cli import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["conversations", *arguments])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConversationFile:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return ConversationFile(conversations_path({"XDG_DATA_HOME": str(tmp_path)}), time.time)


def said(text: str) -> list[UserMessage]:
    return [UserMessage(ItemId("item_1"), text, spoken=True)]


@pytest.fixture
def kept(file: ConversationFile) -> ConversationFile:
    """A file with two conversations of `talk` and one of a browser."""
    file.create(TERMINAL, "one", "", said("what time is it"))
    file.create(TERMINAL, "two", "", said("and the date"))
    file.create(owner_of_browser("b" * 40), "three", "", said("a joke about the time"))
    return file


def rows(result: Result) -> list[list[str]]:
    return [line.rstrip().split(maxsplit=4) for line in result.stdout.splitlines()]


def test_conversations_of_terminal_and_page_are_listed(kept: ConversationFile) -> None:
    for listed in (run("list"), run()):
        assert listed.exit_code == 0
        assert rows(listed) == [
            ["three", "1", "turn", "page", "a joke about the time"],
            ["two", "1", "turn", "talk", "and the date"],
            ["one", "1", "turn", "talk", "what time is it"],
        ]


def test_kept_pauses_are_listed_in_one_line(kept: ConversationFile) -> None:
    kept.keeps_pauses = True
    kept.create(TERMINAL, "four", "", said("well"), pauses=PauseCounts(6.0, 4.0))
    kept.create(owner_of_browser("c" * 40), "five", "", said("well"), pauses=PauseCounts(6.0, 4.0))
    line = "pauses kept: 4.0 turns of talk, 1 browser; deleted with the last conversation (delete --all)"
    assert run("list").stdout.splitlines()[-1] == line
    run("delete", "five")
    run("delete", "--all")
    assert "pauses" not in run("list").stdout


def test_conversations_are_searched_by_words(kept: ConversationFile) -> None:
    assert [row[0] for row in rows(run("search", "time"))] == ["three", "one"]
    assert run("search", "tomorrow").stdout == "no conversation with these words is kept\n"


@pytest.mark.parametrize("name", ["one", "three"])
def test_conversation_is_shown_and_exported(kept: ConversationFile, name: str, tmp_path: Path) -> None:
    text = {"one": "what time is it", "three": "a joke about the time"}[name]
    assert run("show", name).stdout == f"      you  {text}\n"
    markdown = run("export", name).stdout
    assert f"**You:** {text}" in markdown
    assert json.loads(run("export", name, "--format", "json").stdout)["id"] == name
    out = tmp_path / "mine.md"
    assert run("export", name, "--out", str(out)).exit_code == 0
    assert out.read_text(encoding="utf-8") == markdown
    again = run("export", name, "--out", str(out))
    assert again.exit_code != 0
    assert "the file exists" in str(again.exception)


def test_conversations_are_deleted_by_name_or_all_of_the_terminal(kept: ConversationFile) -> None:
    assert run("delete", "one").output == "1 conversation deleted\n"
    for wrong in (["one"], [], ["two", "--all"]):
        assert run("delete", *wrong).exit_code != 0
    assert run("delete", "--all").output == "1 conversation deleted\n"
    assert [row[0] for row in rows(run("list"))] == ["three"]
    assert run("delete", "three").output == "1 conversation deleted\n"


def test_commands_without_conversations_create_no_file(file: ConversationFile) -> None:
    assert "no conversation is kept" in run("list").stdout
    assert "no such conversation" in str(run("show", "x").exception)
    assert not file.path.parent.exists()


def test_imported_file_is_deleted_with_its_conversation(file: ConversationFile) -> None:
    folder = file.path.parent
    folder.mkdir(parents=True)
    (folder / "old.jsonl").write_bytes(heading_line(Heading("")) + item_lines(said("long ago")))
    assert rows(run("list")) == [["old", "1", "turn", "talk", "long ago"]]
    assert (folder / "old.jsonl.imported").exists()
    run("delete", "old")
    assert not list(folder.glob("old*"))


def test_damaged_file_is_one_sentence(file: ConversationFile) -> None:
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(b"no database" * 100)
    result = run("list")
    assert result.exit_code != 0
    assert "Traceback" not in result.output
