"""Signals as a program finds them that is started from a terminal, whatever the tests themselves were started with.

A child inherits what its parent ignores and blocks: under `nohup`, and in the background of a shell, SIGHUP or SIGINT.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

TESTED = ("SIGINT", "SIGHUP", "SIGTERM", "SIGQUIT", "SIGCHLD")
"""Those that the tests send, and SIGCHLD, without which no exit status is known."""

Handler = Callable[[int, FrameType | None], Any]


def restore_signals() -> None:
    """In this process and those that it starts from now on, no signal of TESTED is ignored or blocked.

    But these tests survive a terminal that is closed, as `nohup` means it: SIGHUP does nothing here, and what is
    started here has the default, since a handler is not inherited.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    numbers = [getattr(signal, name) for name in TESTED if hasattr(signal, name)]
    for number in numbers:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _handler_of(number))
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def _handler_of(number: int) -> "Handler | signal.Handlers":
    if number == signal.SIGINT:
        return signal.default_int_handler
    return _nothing if number == getattr(signal, "SIGHUP", None) else signal.SIG_DFL


def _nothing(_number: int, _frame: FrameType | None) -> None:
    pass
