"""Programs that the tests start have default signals, whatever the tests were started with."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

IGNORED = ("SIGINT", "SIGHUP", "SIGTERM", "SIGQUIT", "SIGCHLD")
FOLDER = Path(__file__).parent.parent

STARTED = """
import signal, subprocess, sys
from support.programs.signal_dispositions import restore_signals
restore_signals()
child = "import signal; print([one.name for one in signal.Signals if signal.getsignal(one) is signal.SIG_IGN])"
child += "; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
signal.raise_signal(signal.SIGHUP)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print(done.stdout)
"""


def _as_nohup() -> None:
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP})


def test_started_programs_ignore_and_block_no_signal() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTED],
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        stdin=subprocess.DEVNULL,
        preexec_fn=_as_nohup,
        start_new_session=True,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    ignored, blocked, _ = done.stdout.splitlines()
    assert not [name for name in IGNORED if name in ignored]
    assert blocked == "set()"


def test_tests_themselves_have_default_signals() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN
    assert signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
