"""Remedies name `repartee`: where that is no command, what to type for it is said once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Terminal

from assistant.typed_name import how_it_is_typed

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")

REPARTEE = Path(sys.executable).with_name("repartee")
REMEDY = ("demo", "--llm", "nope")
HINT = f"repartee: type {REPARTEE} for `repartee`, or first, once in each terminal: . {REPARTEE.with_name('activate')}"


def shown(folder: Path, path: str, *arguments: str) -> str:
    terminal = Terminal([REPARTEE, *arguments], {**os.environ, "PATH": path, "COLUMNS": "200"}, folder)
    try:
        terminal.end()
        return terminal.wrote.decode()
    finally:
        terminal.close()


def test_a_person_whose_terminal_does_not_know_the_command_is_told_once(tmp_path: Path) -> None:
    lines = shown(tmp_path, "/usr/bin:/bin", *REMEDY).splitlines()
    assert "`repartee endpoints add`" in lines[0]
    assert lines[1:] == [HINT]


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        (f"{REPARTEE.parent}:/usr/bin:/bin", REMEDY),
        ("/usr/bin:/bin", ("demo", "--wav", "missing.wav")),
    ],
)
def test_nothing_is_told_where_it_would_not_help(path: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert len(shown(tmp_path, path, *arguments).splitlines()) == 1


def test_a_program_that_reads_what_is_said_is_told_nothing_more(tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [REPARTEE, *REMEDY], capture_output=True, text=True, timeout=50, check=False, cwd=tmp_path, env=environ
    )
    assert len(done.stderr.splitlines()) == 1


def test_the_way_to_it_is_as_it_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert how_it_is_typed(["my env/repartee"]) == "type 'my env/repartee' for `repartee`"
    Path("activate").touch()
    assert how_it_is_typed(["./repartee"]).endswith("once in each terminal: . ./activate")
