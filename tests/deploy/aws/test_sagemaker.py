"""A SageMaker endpoint is created, tested and deleted, and nothing is left running after a failure."""

import asyncio
import importlib
import threading
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.services.aws_accounts import REGION, ROLE, Scripted, VirtualWait, account, fault
from support.services.aws_server import REGION as SERVED_REGION
from support.services.aws_server import own_environment
from support.services.endpoint_services import serving_kind
from typer.testing import CliRunner

from assistant.config.loading import load_settings
from deploy.aws import commands, sagemaker
from deploy.aws.clients import DeployError, aws_client
from deploy.aws.expiry import DELETE_AFTER
from deploy.aws.measuring import measure_answers, table_of
from deploy.aws.sagemaker_endpoint import EndpointPlan, create_endpoint, delete_endpoint, expired_endpoints, state_of
from deploy.aws.variants import VARIANTS, Accelerator, Container, cost_hint, image_uri

NAME = "repartee-voice"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Any]:
    with account(monkeypatch, tmp_path):
        made = aws_client("sagemaker", REGION)
        known = made.meta.service_model.shape_for("ProductionVariantInstanceType").enum

        def check(_config: object, instance_type: str) -> None:
            if instance_type not in known:
                raise ValueError(instance_type)

        # moto knows the instance types of 2019 only; botocore knows all.
        models = importlib.import_module("moto.sagemaker.models")
        monkeypatch.setattr(models.FakeEndpointConfig, "validate_instance_type", check)
        yield made


def plan(container: Container = "tgi", accelerator: Accelerator = "gpu", hours: float = 1.0) -> EndpointPlan:
    return sagemaker.plan_of("voice", REGION, ROLE, hours, container, accelerator)


def everything(client: Any) -> list[str]:
    return [
        *(each["EndpointName"] for each in client.list_endpoints()["Endpoints"]),
        *(each["EndpointConfigName"] for each in client.list_endpoint_configs()["EndpointConfigs"]),
        *(each["ModelName"] for each in client.list_models()["Models"]),
    ]


@pytest.mark.parametrize(("container", "accelerator"), VARIANTS)
def test_endpoint_of_each_container_is_created_and_deleted(
    client: Any, container: Container, accelerator: Accelerator
) -> None:
    wait = VirtualWait()
    create_endpoint(client, plan(container, accelerator), wait.waiting())
    model = client.describe_model(ModelName=NAME)["PrimaryContainer"]
    (variant,) = client.describe_endpoint_config(EndpointConfigName=NAME)["ProductionVariants"]
    assert model["Image"] == f"763104351884.dkr.ecr.us-west-2.amazonaws.com/{VARIANTS[container, accelerator].image}"
    assert model["Environment"]["HF_MODEL_ID"] == VARIANTS[container, accelerator].model
    assert ("inf2" in variant["InstanceType"]) == (accelerator == "neuron")
    assert ("VolumeSizeInGB" in variant) == (accelerator == "neuron")
    assert ("InferenceAmiVersion" in variant) == (accelerator == "gpu")
    assert state_of(client, NAME) == "InService"
    delete_endpoint(client, NAME, wait.waiting())
    assert everything(client) == []


def test_endpoint_that_fails_to_start_is_deleted(client: Any) -> None:
    failed = {"EndpointStatus": "Failed", "FailureReason": "no capacity"}
    gone = fault("ValidationException", "Could not find endpoint")
    scripted = Scripted(client, describe_endpoint=[gone, {"EndpointStatus": "Creating"}, failed, failed, gone])
    with pytest.raises(DeployError, match=r"^repartee-voice: the state is Failed \(no capacity\)$"):
        create_endpoint(scripted, plan(), VirtualWait().waiting())
    assert everything(client) == []


def test_endpoint_that_takes_too_long_is_deleted(client: Any) -> None:
    gone = fault("ValidationException", "Could not find endpoint")
    creating = [{"EndpointStatus": "Creating"}] * 45
    wait = VirtualWait()
    scripted = Scripted(client, describe_endpoint=[gone, *creating, {"EndpointStatus": "InService"}, gone])
    with pytest.raises(DeployError, match=r"^repartee-voice: still Creating after 600 s$"):
        create_endpoint(scripted, plan(), wait.waiting(600))
    assert everything(client) == []
    assert "repartee-voice: it failed, so what was begun is deleted again" in wait.said


def test_interrupted_creation_is_deleted(client: Any) -> None:
    gone = fault("ValidationException", "Could not find endpoint")
    scripted = Scripted(client, describe_endpoint=[gone, KeyboardInterrupt(), {"EndpointStatus": "InService"}, gone])
    with pytest.raises(KeyboardInterrupt):
        create_endpoint(scripted, plan(), VirtualWait().waiting())
    assert everything(client) == []


