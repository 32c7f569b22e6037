"""Shared test configuration: Hypothesis profiles, asynchronous tests, and repetition of real-time tests.

The gate uses the same examples each time, so that its result depends only on the change; `make search` uses new ones.
Neither has a deadline, because the duration of an example depends on the load of the machine.

A test marked `real_time` talks with the program in real time. Sound that comes late because other programs use the
processors is not a defect. A failing test of this kind is repeated, at most twice, if during a quarter of its run some
process waited for a processor, or if nothing ran for longer than a sound card's buffer lasts. The repetition starts
when the machine is free, or after a minute. On a free machine the first failure counts.
"""

import asyncio
import gc
import inspect
import os
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Coroutine, Iterator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from support.clocks.stall_monitor import MIN_STALL_S, StallMonitor
from support.clocks.stopwatch import Duration, Stopwatch
from support.clocks.virtual_time import run_virtual
from support.models import installed_model
from support.programs.signal_dispositions import restore_signals

settings.register_profile(
    "gate", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gate")

_constants_of_program = providers._get_local_constants


def _constants() -> Constants:
    """Leaves out constants of the imported modules in the gate: each new module would change all examples."""
    profile = settings.default
    return providers._local_constants if profile is not None and profile.derandomize else _constants_of_program()


providers._get_local_constants = _constants

# Until all tests are collected: it would look through all modules again and again, two seconds of thirteen.
gc.disable()

# Hundreds of tests start programs: what Python compiled is kept, also where the environment says otherwise.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Before anything is started: programs would inherit ignored signals (nohup, background of a shell).
restore_signals()

# Results must not depend on the user's configuration or on installed models: without a test's own models, nothing
# recognizes speech, and espeak-ng speaks.
assert installed_model, "it has looked before"
os.environ["HF_HUB_CACHE"] = str(Path(tempfile.gettempdir(), "repartee-tests-no-models"))
os.environ["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir(), "repartee-tests-no-configuration"))
os.environ.pop("REPARTEE_CONFIG", None)
os.environ["XDG_DATA_HOME"] = str(installed_model.data_without_voices(Path(tempfile.gettempdir())))

collect_ignore = ["clients/home_assistant/component"]
"""Runs in an environment of its own, with Home Assistant (tests/clients/test_home_assistant_agent.py)."""

ATTEMPTS = 3
BUSY_SHARE = 0.25
"""Share of time with waiting processes. A test with engines, server and browser has 0.05-0.15 on two idle cores."""


IDLE_WITHIN_S = 60.0
SLOWEST_FILES = 10
"""Number of files that the summary names."""

_since: dict[Path, Stopwatch] = {}
"""Times at which the shared fixtures of each file were started: they may be affected by late sound, too."""

_stall_monitor: list[StallMonitor] = []
"""The only stall monitor, started by the first real-time test."""


@pytest.fixture(scope="module", autouse=True)
def _freeze_existing_objects() -> None:
    """Excludes objects created before a file's tests from garbage collection, which saves a third of a second."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Fails a test that leaves a handler of SIGINT or SIGTERM behind: later tests would run with it."""
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        left = [one for one, handler in before.items() if signal.getsignal(one) is not handler]
        for one in left:
            signal.signal(one, before[one])
    assert not left, "a test leaves a signal handler behind"


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Iterator[None]:
    """Refuses markers of asynchronous tests at other tests, where they would do nothing. A file may have both."""
    made = yield
    for item in made if isinstance(made, list) else [made]:
        if isinstance(item, pytest.Function) and not inspect.iscoroutinefunction(item.obj):
            names = {mark.name for mark in item.own_markers} & {"leaves_no_tasks", "virtual_time"}
            if names:
                raise collector.CollectError(f"{item.name} is not asynchronous: remove {', '.join(sorted(names))}")
    return made


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an asynchronous test in an event loop of its own, in virtual time if it is marked `virtual_time`."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    test = pyfuncitem.obj(**arguments)
    if pyfuncitem.get_closest_marker("leaves_no_tasks") is not None:
        test = leaves_no_tasks(test)
    run = run_virtual if pyfuncitem.get_closest_marker("virtual_time") is not None else asyncio.run
    run(test)
    return True


async def leaves_no_tasks(test: Coroutine[None, None, None]) -> None:
    """Runs a test, and fails if tasks of it are still running a second later."""
    await test
    current = asyncio.current_task()
    if left := {task for task in asyncio.all_tasks() if task is not current}:
        _, left = await asyncio.wait(left, timeout=1)
    assert not left, f"tasks were left running: {', '.join(task.get_name() for task in left)}"


def pytest_unconfigure() -> None:
    """Stops the stall monitor."""
    while _stall_monitor:
        _stall_monitor.pop().stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts files with slow tests first: two processes then end at about the same time."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Switches garbage collection on again."""
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the files whose tests took most time, in seconds, fixtures included."""
    durations_s: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                durations_s[report.location[0]] += report.duration
    terminalreporter.section("slowest files")
    slowest = sorted(durations_s.items(), key=lambda entry: entry[1], reverse=True)[:SLOWEST_FILES]
    for file, duration_s in slowest:
        terminalreporter.line(f"{duration_s:7.1f} s  {file}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test marked `real_time`; repeats it if the machine was too busy."""
    if item.get_closest_marker("real_time") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    if not _stall_monitor:
        _stall_monitor.append(StallMonitor())
    for attempt in range(ATTEMPTS):
        stall_count = _stall_monitor[0].stall_count
        stopwatches = (Stopwatch(), _since.setdefault(item.path, Stopwatch()))
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        duration = max((stopwatch.duration for stopwatch in stopwatches), key=busy_share)
        failed = any(report.failed for report in reports)
        stall_count = _stall_monitor[0].stall_count - stall_count
        disturbed = busy_share(duration) >= BUSY_SHARE or stall_count > 0
        if not failed or not disturbed or attempt + 1 == ATTEMPTS:
            break
        del _since[item.path]
        # Also recreates what the test shares with others: it may be what came late.
        pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(None), when="teardown")
        wait_until_idle()
    waited = f"something waited for a processor in {busy_share(duration):.0%} of the time"
    stalled = f"nothing ran for {1000 * MIN_STALL_S:.0f} ms or more {stall_count} times"
    report_text = f"attempt {attempt + 1}: {waited}, and {stalled}"
    for report in reports:
        if report.failed:
            report.sections.append(("in real time", report_text))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def wait_until_idle() -> None:
    """Waits until the machine was free for a second, or until `IDLE_WITHIN_S` have passed."""
    waiting = Stopwatch()
    while waiting.duration.elapsed_s < IDLE_WITHIN_S:
        second = Stopwatch()
        time.sleep(1)
        if busy_share(second.duration) < BUSY_SHARE:
            return


def busy_share(duration: Duration) -> float:
    """Returns the share of a span of time in which any process waited for a processor."""
    return 1 - duration.undisturbed_s / duration.elapsed_s
