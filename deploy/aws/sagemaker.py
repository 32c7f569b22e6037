"""A language model on SageMaker, in three commands: create, test, delete; `run` does all three.

    python -m deploy.aws.sagemaker create voice --region us-west-2 --role ARN --container tgi --hours 2
    python -m deploy.aws.sagemaker test voice --region us-west-2
    python -m deploy.aws.sagemaker delete voice --region us-west-2     # or --expired: all whose hours are over

It needs boto3 and AWS's usual keys. An endpoint costs money from its creation until it is deleted.
"""

from datetime import UTC, datetime
from typing import Annotated

import typer

from deploy.aws.commands import Hours, Name, Region, Requests, Service, commands_of, run_program
from deploy.aws.expiry import expiry, full_name
from deploy.aws.sagemaker_endpoint import EndpointPlan, create_endpoint, delete_endpoint, expired_endpoints
from deploy.aws.variants import VARIANTS, Accelerator, Container, cost_hint, image_uri, volume_gb
from deploy.aws.waiting import Waiting

INSTANCE_LIMIT_S = 1800.0
"""Longest wait for the instance and the image, besides the container's own start."""

DELETE_LIMIT_S = 5400.0
"""Longest wait until it is deleted: SageMaker deletes nothing that is still being created."""

SAGEMAKER = Service("sagemaker", lambda _, name: name, delete_endpoint, expired_endpoints, DELETE_LIMIT_S)

Role = Annotated[str, typer.Option(help="ARN of a role with AmazonSageMakerFullAccess, or less.")]
Kind = Annotated[Container, typer.Option("--container", help="Server of the model.")]
Chip = Annotated[Accelerator, typer.Option("--accelerator", help="gpu, or neuron for Inferentia.")]
Model = Annotated[str, typer.Option(help="Model on the Hugging Face hub; default: one that fits.")]
Instance = Annotated[str, typer.Option("--instance", help="Instance type; default: the smallest that fits.")]
Image = Annotated[str, typer.Option(help="Another image: a name and tag of AWS's, or an address.")]
Ami = Annotated[str, typer.Option(help="Another InferenceAmiVersion, for an image that needs a newer driver.")]
Token = Annotated[str, typer.Option(envvar="HF_TOKEN", help="Key for models that need one.", show_envvar=True)]

app = commands_of(SAGEMAKER, __doc__)


def plan_of(  # noqa: PLR0917 - as the command's options
    name: str,
    region: str,
    role: str,
    hours: float,
    container: Container,
    accelerator: Accelerator,
    model: str = "",
    instance: str = "",
    image: str = "",
    ami: str = "",
    hf_token: str = "",
) -> EndpointPlan:
    """Returns what is created. Raises ValueError for a name or time that is not allowed."""
    variant = VARIANTS[container, accelerator]
    environment = {"HF_MODEL_ID": model or variant.model, **variant.environment}
    if hf_token:
        environment["HF_TOKEN"] = hf_token
    instance_type = instance or variant.instance_type
    return EndpointPlan(
        name=full_name(name),
        image=image_uri(image or variant.image, region),
        role=role,
        instance_type=instance_type,
        environment=environment,
        ami=ami or variant.ami,
        volume_gb=volume_gb(instance_type),
        startup_s=variant.startup_s,
        delete_after=expiry(datetime.now(UTC), hours),
    )


@app.command()
def create(  # noqa: PLR0917 - each is an option of the command
    name: Name,
    region: Region,
    role: Role,
    hours: Hours,
    container: Kind = "tgi",
    accelerator: Chip = "gpu",
    model: Model = "",
    instance: Instance = "",
    image: Image = "",
    ami: Ami = "",
    hf_token: Token = "",
) -> None:
    """Create an endpoint and wait until it answers. If that fails, everything is deleted again."""
    plan = plan_of(name, region, role, hours, container, accelerator, model, instance, image, ami, hf_token)
    _create(plan, region, hours)
    SAGEMAKER.announce(plan.name, region, plan.name)


@app.command()
def run(  # noqa: PLR0917 - each is an option of the command
    name: Name,
    region: Region,
    role: Role,
    hours: Hours = 1.0,
    container: Kind = "tgi",
    accelerator: Chip = "gpu",
    model: Model = "",
    instance: Instance = "",
    image: Image = "",
    ami: Ami = "",
    hf_token: Token = "",
    requests: Requests = 5,
) -> None:
    """Create an endpoint, test it, and delete it, whatever happens."""
    plan = plan_of(name, region, role, hours, container, accelerator, model, instance, image, ami, hf_token)
    _create(plan, region, hours)
    SAGEMAKER.test_and_delete(name, region, requests)


def _create(plan: EndpointPlan, region: str, hours: float) -> None:
    typer.echo(cost_hint(plan.instance_type, hours))
    waiting = Waiting(plan.startup_s + INSTANCE_LIMIT_S, say=typer.echo)
    create_endpoint(SAGEMAKER.client(region), plan, waiting)


if __name__ == "__main__":
    run_program(app, "sagemaker")
