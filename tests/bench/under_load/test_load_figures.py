"""Figures of many conversations at once, and their place on a page."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.doc_tables import document
from bench.under_load.load import LoadPlan
from bench.under_load.load_figures import (
    BEGIN,
    HEADS,
    LoadRun,
    LoadStep,
    LoadTurn,
    ServerUse,
    figures_table,
    refusals_of,
    sample_of,
    section,
    turn_line,
    turns_of,
)

TURNS = (
    LoadTurn(0, 400.0, late_ms=3.0, connected_s=60.0),
    LoadTurn(0, 600.0, late_ms=3.0, connected_s=60.0),
    LoadTurn(1, 500.0, late_ms=7.0, connected_s=120.0),
    LoadTurn(1, 50.0, cut_in=True, late_ms=7.0, connected_s=120.0),
    LoadTurn(1, None, late_ms=7.0, connected_s=120.0),
    LoadTurn(2, lost="the server closed the connection", connected_s=0.1),
    LoadTurn(3, lost="the server closed the connection", connected_s=30.0),
)
USE = ServerUse(9.0, 18.0, 1.5, 300.0, 320.0, 4.25, (("server_busy", 1),))
STEP = LoadStep(4, TURNS, USE, 0.125)
RUN = LoadRun("python -m bench.under_load.load", "2026-01-01T10:00:00+00:00", 2, ("stt.model=tiny.en",), (STEP,))


def test_figures_of_a_step_count_every_turn_once() -> None:
    assert STEP.latency is not None
    assert (STEP.latency.count, STEP.latency.p50) == (3, 500.0)
    assert (STEP.unanswered, STEP.refused, STEP.lost) == (1, 1, 1)
    assert STEP.minutes == pytest.approx(3.0)
    assert STEP.per_minute(USE.loop_s) == pytest.approx(3.0)
    assert STEP.mb_each == pytest.approx(10.0)


def test_table_has_a_row_for_each_step_with_the_measured_values() -> None:
    lines = figures_table(RUN).splitlines()
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert dict(zip(HEADS, cells, strict=True)) == {
        "at once": "4", "turns": "5", "latency p50 / p95 ms": "500 / 590", "cut into": "1", "unanswered": "1",
        "refused": "1 server_busy", "lost": "1", "loop lag p99 ms": "4.2", "CPU s per minute: event loop": "3.00",
        "recognizer and voice": "6.00", "other threads": "0.50", "MB each": "10.0", "client late p99 ms": "7",
        "other programs": "12 %",
    }  # fmt: skip


def test_unknown_values_are_shown_as_unknown() -> None:
    step = LoadStep(1, (), ServerUse(None, None, None, None, None, None), None)
    assert figures_table(replace(RUN, steps=(step,))).splitlines()[2].count("—") == 8


def test_figures_have_the_command_the_time_and_the_settings() -> None:
    text = section(RUN)
    assert text.startswith(
        "`python -m bench.under_load.load`, 2026-01-01 10:00 UTC, 2 cores. Settings: `stt.model=tiny.en`."
    )
    assert figures_table(RUN) in text


def test_performance_page_has_a_place_for_the_figures() -> None:
    page = (Path(__file__).parents[3] / "docs" / "performance.md").read_text(encoding="utf-8")
    written = document(page, section(RUN), BEGIN)
    assert section(RUN) in written
    assert document(written, section(RUN), BEGIN) == written
    assert written.partition(BEGIN)[0] == page.partition(BEGIN)[0]


def test_turns_travel_between_processes() -> None:
    assert turns_of([turn_line(turn) for turn in TURNS]) == TURNS


def test_samples_are_read_from_the_metrics() -> None:
    metrics = (
        "# HELP repartee_load_seconds Figures\n"
        'repartee_load_seconds{of="loop_lag_p99"} 0.00425\n'
        'repartee_sessions_refused_total{reason="server_full"} 2.0\n'
        'repartee_sessions_refused_total{reason="server_busy"} 1.0\n'
        "repartee_tasks 7.0\n"
    )
    assert sample_of(metrics, "repartee_load_seconds", 'of="loop_lag_p99"') == 0.00425
    assert sample_of(metrics, "repartee_tasks") == 7.0
    assert sample_of(metrics, "repartee_load") is None
    assert refusals_of(metrics) == (("server_busy", 1), ("server_full", 2))


@pytest.mark.parametrize(("admission", "setting"), [(True, "measured"), (False, "fixed")])
def test_own_settings_come_last(admission: bool, setting: str) -> None:
    plan = LoadPlan((8,), 4, admission, ("stt.model=base",), Path("manifest"), Path("out"))
    settings = plan.server_settings(24)
    assert settings[-1] == "stt.model=base"
    assert {"server.max_sessions=24", f"server.admission={setting}"} <= set(settings)
