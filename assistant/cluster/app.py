"""Import path of the engines for Ray Serve's own configuration, as KubeRay uses it: `assistant.cluster.app:build`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from assistant.cluster import application
from assistant.config.loading import load_settings
from audio.cluster import Service
from audio.cluster.ray_connection import import_ray


def build(args: Mapping[str, str]) -> Any:
    """Returns the application of one engine, as `repartee cluster deploy` deploys it.

    Args:
        args: `service`: recognizer, voice or turn-end. `config`: path of the configuration file, on the cluster's
            machine. Other keys are not read: a change of one makes Ray replace the replicas.

    Raises:
        ValueError: There is no such service.
        ConfigError: The configuration cannot be read.
        EngineLoadError: Ray is not installed.
    """
    service_name = args["service"]
    for service in get_args(Service):
        if service == service_name:
            _, serve = import_ray()
            settings = load_settings(Path(args["config"]), os.environ, []).settings
            return application.built(serve, settings, service)
    raise ValueError(f"service {service_name!r}: must be one of {', '.join(get_args(Service))}")
