"""The soak and its verdict. SOAK_MINUTES sets how long the server is held in conversations; 0 leaves it out."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.models.installed_model import TINY_EN_FOLDER

from bench.under_load.soak import soak, usage_of
from bench.under_load.soak_verdict import Soak, Turn, Usage, verdict

MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
CONVERSATIONS = 4

FLAT = Soak(
    10.0,
    2,
    tuple(Usage(at_s, 300.0 + at_s % 3, 40, 20, 30) for at_s in range(0, 600, 5)),
    tuple(Turn(at_s, 400.0 + at_s % 50) for at_s in range(0, 600, 3)),
    (),
)


def test_constant_usage_is_flat() -> None:
    judged = verdict(FLAT)
    assert judged.problems == ()
    assert judged.is_flat
    assert [len(row.thirds) for row in judged.rows] == [3] * 5


@pytest.mark.parametrize(
    ("grown", "named"),
    [
        ({"memory_mb": 0.2}, "memory"),
        ({"descriptors": 0.05}, "descriptors"),
        ({"threads": 0.05}, "threads"),
        ({"tasks": 0.1}, "tasks"),
    ],
)
def test_growing_usage_is_named(grown: dict[str, float], named: str) -> None:
    (name, per_s), *_ = grown.items()
    usages = tuple(replace(one, **{name: getattr(one, name) + round(per_s * one.at_s)}) for one in FLAT.usages)
    (problem,) = verdict(replace(FLAT, usages=usages)).problems
    assert problem.startswith(named)


def test_growth_during_the_warm_up_does_not_count() -> None:
    usages = tuple(replace(one, memory_mb=100.0) if one.at_s < 60 else one for one in FLAT.usages)
    assert verdict(replace(FLAT, usages=usages)).is_flat


def test_slower_answers_are_named() -> None:
    turns = tuple(replace(one, latency_ms=400.0 + one.at_s) for one in FLAT.turns)
    (problem,) = verdict(replace(FLAT, turns=turns)).problems
    assert "p95" in problem


def test_unanswered_turns_and_lost_connections_are_named() -> None:
    turns = tuple(replace(one, latency_ms=None) if at % 20 == 0 else one for at, one in enumerate(FLAT.turns))
    problems = verdict(replace(FLAT, turns=turns, lost=("after 5 s: closed",))).problems
    assert problems == ("10 of 200 turns were not answered", "connection lost after 5 s: closed")


def test_missing_measurements_are_not_flat() -> None:
    short = verdict(replace(FLAT, usages=FLAT.usages[:40])).problems
    assert short == tuple(
        f"{name}: not measured in each third of the time" for name in ("memory, MB", "descriptors", "threads", "tasks")
    )
    silent = tuple(replace(one, tasks=None) for one in FLAT.usages)
    (problem,) = verdict(replace(FLAT, usages=silent)).problems
    assert problem.startswith("tasks: not measured")
    assert not verdict(replace(FLAT, turns=())).is_flat


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_usage_of_this_process_is_measured() -> None:
    usage = usage_of(os.getpid(), 1.0, None)
    assert 10 < usage.memory_mb < 100_000
    assert usage.descriptors >= 3
    assert usage.threads >= 1


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.real_time
@pytest.mark.timeout(MINUTES * 60 + 300)
@pytest.mark.skipif(MINUTES == 0, reason="SOAK_MINUTES=0 leaves it out")
@pytest.mark.weights
@pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en was not downloaded")
def test_server_stays_flat(tmp_path: Path) -> None:
    settings = [
        f"stt.{one}" for one in ("engine=faster-whisper", f"model={TINY_EN_FOLDER}", "faster-whisper.device=cpu")
    ]
    judged = verdict(asyncio.run(soak(MINUTES, CONVERSATIONS, tmp_path, settings)))
    assert judged.is_flat, judged.table()
