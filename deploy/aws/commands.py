"""Provides the commands test and delete of the programs for SageMaker and for Bedrock, and the way these end."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from assistant.config.endpoint_settings import EndpointSection
from deploy.aws.clients import DeployError, aws_client
from deploy.aws.expiry import full_name
from deploy.aws.measuring import measure_answers, table_of
from deploy.aws.waiting import Waiting

Name = Annotated[str, typer.Argument(help="Its name; it begins with repartee-, which is added.")]
Region = Annotated[str, typer.Option(help="AWS region, as in us-west-2.")]
Hours = Annotated[float, typer.Option(help="Hours after which `delete --expired` deletes it.")]
Requests = Annotated[int, typer.Option(min=1, max=100, help="Number of short answers.")]
Url = Annotated[str, typer.Option(help="Address of a VPC endpoint, if it is reached through one.")]


@dataclass(frozen=True, slots=True)
class Service:
    """A service of AWS with language models that are paid by the hour.

    Attributes:
        kind: The kind of its LLM endpoints, which is also the name of its program and of the boto3 client.
        model_of: Asks for the model of an LLM endpoint. Takes the client and the resource's name.
        delete: Deletes a resource and waits until it is gone. Takes the client, its name and the wait.
        expired: Lists the names of resources that are due. Takes the client, the time, and what prints a line.
        delete_limit_s: Longest wait until a resource is deleted.
    """

    kind: Literal["sagemaker", "bedrock"]
    model_of: Callable[[Any, str], str]
    delete: Callable[[Any, str, Waiting], None]
    expired: Callable[[Any, datetime, Callable[[str], None]], list[str]]
    delete_limit_s: float

    def client(self, region: str) -> Any:
        """Returns its boto3 client. Raises DeployError."""
        return aws_client(self.kind, region)

    def section_of(self, model: str, region: str, url: str = "") -> EndpointSection:
        """Returns a resource as Repartee uses it."""
        return EndpointSection(name=self.kind, kind=self.kind, region=region, model=model, url=url)

    def announce(self, name: str, region: str, model: str) -> None:
        """Prints how to delete a resource that runs, and its table for config.toml."""
        command = f"python -m deploy.aws.{self.kind} delete {name} --region {region}"
        typer.echo(f"It runs, and costs money, until: {command}")
        typer.echo(table_of(self.section_of(model, region)))

    def measure(self, name: str, region: str, requests: int, url: str = "") -> None:
        """Measures a resource. Raises DeployError."""
        model = self.model_of(self.client(region), full_name(name))
        measure_answers(self.section_of(model, region, url), requests, typer.echo)

    def delete_named(self, name: str, region: str) -> None:
        """Deletes a resource. Raises DeployError."""
        self.delete(self.client(region), full_name(name), self._waiting())

    def delete_expired(self, region: str) -> None:
        """Deletes all resources that are due, also after a failure. Raises DeployError with all failures."""
        client, failures = self.client(region), []
        for name in self.expired(client, datetime.now(UTC), typer.echo):
            try:
                self.delete(client, name, self._waiting())
            except DeployError as error:
                failures.append(str(error))
        if failures:
            raise DeployError("; ".join(failures))

    def test_and_delete(self, name: str, region: str, requests: int) -> None:
        """Measures a resource, and deletes it, whatever happens. Raises DeployError."""
        try:
            self.measure(name, region, requests)
        finally:
            self.delete_named(name, region)

    def _waiting(self) -> Waiting:
        return Waiting(self.delete_limit_s, say=typer.echo)


def commands_of(service: Service, text: str) -> typer.Typer:
    """Returns the commands test and delete of a program. `text`: its help."""
    app = typer.Typer(help=text, no_args_is_help=True)

    @app.command(name="test")
    def measure(name: Name, region: Region, requests: Requests = 5, url: Url = "") -> None:
        """Ask it some short questions and measure the time to the first token."""
        service.measure(name, region, requests, url)

    @app.command()
    def delete(
        region: Region,
        name: Annotated[str, typer.Argument(help="Its name.")] = "",
        *,
        expired: Annotated[bool, typer.Option("--expired", help="Delete all of these commands that are due.")] = False,
    ) -> None:
        """Delete it and what belongs to it, and wait until it is gone."""
        if bool(name) == expired:
            raise DeployError("name what is to be deleted, or use --expired")
        if expired:
            service.delete_expired(region)
        else:
            service.delete_named(name, region)

    return app


def run_program(app: typer.Typer, name: str) -> None:
    """Runs a program; errors are one line. The end of its session or terminal is handled as Ctrl-C.

    So SIGTERM and SIGHUP, too, delete what was begun.
    """
    for ended in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, ended):
            signal.signal(getattr(signal, ended), signal.default_int_handler)
    try:
        app()
    except (DeployError, ValueError) as error:
        sys.exit(f"{name}: {error}")
