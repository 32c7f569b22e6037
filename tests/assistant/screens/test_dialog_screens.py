"""The screens of `init` and `doctor`, which show a moving line."""

import os

import pytest
from support.programs.screen_checks import check_end, check_screen, in_terminal
from support.programs.screen_programs import with_cards, with_few_checks

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")]


def test_first_steps_ask_on_a_clean_screen() -> None:
    with in_terminal(["init"], 80, rows=60, prepare=with_cards) as terminal:
        for question in ("Language [en]", "Voice [1]", "Press Enter"):
            terminal.until_shown(question)
            terminal.press(b"\n")
        terminal.until_shown("-26 dBFS")
        check_screen(terminal)
        for question in ("Who answers [", "[y/N]"):
            terminal.until_shown(question)
            terminal.press(b"\n")
        assert terminal.end() == 0
        check_end(terminal, "init")


def test_ctrl_c_during_first_steps_shows_the_cursor_again() -> None:
    with in_terminal(["init"], 120, prepare=with_cards) as terminal:
        for question in ("Language [en]", "Voice [1]", "Press Enter"):
            terminal.until_shown(question)
            terminal.press(b"\n")
        terminal.until_shown("-26 dBFS")
        terminal.press(b"\x03")
        assert terminal.end() == 130
        check_end(terminal, "init-interrupted")


def test_checks_of_the_machine_end_with_a_verdict() -> None:
    with in_terminal(["doctor"], 80, rows=100, prepare=with_few_checks) as terminal:
        terminal.until_shown("checking")
        check_screen(terminal)
        terminal.end(100)
        check_end(terminal)
        assert terminal.lines()[-1].endswith(" s)")
        assert not any(line.startswith("⠋") for line in terminal.lines())
