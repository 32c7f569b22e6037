"""A language model on SageMaker, in three commands: create, test, delete; `run` does all three.

    python -m deploy.aws.sagemaker create voice --region us-west-2 --role ARN --container tgi --hours 2
    python -m deploy.aws.sagemaker test voice --region us-west-2
    python -m deploy.aws.sagemaker delete voice --region us-west-2     # or --expired: all whose hours are over

It needs boto3 and AWS's usual keys. An endpoint costs money from its creation until it is deleted.
"""

import signal
import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from assistant.config.endpoint_settings import EndpointSection
from deploy.aws.clients import DeployError, aws_client
from deploy.aws.expiry import delete_each, expiry, full_name
from deploy.aws.measuring import measure_answers, table_of
from deploy.aws.sagemaker_endpoint import (
    EndpointPlan,
    create_endpoint,
    delete_endpoint,
    expired_endpoints,
)
from deploy.aws.variants import VARIANTS, Accelerator, Container, cost_hint, image_uri
from deploy.aws.waiting import Waiting

INSTANCE_LIMIT_S = 1800.0
"""Longest wait for the instance and the image, besides the container's own start."""

DELETE_LIMIT_S = 5400.0
"""Longest wait until it is deleted: SageMaker deletes nothing that is still being created."""

app = typer.Typer(help=__doc__, no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the endpoint; it begins with repartee-, which is added.")]
Region = Annotated[str, typer.Option(help="AWS region, as in us-west-2.")]
Role = Annotated[str, typer.Option(help="ARN of a role with AmazonSageMakerFullAccess, or less.")]
Hours = Annotated[float, typer.Option(help="Hours after which `delete --expired` deletes it.")]
Kind = Annotated[Container, typer.Option("--container", help="Server of the model.")]
Chip = Annotated[Accelerator, typer.Option("--accelerator", help="gpu, or neuron for Inferentia.")]
Model = Annotated[str, typer.Option(help="Model on the Hugging Face hub; default: one that fits.")]
Instance = Annotated[str, typer.Option("--instance", help="Instance type; default: the smallest that fits.")]
Image = Annotated[str, typer.Option(help="Another image: a name and tag of AWS's, or an address.")]
Token = Annotated[str, typer.Option(envvar="HF_TOKEN", help="Key for models that need one.", show_envvar=True)]
Requests = Annotated[int, typer.Option(min=1, max=100, help="Number of short answers.")]


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
    hf_token: str = "",
) -> EndpointPlan:
    """Returns what is created. Raises DeployError for a name or time that is not allowed."""
    variant = VARIANTS[container, accelerator]
    try:
        whole, delete_after = full_name(name), expiry(datetime.now(UTC), hours)
    except ValueError as error:
        raise DeployError(str(error)) from error
    environment = {"HF_MODEL_ID": model or variant.model, **variant.environment}
    if hf_token:
        environment["HF_TOKEN"] = hf_token
    return EndpointPlan(
        whole,
        image_uri(image or variant.image, region),
        role,
        instance or variant.instance_type,
        environment,
        variant.startup_s,
        delete_after,
    )


def section_of(name: str, region: str, url: str = "") -> EndpointSection:
    """Returns the endpoint as Repartee uses it."""
    return EndpointSection(name="sagemaker", kind="sagemaker", region=region, model=full_name(name), url=url)


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
    hf_token: Token = "",
) -> None:
    """Create an endpoint and wait until it answers. If that fails, everything is deleted again."""
    plan = plan_of(name, region, role, hours, container, accelerator, model, instance, image, hf_token)
    typer.echo(cost_hint(plan.instance_type, hours))
    create_endpoint(aws_client("sagemaker", region), plan, Waiting(plan.startup_s + INSTANCE_LIMIT_S, say=typer.echo))
    typer.echo(f"It runs, and costs money, until: python -m deploy.aws.sagemaker delete {plan.name} --region {region}")
    typer.echo(table_of(section_of(plan.name, region)))


@app.command(name="test")
def measure(name: Name, region: Region, requests: Requests = 5, url: str = "") -> None:
    """Ask it some short questions and measure the time to the first token. --url: of a VPC endpoint."""
    measure_answers(section_of(name, region, url), requests, typer.echo)


@app.command()
def delete(
    region: Region,
    name: Annotated[str, typer.Argument(help="Name of the endpoint.")] = "",
    *,
    expired: Annotated[bool, typer.Option("--expired", help="All endpoints of these commands that are due.")] = False,
) -> None:
    """Delete endpoint, configuration and model, and wait until they are gone."""
    if bool(name) == expired:
        raise DeployError("name an endpoint, or use --expired")
    client, waiting = aws_client("sagemaker", region), Waiting(DELETE_LIMIT_S, say=typer.echo)
    names = expired_endpoints(client, datetime.now(UTC)) if expired else [full_name(name)]
    delete_each(names, lambda each: delete_endpoint(client, each, waiting))


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
    hf_token: Token = "",
    requests: Requests = 5,
) -> None:
    """Create an endpoint, test it, and delete it, whatever happens."""
    create(name, region, role, hours, container, accelerator, model, instance, image, hf_token)
    try:
        measure(name, region, requests)
    finally:
        delete(region, name)


def main() -> None:
    """Runs the program; errors are one line. SIGTERM is handled as Ctrl-C: what was begun is deleted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except (DeployError, ValueError) as error:
        sys.exit(f"sagemaker: {error}")


if __name__ == "__main__":
    main()
