"""Creates and deletes a SageMaker endpoint: model, endpoint configuration, endpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deploy.aws.clients import DeployError, aws_faults, ignoring_missing
from deploy.aws.expiry import DELETE_AFTER, PREFIX
from deploy.aws.lifecycle import FAILED, asked_state, delete_and_wait, deleted_after_failure, expired_names
from deploy.aws.waiting import Waiting

CREATING = frozenset({"Creating", "Updating", "SystemUpdating"})
DELETABLE = frozenset({"InService", "OutOfService", FAILED, "UpdateRollbackFailed"})


@dataclass(frozen=True, slots=True)
class EndpointPlan:
    """Settings of an endpoint that is created.

    Attributes:
        name: Name of model, configuration and endpoint.
        image: Address of the container's image.
        role: ARN of the role with which SageMaker reads the image.
        instance_type: Instance.
        environment: Environment variables of the container.
        ami: Version of the instance's system, with its GPU driver; "" for SageMaker's default.
        volume_gb: Size of the instance's volume; 0 for instances that have a disk.
        startup_s: Longest time until the container answers.
        delete_after: Value of the tag that says when it is to be deleted.
    """

    name: str
    image: str
    role: str
    instance_type: str
    environment: Mapping[str, str]
    ami: str
    volume_gb: int
    startup_s: int
    delete_after: str

    @property
    def variant(self) -> Mapping[str, object]:
        """The only production variant, as in the endpoint configuration."""
        return {
            "VariantName": "AllTraffic",
            "ModelName": self.name,
            "InstanceType": self.instance_type,
            "InitialInstanceCount": 1,
            "InitialVariantWeight": 1.0,
            "ModelDataDownloadTimeoutInSeconds": self.startup_s,
            "ContainerStartupHealthCheckTimeoutInSeconds": self.startup_s,
            **({"InferenceAmiVersion": self.ami} if self.ami else {}),
            **({"VolumeSizeInGB": self.volume_gb} if self.volume_gb else {}),
        }


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
    with deleted_after_failure(plan.name, waiting.say, lambda: delete_endpoint(client, plan.name, waiting)):
        with aws_faults("creating the SageMaker endpoint"):
            client.create_model(
                ModelName=plan.name,
                ExecutionRoleArn=plan.role,
                PrimaryContainer={"Image": plan.image, "Environment": dict(plan.environment)},
                Tags=tags,
            )
            client.create_endpoint_config(
                EndpointConfigName=plan.name, ProductionVariants=[dict(plan.variant)], Tags=tags
            )
            client.create_endpoint(EndpointName=plan.name, EndpointConfigName=plan.name, Tags=tags)
        waiting.until(plan.name, lambda: state_of(client, plan.name), frozenset({"InService"}), CREATING)


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


def expired_endpoints(client: Any, now: datetime, say: Callable[[str], None]) -> list[str]:
    """Returns the names of endpoints whose expiry has passed. Raises DeployError."""
    with aws_faults("listing the SageMaker endpoints"):
        pages = client.get_paginator("list_endpoints").paginate(NameContains=PREFIX)
        resources = ((each["EndpointName"], each["EndpointArn"]) for page in pages for each in page["Endpoints"])
        return expired_names(resources, lambda arn: client.list_tags(ResourceArn=arn)["Tags"], now, say)


def state_of(client: Any, name: str) -> str:
    """Returns the state of the endpoint; GONE if there is none. Raises DeployError."""
    return asked_state(lambda: client.describe_endpoint(EndpointName=name), "EndpointStatus", "FailureReason")


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
    delete_and_wait(
        name,
        lambda: state_of(client, name),
        lambda: client.delete_endpoint(EndpointName=name),
        waiting,
        DELETABLE,
        CREATING | {"RollingBack"},
    )
