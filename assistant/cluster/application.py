"""Ray Serve applications of the engines: one for each service, so that each is updated and scaled by itself.

Ray's types are `Any` here.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from assistant.cluster.replicas import (
    HEALTH_CHECK_S,
    MAX_BATCH,
    RecognizerReplica,
    TurnEndReplica,
    VoiceReplica,
    local_settings,
)
from assistant.config.settings import Settings
from assistant.registry.voices import CLUSTER
from audio.cluster import SERVICES, Service
from audio.cluster.ray_connection import application_of, deployment_of
from audio.errors import EngineLoadError

FORMER_APPLICATIONS: Mapping[Service, str] = {"recognizer": "repartee-whisper"}
"""Names of the applications that older versions deployed for a service."""

DRAIN_S = 30.0
"""Longest wait for the requests of a replica that is replaced or removed."""

BATCH_WAIT_S = 0.001
"""Wait for further silences of a batch. What arrives while the network runs is in the next batch anyway."""


@dataclass(frozen=True, slots=True)
class _Load:
    """The load of one replica.

    Attributes:
        target: Requests at which no replica is added or removed.
        maximum: Requests that it accepts; others wait in the gateways.
    """

    target: float
    maximum: int


_LOAD: Mapping[Service, _Load] = {
    "recognizer": _Load(1.0, 4),  # a decode takes all threads of its replica; the next wait there, not for a message
    "voice": _Load(4.0, 32),  # chunks of several replies alternate
    "turn-end": _Load(4.0, 4 * MAX_BATCH),
}


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The state of one service.

    Attributes:
        service: The service.
        state: As Ray names it, as "RUNNING"; "NOT DEPLOYED" if there is none.
        message: What Ray says about it; "" if nothing.
        replicas: Number of replicas by state, as Ray names them.
    """

    service: Service
    state: str
    message: str = ""
    replicas: Mapping[str, int] = field(default_factory=dict)


def services_of(settings: Settings) -> tuple[Service, ...]:
    """Returns the services that the settings use."""
    used = {
        "recognizer": settings.stt.engine == CLUSTER,
        "voice": settings.tts.engine == CLUSTER,
        "turn-end": settings.turn.smart_turn == CLUSTER,
    }
    return tuple(service for service in SERVICES if used[service])


def version_of(settings: Settings) -> str:
    """Returns the version of the program with a fingerprint of the settings that the replicas have."""
    fingerprint = hashlib.sha256(repr(local_settings(settings)).encode()).hexdigest()[:8]
    return f"{version('repartee')}+{fingerprint}"


def deploy(serve: Any, settings: Settings, service: Service) -> None:
    """Deploys a service, or replaces its replicas by new ones; blocks until they run.

    Each old replica ends only after a new one works and after its own requests are answered. Raises EngineLoadError if
    the new replicas cannot start; the old ones then stay.
    """
    serve.start(proxy_location="Disabled")
    name = application_of(service)
    try:
        serve.run(built(serve, settings, service), name=name, route_prefix=None)
    except RuntimeError as error:
        raise EngineLoadError(
            f"{service} could not be deployed: see the message of `repartee cluster status`."
        ) from error
    _delete(serve, FORMER_APPLICATIONS.get(service))


def remove(serve: Any, settings: Settings, service: Service) -> bool:
    """Removes a service from the cluster; blocks. Returns False if it was not there."""
    former = _delete(serve, FORMER_APPLICATIONS.get(service))
    return _delete(serve, application_of(service)) or former


def _delete(serve: Any, name: str | None) -> bool:
    """Deletes an application. Returns False if it is not there."""
    if name not in serve.status().applications:
        return False
    serve.delete(name)
    return True


def status(serve: Any, settings: Settings) -> list[ServiceStatus]:
    """Returns the state of each service, deployed or not."""
    applications = serve.status().applications
    return [_status(applications.get(application_of(service)), service) for service in SERVICES]


def _status(application: Any, service: Service) -> ServiceStatus:
    if application is None:
        return ServiceStatus(service, "NOT DEPLOYED")
    deployment = application.deployments.get(deployment_of(service))
    replicas = {} if deployment is None else {str(state): number for state, number in deployment.replica_states.items()}
    message = application.message or ("" if deployment is None else deployment.message)
    return ServiceStatus(service, str(application.status.value), message, replicas)


def built(serve: Any, settings: Settings, service: Service) -> Any:
    """Returns the application of a service, for Ray Serve to run."""
    made = {"recognizer": RecognizerReplica, "voice": VoiceReplica, "turn-end": _batching(serve)}[service]
    cluster, load = settings.cluster, _LOAD[service]
    gpus = {"recognizer": cluster.stt_gpus, "voice": cluster.tts_gpus, "turn-end": 0.0}[service]
    deployment = serve.deployment(
        made,
        name=deployment_of(service),
        max_ongoing_requests=load.maximum,
        autoscaling_config={
            "min_replicas": cluster.min_replicas,
            "max_replicas": cluster.max_replicas,
            "target_ongoing_requests": load.target,
            "upscale_delay_s": 2.0,
            "downscale_delay_s": 120.0,
        },
        ray_actor_options={"num_cpus": cluster.replica_cpus, "num_gpus": gpus},
        max_surge_percent=100,  # new replicas first: otherwise the only replica ends before the new one works
        graceful_shutdown_wait_loop_s=0.2,
        graceful_shutdown_timeout_s=DRAIN_S,
        logging_config={"enable_access_log": False, "log_level": "WARNING"},  # no line for each request
        health_check_period_s=HEALTH_CHECK_S,
        health_check_timeout_s=120.0,  # a voice is loaded in its first check, on a busy machine slowly
    )
    return deployment.bind(local_settings(settings), version_of(settings))


def _batching(serve: Any) -> type:
    """Returns the class of Smart Turn's replicas with Ray's batching, which only exists where Ray is installed."""

    async def probability(self: TurnEndReplica, sounds: list[bytes]) -> list[float]:
        return await self.judge(sounds)

    batched = serve.batch(max_batch_size=MAX_BATCH, batch_wait_timeout_s=BATCH_WAIT_S)(probability)
    return type("TurnEndReplica", (TurnEndReplica,), {"probability": batched})
