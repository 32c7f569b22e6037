"""The commands `repartee lists ...`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assistant.skills.lists.items import ListItem
from assistant.storage.list_file import ListFile, lists_path
from repartee.cli import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lists", *arguments])


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two items and a note."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    file = ListFile(lists_path({"XDG_DATA_HOME": str(tmp_path)}))
    items = (
        ListItem("1", "notes", "Call Anna", 1), ListItem("2", "shopping", "milk", 2),
        ListItem("3", "packing list", "tent", 3),
    )  # fmt: skip
    file.exchange({one.key: one for one in items})
    file.close()
    return tmp_path


def test_lists_and_notes_are_shown(kept: Path) -> None:
    shown = [line.rstrip() for line in run().stdout.splitlines()]
    assert shown == ["Shopping list", "  milk", "Packing list", "  tent", "Notes", "  Call Anna"]


def test_lists_are_exported_as_markdown(kept: Path) -> None:
    markdown = "# Shopping list\n\n- milk\n\n# Packing list\n\n- tent\n\n# Notes\n\n- Call Anna\n"
    assert run("export").stdout == markdown
    out = kept / "lists.md"
    assert run("export", str(out)).exit_code == 0
    assert out.read_text(encoding="utf-8") == markdown
    assert "the file exists; name a new one" in str(run("export", str(out)).exception)


def test_one_list_is_cleared(kept: Path) -> None:
    assert run("clear", "Packing List").stdout == "1 item removed\n"
    assert run("clear", "shopping").stdout == "1 item removed\n"
    assert run().stdout.split() == ["Notes", "Call", "Anna"]
    assert 'garden: there is no such list; those with items: "notes"' in str(run("clear", "garden").exception)


def test_reading_creates_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert "there are no lists and no notes" in run().stdout
    assert list(tmp_path.iterdir()) == []
