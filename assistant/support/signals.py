"""SIGTERM and a closed terminal end the program as Ctrl-C does: what a command has begun, it puts in order."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def as_ctrl_c() -> Generator[None]:
    """While it runs, SIGTERM and SIGHUP interrupt as SIGINT does: a hidden cursor comes back, files are finished.

    The second one ends the program at once, as does the first where it is left to: the exit status is that of the
    signal. Those that the program was started with ignored (nohup) stay so.
    """
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        came.append(number)
        # asyncio's own while a loop runs; none where the shell started the program in the background.
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    for name in ("SIGTERM", "SIGHUP"):  # each system has its own of these
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        if came:
            signal.raise_signal(came[0])