def test_refused_creation_deletes_the_model(client: Any) -> None:
    quota = fault("ResourceLimitExceeded", "the limit of ml.g5.xlarge is 0")
    scripted = Scripted(client, create_endpoint=[quota])
    with pytest.raises(DeployError, match=r"^creating the SageMaker endpoint: ResourceLimitExceeded: the limit"):
        create_endpoint(scripted, plan(), VirtualWait().waiting())
    assert everything(client) == []


def test_existing_endpoint_is_not_touched(client: Any) -> None:
    create_endpoint(client, plan(), VirtualWait().waiting())
    before = everything(client)
    with pytest.raises(DeployError, match="there is a model of this name already"):
        create_endpoint(client, plan(), VirtualWait().waiting())
    assert everything(client) == before != []


def test_failed_deletion_says_that_it_costs_money(client: Any) -> None:
    create_endpoint(client, plan(), VirtualWait().waiting())
    scripted = Scripted(client, delete_endpoint=[fault("AccessDeniedException", "not allowed")])
    with pytest.raises(DeployError, match=r"^repartee-voice is not deleted, and costs money: deleting the endpoint: "):
        delete_endpoint(scripted, NAME, VirtualWait().waiting())
    assert everything(client) == [NAME]


def test_deleting_what_is_gone_succeeds(client: Any) -> None:
    delete_endpoint(client, NAME, VirtualWait().waiting())


def test_only_due_endpoints_are_expired(client: Any) -> None:
    create_endpoint(client, plan(hours=2.0), VirtualWait().waiting())
    now = datetime.now(UTC)
    assert expired_endpoints(client, now + timedelta(hours=1), print) == []
    assert expired_endpoints(client, now + timedelta(hours=3), print) == [NAME]
    arn = client.describe_endpoint(EndpointName=NAME)["EndpointArn"]
    client.delete_tags(ResourceArn=arn, TagKeys=[DELETE_AFTER])
    assert expired_endpoints(client, now + timedelta(hours=3), print) == []


def test_commands_create_and_delete(client: Any) -> None:
    run = CliRunner().invoke
    created = run(sagemaker.app, ["create", "voice", "--region", REGION, "--role", ROLE, "--hours", "2"])
    assert (created.exit_code, created.exception) == (0, None)
    assert "about 1.41 USD an hour (list price, us-east-1), 2.82 for 2 h" in created.output
    assert "delete repartee-voice --region us-west-2" in created.output
    assert len(everything(client)) == 3
    deleted = run(sagemaker.app, ["delete", "voice", "--region", REGION])
    assert (deleted.exit_code, deleted.exception) == (0, None)
    assert everything(client) == []


def test_run_deletes_the_endpoint_if_its_test_fails(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: object) -> None:
        raise DeployError("it does not answer")

    monkeypatch.setattr(commands, "measure_answers", fails)
    done = CliRunner().invoke(sagemaker.app, ["run", "voice", "--region", REGION, "--role", ROLE])
    assert str(done.exception) == "it does not answer"
    assert everything(client) == []


@pytest.mark.parametrize("hours", [0.0, -1.0, 100.0])
def test_unlimited_time_is_refused(hours: float) -> None:
    with pytest.raises(ValueError, match="hours must be more than 0 and at most 72"):
        plan(hours=hours)


def test_printed_table_is_accepted_by_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(table_of(sagemaker.SAGEMAKER.section_of(NAME, REGION)), encoding="utf-8")
    (endpoint,) = load_settings(file, {}, []).settings.llm.endpoints
    assert (endpoint.kind, endpoint.model, endpoint.region) == ("sagemaker", NAME, REGION)


def test_endpoint_is_measured_as_by_repartee_endpoints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)
    said: list[str] = []
    ready, done = threading.Event(), threading.Event()
    urls: list[str] = []

    async def serve() -> None:
        async with serving_kind("sagemaker", "One", ", two.") as service:
            urls.append(service.url)
            ready.set()
            await asyncio.to_thread(done.wait, 60)

    server = threading.Thread(target=lambda: asyncio.run(serve()))
    server.start()
    try:
        assert ready.wait(30)
        measure_answers(sagemaker.SAGEMAKER.section_of(NAME, SERVED_REGION, urls[0]), 2, said.append)
    finally:
        done.set()
        server.join(60)
    assert len(said) == 1
    assert "(p50 / p95 of 2 answers)" in said[0]
    with pytest.raises(DeployError, match=r"^sagemaker: no answer: "):
        measure_answers(sagemaker.SAGEMAKER.section_of(NAME, SERVED_REGION, "http://127.0.0.1:9"), 1, said.append)


def test_image_of_another_registry_is_kept() -> None:
    assert image_uri("mine.example/tgi:1", REGION) == "mine.example/tgi:1"
    assert cost_hint("ml.p5.48xlarge", 1) == "ml.p5.48xlarge: no price is known here; see AWS's price list."
