"""Checks the engines that are set to ray: whether the cluster answers, whether they run on it, and their replicas."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from assistant.checks.result import CheckResult, Fact, Level
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.report import ReportSection
from assistant.config.settings import Settings
from assistant.registry.voices import CLUSTER

if TYPE_CHECKING:
    from assistant.commands.cluster.command import ServiceReport
    from audio.cluster.ray_connection import RayConnection

CONNECT_TIMEOUT_S = 8.0
"""Longest wait for the connection, in seconds."""

DESCRIBE_TIMEOUT_S = 3.0
"""Longest wait for the replicas of one service, in seconds."""

_DEPLOY = "run `repartee cluster deploy`"
_STATUS = "run `repartee cluster status`, and look at the logs of Ray on the machines of the replicas"


@dataclass(slots=True)
class ServiceProbe:
    """Results for one service.

    Attributes:
        service: As in `audio.cluster.Service`.
        state: As Ray names it; "NOT DEPLOYED" if there is none.
        message: What Ray says about it; "" if nothing.
        running: Number of replicas that run.
        hosts: Machines of the replicas.
        versions: Versions of the program in the replicas, without the fingerprint of the settings.
        details: The engines of the replicas, each once.
        problem: Why not all replicas that run have answered; "" if they have.
        ms: Time of a request without work; None if there was none.
    """

    service: str
    state: str
    message: str = ""
    running: int = 0
    hosts: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    problem: str = ""
    ms: float | None = None


async def probe(settings: Settings) -> list[ServiceProbe]:
    """Connects to the cluster and returns the services that the settings use. Raises AudioError."""
    # Imported on use: the engines and Ray, in the child process only.
    from assistant.cluster.application import services_of  # noqa: PLC0415
    from assistant.commands.cluster.command import connection_of, inspect  # noqa: PLC0415

    connection = connection_of(settings, CONNECT_TIMEOUT_S)
    services = services_of(settings)
    try:
        reports = await inspect(connection, settings, DESCRIBE_TIMEOUT_S)
        return [await _probed(connection, report) for report in reports if report.status.service in services]
    finally:
        await connection.aclose()


async def _probed(connection: "RayConnection", report: "ServiceReport") -> ServiceProbe:
    status, replicas = report.status, report.replicas
    probe = ServiceProbe(
        status.service,
        status.state,
        status.message,
        status.replicas.get("RUNNING", 0),
        sorted({replica.host for replica in replicas}),
        sorted({replica.version.partition("+")[0] for replica in replicas}),
        sorted({replica.detail for replica in replicas}),
        report.problem,
    )
    if replicas and not report.problem:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        await asyncio.wrap_future(connection.request(status.service, "describe"))
        probe.ms = (loop.time() - began_s) * 1000
    return probe


def cluster_section(settings: Settings, answer: ProbeResult) -> ReportSection:
    """Returns the results. Pure."""
    if answer.error:
        findings: Sequence[CheckResult] = (_unreached(settings, answer),)
    else:
        services = cast("Sequence[Mapping[str, Any]]", answer.facts["services"])
        findings = [_finding(settings, ServiceProbe(**service)) for service in services]
    return ReportSection("cluster", "Engines on the Ray cluster", tuple(findings), "ms: a request without work")


def _unreached(settings: Settings, answer: ProbeResult) -> CheckResult:
    facts: dict[str, Fact] = {"address": settings.cluster.address}
    if answer.no_result:
        text = f"not checked: {answer.error.removeprefix('not checked: ')}"
        return CheckResult("warn", "cluster", text, remedy=_STATUS, checked=False, facts=facts)
    is_needed = CLUSTER in {settings.stt.engine, settings.tts.engine}  # without Smart Turn alone the program starts
    return CheckResult("fail" if is_needed else "warn", "cluster", answer.error, essential=is_needed, facts=facts)


def _finding(settings: Settings, probe: ServiceProbe) -> CheckResult:
    level, text, remedy = _judged(probe, settings.cluster.min_replicas)
    facts: dict[str, Fact] = {
        "state": probe.state,
        "running": probe.running,
        "hosts": probe.hosts,
        "versions": probe.versions,
    }
    is_essential = level == "fail" and probe.service != "turn-end"
    name = f"cluster {probe.service}"
    return CheckResult(level, name, text, probe.ms, remedy, essential=is_essential, facts=facts)


def _judged(probe: ServiceProbe, min_replicas: int) -> tuple[Level, str, str]:
    """Returns the level, the text and the remedy for one service."""
    if probe.state == "NOT DEPLOYED":
        return "fail", "it is not deployed", _DEPLOY
    state = f"its state is {probe.state.lower()}{f' ({probe.message})' if probe.message else ''}"
    if not probe.running:
        return "fail", f"no replica runs; {state}", _STATUS
    if probe.problem:
        return "warn", probe.problem, _STATUS
    text = (
        f"{_counted(probe.running, 'replica')} on {_counted(len(probe.hosts), 'machine')}: {'; '.join(probe.details)}"
    )
    worse, remedy = _worse(probe, min_replicas, state)
    return ("warn", f"{worse}; {text}", remedy) if worse else ("ok", text, "")


def _worse(probe: ServiceProbe, min_replicas: int, state: str) -> tuple[str, str]:
    """Returns what is not as it should be with replicas that run, and the remedy; "" if nothing."""
    own = version("repartee")
    if probe.state != "RUNNING":
        return state, _STATUS
    if others := [name for name in probe.versions if name != own]:
        return f"replicas have version {', '.join(others)}, this machine has {own}", _DEPLOY
    if probe.running < min_replicas:
        remedy = "add machines or cores to the cluster, or lower cluster.min_replicas"
        return f"{probe.running} of {min_replicas} replicas run", remedy
    return "", ""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
