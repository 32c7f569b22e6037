"""Suppresses messages that sound libraries print to standard error."""

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
    """Discards what native code writes to the process's standard error until the end of the block.

    ALSA and PortAudio write there at every underrun and failed opening, into whatever is on the screen. Yields a file
    that still writes to the original standard error, for a screen drawn there, such as Textual's. Python's `sys.stderr`
    is redirected to it in the block, behind the filter that it has (`leading_to`), if any. Without a standard error it
    writes to the null device.

    `for_good`: called at the end. If it returns True, the redirection stays, because the program ends while a library's
    thread is still running.
    """
    if sys.stderr is None:  # closed by the caller (2>&-), or no console
        with Path(os.devnull).open("w", encoding="utf-8") as nobody:
            yield nobody
        return
    kept = os.dup(_STDERR)
    screen = os.fdopen(kept, "w", buffering=1, encoding="utf-8", errors="replace")
    leading_to: Callable[[TextIO], TextIO] = getattr(sys.stderr, "leading_to", lambda stream: stream)
    python = leading_to(screen)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.stderr.flush()
        os.dup2(nowhere, _STDERR)
        with contextlib.redirect_stderr(python):
            yield screen
    finally:
        screen.flush()
        os.close(nowhere)
        if for_good():
            sys.stderr = python
        else:
            os.dup2(kept, _STDERR)
            screen.close()
