"""The commands `repartee memory ...`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assistant.memory.facts import Fact
from assistant.setup.answering.user_memory import memory_file
from assistant.storage.conversation_file import TERMINAL
from repartee.cli import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["memory", *arguments])


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two facts of the user, and one of a browser."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    file = memory_file({"XDG_DATA_HOME": str(tmp_path)})
    facts = [
        Fact("aaaaaaaaaaaa", "my daughter is called Ada", "2026-11-20T10:00:00+01:00"),
        Fact("abbbbbbbbbbb", "I am allergic to nuts", "2026-11-21T10:00:00+01:00"),
    ]
    file.change(TERMINAL, {fact.key: fact for fact in facts})
    file.change("browser b", {"c": Fact("c", "of somebody else", "2026-11-21")})
    file.close()
    return tmp_path


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_facts_of_the_user_are_listed_the_newest_first(kept: Path) -> None:
    listed = ["abbbbbbb  2026-11-21  I am allergic to nuts", "aaaaaaaa  2026-11-20  my daughter is called Ada"]
    assert lines(run()) == lines(run("list")) == listed


def test_facts_are_found_by_their_words(kept: Path) -> None:
    assert lines(run("search", "daughters")) == ["aaaaaaaa  2026-11-20  my daughter is called Ada"]
    assert lines(run("search", "platypus")) == ["no fact has such words"]


def test_fact_is_added_edited_and_deleted(kept: Path) -> None:
    key = lines(run("add", "we live in  Rome"))[0].rpartition(" ")[2]
    assert lines(run("edit", "aa", "my daughter is called Eda")) == ["changed"]
    assert lines(run("delete", key)) == ["1 fact deleted"]
    assert [line[22:] for line in lines(run())] == ["I am allergic to nuts", "my daughter is called Eda"]


def test_all_facts_of_the_user_are_deleted(kept: Path) -> None:
    assert lines(run("delete", "--all")) == ["2 facts deleted"]
    assert "nothing is remembered" in run().stdout
    everything = b"".join(file.read_bytes() for file in (kept / "repartee/conversations").iterdir())
    assert b"Ada" not in everything
    assert b"of somebody else" in everything


def test_facts_are_exported_as_json(kept: Path) -> None:
    assert [fact["text"] for fact in json.loads(run("export").stdout)] == [
        "my daughter is called Ada",
        "I am allergic to nuts",
    ]
    assert run("export", str(kept / "facts.json")).exit_code == 0
    assert (kept / "facts.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("add", "my PIN is 1234"), "never remembered"),
        (("edit", "aa", "my password is x"), "never remembered"),
        (("add", " "), "characters"),
        (("delete",), "--all"),
        (("delete", "a"), "several"),
        (("delete", "x"), "no such fact"),
    ],
)
def test_mistake_is_explained(arguments: tuple[str, ...], problem: str, kept: Path) -> None:
    result = run(*arguments)
    assert result.exit_code != 0
    assert problem in str(result.exception)


def test_nothing_is_created_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert "nothing is remembered" in run().stdout
    assert not list(tmp_path.iterdir())
