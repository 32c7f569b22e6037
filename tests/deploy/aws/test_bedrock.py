"""Provisioned throughput of Bedrock is created and deleted, by the shapes of AWS's own client."""

import importlib
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.services.aws_accounts import REGION, Scripted, VirtualWait, fault
from support.services.aws_server import own_environment
from typer.testing import CliRunner

from assistant.config.loading import load_settings
from deploy.aws import bedrock, commands
from deploy.aws.clients import DeployError, aws_client
from deploy.aws.expiry import DELETE_AFTER
from deploy.aws.measuring import table_of
from deploy.aws.provisioned_model import arn_of, create_provisioned, delete_provisioned, expired_provisioned

NAME = "repartee-voice"
MODEL = "anthropic.claude-3-haiku-20240307-v1:0:48k"
ARN = "arn:aws:bedrock:us-west-2:123456789012:provisioned-model/abcdefghijkl"
MODEL_ARN = f"arn:aws:bedrock:us-west-2::foundation-model/{MODEL}"
AT = datetime(2026, 1, 1, tzinfo=UTC)
DUE = "2026-01-01T02:00:00Z"
CREATED: dict[str, Any] = {
    "provisionedModelName": NAME,
    "modelId": MODEL,
    "modelUnits": 1,
    "tags": [{"key": DELETE_AFTER, "value": DUE}],
}


class Stubbed:
    """A real client whose answers are stubbed: botocore checks each request and answer against AWS's model."""

    def __init__(self) -> None:
        """Makes the client."""
        self.client = aws_client("bedrock", REGION)
        self.stub = importlib.import_module("botocore.stub").Stubber(self.client)

    def state(self, status: str, message: str = "") -> None:
        """The next question for the state."""
        answer = {
            "modelUnits": 1,
            "desiredModelUnits": 1,
            "provisionedModelName": NAME,
            "provisionedModelArn": ARN,
            "modelArn": MODEL_ARN,
            "desiredModelArn": MODEL_ARN,
            "foundationModelArn": MODEL_ARN,
            "status": status,
            "creationTime": AT,
            "lastModifiedTime": AT,
            **({"failureMessage": message} if message else {}),
        }
        self.stub.add_response("get_provisioned_model_throughput", answer, {"provisionedModelId": NAME})

    def gone(self) -> None:
        """The next question for the state finds nothing."""
        self.stub.add_client_error(
            "get_provisioned_model_throughput", "ResourceNotFoundException", "no such thing", 404
        )

    def created(self) -> None:
        """The creation succeeds."""
        self.stub.add_response("create_provisioned_model_throughput", {"provisionedModelArn": ARN}, CREATED)

    def deleted(self) -> None:
        """The deletion succeeds."""
        self.stub.add_response("delete_provisioned_model_throughput", {}, {"provisionedModelId": NAME})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Stubbed]:
    own_environment(monkeypatch, tmp_path)
    stubbed = Stubbed()
    with stubbed.stub:
        yield stubbed
    stubbed.stub.assert_no_pending_responses()


def create(aws: Stubbed, wait: VirtualWait, limit_s: float = 600.0) -> str:
    return create_provisioned(aws.client, NAME, model=MODEL, units=1, delete_after=DUE, waiting=wait.waiting(limit_s))


def test_throughput_is_created_without_a_commitment(aws: Stubbed) -> None:
    aws.gone()
    aws.created()
    aws.state("Creating")
    aws.state("InService")
    assert create(aws, VirtualWait()) == ARN
    aws.state("InService")
    assert arn_of(aws.client, NAME) == ARN


def test_throughput_is_deleted_and_waited_for(aws: Stubbed) -> None:
    aws.state("InService")
    aws.deleted()
    aws.state("InService")
    aws.gone()
    delete_provisioned(aws.client, NAME, VirtualWait().waiting())
    aws.gone()
    delete_provisioned(aws.client, NAME, VirtualWait().waiting())


def test_failed_throughput_is_deleted(aws: Stubbed) -> None:
    aws.gone()
    aws.created()
    aws.state("Failed", "no capacity")
    aws.state("Failed", "no capacity")
    aws.deleted()
    aws.gone()
    with pytest.raises(DeployError, match=r"^repartee-voice: the state is Failed \(no capacity\)$"):
        create(aws, VirtualWait())


def test_existing_throughput_is_not_touched(aws: Stubbed) -> None:
    aws.state("InService")
    with pytest.raises(DeployError, match="it exists already"):
        create(aws, VirtualWait())


def test_failed_deletion_says_that_it_costs_money(aws: Stubbed) -> None:
    aws.state("InService")
    aws.stub.add_client_error("delete_provisioned_model_throughput", "ConflictException", "in use", 400)
    with pytest.raises(DeployError, match=r"^repartee-voice is not deleted, and costs money: deleting the prov"):
        delete_provisioned(aws.client, NAME, VirtualWait().waiting())


def test_only_due_throughput_is_expired(aws: Stubbed) -> None:
    summary = {
        "provisionedModelName": NAME,
        "provisionedModelArn": ARN,
        "modelArn": MODEL_ARN,
        "desiredModelArn": MODEL_ARN,
        "foundationModelArn": MODEL_ARN,
        "modelUnits": 1,
        "desiredModelUnits": 1,
        "status": "InService",
        "creationTime": AT,
        "lastModifiedTime": AT,
    }
    for hours, expected in ((1, []), (3, [NAME])):
        listed = {"provisionedModelSummaries": [summary]}
        aws.stub.add_response("list_provisioned_model_throughputs", listed, {"nameContains": "repartee-"})
        aws.stub.add_response("list_tags_for_resource", {"tags": CREATED["tags"]}, {"resourceARN": ARN})
        assert expired_provisioned(aws.client, AT + timedelta(hours=hours), print) == expected


def test_run_deletes_the_throughput_if_its_test_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: object) -> None:
        raise DeployError("it does not answer")

    missing = fault("ResourceNotFoundException", "no such thing")
    running = {"status": "InService", "provisionedModelArn": ARN}
    client = Scripted(
        create_provisioned_model_throughput=[{"provisionedModelArn": ARN}],
        get_provisioned_model_throughput=[missing, running, running, running, missing],
        delete_provisioned_model_throughput=[{}],
    )
    monkeypatch.setattr(commands, "aws_client", lambda *_: client)
    monkeypatch.setattr(commands, "measure_answers", fails)
    done = CliRunner().invoke(bedrock.app, ["run", "voice", "--region", REGION, "--model", MODEL])
    assert str(done.exception) == "it does not answer"
    assert "costs about 20 to 80 USD an hour" in done.output
    assert client.called[-2:] == ["delete_provisioned_model_throughput", "get_provisioned_model_throughput"]


def test_printed_table_is_accepted_by_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(table_of(bedrock.BEDROCK.section_of(ARN, REGION)), encoding="utf-8")
    (endpoint,) = load_settings(file, {}, []).settings.llm.endpoints
    assert (endpoint.kind, endpoint.model, endpoint.region) == ("bedrock", ARN, REGION)
