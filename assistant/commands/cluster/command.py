"""Deploys, shows and removes the speech engines on a cluster."""

from collections.abc import Callable
from functools import partial

from rich.console import Console
from rich.table import Table

from assistant.cluster import application
from assistant.cluster.application import ServiceStatus
from assistant.config.loading import ConfigError
from assistant.config.settings import Settings
from audio.cluster import SERVICES, ReplicaInfo, Service
from audio.cluster.ray_connection import RayConnection
from audio.cluster.wire import received_info
from audio.errors import EngineError, EngineLoadError

DESCRIBE_TIMEOUT_S = 10.0


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
    connection = _connection(settings)
    try:
        for service in services:
            tell(f"{service}: deploying {version}")
            try:
                await connection.call(partial(application.deploy, settings=settings, service=service))
            except RuntimeError as error:
                raise EngineLoadError(
                    f"{service} could not be deployed: see the message of `repartee cluster status`."
                ) from error
            tell(f"{service}: running")
    finally:
        await connection.aclose()


async def stop(settings: Settings, tell: Callable[[str], None]) -> None:
    """Removes the services from the cluster. Raises AudioError."""
    connection = _connection(settings)
    try:
        for service in SERVICES:
            removed = await connection.call(partial(application.remove, settings=settings, service=service))
            if removed:
                tell(f"{service}: removed")
    finally:
        await connection.aclose()


async def show_status(settings: Settings, console: Console) -> bool:
    """Prints the services and their replicas. Returns whether all that the settings use run. Raises AudioError."""
    connection = _connection(settings)
    try:
        found = await connection.call(partial(application.status, settings=settings))
        replicas = {one.service: await _replicas(connection, one) for one in found}
    finally:
        await connection.aclose()
    console.print(_table(found, replicas))
    for one in found:
        if one.message:
            console.print(f"{one.service}: {one.message}", markup=False, soft_wrap=True)
    wanted = application.services_of(settings)
    return all(one.state == "RUNNING" for one in found if one.service in wanted)


def _connection(settings: Settings) -> RayConnection:
    section = settings.cluster
    return RayConnection(section.address, section.application, timeout_s=section.timeout_s)


async def _replicas(connection: RayConnection, status: ServiceStatus) -> list[ReplicaInfo]:
    """Returns the replicas that answer."""
    if not status.replicas.get("RUNNING"):
        return []
    try:
        answers = await connection.all_replicas(status.service, "describe", DESCRIBE_TIMEOUT_S)
    except (EngineError, EngineLoadError):
        return []  # one of them has just ended
    return [received_info(answer) for answer in answers]


def _table(found: list[ServiceStatus], replicas: dict[Service, list[ReplicaInfo]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("service", "state", "replica", "version", "requests", "answered", "engine"):
        table.add_column(column)
    for one in found:
        states = ", ".join(f"{number} {state.lower()}" for state, number in sorted(one.replicas.items()))
        table.add_row(one.service, one.state.lower(), states, "", "", "", "")
        for info in replicas[one.service]:
            requests = str(info.ongoing), str(info.served)
            table.add_row("", "", f"{info.host}:{info.pid}", info.version, *requests, info.detail)
    return table
