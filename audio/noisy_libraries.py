"""What sound libraries print about every mishap, kept away from the screen."""

import contextlib
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TextIO

_STDERR = 2


def _restored() -> bool:
    return False


@contextlib.contextmanager
def hushed(for_good: Callable[[], bool] = _restored) -> Generator[TextIO]:
    """Until the end of the block, what is written to the process's standard error from below Python goes nowhere.

    ALSA and PortAudio write there at every underflow and every failed opening, in the midst of whatever is on the
    screen. Gives a file that still leads to where standard error led: for a screen that is drawn there, as Textual's.
    Python's own `sys.stderr` leads there as well while this lasts. Where there is no standard error it leads nowhere.

    `for_good`: asked at the end; if so, it stays like this: the program ends, and a library's thread goes on till then.
    """
    if sys.stderr is None:  # closed by whoever started the program (2>&-), or a window without a console
        with Path(os.devnull).open("w", encoding="utf-8") as nobody:
            yield nobody
        return
    kept = os.dup(_STDERR)
    screen = os.fdopen(kept, "w", encoding="utf-8", errors="replace")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.stderr.flush()
        os.dup2(nowhere, _STDERR)
        with contextlib.redirect_stderr(screen):
            yield screen
    finally:
        screen.flush()
        os.close(nowhere)
        if for_good():
            sys.stderr = screen
        else:
            os.dup2(kept, _STDERR)
            screen.close()
