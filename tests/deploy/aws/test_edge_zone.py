"""deploy/aws/edge-zone.yaml: cfn-lint accepts it, and it creates what it says in an account in memory."""

import base64
import importlib
import ipaddress
import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.services.aws_accounts import REGION, account

from deploy.aws.clients import aws_client

TEMPLATE = Path(__file__).parent.parent.parent.parent / "deploy" / "aws" / "edge-zone.yaml"
PLACES = {"region": "us-west-2a", "zone1": "us-west-2b", "zone2": "us-west-2c"}
"""moto has no Local Zones: other zones stand for them."""

IMAGE = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
CLIENT = "203.0.113.7/32"
DOMAIN = "llm.example.com"


@dataclass(frozen=True)
class Stack:
    """A created stack.

    Attributes:
        resources: Physical ids, by the names in the template.
        outputs: Its outputs.
        zone: Id of the hosted zone.
    """

    resources: Mapping[str, str]
    outputs: Mapping[str, str]
    zone: str

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The address records of the hosted zone."""
        found = aws_client("route53", REGION).list_resource_record_sets(HostedZoneId=self.zone)["ResourceRecordSets"]
        return [record for record in found if record["Type"] == "A"]


def create(container: str = "vllm") -> Stack:
    """Creates the stack. moto does not have AWS's parameter of the image."""
    image = aws_client("ec2", REGION).describe_images()["Images"][0]["ImageId"]
    aws_client("ssm", REGION).put_parameter(Name="image", Value=image, Type="String", Overwrite=True)
    zone = aws_client("route53", REGION).create_hosted_zone(Name="example.com", CallerReference=container)[
        "HostedZone"
    ]["Id"]
    given = {
        "ClientCidr": CLIENT,
        "HostedZoneId": zone.rpartition("/")[2],
        "DomainName": DOMAIN,
        "Container": container,
        "Zone1": PLACES["zone1"],
        "Zone2": PLACES["zone2"],
    }
    client = aws_client("cloudformation", REGION)
    client.create_stack(
        StackName=container,
        TemplateBody=TEMPLATE.read_text(encoding="utf-8").replace(IMAGE, "image"),
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()],
        Capabilities=["CAPABILITY_IAM"],
    )
    (stack,) = client.describe_stacks(StackName=container)["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    resources = client.describe_stack_resources(StackName=container)["StackResources"]
    return Stack(
        {each["LogicalResourceId"]: each.get("PhysicalResourceId", "") for each in resources},
        {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]},
        zone,
    )


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack]:
    """Creates the stack once: it takes a second or more."""
    with pytest.MonkeyPatch.context() as patch, account(patch, tmp_path_factory.mktemp("aws")):
        yield create()


@pytest.fixture
def aws(stack: Stack) -> Any:
    """Returns the EC2 client of the stack's account."""
    assert stack.resources
    return aws_client("ec2", REGION)


def test_cfn_lint_accepts_template() -> None:
    linting = [str(Path(sys.executable).parent / "cfn-lint"), "--regions", REGION, "--", str(TEMPLATE)]
    done = subprocess.run(linting, capture_output=True, text=True, check=False, timeout=110)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_each_place_has_a_machine_with_an_address(aws: Any, stack: Stack) -> None:
    found = {}
    for place, zone in PLACES.items():
        prefix = place.capitalize()
        (reservation,) = aws.describe_instances(InstanceIds=[stack.resources[f"{prefix}Instance"]])["Reservations"]
        (machine,) = reservation["Instances"]
        (address,) = aws.describe_addresses(PublicIps=[stack.resources[f"{prefix}Address"]])["Addresses"]
        assert machine["InstanceType"] == "g4dn.2xlarge"
        assert address["InstanceId"] == machine["InstanceId"]
        (subnet,) = aws.describe_subnets(SubnetIds=[stack.resources[f"{prefix}Subnet"]])["Subnets"]
        assert machine["SubnetId"] == subnet["SubnetId"]
        assert subnet["AvailabilityZone"] == zone
        found[place] = address["PublicIp"]
    assert len(set(found.values())) == 3
    named = {record["Name"].partition(".")[0]: record for record in stack.records()}
    assert {place: named[zone]["ResourceRecords"][0]["Value"] for place, zone in PLACES.items()} == found


def test_port_is_open_for_the_client_only(aws: Any, stack: Stack) -> None:
    (group,) = aws.describe_security_groups(GroupIds=[stack.resources["SecurityGroup"]])["SecurityGroups"]
    (opened,) = group["IpPermissions"]
    assert (opened["FromPort"], opened["ToPort"]) == (8080, 8080)
    assert [each["CidrIp"] for each in opened["IpRanges"]] == [CLIENT]


