"""Conclusions from the results: the verdict, the exit code, the remedies and the JSON object."""

import json

from assistant.checks.result import CheckResult, Level
from assistant.commands.doctor.report import DoctorReport, ReportSection, refused_json


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
