"""The screens of `demo`, `talk` and `serve` during a conversation, and after its end."""

import os
import re
from pathlib import Path

import pytest
from support.models.phrase_whisper import phrase_settings
from support.programs.screen_checks import check_end, check_screen, in_terminal
from support.programs.screen_programs import with_cards

pytestmark = [
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal"),
]

QUESTION = Path(__file__).parents[2] / "recordings" / "rhasspy3_what-time-is-it.wav"


def flags() -> list[str]:
    """Returns the settings of a program with small engines."""
    settings = ("tts.engine=espeak-ng", "talk.ready_sound=false", *phrase_settings())
    return [word for setting in settings for word in ("--set", setting)]


def test_demo_replaces_the_words_that_it_hears() -> None:
    with in_terminal(["demo", "--wav", QUESTION, *flags()], 80) as terminal:
        terminal.until_shown("  hearing  …")
        check_screen(terminal)
        assert terminal.end() == 0
        check_end(terminal)
        lines = terminal.lines()
        assert sum("what time is it" in line for line in lines) == 1
        assert not any("hearing" in line or "loading" in line for line in lines)


def test_ctrl_c_during_loading_shows_the_cursor_again() -> None:
    with in_terminal(["demo", "--wav", QUESTION, *flags()], 120) as terminal:
        terminal.until_shown("loading engines")
        assert not terminal.cursor_is_visible
        terminal.press(b"\x03")
        assert terminal.end() == 130
        check_end(terminal)


@pytest.mark.parametrize(
    ("columns", "look", "background"),
    [(80, "15;0", "black"), pytest.param(120, "0;15", "default", marks=pytest.mark.thorough)],
)
def test_talk_draws_a_turn_and_leaves_the_terminal_as_it_was(columns: int, look: str, background: str) -> None:
    arguments = ["talk", *flags()]
    with in_terminal(arguments, columns, rows=30, prepare=with_cards, COLORFGBG=look, QUIET_MICROPHONE="1") as terminal:
        terminal.until_shown("\n  speak\n")
        terminal.press(b"t")
        terminal.until_shown("escape cancels")
        terminal.press(b"what is two plus three\r")
        terminal.until_shown("1 typed turn")
        check_screen(terminal)
        assert terminal.background() == background
        assert "That's 5." in terminal.text()
        terminal.press(b"q")
        assert terminal.end() == 0
        check_end(terminal, "talk-end")


def test_light_terminal_gets_a_light_screen() -> None:
    arguments = ["talk", *flags()]
    with in_terminal(arguments, 80, rows=30, prepare=with_cards, COLORFGBG="0;15", QUIET_MICROPHONE="1") as terminal:
        terminal.until_shown("\n  speak\n")
        assert terminal.background() == "brightwhite"
        terminal.press(b"\x03")
        terminal.end()
        check_end(terminal)


def test_lines_of_plain_conversation_are_broken_between_words() -> None:
    with in_terminal(["talk", "--plain", *flags()], 80, prepare=with_cards, QUIET_MICROPHONE="1") as terminal:
        terminal.until_shown("ready:")
        terminal.press(b"what is two plus three\n")
        terminal.until_shown("repartee: That's 5.")
        terminal.press(b"\x03")
        assert terminal.end() == 0
        check_end(terminal)


def test_talk_with_a_server_draws_a_typed_turn() -> None:
    with in_terminal(["serve", "--port", "0", *flags()], 80) as server:
        server.until_shown("\n           ready")
        port = re.findall(r"127\.0\.0\.1:(\d+)", server.text())[0]
        arguments = ["talk", "--server", f"ws://127.0.0.1:{port}"]
        with in_terminal(arguments, 80, rows=30, prepare=with_cards, QUIET_MICROPHONE="1") as terminal:
            terminal.until_shown("\n  speak\n")
            terminal.press(b"t")
            terminal.until_shown("escape cancels")
            terminal.press(b"what is two plus three\r")
            terminal.until_shown("That's 5.")
            check_screen(terminal)
            terminal.press(b"\x03")
            assert terminal.end() == 0
            check_end(terminal)
        server.press(b"\x03")
        server.end()


def test_banner_of_server_is_as_kept() -> None:
    settings = ["--set", "tts.engine=espeak-ng", "--port", "0"]
    with in_terminal(["serve", *settings], 80) as terminal:
        terminal.until_shown("\n           ready")
        terminal.press(b"\x03")
        assert terminal.end() == 0
        check_end(terminal, "serve")
