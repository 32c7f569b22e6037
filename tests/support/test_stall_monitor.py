import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.clocks import stall_monitor
from support.clocks.stall_monitor import StallMonitor


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
        time.sleep(0.1)
    monitor.stop()
    monitor.stop()
    assert not monitor._file.exists()


@pytest.mark.parametrize(("late_s", "stalls"), [(0.001, 0), (0.019, 0), (0.021, 3)])
def test_only_late_wake_ups_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_s: float, stalls: int
) -> None:
    now_s, parents = [0.0], iter([1, 1, 1, 0])

    def sleep(seconds: float) -> None:
        now_s[0] += seconds + late_s

    monkeypatch.setattr(stall_monitor, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    file = tmp_path / "count"
    file.write_bytes(stall_monitor._COUNT.pack(0))
    stall_monitor._count_stalls(file, parent=1)
    assert stall_monitor._COUNT.unpack(file.read_bytes()) == (stalls,)
