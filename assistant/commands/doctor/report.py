"""What the doctor found: lines in sections, and what follows from them. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Level = Literal["ok", "info", "warn", "fail"]
"""Works; not used or not asked for; works less well than it could; does not work."""

Fact = str | int | float | bool | None | Sequence[str]
"""A figure or a word for programs."""

NOTHING: Mapping[str, Fact] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line.

    Attributes:
        level: How it stands.
        name: What was looked at.
        text: What was found, for a person.
        ms: How long it takes, where that says something; in its own section's sense.
        remedy: What to do; "" where nothing is to be done.
        essential: Whether no conversation can be held while this fails.
        cells: For the columns of its section, in place of `ms`.
        facts: The same for programs.
    """

    level: Level
    name: str
    text: str
    ms: float | None = None
    remedy: str = ""
    essential: bool = False
    cells: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Lines about one thing.

    Attributes:
        key: Its name in the JSON object.
        title: Its heading.
        findings: Its lines.
        note: How its figures are to be read.
        columns: Headings of the findings' cells; none: the lines have a text and perhaps a time.
        brief: Whether a person wants to read only the lines that are not "ok"; the rest is summed up.
    """

    key: str
    title: str
    findings: tuple[CheckResult, ...]
    note: str = ""
    columns: tuple[str, ...] = ()
    brief: bool = False


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Everything that was found.

    Attributes:
        version: Of this program.
        took_s: How long the examination took.
        sections: In the order in which they are read.
    """

    version: str
    took_s: float
    sections: tuple[ReportSection, ...]

    @property
    def essential(self) -> tuple[CheckResult, ...]:
        """What stands in the way of a conversation."""
        return tuple(
            finding
            for section in self.sections
            for finding in section.findings
            if finding.essential and finding.level == "fail"
        )

    @property
    def ready(self) -> bool:
        """Whether a conversation can be held."""
        return not self.essential

    @property
    def exit_code(self) -> int:
        """0: a conversation can be held; 1: something essential is missing."""
        return 0 if self.ready else 1

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.ready:
            return "Ready: a conversation can be held." + (" The lines above make it better." if self.remedies else "")
        return f"Not ready: no conversation can be held. {self.essential[0].name}: {self.essential[0].text}"

    @property
    def remedies(self) -> tuple[str, ...]:
        """What to do next: what is essential first, then what fails, then what could be better; each once."""
        order = {"fail": 1, "warn": 2}
        findings = [finding for section in self.sections for finding in section.findings if finding.level in order]
        findings.sort(key=lambda finding: 0 if finding in self.essential else order[finding.level])
        # What an engine says when it cannot be loaded already ends in the remedy.
        said: dict[str, str] = {}
        for finding in findings:
            if finding.remedy or finding in self.essential:
                said.setdefault(finding.remedy or finding.text, finding.name)
        return tuple(f"{name}: {remedy}" for remedy, name in said.items())

    def to_json(self) -> str:
        """One object, in one line."""
        return json.dumps(
            {
                "schema": 1,
                "version": self.version,
                "ready": self.ready,
                "exit_code": self.exit_code,
                "verdict": self.verdict,
                "took_s": round(self.took_s, 2),
                "remedies": self.remedies,
                "sections": {
                    section.key: [_plain(finding) for finding in section.findings] for section in self.sections
                },
            },
            ensure_ascii=False,
        )


def refused_json(problems: Sequence[str]) -> str:
    """The object in place of a report where the configuration is a mistake; `problems` are those of a ConfigError."""
    text = f"The configuration cannot be used: {problems[0]}"
    return json.dumps(
        {"schema": 1, "ready": False, "exit_code": 2, "verdict": text, "problems": list(problems)}, ensure_ascii=False
    )


def _plain(finding: CheckResult) -> dict[str, object]:
    return {
        "name": finding.name,
        "level": finding.level,
        "text": finding.text,
        "ms": None if finding.ms is None else round(finding.ms, 2),
        "remedy": finding.remedy,
        "essential": finding.essential,
        **({"facts": dict(finding.facts)} if finding.facts else {}),
    }
