import os
import signal

import pytest
from support.programs.signal_dispositions import TESTED, restore_signals


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ignored_and_blocked_signals_are_restored() -> None:
    """As under `nohup`, whose signals the programs that the tests start would inherit."""
    handlers = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in TESTED)}
    try:
        for number in handlers:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, handlers)
        restore_signals()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.SIG_IGN not in {signal.getsignal(number) for number in handlers}
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(handlers)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handlers)
        for number, handler in handlers.items():
            signal.signal(number, handler)
