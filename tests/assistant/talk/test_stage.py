"""The screen in a terminal of its own, as a person runs it: nothing but the screen is drawn there."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from talk_app import SETTINGS
from virtual_card import VirtualCard, virtual_card

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
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
from assistant.cli import main
main()
"""

ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A program in a pseudo-terminal, and all that it wrote there."""

    def __init__(self, command: list[str], environ: dict[str, str], folder: Path) -> None:
        import fcntl  # noqa: PLC0415 - not on every system
        import pty  # noqa: PLC0415
        import struct  # noqa: PLC0415
        import termios  # noqa: PLC0415

        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 120, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=folder, start_new_session=True
        )
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.wrote = b""

    def until(self, text: bytes, within_s: float = 40.0) -> None:
        deadline_s = time.monotonic() + within_s
        while text not in self.wrote:
            assert time.monotonic() < deadline_s, self.wrote[-2000:]
            self.read()

    def read(self) -> bool:
        """What has come; False at the end."""
        time.sleep(0.01)
        try:
            more = os.read(self._ours, 1 << 16)
        except BlockingIOError:
            return True
        except OSError:  # nobody has it open any more
            return False
        self.wrote += more
        return bool(more)

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self) -> int:
        deadline_s = time.monotonic() + 10
        while self.read() and self.process.poll() is None:
            assert time.monotonic() < deadline_s
        while self.read() and time.monotonic() < deadline_s:
            continue
        return self.process.wait(5)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


@pytest.fixture
def terminal(card: VirtualCard, tmp_path: Path) -> Generator[Terminal]:
    flags = [word for setting in SETTINGS for word in ("--set", setting)]
    environ = {**card.environ, "TERM": "xterm-256color", "XDG_DATA_HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    one = Terminal([sys.executable, "-c", NOISY, "talk", *flags], environ, tmp_path)
    try:
        yield one
    finally:
        one.close()


def plain(drawn: bytes) -> str:
    """Without the escape sequences."""
    return re.sub(rb"\x1b(\[[0-9;?<>=]*[a-zA-Z]|[=>])", b"", drawn).decode(errors="replace")


def test_what_libraries_print_is_not_on_the_screen_and_a_turn_is(terminal: Terminal) -> None:
    terminal.until(b"LISTENING")
    terminal.press(b"t")
    terminal.until(b"escape leaves")
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
