"""Results of the checks in sections, and the conclusions. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.checks.result import CheckResult

_LATE = "not checked"
"""Part of the text of a check whose time ran out (`process`)."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Results of related checks.

    Attributes:
        key: Its name in the JSON object.
        title: Its heading.
        findings: The results.
        note: How to read its figures.
        columns: Headings of the findings' cells; empty: findings have a text and possibly a time.
        brief: Whether results with level "ok" are summarized for a person.
    """

    key: str
    title: str
    findings: tuple[CheckResult, ...]
    note: str = ""
    columns: tuple[str, ...] = ()
    brief: bool = False


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All results.

    Attributes:
        version: Version of this program.
        took_s: Duration of all checks.
        sections: In display order.
    """

    version: str
    took_s: float
    sections: tuple[ReportSection, ...]

    @property
    def essential(self) -> tuple[CheckResult, ...]:
        """Failures that prevent a conversation."""
        return tuple(finding for finding in self._essential_ones() if finding.level == "fail")

    @property
    def unchecked(self) -> tuple[CheckResult, ...]:
        """Essential checks without a result, because their time ran out."""
        return tuple(finding for finding in self._essential_ones() if not finding.checked)

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Names of all checks without a result, because their time ran out."""
        findings = (finding for section in self.sections for finding in section.findings)
        return tuple(
            finding.name
            for finding in findings
            if not finding.checked or (finding.level != "info" and _LATE in finding.text)
        )

    def _essential_ones(self) -> tuple[CheckResult, ...]:
        return tuple(finding for section in self.sections for finding in section.findings if finding.essential)

    @property
    def ready(self) -> bool:
        """Whether a conversation can be held, as far as was checked."""
        return not self.essential and not self.unchecked

    @property
    def exit_code(self) -> int:
        """0: nothing essential is known to be missing; 1: something is."""
        return 1 if self.essential else 0

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.essential and self.unchecked:
            what = self.unchecked[0]
            return (
                f"Not checked: the check took too long; a conversation may still be possible. {what.name}: {what.text}"
            )
        if self.ready:
            if self.incomplete:
                late = ", ".join(self.incomplete)
                return (
                    f"A conversation can be held, but not everything was checked: {late}. Run `repartee doctor` again "
                    "when this machine is less busy."
                )
            better = " The remedies above improve it." if self.remedies else ""
            return f"Ready: a conversation can be held.{better}"
        return f"Not ready: no conversation can be held. {self.essential[0].name}: {self.essential[0].text}"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Remedies, each once: for essential failures first, then other failures, then warnings."""
        order = {"fail": 1, "warn": 2}
        findings = [finding for section in self.sections for finding in section.findings if finding.level in order]
        findings.sort(key=lambda finding: 0 if finding in self.essential else order[finding.level])
        # An engine's error text already ends with the remedy.
        remedies: dict[str, str] = {}
        for finding in findings:
            if finding.remedy or finding in self.essential:
                remedies.setdefault(finding.remedy or finding.text, finding.name)
        return tuple(f"{name}: {remedy}" for remedy, name in remedies.items())

    def to_json(self) -> str:
        """Returns the report as one line of JSON."""
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
    """Returns the JSON object for an invalid configuration; `problems` are those of a ConfigError."""
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
