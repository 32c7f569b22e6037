"""Tests the figures computed from rows."""

from typing import Any

import pytest

from bench.serving.figures import (
    band_ends_at,
    bargein_figures,
    false_starts_per_minute,
    first_and_later,
    own_spread,
    per_minute,
    spread,
    stage_spreads,
    sweep_points,
    turn_figures,
)
from bench.serving.rows import Cost, Row, total

STAGES = (
    "endpoint_wait",
    "stt",
    "queue",
    "llm_network",
    "llm_first_token",
    "first_sentence",
    "tts",
    "transport",
    "playout",
)


def turn(latency_ms: float | None, **more: Any) -> Row:
    return Row("turns", "a", latency_ms=latency_ms, replies=1, **more)


def traced(latency_ms: float, wait_ms: float) -> dict[str, Any]:
    stages = {stage: {"ms": 0.0, "slack_ms": 0.0} for stage in STAGES}
    stages["endpoint_wait"]["ms"] = wait_ms
    stages["tts"]["ms"] = latency_ms - wait_ms
    return {"response_latency_ms": latency_ms, "stages": stages, "spans": [], "speech_end_ms": 0.0}


def test_spread_interpolates_between_nearest_values() -> None:
    one = spread(float(value) for value in range(1, 101))
    assert one is not None
    assert (one.count, one.p50, one.maximum) == (100, 50.5, 100)
    assert one.p95 == pytest.approx(95.05)
    assert spread([]) is None


def test_turns_with_cut_in_have_no_latency() -> None:
    figures = turn_figures([turn(300.0), turn(20.0, cut_in=True), turn(None), turn(70.0)])
    assert figures.latency is not None
    assert (figures.latency.count, figures.latency.maximum) == (2, 300)
    # A turn answered too soon after a cut-in counts as premature, too.
    assert (figures.turns, figures.talked_over, figures.unanswered, figures.premature) == (4, 1, 1, 2)
    assert figures.talked_over_share == 0.25


def test_overlap_is_computed_over_turns_with_cut_in() -> None:
    figures = turn_figures([turn(300.0), turn(20.0, cut_in=True, overlap_ms=140.0)])
    assert figures.overlap is not None
    assert (figures.overlap.count, figures.overlap.maximum) == (1, 140)


def test_lost_turns_do_not_count_as_turns() -> None:
    figures = turn_figures([turn(300.0), turn(None, lost="the server closed the connection")])
    assert (figures.turns, figures.lost, figures.unanswered) == (1, 1, 0)


def test_word_errors_need_a_transcript() -> None:
    assert turn_figures([turn(1.0, errors=1, words=4), turn(1.0)]).word_errors == 0.25
    assert turn_figures([turn(1.0)]).word_errors is None


def test_wrong_replies_are_counted() -> None:
    rows = [
        turn(300.0, wrong_reply=True),
        turn(300.0, other_words=True),
        Row("turns", "a", latency_ms=300.0, replies=2),
    ]
    figures = turn_figures(rows)
    assert (figures.wrong_replies, figures.other_words, figures.several) == (1, 1, 1)


def test_unnoticed_interruption_is_missed() -> None:
    rows = [
        Row("bargein", "a", stop_ms=200.0, duck_ms=100.0, latency_ms=300.0),
        Row("bargein", "a"),
        Row("bargein", "a", why="stopped before any speech"),
        Row("bargein", "a", lost="the reply had already ended"),
    ]
    figures = bargein_figures(rows)
    assert figures.stop is not None
    assert (figures.tried, figures.void, figures.missed, figures.stop.count) == (3, 1, 2, 1)


def test_false_starts_are_counted_per_minute_of_noise() -> None:
    assert false_starts_per_minute([Row("noise", "a", seconds=20, starts=1), Row("noise", "b", seconds=10)]) == 2
    assert false_starts_per_minute([]) is None


def test_stages_come_from_traces_of_valid_turns() -> None:
    rows = [
        turn(310.0, traces=(traced(300, 200),)),
        turn(20.0, cut_in=True, traces=(traced(5000, 5000),)),
        turn(400.0, traces=({"response_latency_ms": None}, traced(400, 300))),
        turn(400.0),
    ]
    found = stage_spreads(rows)
    assert list(found) == ["endpoint_wait", "tts", "outside"]
    assert (found["endpoint_wait"].count, found["endpoint_wait"].maximum, found["tts"].p50) == (2, 300, 100)
    assert found["outside"].maximum == 10


def test_no_own_share_without_traces() -> None:
    assert own_spread([turn(300.0)]) is None


def test_first_turn_of_each_start_is_separate() -> None:
    rows = [
        Row("warmup", "a", start=start, number=number, latency_ms=start * 100.0 + number)
        for start in (1, 2)
        for number in (1, 2, 3)
    ]
    assert first_and_later(rows) == ([101, 201], [102, 103, 202, 203])


def test_processor_time_is_given_per_minute_of_conversation() -> None:
    assert per_minute(Cost("sessions", 8.0, loop_s=16, threads_s=8, engines_s=40)) == (3, 8)
    assert per_minute(Cost("turns", 0.0, 1, 1, 1)) == (0, 0)


def swept(ttft_ms: float, rate: float, *latencies_ms: float) -> list[Row]:
    return [Row("sweep", "a", ttft_ms=ttft_ms, tokens_per_s=rate, latency_ms=ms) for ms in latencies_ms]


SWEEP = [
    *swept(100, 50, 300, 320), *swept(400, 50, 500, 700), *swept(50, 50, 290),
    *swept(100, 5, 900), *swept(100, 20, 400),
]  # fmt: skip


def test_sweep_has_two_halves_that_cross() -> None:
    waits, rates = sweep_points(SWEEP, by_rate=False), sweep_points(SWEEP, by_rate=True)
    assert [point.value for point in waits] == [50, 100, 400]
    assert [point.value for point in rates] == [5, 20, 50]
    assert (waits[2].median_ms, waits[2].least_ms, waits[2].most_ms) == (600, 500, 700)
    assert sweep_points([], by_rate=True) == []


def test_latency_limit_is_interpolated_between_points() -> None:
    waits, rates = sweep_points(SWEEP, by_rate=False), sweep_points(SWEEP, by_rate=True)
    assert band_ends_at(waits) == pytest.approx(100 + 300 * (500 - 310) / (600 - 310))
    assert band_ends_at(rates) == pytest.approx(5 + 15 * 400 / 500)
    assert band_ends_at(waits, 10_000) is None


def test_costs_of_several_starts_are_summed() -> None:
    costs = [Cost("warmup", 1, 2, 3, 4), Cost("turns", 1, 1, 1, 1), Cost("warmup", 2, 1, 1, 1)]
    assert total(costs) == (Cost("warmup", 3, 3, 4, 5), Cost("turns", 1, 1, 1, 1))


def test_costs_of_variants_are_separate() -> None:
    costs = [Cost("turns", 1, 1, 1, 1), Cost("turns", 1, 2, 2, 2, "patient")]
    assert total(costs) == tuple(costs)
