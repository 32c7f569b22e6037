"""deploy/kubernetes-ray: the RayService is valid, and Ray Serve accepts its configuration."""

import json
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy_manifests import DEPLOY, Manifest, check_with_schemas, kustomization, manifests_of, only

FOLDER = DEPLOY / "kubernetes-ray"
SERVICE = only(manifests_of(FOLDER), "RayService", "engines")
CLUSTER: dict[str, Any] = SERVICE["spec"]["rayClusterConfig"]
GROUPS = [CLUSTER["headGroupSpec"], *CLUSTER["workerGroupSpecs"]]
SCHEMA = Path(__file__).parent / "kuberay_schema.json"

READ = """
import json, sys, yaml
from ray.serve.schema import ServeDeploySchema
read = ServeDeploySchema.model_validate(yaml.safe_load(sys.stdin.read()))
print(json.dumps([[each.name, each.import_path, each.route_prefix, each.args] for each in read.applications]))
"""


def test_schema_of_rayservice_accepts_manifest() -> None:
    checking = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(SCHEMA), str(FOLDER / "rayservice.yaml")]
    done = subprocess.run(checking, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def test_schemas_of_kubernetes_accept_pods(tmp_path: Path) -> None:
    templates: list[Manifest] = [
        {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": f"group-{number}"},
            "template": each["template"],
        }
        for number, each in enumerate(GROUPS)
    ]
    check_with_schemas(templates, tmp_path)


def test_ray_serve_accepts_its_configuration() -> None:
    reading = [sys.executable, "-c", READ]
    done = subprocess.run(
        reading, input=SERVICE["spec"]["serveConfigV2"], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr
    ((name, import_path, route, args),) = json.loads(done.stdout)
    assert (name, import_path, route) == ("repartee", "assistant.cluster.app:build", None)
    assert args == {"config": "/etc/repartee/config.toml"}


def test_every_node_has_the_configuration_and_the_image() -> None:
    for group in GROUPS:
        pods = group["template"]["spec"]
        for container in (*pods["containers"], *pods.get("initContainers", ())):
            assert container["image"] == "repartee-cluster"
            assert {"name": "config", "mountPath": "/etc/repartee", "readOnly": True} in container["volumeMounts"]
        assert {"name": "config", "configMap": {"name": "repartee-config"}} in pods["volumes"]


def test_version_of_ray_is_the_locked_one() -> None:
    assert CLUSTER["rayVersion"] == metadata.version("ray")


def test_groups_have_room_to_grow() -> None:
    for group in CLUSTER["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


def test_kustomization_lists_each_file_once() -> None:
    listed = kustomization(FOLDER)
    files = [*(name for name in listed["resources"] if name.endswith(".yaml")), *listed["configurations"]]
    assert sorted(files) == sorted(file.name for file in FOLDER.glob("*.yaml") if file.name != "kustomization.yaml")
    assert "../kubernetes" in listed["resources"]


def test_kustomize_puts_image_and_configuration_into_rayservice() -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run([kubectl, "kustomize", FOLDER], capture_output=True, check=True, timeout=100)
    rendered = [document for document in yaml.safe_load_all(done.stdout) if document]
    (configuration,) = [each for each in rendered if each["kind"] == "ConfigMap"]
    assert tomllib.loads(configuration["data"]["config.toml"])
    cluster = only(rendered, "RayService", "engines")["spec"]["rayClusterConfig"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pods = group["template"]["spec"]
        assert {each["configMap"]["name"] for each in pods["volumes"] if "configMap" in each} == {
            configuration["metadata"]["name"]
        }
        images = {each["image"] for each in (*pods["containers"], *pods.get("initContainers", ()))}
        assert len(images) == 1
        assert images != {"repartee-cluster"}
