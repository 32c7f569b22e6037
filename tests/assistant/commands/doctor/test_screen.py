"""The printed report: aligned, within 80 columns, readable without colour, commands and paths not wrapped."""

import io

from rich.console import Console

from assistant.checks.result import CheckResult, Level
from assistant.commands.doctor.report import DoctorReport, ReportSection
from assistant.commands.doctor.screen import milliseconds, show

PATH = "/somewhere/" + "deep/" * 20 + "model.onnx"


def page(*sections: ReportSection, encoding: str = "utf-8") -> list[str]:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    show(DoctorReport("1.2", 3.0, sections), Console(file=stream, width=80, highlight=False))
    stream.flush()
    return raw.getvalue().decode(encoding).splitlines()


def section(*findings: CheckResult, columns: tuple[str, ...] = (), brief: bool = False) -> ReportSection:
    return ReportSection("k", "Title", findings, columns=columns, brief=brief)


def test_text_is_indented_and_fits_the_width() -> None:
    lines = page(section(CheckResult("warn", "name", "word " * 30, 12.3, "command --with " + "more " * 20)))
    at = lines.index("Title")
    assert lines[at + 1].startswith("! warn  name                  word word")
    assert lines[at + 2].startswith(" " * 30 + "word")
    assert any(line.startswith(" " * 30 + "→ command --with") for line in lines)
    assert any(line.endswith("(12 ms)") for line in lines)
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []


def test_long_names_and_paths_are_not_wrapped() -> None:
    lines = page(section(CheckResult("ok", "a-name-that-is-longer-than-its-column", PATH)))
    assert "✓ ok    a-name-that-is-longer-than-its-column" in lines
    assert " " * 30 + PATH in lines


def test_figures_are_aligned_with_their_headings() -> None:
    found = CheckResult("ok", "vad x", "some words", cells=("1", "22.5"))
    lines = page(section(found, columns=("load ms", "first ms")))
    heads = next(line for line in lines if "load ms" in line)
    figures = next(line for line in lines if "vad x" in line)
    assert heads.index("load ms") + len("load ms") == figures.index("1") + 1
    assert heads.index("first ms") + len("first ms") == figures.index("22.5") + 4


def test_brief_section_summarizes_working_items() -> None:
    lines = page(
        section(
            CheckResult("ok", "a", "1.0", 4.0),
            CheckResult("ok", "b", "2.0"),
            CheckResult("fail", "c", "gone"),
            brief=True,
        )
    )
    assert "✓ ok    a\xa01.0\xa0(4.0\xa0ms), b\xa02.0" in lines
    assert any(line.startswith("✗ fail  c ") for line in lines)


def test_marks_have_a_word_and_an_ascii_form() -> None:
    levels: tuple[Level, ...] = ("ok", "info", "warn", "fail")
    lines = page(section(*(CheckResult(level, level, "“t” –") for level in levels)), encoding="ascii")
    at = lines.index("Title")
    assert [line[:6] for line in lines[at + 1 : at + 5]] == ["+ ok  ", "- info", "! warn", "x fail"]
    assert lines[at + 1].endswith('"t" -')


def test_end_shows_remedies_and_verdict() -> None:
    lines = page(section(CheckResult("fail", "voice", "gone", remedy="fetch it", essential=True)))
    assert "→ voice: fetch it" in lines
    assert lines[-1].startswith("✗ Not ready: no conversation can be held. voice: gone (3.0 s)")


def test_durations_are_short() -> None:
    assert [milliseconds(ms) for ms in (0.04, 3.26, 103.2, 1240.0)] == ["0.0 ms", "3.3 ms", "103 ms", "1.2 s"]
