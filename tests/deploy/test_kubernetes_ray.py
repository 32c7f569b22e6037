"""deploy/kubernetes-ray: the RayService is valid, and Ray Serve accepts its configuration."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.generated.deploy_manifests import (
    DEPLOY,
    Manifest,
    check_with_schemas,
    documents_of,
    kustomization,
    manifests_of,
    only,
)

from assistant.cluster.application import services_of
from assistant.config.loading import OTHER_VARIABLES, load_settings
from assistant.config.sources import unknown_variables
from assistant.setup.derived_settings import needs
from audio.cluster.ray_connection import application_of, deployment_of

FOLDER = DEPLOY / "kubernetes-ray"
SERVICE = only(manifests_of(FOLDER), "RayService", "engines")
CLUSTER: dict[str, Any] = SERVICE["spec"]["rayClusterConfig"]
GROUPS = [CLUSTER["headGroupSpec"], *CLUSTER["workerGroupSpecs"]]
CONFIG = FOLDER / "config.toml"
SETTINGS = load_settings(CONFIG, {}, []).settings
SCHEMA = Path(__file__).parent / "kuberay_schema.json"

READ = """
import json, sys, yaml
from pathlib import Path
from ray.serve.schema import ServeDeploySchema
from assistant.cluster.app import build
read = ServeDeploySchema.model_validate(yaml.safe_load(Path(sys.argv[1]).read_text("utf-8"))).applications
built = [build({**each.args, "config": sys.argv[2]})._bound_deployment.name for each in read]
told = [[each.name, each.import_path, each.route_prefix, each.args] for each in read]
Path(sys.argv[3]).write_text(json.dumps([told, built]), encoding="utf-8")
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


@pytest.mark.slow
def test_ray_serve_builds_the_applications_of_its_configuration(tmp_path: Path) -> None:
    given, told = tmp_path / "serve.yaml", tmp_path / "told.json"
    given.write_text(SERVICE["spec"]["serveConfigV2"], encoding="utf-8")
    reading = [sys.executable, "-c", READ, str(given), str(CONFIG), str(told)]
    done = subprocess.run(reading, cwd=DEPLOY.parent, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    read, built = json.loads(told.read_text(encoding="utf-8"))
    assert built == [deployment_of(args["service"]) for *_, args in read]
    for name, import_path, route, args in read:
        assert (import_path, route) == ("assistant.cluster.app:build", None)
        assert name == application_of(args["service"])
        assert args["config"] == "/etc/repartee/config.toml"
    assert sorted(args["service"] for *_, args in read) == sorted(services_of(SETTINGS))


def test_gateways_join_the_cluster_of_the_service() -> None:
    assert SETTINGS.cluster.address == f"{SERVICE['metadata']['name']}-head-svc:6379"
    (patch,) = documents_of(FOLDER / "gateways.yaml")
    (node,) = [each for each in patch["spec"]["template"]["spec"]["initContainers"] if each["name"] == "ray-node"]
    assert f"--address={SETTINGS.cluster.address}" in node["args"]
    assert node["restartPolicy"] == "Always"


def test_configuration_differs_from_other_gateways_only_by_the_engines() -> None:
    other = load_settings(DEPLOY / "kubernetes" / "config.toml", {}, []).settings
    assert replace(SETTINGS.server, max_sessions=other.server.max_sessions) == other.server
    assert (SETTINGS.cache, SETTINGS.trace, SETTINGS.llm) == (other.cache, other.trace, other.llm)


def test_every_node_has_the_configuration_and_the_image() -> None:
    for group in GROUPS:
        pods = group["template"]["spec"]
        for container in (*pods["containers"], *pods.get("initContainers", ())):
            assert container["image"] == "repartee-cluster"
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"]
            assert {"name": "config", "mountPath": "/etc/repartee", "readOnly": True} in container["volumeMounts"]
        assert {"name": "config", "configMap": {"name": "engines-config"}} in pods["volumes"]


def test_only_the_cluster_reaches_nodes_of_ray() -> None:
    manifests = manifests_of(FOLDER)
    for name, labels in (("ray", {"ray.io/is-ray-node": "yes"}), ("gateway", {"app": "gateway"})):
        policy = only(manifests, "NetworkPolicy", name)["spec"]
        assert (policy["podSelector"], policy["policyTypes"]) == ({"matchLabels": labels}, ["Ingress"])
        for rule in policy["ingress"]:
            selected = [list(peer["podSelector"]["matchLabels"]) for peer in rule.get("from", ())]
            if selected:
                assert selected[:2] == [["ray.io/is-ray-node"], ["app"]]
            else:
                assert (name, rule) == ("gateway", {"ports": [{"protocol": "TCP", "port": SETTINGS.server.port}]})


def test_version_of_ray_is_the_locked_one() -> None:
    assert CLUSTER["rayVersion"] == metadata.version("ray")


def test_workers_download_the_models_of_their_replicas() -> None:
    for group in CLUSTER["workerGroupSpecs"]:
        (models,) = group["template"]["spec"]["initContainers"]
        environment = {variable["name"]: variable["value"] for variable in models["env"]}
        assert unknown_variables(environment, OTHER_VARIABLES) == []
        assert environment["REPARTEE_TTS_ENGINE"] == "auto", "as the replicas choose it"
        wanted = needs(load_settings(CONFIG, environment, []).settings)
        assert {need.kind for need in wanted if need.name} >= {"whisper", "smart-turn"}


def test_groups_have_room_to_grow() -> None:
    for group in CLUSTER["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


def test_kustomization_lists_each_file_once() -> None:
    listed = kustomization(FOLDER)
    patches = [patch["path"] for patch in listed["patches"]]
    files = [*(name for name in listed["resources"] if name.endswith(".yaml")), *listed["configurations"], *patches]
    assert sorted(files) == sorted(file.name for file in FOLDER.glob("*.yaml") if file.name != "kustomization.yaml")
    assert "../kubernetes" in listed["resources"]


def test_kustomize_puts_image_and_configuration_into_rayservice(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run([kubectl, "kustomize", FOLDER], capture_output=True, check=True, timeout=100)
    rendered = [document for document in yaml.safe_load_all(done.stdout) if document]
    configurations = {each["metadata"]["name"]: each["data"] for each in rendered if each["kind"] == "ConfigMap"}
    of_gateways, of_engines = sorted(configurations, key=lambda name: name == "engines-config")
    assert of_gateways.startswith("repartee-config-")
    assert of_engines == "engines-config"
    assert list(configurations.values()) == [{"config.toml": CONFIG.read_text(encoding="utf-8")}] * 2
    check_with_schemas([each for each in rendered if each["kind"] != "RayService"], tmp_path)
    gateway = only(rendered, "Deployment", "gateway")["spec"]["template"]["spec"]
    assert {each["image"] for each in (*gateway["containers"], *gateway["initContainers"])} == {
        "registry.example/repartee-cluster:0.1.0"
    }
    assert {each["configMap"]["name"] for each in gateway["volumes"] if "configMap" in each} == {of_gateways}
    cluster = only(rendered, "RayService", "engines")["spec"]["rayClusterConfig"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pods = group["template"]["spec"]
        assert {each["configMap"]["name"] for each in pods["volumes"] if "configMap" in each} == {of_engines}
        images = {each["image"] for each in (*pods["containers"], *pods.get("initContainers", ()))}
        assert len(images) == 1
        assert images != {"repartee-cluster"}
