"""Failed real-time tests are not repeated on a free machine, and not without limit."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent

RULES = """
import importlib.util, sys, time
sys.path.insert(0, {tests!r})
from support.clocks import stopwatch
stopwatch.contention_s = {contention}
spec = importlib.util.spec_from_file_location("rules", {tests!r} + "/conftest.py")
rules = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rules)
rules.IDLE_WITHIN_S = 0.0
rules.StallMonitor = type("Still", (), {{"stall_count": 0, "stop": lambda self: None}})
pytest_runtest_protocol, pytest_unconfigure = rules.pytest_runtest_protocol, rules.pytest_unconfigure
"""

SUITE = """
import pytest
tries = []

@pytest.mark.real_time
def test_late():
    tries.append(1)
    assert len(tries) > {fails}
"""


def outcome(folder: Path, *, contention: str, fails: int) -> str:
    (folder / "conftest.py").write_text(RULES.format(tests=str(TESTS), contention=contention))
    (folder / "test_late.py").write_text(textwrap.dedent(SUITE).format(fails=fails))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = real_time: x\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False).stdout


FREE, BUSY = "lambda: 0.0", "time.monotonic"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("contention", "fails", "said"),
    [
        (FREE, 0, "1 passed"),
        (FREE, 1, "1 failed"),
        (BUSY, 2, "1 passed"),
        (BUSY, 3, "1 failed"),
    ],
    ids=["free, passes", "free, fails once", "busy, fails twice", "busy, fails three times"],
)
def test_first_failure_counts_if_machine_is_free_else_third(
    tmp_path: Path, contention: str, fails: int, said: str
) -> None:
    shown = outcome(tmp_path, contention=contention, fails=fails)
    assert said in shown.splitlines()[-1], shown
    assert (f"attempt {3 if contention == BUSY else 1}: something waited" in shown) == ("failed" in said)
