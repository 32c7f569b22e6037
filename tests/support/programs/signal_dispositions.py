"""Restores default signal dispositions, whatever the tests themselves were started with.

A child inherits ignored and blocked signals: SIGHUP or SIGINT under `nohup` and in the background of a shell.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

TESTED = ("SIGINT", "SIGHUP", "SIGTERM", "SIGQUIT", "SIGCHLD")
"""Signals that the tests send, and SIGCHLD, which is needed to learn exit statuses."""

Handler = Callable[[int, FrameType | None], Any]


def restore_signals() -> None:
    """Unblocks the signals of TESTED and stops ignoring them, for this process and its future children.

    The tests themselves survive a closed terminal, as under `nohup`: SIGHUP has an empty handler here. Children get the
    default, because handlers are not inherited.
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
