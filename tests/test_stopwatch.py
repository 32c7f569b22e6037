import os
import subprocess
import sys
import time

import pytest
import stopwatch
from stopwatch import Stopwatch


def test_time_in_which_something_waited_for_a_processor_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded_s = [5.0]
    monkeypatch.setattr(stopwatch, "crowded_s", lambda: crowded_s[0])
    watch = Stopwatch()
    time.sleep(0.05)
    alone = watch.took
    assert 0.05 <= alone.undisturbed_s == alone.elapsed_s
    crowded_s[0] = 5.03
    crowded = watch.took
    assert crowded.elapsed_s - crowded.undisturbed_s == pytest.approx(0.03)
    crowded_s[0] = 1000.0
    assert watch.undisturbed_s == 0.0


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts who waits")
def test_a_crowd_is_seen() -> None:
    watch = Stopwatch()
    spin = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
    crowd = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(4 * (os.cpu_count() or 1))]
    assert [process.wait(60) for process in crowd] == [0] * len(crowd)
    took = watch.took
    assert took.undisturbed_s < took.elapsed_s - 0.3
