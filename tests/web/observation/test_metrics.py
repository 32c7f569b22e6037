"""The server's Prometheus metrics."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from support.clocks.virtual_time import run_virtual
from support.conversations.answered_turn import ANSWERED as TURN

from assistant.events import ReplySent, ReplyStopped
from assistant.trace.record import TracedAnswer, TracedEvent, TurnRecord
from assistant.turns.events import ReplyId
from audio.queue_wait import QueueWait
from web.observation.health import EngineState
from web.observation.metrics import LATENCY_BUCKETS_S, Metrics, watch_loop_lag


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_lookups_in_the_answer_cache_are_counted_by_their_outcome() -> None:
    metrics = Metrics()
    details = ("attempt 1: miss", "attempt 2: similar: 0.973", "attempt 3: excluded: time or place")
    metrics.turn(replace(TURN, events=tuple(TracedEvent("cache", 1.0, detail) for detail in details)))
    outcomes = ("miss", "similar", "excluded", "exact")
    assert [value(metrics, "repartee_cache_lookups_total", outcome=one) for one in outcomes] == [1, 1, 1, 0]


@pytest.mark.parametrize(
    "failed", [replace(TURN, error="the endpoint failed"), replace(TURN, outcome="stuck")], ids=["error", "stuck"]
)
def test_failed_turn_has_no_latency_in_the_metrics(failed: TurnRecord) -> None:
    metrics = Metrics()
    metrics.turn(failed)
    assert value(metrics, "repartee_turns_total", outcome=failed.outcome) == 1
    assert value(metrics, "repartee_response_latency_seconds_count") == 0
    assert value(metrics, "repartee_stage_seconds_count", stage="endpoint_wait") == 0


def test_turn_is_counted_with_its_latency_and_stages() -> None:
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


def test_turn_with_error_has_no_latency() -> None:
    metrics = Metrics()
    events = (TracedEvent("interrupt", 1.0, "voice"),)
    metrics.turn(replace(TURN, outcome="interrupted", response_latency_ms=None, stages={}, events=events, error="x"))
    assert value(metrics, "repartee_response_latency_seconds_count") == 0
    assert value(metrics, "repartee_interruptions_total") == 1
    assert value(metrics, "repartee_errors_total", where="turn") == 1


def test_apology_has_its_own_latency_and_a_refusal_its_own_count() -> None:
    metrics = Metrics()
    metrics.turn(replace(TURN, outcome="failed", response_latency_ms=235.0, error="x"))
    assert value(metrics, "repartee_response_latency_seconds_count") == 0
    assert value(metrics, "repartee_failed_latency_seconds_sum") == pytest.approx(0.235)
    assert value(metrics, "repartee_turns_total", outcome="failed") == 1
    assert value(metrics, "repartee_refusals_total") == 0
    refusal = TracedAnswer(1, "skills", 0.0, 1.0, 2.0, "refused", None, None, None, 1, 0.0, 0.0, dropped=False)
    metrics.turn(replace(TURN, answers=(refusal,)))
    assert value(metrics, "repartee_refusals_total") == 1
    assert value(metrics, "repartee_response_latency_seconds_count") == 1


def test_buckets_resolve_the_target_band() -> None:
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


def test_engine_metrics_show_current_engines() -> None:
    metrics = Metrics()
    metrics.engines([EngineState("stt", "loading"), EngineState("tts", "ready", "espeak-ng", fallback=True)])
    assert value(metrics, "repartee_engine_ready", stage="stt", engine="") == 0
    assert value(metrics, "repartee_fallback", stage="tts", engine="espeak-ng") == 1
    metrics.engines([EngineState("stt", "ready", "whisper"), EngineState("tts", "ready", "piper")])
    assert value(metrics, "repartee_engine_ready", stage="stt", engine="whisper") == 1
    assert value(metrics, "repartee_engine_ready", stage="stt", engine="") is None
    assert value(metrics, "repartee_fallback", stage="tts", engine="espeak-ng") is None


def test_documentation_names_every_metric() -> None:
    page = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
    for family in Metrics().registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert f"`{name}" in page, name


def test_two_servers_in_one_process_count_separately() -> None:
    one, other = Metrics(), Metrics()
    one.session_began()
    assert value(other, "repartee_sessions") == 0
    assert b"repartee_sessions 1.0" in one.text()[0]


def test_event_loop_stall_is_measured() -> None:
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


# ---- exemplars ----

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


def exemplars(text: str) -> list[tuple[str, dict[str, str], float]]:
    """Returns (sample, labels, trace id and value) of every sample with an exemplar, as Prometheus parses them."""
    return [
        (sample.name, {**sample.labels, **sample.exemplar.labels}, sample.exemplar.value)
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        for sample in family.samples
        if sample.exemplar is not None
    ]


def test_openmetrics_has_exemplars_of_the_last_turn() -> None:
    metrics = Metrics()
    metrics.turn(TURN)
    metrics.turn(replace(TURN, trace_id="f" * 32))
    text, content_type = metrics.text(OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text")
    found = exemplars(text.decode())
    assert ("repartee_response_latency_seconds_bucket", {"le": "0.45", "trace_id": "f" * 32}, 0.435) in found
    stage = {"le": "0.5", "stage": "endpoint_wait", "trace_id": "f" * 32}
    assert ("repartee_stage_seconds_bucket", stage, 0.407) in found


def test_plain_text_format_has_no_exemplars() -> None:
    metrics = Metrics()
    metrics.turn(TURN)
    for accept in ("", "*/*", "text/html", "text/plain;version=0.0.4"):
        text, content_type = metrics.text(accept)
        assert content_type.startswith("text/plain")
        assert b"trace_id" not in text
        assert b"# EOF" not in text


# ---- tokens, exports ----


def test_tokens_of_dropped_attempts_also_count_as_wasted() -> None:
    answer = TracedAnswer(
        attempt=1, by="near", asked_ms=0.0, first_token_ms=1.0, ended_ms=2.0, reason="stop", prompt_tokens=100,
        completion_tokens=10, cached_tokens=80, pieces=10, sound_ms=0.0, voice_ms=0.0, dropped=True,
    )  # fmt: skip
    uncounted = replace(answer, prompt_tokens=None, completion_tokens=None, cached_tokens=None, dropped=False)
    metrics = Metrics()
    metrics.turn(replace(TURN, answers=(answer, replace(answer, attempt=2, dropped=False), uncounted)))
    kinds = ("prompt", "cached", "completion", "wasted")
    assert [value(metrics, "repartee_llm_tokens_total", kind=kind) for kind in kinds] == [200, 160, 20, 110]


def test_lost_span_exports_are_counted() -> None:
    metrics = Metrics()
    assert value(metrics, "repartee_exports_dropped") == 0
    metrics.watch_export(lambda: 7)
    assert value(metrics, "repartee_exports_dropped") == 7


# ---- the dashboard ----

DASHBOARD = json.loads((Path(__file__).parents[3] / "deploy" / "grafana.json").read_text(encoding="utf-8"))
ASKED = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
CHOSEN = [chosen["query"]["query"] for chosen in DASHBOARD["templating"]["list"] if chosen["type"] == "query"]


def served() -> dict[str, set[str]]:
    """Returns the labels of every sample that /metrics can have, by name."""
    metrics = Metrics()
    metrics.session_refused("server_full")
    metrics.request_refused("foreign_origin")
    metrics.wire_error("invalid_json")
    metrics.trouble("connection")
    metrics.engines([EngineState("tts", "ready", "espeak-ng", fallback=True)])
    metrics.turn(TURN)
    waits = QueueWait()
    waits.record(0.1)
    metrics.load.queue_waits = lambda: {"stt": waits}
    metrics.loop_lag(0.001)
    metrics.show_load()
    metrics.engines_loaded()
    metrics.session_began()
    return {
        sample.name: set(sample.labels) | {"job", "instance"}
        for family in metrics.registry.collect()
        for sample in family.samples
    }


def test_dashboard_shows_exactly_the_served_metrics() -> None:
    names = served()
    asked = {name for expr in (*ASKED, *CHOSEN) for name in re.findall(r"repartee_\w+", expr)}
    assert asked <= set(names)
    shown = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in asked}
    assert shown == {family.name for family in Metrics().registry.collect()}


def test_dashboard_uses_existing_labels_and_buckets() -> None:
    names = served()
    for expr in ASKED:
        for name, matchers in re.findall(r"(repartee_\w+)\{([^}]*)\}", expr):
            assert set(re.findall(r"(\w+)=", matchers)) <= names[name] | {"le"}
            for bound in re.findall(r'le="([^"]+)"', matchers):
                assert float(bound) in LATENCY_BUCKETS_S
        for labels in re.findall(r"by \(([^)]*)\)", expr):
            known = set().union(*(names[name] for name in re.findall(r"repartee_\w+", expr))) | {"le"}
            assert {label.strip() for label in labels.split(",")} <= known


def test_dashboard_panels_do_not_overlap_and_have_unique_ids() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))


def test_responses_outside_of_the_conversation_are_counted() -> None:
    metrics, reply_id = Metrics(), ReplyId(0, 1)
    metrics.out_of_band(ReplySent(reply_id, "yes", None, None, 100, 10, 80))
    metrics.out_of_band(ReplySent(reply_id, "yes", "it broke", None, None, None))
    metrics.out_of_band(ReplyStopped(reply_id, "", 0.0, "client"))
    tokens = [
        value(metrics, "repartee_out_of_band_tokens_total", kind=kind) for kind in ("prompt", "cached", "completion")
    ]
    ended = [
        value(metrics, "repartee_out_of_band_responses_total", status=status)
        for status in ("completed", "failed", "cancelled")
    ]
    assert (tokens, ended) == ([100, 80, 10], [1, 1, 1])