def test_names_lead_to_the_nearest_place(stack: Stack) -> None:
    near = [record for record in stack.records() if record["Name"].startswith("near.")]
    assert {record["SetIdentifier"] for record in near} == set(PLACES.values())
    (latency,) = [record for record in stack.records() if record["Name"].startswith("latency.")]
    assert latency["Region"] == REGION
    assert stack.outputs["NearestUrl"] == f"http://near.{DOMAIN}:8080/v1"
    assert stack.outputs["Zone1Url"] == f"http://{PLACES['zone1']}.{DOMAIN}:8080/v1"


def script_of(aws: Any, stack: Stack) -> str:
    """Returns the script that a machine runs at its first start."""
    asked = aws.describe_launch_template_versions(LaunchTemplateId=stack.resources["LaunchTemplate"])
    data = asked["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    assert data["MetadataOptions"]["HttpTokens"] == "required"
    return base64.b64decode(data["UserData"]).decode()


def run_script(script: str, folder: Path, fails: int) -> list[str]:
    """Runs a machine's script. Returns the calls of docker, whose first ones fail."""
    calls = folder / "calls"
    calls.write_text("")
    docker = f'#!/bin/sh\necho "$*" >> {calls}\n[ "$(wc -l < {calls})" -gt {fails} ]\n'
    for name, text in (("docker", docker), ("sleep", "#!/bin/sh\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    path = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    subprocess.run(["bash"], input=script, text=True, check=True, timeout=60, env=path, capture_output=True)
    return calls.read_text().splitlines()


def test_machine_starts_vllm_on_its_port(aws: Any, stack: Stack, tmp_path: Path) -> None:
    script = script_of(aws, stack)
    assert script.startswith("#!/bin/bash\n")
    pulled, ran = run_script(script, tmp_path, 0)
    assert pulled == "pull --quiet vllm/vllm-openai:v0.11.0"
    assert ran.startswith("run --detach --restart always ")
    assert " --publish 8080:8080 " in ran
    assert "vllm-openai:v0.11.0 --model Qwen/Qwen2.5-3B-Instruct --served-model-name assistant --port 8080" in ran


def test_machine_waits_for_its_network(aws: Any, stack: Stack, tmp_path: Path) -> None:
    calls = run_script(script_of(aws, stack), tmp_path, 3)
    assert [call.partition(" ")[0] for call in calls] == ["pull", "pull", "pull", "pull", "run"]


def test_tgi_can_be_chosen(aws: Any, tmp_path: Path) -> None:
    pulled, ran = run_script(script_of(aws, create("tgi")), tmp_path, 0)
    assert pulled == "pull --quiet ghcr.io/huggingface/text-generation-inference:3.3.4"
    assert "text-generation-inference:3.3.4 --model-id Qwen/Qwen2.5-3B-Instruct --port 8080" in ran


def loaded() -> Mapping[str, Any]:
    """Returns the template."""
    template = importlib.import_module("cfnlint.decode").decode(str(TEMPLATE))[0]
    assert isinstance(template, Mapping)
    return template


def test_wide_network_is_not_allowed() -> None:
    pattern = loaded()["Parameters"]["ClientCidr"]["AllowedPattern"]
    matches = re.compile(pattern).fullmatch
    assert matches(CLIENT)
    assert matches("198.51.100.0/24")
    assert not matches("0.0.0.0/0")
    assert not matches("198.51.0.0/16")
    assert ipaddress.ip_network("198.51.100.0/24").num_addresses == 256


def test_stacks_in_several_regions_share_a_domain() -> None:
    """Records of two stacks differ: in their name, or in their identifier, which have the zone or the Region."""
    records = [
        each["Properties"] for each in loaded()["Resources"].values() if each["Type"] == "AWS::Route53::RecordSet"
    ]
    distinct = [{"Fn::Sub": f"${{{name}}}.${{DomainName}}"} for name in ("RegionZone", "Zone1", "Zone2")]
    assert [each["Name"] for each in records if "SetIdentifier" not in each] == distinct
    identifiers = [each["SetIdentifier"]["Ref"] for each in records if "SetIdentifier" in each]
    assert set(identifiers) == {"RegionZone", "Zone1", "Zone2", "AWS::Region"}


def test_geoproximity_records_name_region_and_local_zones() -> None:
    """moto does not keep this field, so the template is read."""
    resources = loaded()["Resources"]
    places = {name: resources[f"{name}NearRecord"]["Properties"]["GeoProximityLocation"] for name in
              ("Region", "Zone1", "Zone2")}  # fmt: skip
    assert places == {
        "Region": {"AWSRegion": {"Ref": "AWS::Region"}},
        "Zone1": {"LocalZoneGroup": {"Ref": "Zone1Group"}},
        "Zone2": {"LocalZoneGroup": {"Ref": "Zone2Group"}},
    }
