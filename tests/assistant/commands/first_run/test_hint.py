"""The line of `serve` and `talk` for machines without a configuration."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from assistant.commands.first_run.hint import HINT, show_hint


def shown(config: Path | None = None, *given: object, terminal: bool = True, **environ: str) -> str:
    console = Console(file=StringIO(), width=200, force_terminal=terminal, color_system=None)
    show_hint(console, config, environ, given)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().strip()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "repartee" / "config.toml"


def test_new_user_is_pointed_to_init(home: Path) -> None:
    assert shown(None, None, []) == HINT


def test_hint_is_not_shown_with_a_configuration_an_option_or_a_pipe(home: Path) -> None:
    assert shown(terminal=False) == ""
    assert shown(None, "auto") == ""
    assert shown(None, ["turn.profile=eager"]) == ""
    assert shown(Path("my.toml")) == ""
    assert shown(REPARTEE_CONFIG="my.toml") == ""
    home.parent.mkdir()
    home.write_text("", encoding="utf-8")
    assert shown() == ""
