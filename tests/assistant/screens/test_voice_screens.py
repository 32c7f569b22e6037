"""The screens of `repartee voices add`, which asks and shows a moving line."""

import os

import pytest
from support.programs.screen_checks import check_end, check_screen, in_terminal
from support.programs.screen_programs import with_speaker_embedder

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")]


def test_voice_is_recorded_after_the_person_agrees() -> None:
    with in_terminal(["voices", "add", "Ann"], 80, prepare=with_speaker_embedder) as terminal:
        terminal.until_shown("Does Ann agree")
        terminal.press(b"y\n")
        terminal.until_shown("s of speech  █")
        check_screen(terminal)
        assert terminal.end() == 0
        check_end(terminal, "voices-add")
        assert (terminal.folder / "xdg_data_home/repartee/voices.sqlite3").exists()


@pytest.mark.parametrize("answer", [b"\n", b"n\n", b"\x03"])
def test_nothing_is_kept_without_agreement(answer: bytes) -> None:
    with in_terminal(["voices", "add", "Ann"], 120, prepare=with_speaker_embedder) as terminal:
        terminal.until_shown("Does Ann agree")
        terminal.press(answer)
        assert terminal.end() == 1
        check_end(terminal)
        assert "Nothing was kept." in terminal.text()
        assert not (terminal.folder / "xdg_data_home/repartee/voices.sqlite3").exists()


def test_ctrl_c_ends_the_recording_and_keeps_nothing() -> None:
    with in_terminal(["voices", "add", "Ann", "--yes"], 120, prepare=with_speaker_embedder) as terminal:
        terminal.until_shown("s left")
        terminal.press(b"\x03")
        assert terminal.end() == 1
        check_end(terminal)
        assert "Nothing was kept." in terminal.text()
