"""The screen of each command that only prints, in a terminal of 80 columns with colours, and of some of 120 without."""

import os
from pathlib import Path

import pytest
from support.conversations.trace_samples import DEMO
from support.programs.screen_checks import check_end, check_screen, in_terminal
from support.programs.screen_programs import with_cards, with_slow_hub

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")]

COMMANDS: dict[str, tuple[list[str | Path], int]] = {
    "models": (["models"], 0),
    "endpoints": (["endpoints", "--requests", "0"], 0),
    "trace-report": (["trace", "report", DEMO], 0),
    "trace-show": (["trace", "show", DEMO], 0),
    "conversations": (["conversations"], 0),
    "devices": (["devices"], 0),
    "cache": (["cache", "stats"], 0),
    "error-read": (["read", "missing.txt"], 2),
    "error-server": (["talk", "--server", "http://127.0.0.1:9"], 2),
    "error-command": (["tlak"], 2),
    "error-setting": (["config", "--set", "assistant.languag=de"], 2),
    "error-init": (["init", "--yes", "--language", "dee"], 2),
}
"""Arguments and exit status, by the name of the kept screen."""

WIDE = ("models", "trace-report", "trace-show", "error-setting")
"""Screens that are also kept with 120 columns and without colours."""


@pytest.mark.parametrize(("name", "columns"), [*((name, 80) for name in COMMANDS), *((name, 120) for name in WIDE)])
def test_screen_of_command_is_as_kept(name: str, columns: int) -> None:
    arguments, status = COMMANDS[name]
    with in_terminal(arguments, columns, prepare=with_cards) as terminal:
        assert terminal.end() == status
        check_end(terminal, name)
        assert list(terminal.folder.iterdir()) == [], "it only reads"


@pytest.mark.parametrize(("arguments", "columns"), [(["-h"], 80), (["talk", "-h"], 80), (["config"], 120)])
def test_screen_of_help_and_configuration_has_no_faults(arguments: list[str], columns: int) -> None:
    with in_terminal(arguments, columns) as terminal:
        assert terminal.end() == 0
        check_end(terminal)


def test_level_of_microphone_moves_on_one_line() -> None:
    with in_terminal(["devices", "--meter", "0.6"], 80, prepare=with_cards) as terminal:
        terminal.until_shown("-26 dBFS  Built")
        check_screen(terminal)
        assert terminal.end() == 0
        check_end(terminal, "devices-meter")


def test_progress_of_download_moves_on_one_line() -> None:
    with in_terminal(["models", "pull", "en_US-joe-medium"], 120, prepare=with_slow_hub) as terminal:
        terminal.until_shown("/1.0 MB")
        check_screen(terminal)
        assert terminal.end() == 0
        check_end(terminal)
        assert [line.split()[0] for line in terminal.lines()] == ["en_US-joe-medium", "en_US-joe-medium"]


def test_ctrl_c_during_download_shows_the_cursor_again() -> None:
    with in_terminal(["models", "pull", "en_US-joe-medium"], 80, prepare=with_slow_hub) as terminal:
        terminal.until_shown("/1.0 MB")
        assert not terminal.cursor_is_visible
        terminal.press(b"\x03")
        assert terminal.end() == 130
        check_end(terminal)
