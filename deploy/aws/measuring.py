"""Tests an endpoint as `repartee endpoints` does it: short answers, measured to the first token."""

import asyncio
import os
from collections.abc import Callable

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import DEFAULTS
from assistant.endpoint_probe.figures import EndpointMeasurement
from assistant.endpoint_probe.probe import measure_endpoint
from deploy.aws.clients import DeployError


def measure_answers(section: EndpointSection, requests: int, say: Callable[[str], None]) -> EndpointMeasurement:
    """Asks an endpoint some short questions and reports the times.

    Args:
        section: The endpoint.
        requests: Number of questions, one after another.
        say: Prints a line.

    Raises:
        DeployError: It does not answer each of them.
    """
    measurement = asyncio.run(measure_endpoint(section, DEFAULTS, os.environ, requests=requests))
    if measurement.problem or len(measurement.answers) < requests:
        raise DeployError(f"{section.name}: {measurement.state}: {measurement.problem or 'too few answers'}")
    usual_ms, late_ms = measurement.first_token_ms(50), measurement.first_token_ms(95)
    speed = "" if measurement.tokens_per_s is None else f", {measurement.tokens_per_s:.0f} tokens per s"
    say(f"{section.name}: first token {usual_ms:.0f} / {late_ms:.0f} ms (p50 / p95 of {requests} answers){speed}")
    return measurement


def table_of(section: EndpointSection) -> str:
    """Returns the table for config.toml."""
    keys = {"name": section.name, "kind": section.kind, "region": section.region, "model": section.model}
    return "\n".join(["[[llm.endpoints]]", *(f'{key} = "{value}"' for key, value in keys.items())])
