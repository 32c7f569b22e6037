"""Admission by the measured load."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from support.conversations.answered_turn import ANSWERED

from assistant.trace.latency import Stage, StageShare
from audio.machine_load import MachineLoad
from audio.queue_wait import QueueWait
from web.limits.admission import UPDATE_EVERY_S, Admission
from web.limits.admission_policy import SILENT_AFTER_S, AdmissionPolicy, AdmissionSettings
from web.observation.load_estimate import MIN_AT_LEAST, WINDOW_S, LoadEstimate, LoadFigures, QueueFigures
from web.observation.metrics import Metrics

pytestmark = pytest.mark.virtual_time

LIMITS = AdmissionSettings()
SLOW = LoadFigures(turns=8, response_latency_s=0.812, engine_latency_s=0.410)
LATE = LoadFigures(lags=100, loop_lag_s=0.061)
QUEUED = LoadFigures(queues={"stt": QueueFigures(8, 0.310), "tts": QueueFigures(99, 0.020)})


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def waiting(*waits_s: float) -> QueueWait:
    """Returns the record of jobs that waited this long."""
    waits = QueueWait()
    for wait_s in waits_s:
        waits.record(wait_s)
    return waits


def overloaded(clock: Clock) -> LoadEstimate:
    """Returns the estimate of a server whose recognizer is behind."""
    load = LoadEstimate(clock)
    load.queue_waits = lambda: {"stt": waits}
    waits = waiting(*[0.31] * 8)
    load.read_queues()
    return load


# ---- policy ----


@pytest.mark.parametrize(
    ("machine", "refuses"),
    [
        (MachineLoad(2, own=0.3, others=1.7, runnable=9), False),
        (MachineLoad(2, own=1.2, others=0.8, runnable=9), True),
        (MachineLoad(2, own=1.9, others=0.1, runnable=3), True),
        (None, True),
    ],
    ids=["others compute", "both compute", "own work", "unknown"],
)
def test_lag_that_other_programs_cause_refuses_nobody(machine: MachineLoad | None, refuses: bool) -> None:
    policy = AdmissionPolicy(LIMITS)
    policy.update(LATE, machine)
    assert (policy.reason is not None) == refuses


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        (LoadFigures(), None),
        (
            SLOW,
            "response latency p95 is 812 ms, of which recognition and synthesis take 410 ms, limit 400 ms",
        ),
        (replace(SLOW, turns=7), None),
        (replace(SLOW, engine_latency_s=0.4), None),
        (replace(SLOW, response_latency_s=5.0, engine_latency_s=0.1), None),
        (replace(SLOW, response_latency_s=0.8), None),
        (LATE, "event loop lag p99 is 61 ms, limit 50 ms"),
        (replace(LATE, lags=99), None),
        (QUEUED, "the wait for stt is 310 ms at p95, limit 300 ms"),
        (LoadFigures(queues={"stt": QueueFigures(7, 0.310)}), None),
        (replace(QUEUED, turns=8, response_latency_s=0.8, engine_latency_s=0.3), None),
        (replace(QUEUED, turns=7, response_latency_s=0.8), "the wait for stt is 310 ms at p95, limit 300 ms"),
    ],
    ids=[
        "nothing measured",
        "slow",
        "few turns",
        "at the limit",
        "slow model",
        "latency in the band",
        "late",
        "few lags",
        "queued",
        "few jobs",
        "queued, latency in the band",
        "queued, few turns",
    ],
)
def test_figure_above_its_limit_is_the_reason(figures: LoadFigures, reason: str | None) -> None:
    policy = AdmissionPolicy(LIMITS)
    policy.update(figures)
    assert policy.reason == reason


def test_figure_must_fall_clearly_below_its_limit_to_end_a_refusal() -> None:
    policy = AdmissionPolicy(LIMITS)
    reasons = []
    for lag_s in (0.049, 0.051, 0.049, 0.043, 0.042, 0.049):
        policy.update(LoadFigures(lags=100, loop_lag_s=lag_s))
        reasons.append(policy.reason is not None)
    assert reasons == [False, True, True, True, False, False]


def test_refusal_for_the_engines_ends_clearly_inside_the_latency_band() -> None:
    policy = AdmissionPolicy(LIMITS)
    reasons = []
    for latency_s in (0.79, 0.81, 0.79, 0.68, 0.79):
        policy.update(replace(SLOW, response_latency_s=latency_s))
        reasons.append(policy.reason is not None)
    assert reasons == [False, True, True, False, False]


def test_refusal_ends_when_nothing_is_measured_any_more() -> None:
    policy = AdmissionPolicy(LIMITS)
    policy.update(SLOW)
    policy.update(LoadFigures())
    assert policy.reason is None


# ---- estimate ----


def shares(**ms: float) -> Mapping[Stage, StageShare]:
    return {stage: StageShare(value, 0.0) for stage, value in ms.items()}  # type: ignore[misc]  # names of stages


def test_estimate_counts_the_engines_stages_of_finished_turns() -> None:
    clock = Clock()
    load = LoadEstimate(clock)
    stages = shares(endpoint_wait=300.0, stt=50.0, queue=20.0, llm_first_token=400.0, tts=30.0)
    turn = replace(ANSWERED, response_latency_ms=800.0, stages=dict(stages))
    load.turn(turn)
    load.turn(replace(turn, error="the endpoint failed"))
    load.turn(replace(turn, response_latency_ms=None))
    load.loop_lag(0.003)
    waits = waiting(0.1)
    load.queue_waits = lambda: {"tts": waits}
    load.read_queues()
    load.read_queues()
    figures = load.figures()
    assert (figures.turns, figures.response_latency_s, figures.lags, figures.loop_lag_s) == (1, 0.8, 1, 0.003)
    assert figures.engine_latency_s == pytest.approx(0.1)
    assert figures.queues == {"tts": QueueFigures(1, 0.1)}
    assert load.figures() == figures, "reading changes nothing"
    clock.now_s += WINDOW_S + 1
    assert load.figures() == LoadFigures()


def test_waits_are_counted_once_and_anew_for_a_reloaded_engine() -> None:
    clock = Clock()
    load = LoadEstimate(clock)
    engines = [waiting(0.3, 0.3)]
    load.queue_waits = lambda: {"stt": engines[-1]}
    counts = []
    for new in (None, 0.1, None):
        if new is not None:
            engines[-1].record(new)
        load.read_queues()
        counts.append(load.figures().queues["stt"].jobs)
    engines.append(waiting(0.2))
    load.read_queues()
    counts.append(load.figures().queues["stt"].jobs)
    assert counts == [2, 3, 3, 4]
    clock.now_s += WINDOW_S + 1
    assert load.figures().queues == {}
    load.clear()
    load.read_queues()
    assert load.figures().queues == {}, "no new job"


def test_metrics_show_the_load() -> None:
    metrics = Metrics()
    metrics.show_load()
    assert metrics.registry.get_sample_value("repartee_load_seconds", {"of": "loop_lag_p99"}) is None
    metrics.turn(replace(ANSWERED, response_latency_ms=800.0, stages=dict(shares(stt=50.0))))
    waits = waiting(0.25)
    metrics.load.queue_waits = lambda: {"stt": waits}
    metrics.loop_lag(0.003)
    metrics.show_load()
    values = [
        metrics.registry.get_sample_value("repartee_load_seconds", {"of": of})
        for of in ("response_latency_p95", "engine_latency_p95", "loop_lag_p99")
    ]
    assert values == [0.8, 0.05, 0.003]
    assert metrics.registry.get_sample_value("repartee_engine_queue_seconds", {"engine": "stt"}) == 0.25


# ---- admission ----


def test_first_conversations_are_admitted_whatever_is_measured() -> None:
    admission = Admission(overloaded(Clock()), Clock())
    admission.update()
    assert [admission.refusal(sessions) is None for sessions in (0, 1, 2, 3)] == [True, True, False, False]


def test_refusal_names_reason_and_retry_time() -> None:
    admission = Admission(overloaded(Clock()), Clock())
    assert admission.refusal(5) is None, "nothing was compared yet"
    admission.update()
    refusal = admission.refusal(5)
    assert refusal is not None
    assert (refusal.code, refusal.close_code, refusal.retry_after_s) == ("server_busy", 1013, 10)
    assert refusal.message == (
        "The server is busy: the wait for stt is 310 ms at p95, limit 300 ms. Try again in 10 s."
    )
    assert admission.refusal(5) == refusal


def test_conversations_that_begin_together_are_admitted_in_steps() -> None:
    clock = Clock()
    admission = Admission(LoadEstimate(), clock)
    sessions = 0
    admitted = []
    for _ in range(4):
        began = 0
        while admission.refusal(sessions) is None:
            admission.began()
            sessions, began = sessions + 1, began + 1
        admitted.append(began)
        refusal = admission.refusal(sessions)
        assert refusal is not None
        assert refusal.retry_after_s == SILENT_AFTER_S, "they may turn out to send no sound"
        clock.now_s += SILENT_AFTER_S
        refusal = admission.refusal(sessions)
        assert refusal is not None
        assert refusal.retry_after_s == LIMITS.settling_s - SILENT_AFTER_S
        clock.now_s += LIMITS.settling_s - SILENT_AFTER_S
    assert admitted == [8, 8, 8, 12], "at most half of the running ones, or eight"


def test_short_conversations_one_after_another_are_admitted() -> None:
    admission = Admission(LoadEstimate(), Clock())
    for _ in range(100):
        assert admission.refusal(8) is None
        admission.began()
        admission.ended(0.5)


def test_end_of_an_older_conversation_makes_no_place_for_a_new_one() -> None:
    clock = Clock()
    admission = Admission(LoadEstimate(), clock)
    for _ in range(LIMITS.settling_sessions):
        admission.began()
    clock.now_s += 4.0
    admission.ended(LIMITS.settling_s)
    assert admission.refusal(9) is not None
    admission.ended(4.0)
    assert admission.refusal(8) is None
    admission.began()
    assert admission.refusal(9) is not None


async def test_admission_follows_the_load() -> None:
    clock = Clock()
    admission = Admission(overloaded(clock), clock)
    running = asyncio.create_task(admission.run())
    await asyncio.sleep(3.5 * UPDATE_EVERY_S)
    assert admission.refusal(5) is not None
    clock.now_s += WINDOW_S + 1
    await asyncio.sleep(2 * UPDATE_EVERY_S)
    assert admission.refusal(5) is None
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


def test_guide_has_the_limits() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
    table = guide.partition("### How many conversations\n")[2].partition("###")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")][2:]
    assert [limit.strip() for _, limit in rows] == [
        f"{LIMITS.engine_latency_s * 1000:.0f} ms",
        f"{LIMITS.loop_lag_s * 1000:.0f} ms",
        f"{LIMITS.queue_wait_s * 1000:.0f} ms",
        f"{LIMITS.settling_sessions}, or half of the running ones",
    ]
    assert LIMITS.settling_share == 0.5
    assert LIMITS.always_admitted == 2
    assert "From the third conversation on" in table
    assert f"below {LIMITS.release:.0%} of its limit".replace("%", " %") in table
    least = [f"at least {LIMITS.min_turns} turns, reached by at least {MIN_AT_LEAST}",
             f"at least {LIMITS.min_turns} jobs, reached by at least {MIN_AT_LEAST}"]  # fmt: skip
    assert [one for one in least if one not in table] == []
    assert f"response latency, p95, is above {LIMITS.response_latency_s * 1000:.0f} ms" in table.replace("\n", " ")
    assert f"began within {LIMITS.settling_s:.0f} s" in table
