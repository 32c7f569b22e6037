"""Tests the report of a run, and that a stored run can be read."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.serve import parts_of
from bench.serving.compare import comparison
from bench.serving.plots import plot
from bench.serving.rows import Cost, Row, Run, read, write
from bench.serving.scenarios import was_asked
from bench.serving.table import conditions, main_table, report

RUN = Run(
    "python -m bench.serve",
    "2026-01-01T10:00:00+00:00",
    2,
    0.02,
    2.5,
    ("stt faster-whisper", "tts espeak-ng"),
    (Cost("turns", 2.0, 5.0, 1.0, 8.0),),
    (
        Row("turns", "a", latency_ms=300.0, replies=1, errors=1, words=10),
        Row("turns", "b", latency_ms=500.0, replies=1, late_ms=3.25),
        Row("paused", "c", latency_ms=100.0, cut_in=True),
        Row("paused", "d", latency_ms=800.0),
        Row("bargein", "a", stop_ms=250.0, duck_ms=100.0, latency_ms=320.0),
        Row("hold", "n", held=True),
        Row("hold", "n", held=False, why="no reply during the noise"),
        Row("noise", "n", seconds=30.0, starts=1),
        Row("warmup", "a", start=1, number=1, latency_ms=350.0),
        Row("warmup", "a", start=1, number=2, latency_ms=310.0),
        Row("sweep", "a", ttft_ms=100, tokens_per_s=50, latency_ms=300.0),
        Row("sweep", "a", ttft_ms=500, tokens_per_s=50, latency_ms=700.0),
    ),
)


def test_main_table_compares_this_project_with_peers() -> None:
    lines = main_table(RUN).splitlines()
    assert lines[2] == "| **Repartee, this run** | 400 / 490, 0 % | 50 %, 800 / 800 | 100 / 100; 250 / 250 |"
    assert all(line.count("|") == 5 for line in lines[:7])


@pytest.mark.parametrize(
    ("others", "said"),
    [(0.02, "quiet"), (0.4, "busy: other programs took 40 %"), (None, "not known")],
    ids=["quiet", "busy", "unknown"],
)
def test_report_states_machine_load(others: float | None, said: str) -> None:
    assert said in conditions(replace(RUN, others=others))


def test_late_client_is_reported() -> None:
    assert "part of the figures" not in conditions(RUN)
    late = replace(RUN, rows=(replace(RUN.rows[0], late_ms=30.0),))
    assert "30.0 ms late" in conditions(late)
    assert "part of the figures" in conditions(late)


def test_report_omits_local_ports_and_folders() -> None:
    engines = ("stt faster-whisper /tmp/abc/tiny, int8", "llm controlled at http://127.0.0.1:4711/v1")
    text = conditions(replace(RUN, engines=engines))
    assert text.endswith("stt faster-whisper tiny, int8; llm controlled")


def test_unmeasured_scenario_is_reported_once_with_reason() -> None:
    lost = Row("sessions", "a", lost="received 1013 (try again later).")
    text = conditions(replace(RUN, rows=(*RUN.rows, lost, lost)))
    assert text.endswith("\nNot measured: 2 of sessions: received 1013 (try again later).")


def test_report_has_everything_measured() -> None:
    text = report(RUN)
    for said in (
        "| plain turns | 2 | 400 / 490 / 500 | 0 | — | 0 | 0 | 0 | 0 | 0 | 10 % |",
        "`repartee.duck` after 100 / 100 ms",
        "Hold: 1 of 2 replies were not stopped by a noise (1 no reply during the noise); 0 void",
        "2.0 false starts per minute",
        "first turns after a start 350 ms; those after them 310 ms",
        "500 ms are exceeded at 300 ms",
        "| turns | 2.0 | 2.50 | 0.50 | 4.00 | 3.00 / 7.00 |",
    ):
        assert said in text


def test_no_table_without_measurements() -> None:
    text = report(replace(RUN, rows=(), costs=()))
    assert "| **Repartee, this run** | — | — | — |" in text
    assert text.count("\n\n") == 2


def test_stored_run_can_be_read_and_compared(tmp_path: Path) -> None:
    traced = replace(RUN.rows[0], traces=({"response_latency_ms": None},))
    run = replace(RUN, rows=(traced, *RUN.rows[1:]))
    write(run, tmp_path)
    assert read(tmp_path) == run
    table = comparison(run, replace(run, rows=(replace(traced, latency_ms=200.0), *run.rows[1:])))
    assert "| plain turns: latency p50 / p95 / max ms | 400 / 490 / 500 | 350 / 485 / 500 |" in table
    assert "several at once" not in table  # neither run has it


def test_folder_without_run_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="contains no run"):
        read(tmp_path)


def test_plots_are_drawn_for_available_figures(tmp_path: Path) -> None:
    assert [path.name for path in plot(RUN, tmp_path)] == ["latencies.svg", "sweep.svg"]
    first = (tmp_path / "sweep.svg").read_bytes()
    plot(RUN, tmp_path)
    assert (tmp_path / "sweep.svg").read_bytes() == first
    assert plot(replace(RUN, rows=()), tmp_path) == []


def test_parts_are_played_in_order() -> None:
    assert parts_of("curve,noise,turns") == ["turns", "noise", "curve"]
    with pytest.raises(Exception, match="unknown: naps"):
        parts_of("turns,naps")


@pytest.mark.parametrize(
    ("heard", "asked", "same"),
    [
        (["What time is it?"], ["what time is it"], True),
        (["a coffee", "with milk"], ["a coffee", "a coffee with milk"], True),
        (["a coffee", "with milk"], ["with milk"], True),
        (["a coffee", "with milk"], ["a coffee"], False),
        (["what time is it"], ["what time is"], False),
        ([], ["hello"], False),
    ],
    ids=["same words", "joined words", "last words only", "missing words", "truncated words", "additional words"],
)
def test_llm_was_asked_the_recognized_words(heard: list[str], asked: list[str], same: bool) -> None:
    assert was_asked(heard, asked) is same
