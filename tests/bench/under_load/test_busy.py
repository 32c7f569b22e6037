"""Figures of conversations on a busy machine, and the programs that make it busy."""

import asyncio
from pathlib import Path

from bench.doc_tables import document
from bench.under_load.busy import Load, others
from bench.under_load.busy_figures import BEGIN, HEADS, BusyStep, figures_table, section
from bench.under_load.load_figures import LoadTurn

TURNS = (
    LoadTurn(0, 400.0, late_ms=3.0),
    LoadTurn(0, 600.0, late_ms=3.0),
    LoadTurn(1, 9000.0, late_ms=70.0),
    LoadTurn(1, None, late_ms=70.0),
    LoadTurn(2, lost="the server closed the connection"),
)
STEP = BusyStep("16 spinning", 0.91, TURNS, 300.0, 420.4, 310.0, 1, 3)


def test_row_has_the_measured_values() -> None:
    cells = [cell.strip() for cell in figures_table([STEP]).splitlines()[2].strip("|").split("|")]
    assert dict(zip(HEADS, cells, strict=True)) == {
        "other programs": "16 spinning", "their share of the processors": "91 %", "turns": "4", "answered": "75 %",
        "latency p50 / p95 ms": "600 / 8160", "slowest s": "9.0", "refused or lost": "1",
        "memory before, most, after MB": "300, 420, 310", "engine restarts": "1", "left out": "level 3",
        "client late p99 ms": "70",
    }  # fmt: skip


def test_section_fits_into_the_page() -> None:
    page = Path("docs/performance.md").read_text(encoding="utf-8")
    text = section("python -m bench.under_load.busy", "2026-01-01T10:00:00+00:00", 2, ["stt.model=tiny.en"], [STEP])
    assert text in document(page, text, BEGIN)


def test_other_programs_end_with_the_measurement() -> None:
    async def run() -> tuple[list[int], list[bool]]:
        async with others(Load("three", spinning=1, installs=True)) as running:
            return running, [runs(pid) for pid in running]

    running, ran = asyncio.run(run())
    assert ran == [True] * 3
    assert not any(map(runs, running))


def runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
