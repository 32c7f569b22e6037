import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from support.clocks.stall_monitor import StallMonitor

OWNER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from support.clocks.stall_monitor import StallMonitor
print(StallMonitor()._process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="nothing can be stopped there")
def test_stall_is_counted() -> None:
    monitor = StallMonitor()
    before, deadline_s = monitor.stall_count, time.monotonic() + 20
    while monitor.stall_count == before:  # nothing is counted before its first beat
        assert time.monotonic() < deadline_s
        os.kill(monitor._process.pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(monitor._process.pid, signal.SIGCONT)
        time.sleep(0.3)
    monitor.stop()
    monitor.stop()
    assert not monitor._file.exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="an orphan cannot detect there that its parent has ended")
def test_stall_monitor_does_not_outlive_its_owner() -> None:
    command = [sys.executable, "-c", textwrap.dedent(OWNER), str(Path(__file__).parent.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        child = int(owner.stdout.readline())
        owner.kill()
    deadline_s = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and "State:\tZ" not in Path(f"/proc/{child}/status").read_text():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
