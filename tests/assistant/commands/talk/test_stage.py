"""The screen in a real terminal: nothing else is drawn there."""

import os
import re
import sys
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from support.models.phrase_whisper import phrase_settings
from support.programs.talk_app import REPARTEE, SETTINGS
from support.programs.terminal import Terminal
from support.sound.speech import sound_of, spoken
from support.sound.virtual_card import VirtualCard, virtual_card, write_wav

from audio.tts.espeak.voice import EspeakVoice

pytestmark = [
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal"),
]

NOISY = """
import os, threading, time

def library():
    while True:
        os.write(2, b"ALSA lib pcm.c: underrun occurred")
        time.sleep(0.01)

threading.Thread(target=library, daemon=True).start()
from repartee.cli import main
main()
"""

ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


@pytest.fixture
def terminal(card: VirtualCard, tmp_path: Path) -> Generator[Terminal]:
    flags = [word for setting in SETTINGS for word in ("--set", setting)]
    # Readline sets them for the terminal of the test; this one is separate.
    environ = {name: value for name, value in card.environ.items() if name not in {"COLUMNS", "LINES"}}
    environ |= {"TERM": "xterm-256color", "XDG_DATA_HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    one = Terminal([sys.executable, "-c", NOISY, "talk", *flags], environ, tmp_path, rows=20)
    try:
        yield one
    finally:
        one.close()


def plain(drawn: bytes) -> str:
    """Removes the escape sequences."""
    return re.sub(rb"\x1b(\[[0-9;?<>=]*[a-zA-Z]|[=>])", b"", drawn).decode(errors="replace")


def test_library_output_is_not_on_the_screen_but_a_turn_is(terminal: Terminal) -> None:
    terminal.until(b"LISTENING")
    terminal.press(b"t")
    terminal.until(b"escape cancels")
    terminal.press(b"what is two plus three\r")
    terminal.until(b"SPEAKING")
    terminal.press(b"q")
    assert terminal.end() == 0
    before, entered, shown = terminal.wrote.partition(ENTERED)
    screen, left, after = shown.partition(LEFT)
    assert entered
    assert left
    assert b"underrun" in before, "the noise was made"
    assert b"underrun" not in screen
    assert "what is two plus three" in plain(screen)
    assert re.search(r"trace +\S+\.jsonl", plain(after)), "what is printed comes after the screen"


def test_sleeping_screen_says_the_wake_word_and_wakes_by_its_sound(card: VirtualCard, tmp_path: Path) -> None:
    pytest.importorskip("pymicro_wakeword", reason="the extra wake is not installed")
    flags = [word for setting in (*SETTINGS, *phrase_settings()) for word in ("--set", setting)]
    environ = {**card.environ, "TERM": "xterm-256color", "XDG_DATA_HOME": str(tmp_path)}
    terminal = Terminal([REPARTEE, "talk", "--wake-word", "okay_nabu", *flags], environ, tmp_path, rows=20)
    try:
        terminal.until_shown("ASLEEP")
        terminal.until_shown('say "okay nabu"')
        said = sound_of(spoken(EspeakVoice(), "Okay Nabu, what time is it?"))
        quiet = np.zeros(12_000, np.int16)
        card.speak(write_wav(tmp_path / "said.wav", np.concatenate([quiet, said, quiet]), 24_000)).wait()
        terminal.until_shown("what time is it")
        terminal.until_shown("SPEAKING")
        terminal.press(b"q")
        assert terminal.end() == 0
    finally:
        terminal.close()
