"""What every test shares: how Hypothesis looks for examples, and when a test in real time is repeated.

The gate takes the same examples each time, so that a change is judged by what it changed; `make search` takes new ones.
Neither has a deadline: how long an example takes says how busy the machine is.

A test marked `real_time` talks with the program as fast as people do: sound that comes late because something else has
the processors is not what was to be tested. If such a test fails, and while it ran something waited for a processor for
a quarter of the time, or nothing ran at all for longer than a sound card's buffer lasts, it is run again when that is
over, or after a minute; three times at most. On a machine that is free the first failure counts.
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

# Before anything is started: what the tests were started to ignore (nohup, a shell's background), programs would, too.
restore_signals()

# What is heard here does not depend on what was pulled: without a test's own model it is pocketsphinx that listens.
assert pulled, "it has looked before"
os.environ["HF_HUB_CACHE"] = str(Path(tempfile.gettempdir(), "repartee-tests-no-models"))

ATTEMPTS = 3
CROWDED_SHARE = 0.25
"""Of the time. A test with engines, a server and a browser of its own comes to 0.05-0.15 on two idle cores."""


CALM_WITHIN_S = 60.0

_since: dict[Path, Stopwatch] = {}
"""Files, and when what their tests share was begun: a late recording may be what all of them look at."""

_metronome: list[Metronome] = []
"""One, from the first test in real time on."""


@pytest.fixture(scope="module", autouse=True)
def _what_is_there_stays() -> None:
    """Who collects garbage within a test need not look at all that was made before its file: a third of a second."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Nothing is left running."""
    while _metronome:
        _metronome.pop().stop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test marked `real_time`; again where the machine was too busy for it."""
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
        # What the test shares with its neighbours is made anew as well: it may be what came late.
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
    """Until the machine was free for a second, or `CALM_WITHIN_S` have passed."""
    waiting = Stopwatch()
    while waiting.took.elapsed_s < CALM_WITHIN_S:
        second = Stopwatch()
        time.sleep(1)
        if crowded_share(second.took) < CROWDED_SHARE:
            return


def crowded_share(took: Took) -> float:
    """Of a span of time: the part in which anything had to wait for a processor."""
    return 1 - took.undisturbed_s / took.elapsed_s
