"""Creates and deletes a SageMaker endpoint: model, endpoint configuration, endpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deploy.aws.clients import DeployError, aws_faults, ignoring_missing
from deploy.aws.expiry import DELETE_AFTER, PREFIX, has_expired
from deploy.aws.waiting import Waiting

CREATING = frozenset({"Creating", "Updating", "SystemUpdating"})
GONE = "deleted"
SETTLED = frozenset({"InService", "OutOfService", "Failed", "UpdateRollbackFailed", "Deleting", GONE})
"""States in which SageMaker takes a request to delete."""


@dataclass(frozen=True, slots=True)
class EndpointPlan:
    """Settings of an endpoint that is created.

    Attributes:
        name: Name of model, configuration and endpoint.
        image: Address of the container's image.
        role: ARN of the role with which SageMaker reads the image.
        instance_type: Instance.
        environment: Environment variables of the container.
        startup_s: Longest time until the container answers.
        delete_after: Value of the tag that says when it is to be deleted.
    """

    name: str
    image: str
    role: str
    instance_type: str
    environment: Mapping[str, str]
    startup_s: int
    delete_after: str


def create_endpoint(client: Any, plan: EndpointPlan, waiting: Waiting) -> None:
    """Creates the endpoint and waits until it answers. Deletes everything again if that fails or is interrupted.

    Args:
        client: The boto3 client `sagemaker`.
        plan: What is created.
        waiting: For the wait.

    Raises:
        DeployError: It failed, or something of this name exists; the text says so if something could not be deleted.
    """
    _refuse_existing(client, plan.name)
    tags = [{"Key": DELETE_AFTER, "Value": plan.delete_after}]
    try:
        with aws_faults("creating the SageMaker endpoint"):
            client.create_model(
                ModelName=plan.name,
                ExecutionRoleArn=plan.role,
                PrimaryContainer={"Image": plan.image, "Environment": dict(plan.environment)},
                Tags=tags,
            )
            client.create_endpoint_config(
                EndpointConfigName=plan.name,
                ProductionVariants=[
                    {
                        "VariantName": "AllTraffic",
                        "ModelName": plan.name,
                        "InstanceType": plan.instance_type,
                        "InitialInstanceCount": 1,
                        "InitialVariantWeight": 1.0,
                        "ModelDataDownloadTimeoutInSeconds": plan.startup_s,
                        "ContainerStartupHealthCheckTimeoutInSeconds": plan.startup_s,
                    }
                ],
                Tags=tags,
            )
            client.create_endpoint(EndpointName=plan.name, EndpointConfigName=plan.name, Tags=tags)
        waiting.until(plan.name, lambda: state_of(client, plan.name), frozenset({"InService"}), CREATING)
    except BaseException as error:
        waiting.say(f"{plan.name}: it failed, so everything is deleted again")
        _delete_after_failure(client, plan.name, waiting, error)
        raise


def delete_endpoint(client: Any, name: str, waiting: Waiting) -> None:
    """Deletes endpoint, configuration and model, in this order; what is missing is ignored.

    Raises:
        DeployError: Something remains, which costs money.
    """
    remaining = []
    steps: list[tuple[str, Callable[[], object]]] = [
        ("the endpoint", lambda: _delete_running(client, name, waiting)),
        ("its configuration", lambda: client.delete_endpoint_config(EndpointConfigName=name)),
        ("its model", lambda: client.delete_model(ModelName=name)),
    ]
    for what, delete in steps:
        try:
            with ignoring_missing(f"deleting {what}"):
                delete()
        except DeployError as error:
            remaining.append(str(error))
    if remaining:
        raise DeployError(
            f"{name} is not deleted, and costs money: {'; '.join(remaining)}. Delete it in AWS's console."
        )
    waiting.say(f"{name}: deleted")


def expired_endpoints(client: Any, now: datetime) -> list[str]:
    """Returns the names of endpoints whose expiry has passed. Raises DeployError."""
    found = []
    with aws_faults("listing the SageMaker endpoints"):
        for page in client.get_paginator("list_endpoints").paginate(NameContains=PREFIX):
            for endpoint in page["Endpoints"]:
                tags = client.list_tags(ResourceArn=endpoint["EndpointArn"])["Tags"]
                if endpoint["EndpointName"].startswith(PREFIX) and has_expired(tags, now):
                    found.append(endpoint["EndpointName"])
    return found


def state_of(client: Any, name: str) -> str:
    """Returns the state of the endpoint; GONE if there is none. Raises DeployError."""
    described: Mapping[str, Any] = {}
    with ignoring_missing("asking for the endpoint's state"):
        described = client.describe_endpoint(EndpointName=name)
    if described.get("EndpointStatus") == "Failed":
        return f"Failed ({described.get('FailureReason', 'no reason given')})"
    return str(described.get("EndpointStatus", GONE))


def _refuse_existing(client: Any, name: str) -> None:
    """Raises DeployError if something has this name: a failed creation would delete it."""
    asking: list[tuple[str, Callable[[], object]]] = [
        ("a model", lambda: client.describe_model(ModelName=name)),
        ("an endpoint configuration", lambda: client.describe_endpoint_config(EndpointConfigName=name)),
        ("an endpoint", lambda: client.describe_endpoint(EndpointName=name)),
    ]
    for what, ask in asking:
        with ignoring_missing("looking for the name"):
            ask()
            raise DeployError(f"{name}: there is {what} of this name already; delete it first, or choose another name")


def _delete_running(client: Any, name: str, waiting: Waiting) -> None:
    def state() -> str:
        return state_of(client, name).partition(" ")[0]

    waiting.until(name, state, SETTLED, CREATING | {"RollingBack"})
    client.delete_endpoint(EndpointName=name)
    waiting.until(name, state, frozenset({GONE}), SETTLED)


def _delete_after_failure(client: Any, name: str, waiting: Waiting, error: BaseException) -> None:
    try:
        delete_endpoint(client, name, waiting)
    except DeployError as second:
        raise DeployError(f"{error}; and {second}") from error
