"""Failed real-time tests are repeated within limits; asynchronous tests run, and their markers have an effect."""

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
pytest_pyfunc_call, pytest_pycollect_makeitem = rules.pytest_pyfunc_call, rules.pytest_pycollect_makeitem
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

ASYNCHRONOUS = """
import asyncio, pytest
left = []

async def test_fails():
    await asyncio.sleep(0)
    assert False

@pytest.mark.leaves_no_tasks
async def test_leaves_task():
    left.append(asyncio.get_running_loop().create_task(asyncio.sleep(9), name="forgotten"))

@pytest.mark.leaves_no_tasks
async def test_leaves_none():
    await asyncio.get_running_loop().create_task(asyncio.sleep(0))

@pytest.mark.virtual_time
async def test_jumps():
    began_s = asyncio.get_running_loop().time()
    await asyncio.sleep(1000)
    assert asyncio.get_running_loop().time() == began_s + 1000
"""

SYNCHRONOUS = """
import pytest

@pytest.mark.{marker}
def test_{marker}():
    pass
"""


def run_suite(folder: Path, *options: str) -> str:
    """Runs the tests in a folder with the rules. Returns the output."""
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    real_time: x\n    leaves_no_tasks: x\n    virtual_time: x\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False).stdout


@pytest.mark.slow
def test_markers_of_asynchronous_tests_have_an_effect_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(RULES.format(tests=str(TESTS), contention="lambda: 0.0"))
    (tmp_path / "test_asynchronous.py").write_text(ASYNCHRONOUS)
    for marker in ("leaves_no_tasks", "virtual_time"):
        (tmp_path / f"test_{marker}.py").write_text(SYNCHRONOUS.format(marker=marker))
    shown = run_suite(tmp_path, "--continue-on-collection-errors")
    assert "2 failed, 2 passed, 2 errors" in shown.splitlines()[-1], shown
    assert "FAILED test_asynchronous.py::test_fails" in shown
    assert "tasks were left running: forgotten" in shown
    assert "test_leaves_no_tasks is not asynchronous: remove leaves_no_tasks" in shown
    assert "test_virtual_time is not asynchronous: remove virtual_time" in shown


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
    shown = run_suite(tmp_path)
    assert "1 failed, 1 passed" in shown.splitlines()[-1], shown
    assert f"test_late[{fails[1]}]" in shown
    assert f"attempt {attempts}: something waited" in shown
