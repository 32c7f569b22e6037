"""Deploys, shows and removes the speech engines on a cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from assistant.cluster import application
from assistant.cluster.application import ServiceStatus
from assistant.config.errors import ConfigError
from assistant.config.settings import Settings
from audio.cluster import SERVICES, ReplicaInfo, Service
from audio.cluster.ray_connection import CONNECT_TIMEOUT_S, RayConnection
from audio.cluster.wire import received_info
from audio.errors import AudioError, EngineLoadError

T = TypeVar("T")

DESCRIBE_TIMEOUT_S = 10.0
"""Longest wait for the description of all replicas of a service, in seconds."""

STATUS_TIMEOUT_S = 30.0
"""Longest wait for the state of all services, in seconds."""

DEPLOY_TIMEOUT_S = 600.0
"""Longest wait until the new replicas of a service run, in seconds: a machine may have to be added for them first."""

REMOVE_TIMEOUT_S = 120.0
"""Longest wait until a service is removed, in seconds: its requests are answered before."""


@dataclass(frozen=True, slots=True)
class ServiceReport:
    """A service and its replicas.

    Attributes:
        status: Its state as Ray reports it.
        replicas: The replicas that run and answer.
        problem: Why the running replicas did not answer; "" if they did, or if none runs.
    """

    status: ServiceStatus
    replicas: tuple[ReplicaInfo, ...] = ()
    problem: str = ""


def used_services(settings: Settings) -> tuple[Service, ...]:
    """Returns the services that the settings use. Raises ConfigError if there are none, or if the limits contradict."""
    services = application.services_of(settings)
    if not services:
        raise ConfigError(
            ['no engine is on a cluster: set stt.engine = "ray", tts.engine = "ray" or turn.smart_turn = "ray"']
        )
    least, most = settings.cluster.min_replicas, settings.cluster.max_replicas
    if least > most:
        raise ConfigError([f"cluster.max_replicas = {most}: must be at least cluster.min_replicas, which is {least}"])
    return services


async def deploy(settings: Settings, tell: Callable[[str], None]) -> None:
    """Deploys the services of the settings, or replaces their replicas. Raises ConfigError, AudioError."""
    services, version = used_services(settings), application.version_of(settings)
    connection = connection_of(settings)
    try:
        for service in services:
            tell(f"{service}: deploying {version}")
            try:
                await _call(
                    connection, partial(application.deploy, settings=settings, service=service), DEPLOY_TIMEOUT_S
                )
            except TimeoutError as error:
                raise EngineLoadError(
                    f"{service} does not run after {DEPLOY_TIMEOUT_S:g} s: the machines need room for one more replica "
                    f"({settings.cluster.replica_cpus:g} free cores, cluster.replica_cpus); see `repartee cluster "
                    "status`."
                ) from error
            tell(f"{service}: running")
    finally:
        await connection.aclose()


async def stop(settings: Settings, tell: Callable[[str], None]) -> None:
    """Removes the services from the cluster. Raises AudioError."""
    connection = connection_of(settings)
    try:
        for service in SERVICES:
            work = partial(application.remove, settings=settings, service=service)
            try:
                removed = await _call(connection, work, REMOVE_TIMEOUT_S)
            except TimeoutError as error:
                raise EngineLoadError(
                    f"{service} was not removed within {REMOVE_TIMEOUT_S:g} s: see `repartee cluster status`."
                ) from error
            if removed:
                tell(f"{service}: removed")
    finally:
        await connection.aclose()


async def show_status(settings: Settings, console: Console) -> bool:
    """Prints the services and their replicas. Returns whether all that the settings use run. Raises AudioError."""
    connection = connection_of(settings)
    try:
        reports = await inspect(connection, settings)
    finally:
        await connection.aclose()
    console.print(_table(reports))
    for report in reports:
        for text in filter(None, (report.status.message, report.problem)):
            console.print(f"{report.status.service}: {text}", markup=False, soft_wrap=True)
    services = application.services_of(settings)
    return all(
        report.status.state == "RUNNING" and not report.problem
        for report in reports
        if report.status.service in services
    )


async def inspect(
    connection: RayConnection, settings: Settings, describe_timeout_s: float = DESCRIBE_TIMEOUT_S
) -> list[ServiceReport]:
    """Returns every service, deployed or not, with its replicas. Raises AudioError.

    `describe_timeout_s`: longest wait for the replicas of one service, in seconds.
    """
    try:
        statuses = await _call(connection, partial(application.status, settings=settings), STATUS_TIMEOUT_S)
    except TimeoutError as error:
        raise EngineLoadError(
            f"the cluster did not report its services within {STATUS_TIMEOUT_S:g} s: look at its head."
        ) from error
    return [await _with_replicas(connection, status, describe_timeout_s) for status in statuses]


def connection_of(settings: Settings, timeout_s: float = CONNECT_TIMEOUT_S) -> RayConnection:
    """Returns the connection to the cluster of the settings, which connects when it is used."""
    return RayConnection(settings.cluster.address, timeout_s=timeout_s)


async def _call(connection: RayConnection, work: Callable[[Any], T], timeout_s: float) -> T:
    """Runs `work` with the module ray.serve. Raises TimeoutError, AudioError."""
    try:
        return await connection.call(work, timeout_s)
    except (AudioError, TimeoutError):
        raise
    except Exception as error:
        raise EngineLoadError(f"the cluster failed ({type(error).__name__}): look at its head.") from error


async def _with_replicas(connection: RayConnection, status: ServiceStatus, timeout_s: float) -> ServiceReport:
    if not status.replicas.get("RUNNING"):
        return ServiceReport(status)
    try:
        answers = await connection.all_replicas(status.service, "describe", timeout_s)
    except AudioError as error:
        return ServiceReport(status, problem=f"its replicas did not all answer: {error}")
    return ServiceReport(status, tuple(map(received_info, answers)))


def _table(reports: list[ServiceReport]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("service", "state", "replica", "version", "requests", "answered", "engine"):
        table.add_column(column)
    for report in reports:
        status = report.status
        states = ", ".join(f"{number} {state.lower()}" for state, number in sorted(status.replicas.items()))
        table.add_row(status.service, status.state.lower(), states, "", "", "", "")
        for info in report.replicas:
            requests = str(info.ongoing), str(info.served)
            table.add_row("", "", f"{info.host}:{info.pid}", info.version, *requests, info.detail)
    return table
