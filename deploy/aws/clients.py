"""Clients of AWS with time limits, and faults of AWS as errors of one line."""

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0
ATTEMPTS = 4


class DeployError(Exception):
    """Something could not be created, tested or deleted. The text is one sentence with the remedy."""


def aws_client(service: str, region: str) -> Any:
    """Returns a boto3 client. Keys come from AWS's usual places.

    Raises:
        DeployError: boto3 is not installed, or its settings are wrong: the region, the profile, the keys.
    """
    try:
        boto3, config = importlib.import_module("boto3"), importlib.import_module("botocore.config")
    except ImportError as error:
        raise DeployError("boto3 is not installed: run `.venv/bin/pip install boto3`") from error
    limits = config.Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
    )
    with aws_faults(f"preparing requests to {service}"):
        return boto3.client(service, region_name=region, config=limits)


@contextmanager
def aws_faults(doing: str) -> Generator[None]:
    """Raises the faults of AWS in the block as DeployError. `doing`: for the text, as in "creating the endpoint"."""
    exceptions = importlib.import_module("botocore.exceptions")
    try:
        yield
    except exceptions.ClientError as error:
        fault = error.response.get("Error", {})
        raise DeployError(f"{doing}: {fault.get('Code', '?')}: {fault.get('Message', 'no message')}") from error
    except exceptions.BotoCoreError as error:
        raise DeployError(f"{doing}: {error}") from error


@contextmanager
def ignoring_missing(doing: str) -> Generator[None]:
    """Ignores the fault that something does not exist; raises others as DeployError."""
    exceptions = importlib.import_module("botocore.exceptions")
    try:
        with aws_faults(doing):
            yield
    except DeployError as error:
        if not (isinstance(error.__cause__, exceptions.ClientError) and is_missing(error.__cause__)):
            raise


def is_missing(error: Any) -> bool:
    """Returns whether a ClientError says that something does not exist: SageMaker has no code of its own for it."""
    fault = error.response.get("Error", {})
    code, message = fault.get("Code", ""), fault.get("Message", "").lower()
    return code == "ResourceNotFoundException" or (code == "ValidationException" and "could not find" in message)
