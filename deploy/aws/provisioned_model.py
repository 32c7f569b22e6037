"""Creates and deletes provisioned throughput of Bedrock: a model with capacity of its own."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from deploy.aws.clients import DeployError, aws_faults, ignoring_missing
from deploy.aws.expiry import DELETE_AFTER, PREFIX
from deploy.aws.lifecycle import FAILED, GONE, asked_state, delete_and_wait, deleted_after_failure, expired_names
from deploy.aws.waiting import Waiting

DELETABLE = frozenset({"InService", FAILED})
PENDING = frozenset({"Creating", "Updating"})


def create_provisioned(client: Any, name: str, *, model: str, units: int, delete_after: str, waiting: Waiting) -> str:
    """Creates throughput by the hour and waits until it answers. Deletes it again if that fails or is interrupted.

    There is no commitment: one of a month cannot be deleted before its end.

    Args:
        client: The boto3 client `bedrock`.
        name: Its name.
        model: Id or ARN of the model.
        units: Model units; each has a share of the model's throughput.
        delete_after: Value of the tag that says when it is to be deleted.
        waiting: For the wait.

    Returns:
        Its ARN, which is the model's name for requests.

    Raises:
        DeployError: It failed, or something of this name exists.
    """
    if state_of(client, name) != GONE:
        raise DeployError(f"{name}: it exists already; delete it first, or choose another name")
    with deleted_after_failure(name, waiting.say, lambda: delete_provisioned(client, name, waiting)):
        with aws_faults("creating the provisioned throughput"):
            created = client.create_provisioned_model_throughput(
                provisionedModelName=name,
                modelId=model,
                modelUnits=units,
                tags=[{"key": DELETE_AFTER, "value": delete_after}],
            )
        waiting.until(name, lambda: state_of(client, name), frozenset({"InService"}), PENDING)
    return str(created["provisionedModelArn"])


def delete_provisioned(client: Any, name: str, waiting: Waiting) -> None:
    """Deletes the throughput; if it is missing, nothing happens.

    Raises:
        DeployError: It remains, which costs money.
    """

    def delete() -> None:
        with ignoring_missing("deleting the provisioned throughput"):
            client.delete_provisioned_model_throughput(provisionedModelId=name)

    try:
        delete_and_wait(name, lambda: state_of(client, name), delete, waiting, DELETABLE, PENDING)
    except DeployError as error:
        raise DeployError(f"{name} is not deleted, and costs money: {error}. Delete it in AWS's console.") from error


def arn_of(client: Any, name: str) -> str:
    """Returns the ARN. Raises DeployError if there is none."""
    with aws_faults("looking for the provisioned throughput"):
        return str(client.get_provisioned_model_throughput(provisionedModelId=name)["provisionedModelArn"])


def expired_provisioned(client: Any, now: datetime, say: Callable[[str], None]) -> list[str]:
    """Returns the names of throughputs whose expiry has passed. Raises DeployError."""
    with aws_faults("listing the provisioned throughputs"):
        pages = client.get_paginator("list_provisioned_model_throughputs").paginate(nameContains=PREFIX)
        resources = (
            (each["provisionedModelName"], each["provisionedModelArn"])
            for page in pages
            for each in page["provisionedModelSummaries"]
        )
        return expired_names(resources, lambda arn: client.list_tags_for_resource(resourceARN=arn)["tags"], now, say)


def state_of(client: Any, name: str) -> str:
    """Returns the state; GONE if there is none. Raises DeployError."""
    return asked_state(
        lambda: client.get_provisioned_model_throughput(provisionedModelId=name), "status", "failureMessage"
    )
