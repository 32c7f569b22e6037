"""Prints the doctor's report as aligned lines for a terminal or a pipe, also in 80 columns."""

import textwrap
from collections.abc import Mapping
from types import MappingProxyType

from rich.console import Console
from rich.text import Text

from assistant.checks.result import CheckResult, Level
from assistant.commands.doctor.report import DoctorReport, ReportSection

MARKS: Mapping[Level, tuple[str, str]] = MappingProxyType(
    {"ok": ("✓ ok", "green"), "info": ("· info", "dim"), "warn": ("! warn", "yellow"), "fail": ("✗ fail", "red")}
)
MARK_WIDTH = 8
NAME_WIDTH = 22
CELL_WIDTH = 12
REMEDY = "→ "

PLAIN = str.maketrans({"✓": "+", "✗": "x", "·": "-", "→": ">", "–": "-", "“": '"', "”": '"', "±": "+", "…": "."})
"""Replacements for an output that supports only ASCII."""


class Page:
    """Writes lines to a console. Wraps between words only, so that a path or command can be copied."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._unicode = (console.encoding or "").lower().startswith("utf")

    def line(self, *parts: tuple[str, str]) -> None:
        """Writes texts with their styles."""
        plain = [(text if self._unicode else text.translate(PLAIN), style) for text, style in parts]
        text = Text.assemble(*plain)
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def block(self, head: list[tuple[str, str]], words: str, style: str = "", *, indent: int = 0) -> None:
        """Writes `head` and `words` beside it, indented by `indent`; below it if `head` is too long."""
        width = max(self._console.width - indent, 24)
        lines = textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
        beside = sum(len(text) for text, _ in head) <= indent
        if not beside:
            self.line(*head)
            head = []
        for index, line in enumerate(lines):
            first = head if index == 0 and head else [(" " * indent, "")]
            self.line(*first, (line, style))


def show(report: DoctorReport, console: Console) -> None:
    """Prints the results, the verdict and the remedies."""
    page = Page(console)
    page.line((f"Repartee {report.version}", "bold"))
    for section in report.sections:
        page.line(("", ""))
        page.line((section.title, "bold"))
        _section(page, section)
    page.line(("", ""))
    if report.remedies:
        page.line(("To do", "bold"))
        for remedy in report.remedies:
            page.block([(REMEDY, "yellow")], remedy, indent=len(REMEDY))
        page.line(("", ""))
    mark, style = ("✓ ", "bold green") if report.ready else ("✗ ", "bold red")
    if not report.essential and report.incomplete:
        mark, style = "! ", "bold yellow"
    page.block([(mark, style)], f"{report.verdict} ({report.took_s:.1f} s)", style, indent=len(mark))


def _section(page: Page, section: ReportSection) -> None:
    findings = section.findings
    if section.note:
        page.block([], section.note, "dim", indent=MARK_WIDTH)
    if section.brief:
        _summary_lines(page, [finding for finding in findings if finding.level == "ok"])
        findings = tuple(finding for finding in findings if finding.level != "ok")
    if section.columns:
        cells = "".join(f"{head:>{CELL_WIDTH}}" for head in section.columns)
        page.line((f"{'':{MARK_WIDTH + NAME_WIDTH}}{cells}", "dim"))
    for finding in findings:
        if section.columns:
            _figure_line(page, finding)
        else:
            _text_line(page, finding)


def _text_line(page: Page, finding: CheckResult) -> None:
    """Prints one line: mark, name, text and duration."""
    mark, style = MARKS[finding.level]
    indent = MARK_WIDTH + NAME_WIDTH
    page.block(
        [(f"{mark:<{MARK_WIDTH}}", style), (f"{finding.name:<{NAME_WIDTH - 1}} ", "")],
        finding.text if finding.ms is None else f"{finding.text} ({milliseconds(finding.ms)})",
        indent=indent,
    )
    if finding.remedy:
        page.block([(f"{' ' * indent}{REMEDY}", style)], finding.remedy, style, indent=indent + len(REMEDY))


def _figure_line(page: Page, finding: CheckResult) -> None:
    """Prints a line of figures under the headings, and the text below it."""
    mark, style = MARKS[finding.level]
    cells = "".join(f"{cell:>{CELL_WIDTH}}" for cell in finding.cells)
    page.line((f"{mark:<{MARK_WIDTH}}", style), (f"{finding.name:<{NAME_WIDTH}}{cells}", ""))
    page.block([], finding.text, "" if finding.level in {"warn", "fail"} else "dim", indent=MARK_WIDTH)
    if finding.remedy:
        page.block([(f"{' ' * MARK_WIDTH}{REMEDY}", style)], finding.remedy, style, indent=MARK_WIDTH + len(REMEDY))


def _summary_lines(page: Page, findings: list[CheckResult]) -> None:
    """Prints several results per line, without wrapping inside one."""
    words = []
    for finding in findings:
        took = "" if finding.ms is None else f" ({milliseconds(finding.ms)})"
        words.append(f"{finding.name} {finding.text}{took}".replace(" ", "\N{NO-BREAK SPACE}"))
    mark, style = MARKS["ok"]
    if words:
        page.block([(f"{mark:<{MARK_WIDTH}}", style)], ", ".join(words), indent=MARK_WIDTH)


def milliseconds(ms: float) -> str:
    """Formats a duration: "0.4 ms", "103 ms", "1.2 s"."""
    if ms >= 1000:
        return f"{ms / 1000:.1f} s"
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"
