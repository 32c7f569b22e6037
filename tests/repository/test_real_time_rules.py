"""Failed real-time tests are not repeated on a free machine, and not without limit."""

import subprocess
import sys
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
tries = {{}}

@pytest.mark.real_time
@pytest.mark.parametrize("fails", {fails})
def test_late(fails):
    tries[fails] = tries.get(fails, 0) + 1
    assert tries[fails] > fails
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("contention", "fails", "attempts"),
    [("lambda: 0.0", (0, 1), 1), ("time.monotonic", (2, 3), 3)],
    ids=["free machine", "busy machine"],
)
def test_first_failure_counts_if_machine_is_free_else_third(
    tmp_path: Path, contention: str, fails: tuple[int, int], attempts: int
) -> None:
    """Of two tests that fail so often before they pass, only the second one fails."""
    (tmp_path / "conftest.py").write_text(RULES.format(tests=str(TESTS), contention=contention))
    (tmp_path / "test_late.py").write_text(SUITE.format(fails=fails))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = real_time: x\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False).stdout
    assert "1 failed, 1 passed" in shown.splitlines()[-1], shown
    assert f"test_late[{fails[1]}]" in shown
    assert f"attempt {attempts}: something waited" in shown
