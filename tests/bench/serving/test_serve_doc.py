"""Tests the figures on a page, and the tables of variants."""

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from bench.serving.compare import comparison
from bench.serving.doc import BEGIN, END, document, write_page
from bench.serving.rows import Cost, CurvePoint, Row, Run
from bench.serving.trade import curve_table, engines_table, profiles_table
from bench.serving.variants import engines_of, of_engine, of_profile, profiles_of

RUN = Run(
    "python -m bench.serve",
    "2026-01-01T10:00:00+00:00",
    2,
    0.02,
    costs=(Cost("turns", 2.0, 5.0, 1.0, 8.0), Cost("turns", 1.0, 5.0, 1.0, 0.0, "whisper-base")),
    rows=(
        Row("turns", "a", latency_ms=300.0),
        Row("turns", "b", latency_ms=900.0),
        Row("paused", "c", latency_ms=100.0, cut_in=True),
        Row("turns", "a", latency_ms=500.0, variant="patient"),
        Row("paused", "c", latency_ms=700.0, variant="patient"),
        Row("turns", "a", latency_ms=450.0, variant="whisper-base"),
    ),
    curve=(
        CurvePoint("fixed", "300 ms", 300.0, 300.0, 1.0, 0.1),
        CurvePoint("fixed", "400 ms", 400.0, 400.0, 0.75, 0.0),
        CurvePoint("profile", "patient", 350.0, 800.0, 0.5, 0.0),
    ),
)
PAGE = f"# Performance\n\nSaid by hand.\n\n{BEGIN}\n\nold figures\n\n{END}\n\n## After\n"


def test_only_text_between_marks_is_replaced() -> None:
    text = document(PAGE, RUN, "performance")
    assert text.startswith(
        f"# Performance\n\nSaid by hand.\n\n{BEGIN}\n\n`python -m bench.serve`, 2026-01-01 10:00 UTC"
    )
    assert text.endswith(f"\n\n{END}\n\n## After\n")
    assert "old figures" not in text
    assert document(text, RUN, "performance") == text


def test_unmeasured_parts_are_not_on_page() -> None:
    text = document(PAGE, RUN, "performance")
    assert "## Turns" in text
    assert "](performance-curve.svg)" in text
    assert "## Interruptions" not in text
    assert "sweep" not in text


def test_page_without_marks_is_rejected(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Performance\n")
    with pytest.raises(SystemExit, match="has no place for the figures: put a line"):
        write_page(RUN, page)


def test_plots_are_stored_beside_page(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(PAGE)
    written = write_page(RUN, page)
    assert [path.name for path in written] == ["performance.md", "performance-latencies.svg", "performance-curve.svg"]
    text = page.read_text()
    assert all(path.exists() for path in written)
    assert all(f"]({path.name})" in text for path in written[1:])


def test_variants_are_compared_on_the_same_clips() -> None:
    _, _, own, patient = profiles_table(RUN).splitlines()
    assert own == "| auto (this run's) | 1 | 300 / 300, 0 % | 1 | 100 % |"
    assert patient == "| patient | 1 | 500 / 500, 0 % | 1 | 0 %, 700 / 700 |"


def test_recognizer_table_includes_processor_time() -> None:
    _, _, own, whisper = engines_table(RUN).splitlines()
    assert own.startswith("| this run's | 1 | 300 / 300, 0 % |")
    assert own.endswith("| 0 | 7.0 |")
    assert whisper.startswith("| whisper-base | 1 | 450 / 450, 0 % |")
    assert whisper.endswith("| 0 | 6.0 |")


def test_curve_table_has_every_second_setting_and_each_profile() -> None:
    assert curve_table(RUN).splitlines()[2:] == [
        "| fixed, 300 ms | 300 / 300 | 100 % | 10 % |",
        "| profile, patient | 350 / 800 | 50 % | 0 % |",
    ]


def test_figure_of_only_one_run_is_compared_with_dash() -> None:
    table = comparison(replace(RUN, rows=RUN.rows[:3]), RUN)
    assert "| patient plain turns: latency p50 / p95 / max ms | — | 500 / 500 / 500 |" in table
    assert "| computed: patient, wait p50 / p95 ms, cut into | 350 / 800, 50 % | 350 / 800, 50 % |" in table


def test_variants_are_selected_by_name() -> None:
    assert profiles_of("patient,eager") == ["patient", "eager"]
    assert engines_of("") == []
    with pytest.raises(argparse.ArgumentTypeError, match="unknown: whisper-huge; choose from whisper-tiny"):
        engines_of("whisper-tiny,whisper-huge")


def test_variant_defines_how_server_is_started(tmp_path: Path) -> None:
    assert of_profile("eager").settings == ("turn.profile=eager",)
    assert of_engine("whisper-base", tmp_path).program[1:] == (
        "bench.conversations.whisper_server",
        "base",
        str(tmp_path),
    )
