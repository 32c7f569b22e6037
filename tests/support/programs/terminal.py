"""A program in a pseudo-terminal, and the screen of a terminal emulator that reads its output."""

import copy
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pyte
from support.programs.program import start_in_terminal

ROWS = 40

STRAY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]|\[\??[0-9;]*[A-HJKSTfhilmnsu](?![a-zA-Z])")
"""A character or the rest of a sequence that a terminal must not show."""

_LABEL_AND_PATH = 2
"""Words of a line that may be longer than the terminal: a path that is to be copied, and its label."""

_LEFT = frozenset({"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLORFGBG", "CI", "GITHUB_ACTIONS"})
"""Variables that would make the screen depend on the tester's own terminal."""


class _Screen(pyte.HistoryScreen):  # pyte has no types
    """A screen that keeps the lines that scrolled off."""

    _ALTERNATE = 1049 << 5  # pyte shifts private modes
    """Mode of the alternate screen, which pyte lacks: leaving it restores what was there."""

    def __init__(self, *size: int, **options: Any) -> None:
        super().__init__(*size, **options)
        self._before: tuple[Any, int, int] | None = None
        self._draws = False
        self.cut: list[str] = []
        """Lines that the terminal has cut at its right edge."""

    def draw(self, data: str) -> None:
        self._draws = True
        super().draw(data)
        self._draws = False

    def linefeed(self) -> None:
        if self._draws:
            self.cut.append(self.display[self.cursor.y])
        super().linefeed()

    def set_mode(self, *modes: int, **options: Any) -> None:
        super().set_mode(*modes, **options)
        if self._ALTERNATE in self.mode and self._before is None:
            self._before = copy.deepcopy(self.buffer), self.cursor.x, self.cursor.y
            self.erase_in_display(2)

    def reset_mode(self, *modes: int, **options: Any) -> None:
        super().reset_mode(*modes, **options)
        if self._ALTERNATE not in self.mode and self._before is not None:
            buffer, self.cursor.x, self.cursor.y = self._before
            self.buffer.clear()
            self.buffer.update(buffer)
            self._before = None

    def report_device_status(self, *_: Any, **__: Any) -> None:
        """Answers nothing: the program gets only the keys of the test."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        """Ignores XTerm's private form (`CSI > 4 m`), which sets key modifiers."""
        if not private:
            super().select_graphic_rendition(*attributes)


class Terminal:
    """A terminal with a program in it: what it wrote, and what is on the screen.

    Attributes:
        wrote: All bytes of the program.
        columns: Width of the screen.
        folder: Working directory of the program.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        environ: Mapping[str, str],
        folder: Path,
        *,
        columns: int = 120,
        rows: int = ROWS,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Starts a program; without a program's path, `repartee` with these arguments, in a process that imported it.

        `prepare`: called in that process first; it replaces parts of the program.
        """
        import fcntl  # noqa: PLC0415 - not on every system
        import pty  # noqa: PLC0415
        import struct  # noqa: PLC0415
        import termios  # noqa: PLC0415

        self.columns, self.folder = columns, folder
        self.wrote = b""
        self._screen = _Screen(columns, rows, history=2000, ratio=1)
        self._stream = pyte.ByteStream(self._screen)
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {name: value for name, value in environ.items() if name not in _LEFT or name not in os.environ}
        environ = {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | kept
        self._process: subprocess.Popen[bytes] | ForkServerProcess
        if isinstance(command[0], Path) or "/" in command[0]:
            self._process = subprocess.Popen(
                command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=folder, start_new_session=True
            )
        else:
            self._process = start_in_terminal(list(map(str, command)), os.ttyname(theirs), folder, environ, prepare)
        self._theirs: int | None = theirs  # kept open until the program has opened it
        os.set_blocking(self._ours, False)

    # ---- keys and output ----

    def press(self, keys: bytes) -> None:
        """Types on the keyboard."""
        os.write(self._ours, keys)

    def send_signal(self, number: int) -> None:
        """Sends a signal to the program."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def read(self, wait_s: float = 0.02) -> bool:
        """Reads available output. Returns False at the end."""
        select.select([self._ours], [], [], wait_s)
        try:
            more = os.read(self._ours, 1 << 16)
        except BlockingIOError:
            return True
        except OSError:  # no process has it open any more
            return False
        if more and self._theirs is not None:
            self._let_go()
        self.wrote += more
        self._stream.feed(more)
        return bool(more)

    def until(self, text: bytes, within_s: float = 40.0) -> None:
        """Reads until the program has written this."""
        self._wait(lambda: text in self.wrote, within_s)

    def until_shown(self, text: str, within_s: float = 40.0) -> None:
        """Reads until this text is on the screen."""
        self._wait(lambda: text in self.text(), within_s)

    def _wait(self, true: Callable[[], bool], within_s: float) -> None:
        deadline_s = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < deadline_s, self.text()
            assert self.read() or true(), self.text()

    def end(self, within_s: float = 40.0) -> int:
        """Reads to the end of the program. Returns its exit status."""
        deadline_s = time.monotonic() + within_s
        while self._code() is None:
            self.read()
            assert time.monotonic() < deadline_s, self.text()
        if self._theirs is not None:
            self._let_go()
        while self.read() and time.monotonic() < deadline_s:
            continue
        code = self._code()
        assert code is not None
        return code

    def close(self) -> None:
        """Ends the program and the terminal."""
        self._process.kill()
        if isinstance(self._process, subprocess.Popen):
            self._process.wait()
        else:
            self._process.join()
        if self._theirs is not None:
            self._let_go()
        os.close(self._ours)

    def _code(self) -> int | None:
        return self._process.poll() if isinstance(self._process, subprocess.Popen) else self._process.exitcode

    def _let_go(self) -> None:
        assert self._theirs is not None
        os.close(self._theirs)
        self._theirs = None

    # ---- the screen ----

    def lines(self) -> list[str]:
        """Returns all lines, also lines that scrolled off, without blanks and empty lines at their end."""
        above = ["".join(row[column].data for column in range(self.columns)) for row in self._screen.history.top]
        lines = [line.rstrip() for line in (*above, *self._screen.display)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def text(self) -> str:
        """Returns the lines as one text."""
        return "\n".join(self.lines())

    def faults(self) -> list[str]:
        """Returns the lines with stray characters, and lines that the right edge cuts in the middle of a word."""
        stray = [line for line in self.lines() if STRAY.search(line)]
        return stray + [line for line in self._screen.cut if len(line.split()) > _LABEL_AND_PATH]

    def colours(self) -> set[str]:
        """Returns the colours of the visible characters and their backgrounds, without the terminal's own."""
        cells = [cell for row in self.cells() for cell in row]
        shown = {cell.fg for cell in cells if cell.data.strip()} | {cell.bg for cell in cells}
        return shown - {"default"}

    def background(self) -> str:
        """Returns the most frequent background colour."""
        cells = [row[column].bg for row in self._screen.buffer.values() for column in range(self.columns)]
        return max(set(cells), key=cells.count)

    @property
    def cursor_is_visible(self) -> bool:
        """Whether the cursor is shown."""
        return not self._screen.cursor.hidden

    def cells(self) -> list[list[Any]]:
        """Returns the characters of all lines with their colours, also of lines that scrolled off."""
        rows = [*self._screen.history.top, *(self._screen.buffer[row] for row in range(self._screen.lines))]
        return [[row[column] for column in range(self.columns)] for row in rows]
