"""Reports of a measurement: table, JSON and plot."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from assistant.commands.engine_bench.bench import BenchReport, BenchRow, MedianAndP95
from assistant.commands.engine_bench.report import as_json, tables, write
from assistant.commands.engine_bench.words import WordErrors
from audio.errors import AudioFileError

HEARD = BenchRow(
    "stt",
    "faster-whisper",
    "",
    "",
    650.0,
    MedianAndP95(4.4, 30.2),
    MedianAndP95(311.0, 350.0),
    0.214,
    WordErrors(3, 12),
)
MISSING = BenchRow("stt", "faster-whisper", "base.en", "missing: repartee models pull base.en")
SPOKEN = BenchRow("tts", "espeak-ng", "", "", 31.0, MedianAndP95(1.2, 2.0), None, 0.002)


def report(*rows: BenchRow) -> BenchReport:
    return BenchReport(rows, clips=5, speech_s=5.5, asked_after_ms=400, machine="Linux, 2 cores")


def shown(*rows: BenchRow) -> str:
    console = Console(width=100)
    with console.capture() as capture:
        for table in tables(report(*rows)):
            console.print(table)
    return capture.get()


def test_tables_fit_80_columns() -> None:
    long = replace(HEARD, setting="large-v3-turbo, adaptive, 2 threads", words_in_noise=WordErrors(30, 80))
    console = Console(width=80)
    with console.capture() as capture:
        for table in tables(report(replace(long, wait=MedianAndP95(2584.0, 14_800.0)), MISSING, SPOKEN)):
            console.print(table)
    shown = capture.get()
    assert max(map(len, shown.splitlines())) <= 80
    for cell in ("faster-whisper", "2584 / 14800", "0.38", "0.25", "311 / 350", "0.214"):
        assert cell in shown


def test_stage_that_was_not_measured_has_no_table() -> None:
    assert "text to speech" not in shown(HEARD)
    assert "speech to text" not in shown(SPOKEN)


def test_json_has_the_rate_and_its_counts() -> None:
    found = json.loads(as_json(report(HEARD, MISSING)))
    assert found["rows"][0]["wer"] == 0.25
    assert found["rows"][0]["words"] == {"errors": 3, "reference_words": 12}
    assert found["rows"][1]["wer"] is None
    noisy = json.loads(as_json(report(replace(HEARD, words_in_noise=WordErrors(6, 12)))))["rows"][0]
    assert (noisy["wer"], noisy["wer_in_noise"]) == (0.25, 0.5)
    assert found["asked_after_ms"] == 400


def test_plot_is_reproducible_and_names_the_engines(tmp_path: Path) -> None:
    measured = report(replace(HEARD, setting="a$^$b"), MISSING, SPOKEN)
    paths = write(measured, tmp_path / "new" / "out")
    assert [path.name for path in paths] == ["engines.json", "engines.svg", "engines.png"]
    svg = paths[1].read_bytes()
    assert b"faster-whisper a$^$b" in svg, "a name is no formula"
    assert b"base.en" not in svg, "there is nothing to draw"
    write(measured, tmp_path / "new" / "out")
    assert paths[1].read_bytes() == svg


def test_model_name_may_have_bytes_outside_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(b"mod\xe8le")
    (path,) = write(report(replace(MISSING, setting=name)), tmp_path)
    assert json.loads(path.read_text(encoding="utf-8"))["rows"][0]["setting"] == name


def test_report_without_figures_has_no_plot(tmp_path: Path) -> None:
    assert [path.name for path in write(report(MISSING), tmp_path)] == ["engines.json"]


def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AudioFileError, match="--out"):
        write(report(HEARD), tmp_path / "file")
