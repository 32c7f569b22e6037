"""Provisioned throughput of Bedrock, in three commands: create, test, delete; `run` does all three.

    python -m deploy.aws.bedrock create voice --region us-west-2 --model MODEL --hours 2
    python -m deploy.aws.bedrock test voice --region us-west-2
    python -m deploy.aws.bedrock delete voice --region us-west-2     # or --expired: all whose hours are over

It needs boto3 and AWS's usual keys. A model unit costs tens of dollars an hour from its creation until it is deleted.
"""

from datetime import UTC, datetime
from typing import Annotated

import typer

from deploy.aws.commands import Hours, Name, Region, Requests, Service, commands_of, run_program
from deploy.aws.expiry import expiry, full_name
from deploy.aws.provisioned_model import arn_of, create_provisioned, delete_provisioned, expired_provisioned
from deploy.aws.waiting import Waiting

LIMIT_S = 3600.0
"""Longest wait until it answers, and until it is deleted."""

COST = (
    "A model unit without commitment costs about 20 to 80 USD an hour, by the model (list prices of 2025); "
    "AWS's price list decides, and it is paid from now until it is deleted."
)

BEDROCK = Service("bedrock", arn_of, delete_provisioned, expired_provisioned, LIMIT_S)

Model = Annotated[str, typer.Option(help="Id of a model that has provisioned throughput.")]
Units = Annotated[int, typer.Option(min=1, max=10, help="Model units.")]

app = commands_of(BEDROCK, __doc__)


@app.command()
def create(name: Name, region: Region, model: Model, hours: Hours, units: Units = 1) -> None:
    """Create throughput by the hour and wait until it answers. If that fails, it is deleted again."""
    BEDROCK.announce(full_name(name), region, _create(name, region, model, hours, units))


@app.command()
def run(  # noqa: PLR0917 - each is an option of the command
    name: Name, region: Region, model: Model, hours: Hours = 1.0, units: Units = 1, requests: Requests = 5
) -> None:
    """Create the throughput, test it, and delete it, whatever happens."""
    _create(name, region, model, hours, units)
    BEDROCK.test_and_delete(name, region, requests)


def _create(name: str, region: str, model: str, hours: float, units: int) -> str:
    whole, delete_after = full_name(name), expiry(datetime.now(UTC), hours)
    typer.echo(COST)
    waiting = Waiting(LIMIT_S, say=typer.echo)
    return create_provisioned(
        BEDROCK.client(region), whole, model=model, units=units, delete_after=delete_after, waiting=waiting
    )


if __name__ == "__main__":
    run_program(app, "bedrock")
