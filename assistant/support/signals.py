"""Makes SIGTERM and SIGHUP (a closed terminal) end the program as Ctrl-C does, so that commands clean up."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def as_ctrl_c() -> Generator[None]:
    """Handles SIGTERM and SIGHUP like SIGINT while the context is active, so that the cursor and files are restored.

    A second signal ends the program at once. At the end of the context the first signal is raised again, so that the
    exit status is that of the signal. Signals that were ignored at the start (nohup) stay ignored.
    """
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        received.append(number)
        # asyncio's handler while a loop runs; none if the shell started the program in the background
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    for name in ("SIGTERM", "SIGHUP"):  # not every system has both
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        if received:
            signal.raise_signal(received[0])
