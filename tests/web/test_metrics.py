"""What Prometheus is told."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from virtual_time import run_virtual

from assistant.latency import Share
from assistant.record import TracedEvent, TurnRecord
from web.health import EngineState
from web.metrics import LATENCY_BUCKETS_S, Metrics, watch_loop_lag

TURN = TurnRecord(
    schema=1,
    conversation="c",
    turn=1,
    started_at="2026-01-01T00:00:00Z",
    outcome="answered",
    rough=False,
    speech_start_ms=100.0,
    speech_end_ms=1000.0,
    speech_end_bias_ms=30.0,
    endpoint_ms=1400.0,
    playout_start_ms=1435.0,
    response_latency_ms=435.0,
    no_latency_reason=None,
    stages={"endpoint_wait": Share(407.0, 0.0), "tts": Share(28.0, 0.0)},
    spans=(),
    events=(TracedEvent("dropped", 1.0, "attempt 1: voice"), TracedEvent("commit", 2.0, "attempt 2")),
    attempts=2,
    hearings=(),
    engines={},
    fallbacks=(),
    error=None,
    counters={},
    words=None,
)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_a_turn_is_counted_with_its_latency_and_stages() -> None:
    metrics = Metrics()
    metrics.turn(TURN)
    assert value(metrics, "repartee_turns_total", outcome="answered") == 1
    assert value(metrics, "repartee_turns_total", outcome="failed") == 0
    assert value(metrics, "repartee_response_latency_seconds_bucket", le="0.45") == 1
    assert value(metrics, "repartee_response_latency_seconds_bucket", le="0.4") == 0
    assert value(metrics, "repartee_response_latency_seconds_sum") == pytest.approx(0.435)
    assert value(metrics, "repartee_stage_seconds_sum", stage="endpoint_wait") == pytest.approx(0.407)
    assert value(metrics, "repartee_stage_seconds_count", stage="stt") == 0
    assert value(metrics, "repartee_attempts_dropped_total") == 1
    assert value(metrics, "repartee_interruptions_total") == 0


def test_a_turn_without_latency_and_with_an_error() -> None:
    metrics = Metrics()
    events = (TracedEvent("interrupt", 1.0, "voice"),)
    metrics.turn(replace(TURN, outcome="interrupted", response_latency_ms=None, stages={}, events=events, error="x"))
    assert value(metrics, "repartee_response_latency_seconds_count") == 0
    assert value(metrics, "repartee_interruptions_total") == 1
    assert value(metrics, "repartee_errors_total", where="turn") == 1


def test_the_band_we_promise_is_resolved() -> None:
    assert {0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5} <= set(LATENCY_BUCKETS_S)


def test_connections_are_counted() -> None:
    metrics = Metrics()
    for _ in range(3):
        metrics.session_began()
    metrics.session_ended(12.0)
    metrics.session_refused("server_full")
    metrics.request_refused("foreign_origin")
    metrics.wire_error("invalid_json")
    metrics.trouble("connection")
    metrics.throttled(0.5)
    assert value(metrics, "repartee_sessions") == 2
    assert value(metrics, "repartee_sessions_begun_total") == 3
    assert value(metrics, "repartee_session_seconds_bucket", le="15.0") == 1
    assert value(metrics, "repartee_sessions_refused_total", reason="server_full") == 1
    assert value(metrics, "repartee_requests_refused_total", reason="foreign_origin") == 1
    assert value(metrics, "repartee_wire_errors_total", code="invalid_json") == 1
    assert value(metrics, "repartee_errors_total", where="connection") == 1
    assert value(metrics, "repartee_throttled_seconds_total") == 0.5


def test_engines_and_fallbacks_are_those_of_now() -> None:
    metrics = Metrics()
    metrics.engines([EngineState("stt", "loading"), EngineState("tts", "ready", "espeak-ng", fallback=True)])
    assert value(metrics, "repartee_engine_ready", stage="stt", engine="") == 0
    assert value(metrics, "repartee_fallback", stage="tts", engine="espeak-ng") == 1
    metrics.engines([EngineState("stt", "ready", "whisper"), EngineState("tts", "ready", "piper")])
    assert value(metrics, "repartee_engine_ready", stage="stt", engine="whisper") == 1
    assert value(metrics, "repartee_engine_ready", stage="stt", engine="") is None
    assert value(metrics, "repartee_fallback", stage="tts", engine="espeak-ng") is None


def test_the_documentation_names_every_figure() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "serving.md").read_text(encoding="utf-8")
    for family in Metrics().registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert f"`{name}" in page, name


def test_two_servers_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.session_began()
    assert value(other, "repartee_sessions") == 0
    assert b"repartee_sessions 1.0" in one.text()


def test_a_stall_of_the_event_loop_is_seen() -> None:
    metrics = Metrics()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(1.05), asyncio.TaskGroup() as group:
                group.create_task(watch_loop_lag(metrics))
                await asyncio.sleep(0.55)
                loop.stall(0.2)  # type: ignore[attr-defined]  # of the virtual loop
                await asyncio.sleep(10)
        except TimeoutError:
            pass

    run_virtual(main())
    count = value(metrics, "repartee_event_loop_lag_seconds_count")
    assert count is not None
    assert count >= 7
    assert value(metrics, "repartee_event_loop_lag_seconds_bucket", le="0.1") == count - 1
    assert value(metrics, "repartee_event_loop_lag_seconds_sum") == pytest.approx(0.15)
