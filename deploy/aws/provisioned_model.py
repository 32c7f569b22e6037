"""Creates and deletes provisioned throughput of Bedrock: a model with capacity of its own."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from deploy.aws.clients import DeployError, aws_faults, ignoring_missing
from deploy.aws.expiry import DELETE_AFTER, PREFIX, has_expired
from deploy.aws.waiting import Waiting

GONE = "deleted"


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
    try:
        with aws_faults("creating the provisioned throughput"):
            created = client.create_provisioned_model_throughput(
                provisionedModelName=name,
                modelId=model,
                modelUnits=units,
                tags=[{"key": DELETE_AFTER, "value": delete_after}],
            )
        waiting.until(name, lambda: state_of(client, name), frozenset({"InService"}), frozenset({"Creating"}))
    except BaseException as error:
        waiting.say(f"{name}: it failed, so it is deleted again")
        try:
            delete_provisioned(client, name, waiting)
        except DeployError as second:
            raise DeployError(f"{error}; and {second}") from error
        raise
    return str(created["provisionedModelArn"])


def delete_provisioned(client: Any, name: str, waiting: Waiting) -> None:
    """Deletes the throughput; if it is missing, nothing happens.

    Raises:
        DeployError: It remains, which costs money.
    """
    try:
        settled = frozenset({"InService", "Failed", GONE})
        if (
            waiting.until(name, lambda: _short_state(client, name), settled, frozenset({"Creating", "Updating"}))
            == GONE
        ):
            return
        with ignoring_missing("deleting the provisioned throughput"):
            client.delete_provisioned_model_throughput(provisionedModelId=name)
        waiting.until(name, lambda: _short_state(client, name), frozenset({GONE}), settled)
    except DeployError as error:
        raise DeployError(f"{name} is not deleted, and costs money: {error}. Delete it in AWS's console.") from error


def arn_of(client: Any, name: str) -> str:
    """Returns the ARN. Raises DeployError if there is none."""
    with aws_faults("looking for the provisioned throughput"):
        return str(client.get_provisioned_model_throughput(provisionedModelId=name)["provisionedModelArn"])


def expired_provisioned(client: Any, now: datetime) -> list[str]:
    """Returns the names of throughputs whose expiry has passed. Raises DeployError."""
    found = []
    with aws_faults("listing the provisioned throughputs"):
        pages = client.get_paginator("list_provisioned_model_throughputs").paginate(nameContains=PREFIX)
        for page in pages:
            for summary in page["provisionedModelSummaries"]:
                tags = client.list_tags_for_resource(resourceARN=summary["provisionedModelArn"])["tags"]
                if summary["provisionedModelName"].startswith(PREFIX) and has_expired(tags, now):
                    found.append(summary["provisionedModelName"])
    return found


def state_of(client: Any, name: str) -> str:
    """Returns the state; GONE if there is none. Raises DeployError."""
    described: Mapping[str, Any] = {}
    with ignoring_missing("asking for the state of the provisioned throughput"):
        described = client.get_provisioned_model_throughput(provisionedModelId=name)
    if described.get("status") == "Failed":
        return f"Failed ({described.get('failureMessage', 'no reason given')})"
    return str(described.get("status", GONE))


def _short_state(client: Any, name: str) -> str:
    return state_of(client, name).partition(" ")[0]
