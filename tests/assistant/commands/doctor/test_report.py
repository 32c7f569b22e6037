"""Conclusions from the results (verdict, exit code, remedies, JSON object), and the printed report."""

import io
import json

from rich.console import Console

from assistant.checks.result import CheckResult, Level
from assistant.commands.doctor.report import DoctorReport, ReportSection, refused_json
from assistant.commands.doctor.screen import milliseconds, show


def report(*findings: CheckResult) -> DoctorReport:
    return DoctorReport("1.2", 3.456, (ReportSection("a", "A", findings[:1]), ReportSection("b", "B", findings[1:])))


def finding(level: Level, name: str = "x", *, remedy: str = "", essential: bool = False) -> CheckResult:
    return CheckResult(level, name, f"{name} is so", remedy=remedy, essential=essential)


def test_only_failed_essential_checks_prevent_a_conversation() -> None:
    fine = report(finding("ok", essential=True), finding("fail"), finding("warn", essential=True))
    assert fine.ready
    assert fine.exit_code == 0
    bad = report(finding("ok"), finding("fail", "voice", essential=True))
    assert not bad.ready
    assert bad.exit_code == 1
    assert "voice: voice is so" in bad.verdict


def test_check_that_took_too_long_says_nothing_about_conversations() -> None:
    late = CheckResult("warn", "engines", "not checked: no answer within 12 s", essential=True, checked=False)
    unknown = report(finding("ok"), late)
    assert (unknown.ready, unknown.exit_code) == (False, 0)
    assert unknown.verdict.startswith("Not checked: the check took too long; a conversation may still be possible.")
    bad = report(late, finding("fail", "voice", essential=True))
    assert (bad.exit_code, bad.verdict.split(":")[0]) == (1, "Not ready")


def test_verdict_names_what_was_not_checked() -> None:
    late = CheckResult("fail", "tts piper", "not checked: no answer within 12 s")
    told = report(finding("ok", essential=True), late)
    assert (told.ready, told.exit_code) == (True, 0)
    assert told.verdict.startswith("A conversation can be held, but not everything was checked: tts piper.")


def test_remedies_start_with_essential_ones_and_are_unique() -> None:
    told = report(
        finding("warn", "w", remedy="warm"),
        finding("info", "i", remedy="not asked for"),
        finding("fail", "f", remedy="fix"),
        finding("warn", "again", remedy="fix"),
        finding("fail", "e", essential=True),
        finding("ok", "o", remedy="never"),
    )
    assert told.remedies == ("e: e is so", "f: fix", "w: warm")


def test_report_is_one_line_of_json() -> None:
    found = CheckResult("warn", "n", "t “so”", 1.23456, "r", facts={"cores": 2, "names": ("a", "b")})
    text = report(found).to_json()
    assert "\n" not in text
    decoded = json.loads(text)
    assert (decoded["schema"], decoded["ready"], decoded["exit_code"], decoded["took_s"]) == (1, True, 0, 3.46)
    (line,) = decoded["sections"]["a"]
    assert line == {
        "name": "n",
        "level": "warn",
        "text": "t “so”",
        "ms": 1.23,
        "remedy": "r",
        "essential": False,
        "facts": {"cores": 2, "names": ["a", "b"]},
    }


def test_invalid_configuration_has_its_own_json() -> None:
    decoded = json.loads(refused_json(["--set x: no such key"]))
    assert decoded["exit_code"] == 2
    assert decoded["problems"] == ["--set x: no such key"]
    assert decoded["ready"] is False


# ---- the printed report ----


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
