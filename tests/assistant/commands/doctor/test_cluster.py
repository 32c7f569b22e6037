"""The doctor says whether the engines on a cluster run, and what to do if not."""

import asyncio
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import pytest
from support.engines.scripted_cluster import INFO, ScriptedCluster

from assistant.checks.result import CheckResult
from assistant.cluster.application import ServiceStatus
from assistant.commands.cluster import command
from assistant.commands.cluster.command import ServiceReport
from assistant.commands.doctor.cluster import ServiceProbe, cluster_section, probe
from assistant.commands.doctor.process import ProbeResult
from assistant.config.loading import load_settings
from assistant.config.settings import Settings

OWN = version("repartee")
REPLICA = replace(INFO, version=f"{OWN}+abc")
RUNS = {"running": 2, "hosts": ["a", "b"], "versions": [OWN], "details": ["Whisper"], "ms": 3.0}


def settings_with(*assignments: str) -> Settings:
    return load_settings(None, {}, assignments or ("stt.engine=ray",)).settings


def finding(found: ServiceProbe, *assignments: str) -> CheckResult:
    answer = ProbeResult({"services": [asdict(found)]})
    (line,) = cluster_section(settings_with(*assignments), answer).findings
    return line


def recognizer(state: str = "RUNNING", **changes: Any) -> ServiceProbe:
    return ServiceProbe(**{"service": "recognizer", "state": state, **RUNS, **changes})


def test_running_replicas_are_counted() -> None:
    line = finding(recognizer())
    assert (line.level, line.name, line.ms) == ("ok", "cluster recognizer", 3.0)
    assert line.text == "2 replicas on 2 machines: Whisper"


@pytest.mark.parametrize(
    ("found", "level", "text", "remedy"),
    [
        (ServiceProbe("recognizer", "NOT DEPLOYED"), "fail", "not deployed", "repartee cluster deploy"),
        (ServiceProbe("recognizer", "DEPLOY_FAILED", "no room"), "fail", "deploy_failed (no room)", "cluster status"),
        (recognizer("UNHEALTHY"), "warn", "its state is unhealthy", "cluster status"),
        (recognizer(problem="its replicas did not all answer: late"), "warn", "late", "cluster status"),
        (recognizer(versions=["0.0.9", OWN]), "warn", "version 0.0.9", "repartee cluster deploy"),
    ],
)
def test_engine_that_does_not_run_well_has_a_remedy(found: ServiceProbe, level: str, text: str, remedy: str) -> None:
    line = finding(found)
    assert line.level == level
    assert text in line.text
    assert remedy in line.remedy
    assert line.essential == (level == "fail")


def test_fewer_replicas_than_configured_are_a_warning() -> None:
    line = finding(recognizer(), "stt.engine=ray", "cluster.min_replicas=3")
    assert (line.level, line.text[:20]) == ("warn", "2 of 3 replicas run;")


def test_smart_turn_that_is_not_deployed_prevents_no_conversation() -> None:
    assert not finding(ServiceProbe("turn-end", "NOT DEPLOYED"), "turn.smart_turn=ray").essential


@pytest.mark.parametrize(("engine", "level"), [("tts.engine=ray", "fail"), ("turn.smart_turn=ray", "warn")])
def test_unreachable_cluster_prevents_only_conversations_that_need_it(engine: str, level: str) -> None:
    answer = ProbeResult({}, "the Ray cluster cannot be reached: start it with `repartee cluster start`.")
    (line,) = cluster_section(settings_with(engine), answer).findings
    assert (line.level, line.essential) == (level, level == "fail")
    assert "repartee cluster start" in line.text


def test_check_that_took_too_long_is_no_failure() -> None:
    answer = ProbeResult({}, "not checked: it took more than 16 s", timed_out=True)
    (line,) = cluster_section(settings_with(), answer).findings
    assert (line.level, line.checked, line.essential) == ("warn", False, False)


def test_probe_returns_the_services_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ScriptedCluster()
    reports = [
        ServiceReport(ServiceStatus("recognizer", "RUNNING", "", {"RUNNING": 1}), (REPLICA,)),
        ServiceReport(ServiceStatus("voice", "NOT DEPLOYED")),
        ServiceReport(ServiceStatus("turn-end", "NOT DEPLOYED")),
    ]

    async def inspect(*_given: object) -> list[ServiceReport]:
        return reports

    monkeypatch.setattr(command, "connection_of", lambda _settings, _timeout_s: cluster)
    monkeypatch.setattr(command, "inspect", inspect)
    first, second = asyncio.run(probe(settings_with("stt.engine=ray", "tts.engine=ray")))
    assert (first.running, first.hosts, first.versions) == (1, [REPLICA.host], [OWN])
    assert first.ms is not None
    assert cluster.requests == [("recognizer", "describe")]
    assert (second.service, second.state, second.ms) == ("voice", "NOT DEPLOYED", None)
