"""Shared test configuration: Hypothesis profiles, and repetition of real-time tests.

The gate uses the same examples each time, so that its result depends only on the change; `make search` uses new ones.
Neither has a deadline, because the duration of an example depends on the load of the machine.

A test marked `real_time` talks with the program in real time. Sound that comes late because other programs use the
processors is not a defect. A failing test of this kind is repeated, at most twice, if during a quarter of its run some
process waited for a processor, or if nothing ran for longer than a sound card's buffer lasts. The repetition starts
when
the machine is free, or after a minute. On a free machine the first failure counts.
"""

import gc
import os
import tempfile
import time
from pathlib import Path

import pulled
import pytest
from _pytest.runner import runtestprotocol
from dispositions import restore_signals
from hypothesis import HealthCheck, settings
from metronome import STILL_S, Metronome
from stopwatch import Stopwatch, Took

settings.register_profile("gate", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gate")

# Before anything is started: programs would inherit ignored signals (nohup, background of a shell).
restore_signals()

# Results must not depend on installed models: without a test's own model, pocketsphinx is the recognizer.
assert pulled, "it has looked before"
os.environ["HF_HUB_CACHE"] = str(Path(tempfile.gettempdir(), "repartee-tests-no-models"))

ATTEMPTS = 3
CROWDED_SHARE = 0.25
"""Share of time with waiting processes. A test with engines, server and browser has 0.05-0.15 on two idle cores."""


CALM_WITHIN_S = 60.0

_since: dict[Path, Stopwatch] = {}
"""When the shared fixtures of each file were started: they may be affected by late sound, too."""

_metronome: list[Metronome] = []
"""The only metronome, started by the first real-time test."""


@pytest.fixture(scope="module", autouse=True)
def _freeze_existing_objects() -> None:
    """Excludes objects created before a file's tests from garbage collection, which saves a third of a second."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Stops the metronome."""
    while _metronome:
        _metronome.pop().stop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test marked `real_time`; repeats it if the machine was too busy."""
    if item.get_closest_marker("real_time") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    if not _metronome:
        _metronome.append(Metronome())
    for attempt in range(ATTEMPTS):
        stops = _metronome[0].stops
        watches = (Stopwatch(), _since.setdefault(item.path, Stopwatch()))
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        took = max((watch.took for watch in watches), key=crowded_share)
        failed = any(report.failed for report in reports)
        stops = _metronome[0].stops - stops
        disturbed = crowded_share(took) >= CROWDED_SHARE or stops > 0
        if not failed or not disturbed or attempt + 1 == ATTEMPTS:
            break
        del _since[item.path]
        # Also recreates what the test shares with others: it may be what came late.
        pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(None), when="teardown")
        wait_for_calm()
    waited = f"something waited for a processor in {crowded_share(took):.0%} of the time"
    stood = f"nothing ran for {1000 * STILL_S:.0f} ms or more {stops} times"
    says = f"attempt {attempt + 1}: {waited}, and {stood}"
    for report in reports:
        if report.failed:
            report.sections.append(("in real time", says))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def wait_for_calm() -> None:
    """Waits until the machine was free for a second, or until `CALM_WITHIN_S` have passed."""
    waiting = Stopwatch()
    while waiting.took.elapsed_s < CALM_WITHIN_S:
        second = Stopwatch()
        time.sleep(1)
        if crowded_share(second.took) < CROWDED_SHARE:
            return


def crowded_share(took: Took) -> float:
    """Returns the share of a span of time in which any process waited for a processor."""
    return 1 - took.undisturbed_s / took.elapsed_s
