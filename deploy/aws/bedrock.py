"""Provisioned throughput of Bedrock, in three commands: create, test, delete; `run` does all three.

    python -m deploy.aws.bedrock create voice --region us-west-2 --model MODEL --hours 2
    python -m deploy.aws.bedrock test voice --region us-west-2
    python -m deploy.aws.bedrock delete voice --region us-west-2     # or --expired: all whose hours are over

It needs boto3 and AWS's usual keys. A model unit costs tens of dollars an hour from its creation until it is deleted.
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
from deploy.aws.provisioned_model import arn_of, create_provisioned, delete_provisioned, expired_provisioned
from deploy.aws.waiting import Waiting

LIMIT_S = 3600.0
COST = (
    "A model unit without commitment costs about 20 to 80 USD an hour, by the model (list prices of 2025); "
    "AWS's price list decides, and it is paid from now until it is deleted."
)

app = typer.Typer(help=__doc__, no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the throughput; it begins with repartee-, which is added.")]
Region = Annotated[str, typer.Option(help="AWS region, as in us-west-2.")]
Model = Annotated[str, typer.Option(help="Id of a model that has provisioned throughput.")]
Hours = Annotated[float, typer.Option(help="Hours after which `delete --expired` deletes it.")]
Units = Annotated[int, typer.Option(min=1, max=10, help="Model units.")]
Requests = Annotated[int, typer.Option(min=1, max=100, help="Number of short answers.")]


def section_of(arn: str, region: str, url: str = "") -> EndpointSection:
    """Returns the endpoint as Repartee uses it."""
    return EndpointSection(name="bedrock", kind="bedrock", region=region, model=arn, url=url)


@app.command()
def create(name: Name, region: Region, model: Model, hours: Hours, units: Units = 1) -> None:
    """Create throughput by the hour and wait until it answers. If that fails, it is deleted again."""
    whole = full_name(name)
    delete_after = expiry(datetime.now(UTC), hours)
    typer.echo(COST)
    waiting = Waiting(LIMIT_S, say=typer.echo)
    client = aws_client("bedrock", region)
    arn = create_provisioned(client, whole, model=model, units=units, delete_after=delete_after, waiting=waiting)
    typer.echo(f"It runs, and costs money, until: python -m deploy.aws.bedrock delete {whole} --region {region}")
    typer.echo(table_of(section_of(arn, region)))


@app.command(name="test")
def measure(name: Name, region: Region, requests: Requests = 5, url: str = "") -> None:
    """Ask it some short questions and measure the time to the first token. --url: of a VPC endpoint."""
    arn = arn_of(aws_client("bedrock", region), full_name(name))
    measure_answers(section_of(arn, region, url), requests, typer.echo)


@app.command()
def delete(
    region: Region,
    name: Annotated[str, typer.Argument(help="Name of the throughput.")] = "",
    *,
    expired: Annotated[bool, typer.Option("--expired", help="All throughputs of these commands that are due.")] = False,
) -> None:
    """Delete the throughput, and wait until it is gone."""
    if bool(name) == expired:
        raise DeployError("name a throughput, or use --expired")
    client, waiting = aws_client("bedrock", region), Waiting(LIMIT_S, say=typer.echo)
    names = expired_provisioned(client, datetime.now(UTC)) if expired else [full_name(name)]
    delete_each(names, lambda each: delete_provisioned(client, each, waiting))


@app.command()
def run(  # noqa: PLR0917 - each is an option of the command
    name: Name, region: Region, model: Model, hours: Hours = 1.0, units: Units = 1, requests: Requests = 5
) -> None:
    """Create the throughput, test it, and delete it, whatever happens."""
    create(name, region, model, hours, units)
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
        sys.exit(f"bedrock: {error}")


if __name__ == "__main__":
    main()
