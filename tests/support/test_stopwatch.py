import os
import time
from pathlib import Path

import pytest
from support.clocks import stopwatch
from support.clocks.stopwatch import Stopwatch


def test_time_waiting_for_processor_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    contention_s = [5.0]
    monkeypatch.setattr(stopwatch, "contention_s", lambda: contention_s[0])
    watch = Stopwatch()
    time.sleep(0.05)
    alone = watch.duration
    assert 0.05 <= alone.undisturbed_s == alone.elapsed_s
    contention_s[0] = 5.03
    crowded = watch.duration
    assert crowded.elapsed_s - crowded.undisturbed_s == pytest.approx(0.03)
    contention_s[0] = 1000.0
    assert watch.undisturbed_s == 0.0


def test_stolen_time_counts_as_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressure, stat = tmp_path / "cpu", tmp_path / "stat"
    pressure.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull total=0\n")
    stat.write_text("cpu  1 2 3 4 5 6 7 800 0 0\ncpu0 1 2 3 4 5 6 7 800 0 0\n")
    monkeypatch.setattr(stopwatch, "_PRESSURE", pressure)
    monkeypatch.setattr(stopwatch, "_STAT", stat)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert stopwatch.contention_s() == pytest.approx(2.0 + 800 / os.sysconf("SC_CLK_TCK") / 4)


@pytest.mark.parametrize(
    ("step_ns", "times"), [(20, 0.5), (40, 1.0), (80, 2.0)], ids=["half the time", "same time", "double time"]
)
def test_slowness_is_measured_by_fixed_work(monkeypatch: pytest.MonkeyPatch, step_ns: float, times: float) -> None:
    monkeypatch.setattr(stopwatch, "walk", lambda: stopwatch._STEPS * step_ns * 1e-9)
    assert stopwatch.slowness() == pytest.approx(times)
    monkeypatch.undo()
    assert stopwatch.slowness() > 0
