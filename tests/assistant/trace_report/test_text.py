"""All formats of a report have the same content, and tables fit the width."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support.conversations.trace_samples import DEMO, demo_records, slower, write_trace

from assistant.trace.latency import STAGES
from assistant.trace_report.counting import count_turns
from assistant.trace_report.figures import Figures
from assistant.trace_report.sheet import Sheet
from assistant.trace_report.text import as_csv, as_json, headline, sentences, sheets


def figures() -> Figures:
    return count_turns([DEMO], 0, lambda what: None)[0].figures()


def test_json_holds_every_figure_with_interval() -> None:
    read = json.loads(as_json(figures()))
    assert set(read) == set(Figures.__dataclass_fields__)
    p95 = read["latency"]["percentiles"]["95"]
    assert set(p95) == {"value", "low", "high", "enough"}
    assert p95["enough"] is False
    assert list(read["stages"]) == list(STAGES)


def test_csv_has_one_row_per_stage() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(figures()))))
    assert [row["stage"] for row in rows] == ["response latency", *STAGES]
    assert rows[0]["turns"] == "5"
    assert float(rows[0]["p50_low_ms"]) <= float(rows[0]["p50_ms"]) <= float(rows[0]["p50_high_ms"])
    assert float(rows[0]["max_ms"]) == 285.1


def test_turns_stopped_without_a_voice_are_counted_apart() -> None:
    found = count_turns([DEMO], 0, lambda what: None)[0].figures()
    (alike,) = [line for line in sentences(found) if line.startswith("interruptions")]
    assert "by voice" not in alike
    more = replace(found, outcomes={"answered": 2, "interrupted": 3})
    (line,) = [line for line in sentences(more) if line.startswith("interruptions")]
    assert line.endswith(") by voice; 2 more by a key, a client or the end of the conversation")


def test_time_of_being_talked_over_is_named(tmp_path: Path) -> None:
    first, second, *others = demo_records()
    records = [first | {"overlap_ms": 100.0}, second | {"overlap_ms": 300.0}, *others]
    found = count_turns([write_trace(tmp_path / "a.jsonl", records)], 0, lambda what: None)[0].figures()
    (line,) = [line for line in sentences(found) if line.startswith("talked over")]
    assert "2 turns: a reply was heard beside the user's speech for p50 " in line
    assert not [line for line in sentences(figures()) if line.startswith("talked over")]


def test_busy_machine_is_named(tmp_path: Path) -> None:
    first, second, *others = demo_records()
    records = [first | {"busy_others": 0.8}, second | {"busy_others": 0.9}, *others]
    found = count_turns([write_trace(tmp_path / "a.jsonl", records)], 0, lambda what: None)[0].figures()
    (line,) = [line for line in sentences(found) if line.startswith("busy machine")]
    assert "2 of 5" in line
    assert line.endswith("other programs used 85% of it")
    assert not [line for line in sentences(figures()) if line.startswith("busy machine")]


def test_tail_of_one_turn_is_singular(tmp_path: Path) -> None:
    records = [record for ms in range(4) for record in slower(demo_records(), "tts", ms)]
    found = count_turns([write_trace(tmp_path / "a.jsonl", records)], 0, lambda what: None)[0].figures()
    assert sentences(found)[0].startswith("slow tail         the slowest turn, from ")
    assert sentences(found)[1].strip() == "(it exceeds its own median by the most in 1 of 1)"


def test_enough_turns_give_no_warning(tmp_path: Path) -> None:
    records = [record for ms in range(60) for record in slower(demo_records(), "tts", ms)]
    found = count_turns([write_trace(tmp_path / "many.jsonl", records)], 0, lambda what: None)[0].figures()
    assert not any(line.startswith("too few turns") for line in sentences(found))
    assert any("stt dominates" in line for line in sentences(found))
    assert headline(found)[0].startswith("300 turns of 1 conversation:")


SHEET = Sheet(
    "ms", ("turns", "p50", "p95"), [("the one far away", "7", "1234 (1200–1260)", "2345 (2300–2400)")], (1, 0)
)
"""Widths: 16 + 2 for the name, 5 + 2, twice 16 + 2."""


def shown(sheet: Sheet, width: int) -> Iterator[str]:
    text = io.StringIO()
    Console(file=text, width=width).print(sheet.table(width))
    return (line.rstrip() for line in text.getvalue().splitlines()[1:])


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (61, ["turns p50 p95", "the one far away 7 1234 (1200–1260) 2345 (2300–2400)"]),
        (60, ["turns p95", "the one far away 7 2345 (2300–2400)"]),
        (42, ["p95", "the one far away 2345 (2300–2400)"]),
        (30, ["p95", "the one far 2345 (2300–2400)", "away"]),
    ],
    ids=["61 columns", "60 columns", "42 columns", "30 columns"],
)
def test_columns_are_left_out_in_order_and_no_figure_is_cut(width: int, lines: list[str]) -> None:
    assert SHEET.width == 61
    assert [" ".join(line.split()) for line in shown(SHEET, width)] == lines


@pytest.mark.parametrize("width", [50, 100], ids="{} columns".format)
def test_report_is_never_cut(width: int) -> None:
    for sheet in sheets(count_turns([DEMO], 0, lambda what: None)[0].figures()):
        lines = list(shown(sheet, width))
        assert "…" not in "".join(lines)
        assert max(map(len, lines)) <= width
        figures = {cell for row in sheet.rows for cell in row[1:]}
        assert all(line.rsplit("  ", 1)[1].strip() in figures for line in lines[1:])
