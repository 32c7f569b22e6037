"""Tests tables of figures at different widths."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console
from support.conversations.trace_samples import DEMO

from assistant.trace_report.counting import count_turns
from assistant.trace_report.sheet import Sheet
from assistant.trace_report.text import sheets

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


@pytest.mark.parametrize("width", [50, 80, 100, 160], ids="{} columns".format)
def test_report_is_never_cut(width: int) -> None:
    for sheet in sheets(count_turns([DEMO], 0, lambda what: None)[0].figures()):
        lines = list(shown(sheet, width))
        assert "…" not in "".join(lines)
        assert max(map(len, lines)) <= width
        figures = {cell for row in sheet.rows for cell in row[1:]}
        assert all(line.rsplit("  ", 1)[1].strip() in figures for line in lines[1:])
