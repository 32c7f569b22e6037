"""deploy/kubernetes: valid manifests that agree with the configuration and each other."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.generated.deploy_manifests import (
    DEPLOY,
    check_with_schemas,
    documents_of,
    kustomization,
    manifests_of,
    only,
)

from assistant.config.loading import OTHER_VARIABLES, load_settings
from assistant.config.sources import unknown_variables
from web.access.body_limits import MAX_BYTES

FOLDER = DEPLOY / "kubernetes"
MANIFESTS = manifests_of(FOLDER)
CONFIG = FOLDER / "config.toml"
SETTINGS = load_settings(CONFIG, {}, []).settings
PODS: dict[str, Any] = only(MANIFESTS, "Deployment", "gateway")["spec"]["template"]["spec"]
(GATEWAY,) = PODS["containers"]
ENDED_AFTER_DRAIN_S = 5
"""Seconds in which the server ends after its drain (docs/serving.md)."""


def environment_of(container: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable.get("value", "") for variable in container["env"]}


def test_schemas_of_kubernetes_accept_manifests(tmp_path: Path) -> None:
    check_with_schemas(MANIFESTS, tmp_path)


def test_kustomization_lists_each_file_once() -> None:
    listed = kustomization(FOLDER)["resources"]
    assert sorted(listed) == sorted(file.name for file in FOLDER.glob("*.yaml") if file.name != "kustomization.yaml")
    (generated,) = kustomization(FOLDER)["configMapGenerator"]
    assert generated == {"name": "repartee-config", "files": [CONFIG.name]}


def test_names_are_unique() -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in MANIFESTS]
    assert len(set(names)) == len(names) > 8


def test_no_secret_is_in_the_repository() -> None:
    assert [each for each in MANIFESTS if each["kind"] == "Secret"] == []
    variables = [one for container in (GATEWAY, *PODS["initContainers"]) for one in container["env"]]
    secret = {one["name"] for one in variables if "valueFrom" in one}
    assert secret == {"REPARTEE_TOKEN", "LLM_KEY"}
    assert {one["valueFrom"]["secretKeyRef"]["name"] for one in variables if "valueFrom" in one} == {"repartee"}


def test_variables_of_gateways_are_settings() -> None:
    for container in (GATEWAY, *PODS["initContainers"]):
        environment = environment_of(container)
        assert unknown_variables(environment, OTHER_VARIABLES) == []
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert environment["REPARTEE_CONFIG"] == f"{mounts['config']}/{CONFIG.name}"
        assert mounts["data"] == "/data"


def test_port_is_the_same_everywhere() -> None:
    port = SETTINGS.server.port
    assert GATEWAY["ports"] == [{"name": "http", "containerPort": port}]
    (served,) = only(MANIFESTS, "Service", "gateway")["spec"]["ports"]
    assert (served["port"], served["targetPort"]) == (port, "http")
    template = only(MANIFESTS, "Deployment", "gateway")["spec"]["template"]
    assert template["metadata"]["annotations"]["prometheus.io/port"] == str(port)


def test_probes_ask_the_health_addresses() -> None:
    paths = {name: GATEWAY[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert {GATEWAY[name]["httpGet"]["port"] for name in paths} == {"http"}


def test_pod_is_killed_only_after_its_drain() -> None:
    (sleep, before_s) = GATEWAY["lifecycle"]["preStop"]["exec"]["command"]
    assert sleep == "sleep"
    needed_s = int(before_s) + SETTINGS.server.drain_s + ENDED_AFTER_DRAIN_S
    assert PODS["terminationGracePeriodSeconds"] > needed_s


def test_selectors_find_the_pods() -> None:
    for name in ("gateway", "redis"):
        deployment = only(MANIFESTS, "Deployment", name)["spec"]
        labels = deployment["template"]["metadata"]["labels"]
        assert deployment["selector"]["matchLabels"] == labels
        assert only(MANIFESTS, "Service", name)["spec"]["selector"] == labels
    assert only(MANIFESTS, "PodDisruptionBudget", "gateway")["spec"]["selector"]["matchLabels"] == {"app": "gateway"}
    policy = only(MANIFESTS, "NetworkPolicy", "redis")["spec"]
    assert policy["podSelector"]["matchLabels"] == {"app": "redis"}


def test_autoscaler_scales_gateways_and_their_number_is_not_fixed() -> None:
    scaled = only(MANIFESTS, "HorizontalPodAutoscaler", "gateway")["spec"]
    deployment = only(MANIFESTS, "Deployment", "gateway")
    assert scaled["scaleTargetRef"] == {"apiVersion": deployment["apiVersion"], "kind": "Deployment", "name": "gateway"}
    assert "replicas" not in deployment["spec"]
    assert scaled["minReplicas"] >= 2


def test_client_returns_to_its_gateway() -> None:
    assert only(MANIFESTS, "Service", "gateway")["spec"]["sessionAffinity"] == "ClientIP"
    annotations = only(MANIFESTS, "Ingress", "gateway")["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/affinity"] == "cookie"


def test_ingress_takes_the_largest_upload() -> None:
    size = only(MANIFESTS, "Ingress", "gateway")["metadata"]["annotations"][
        "nginx.ingress.kubernetes.io/proxy-body-size"
    ]
    assert int(size.removesuffix("m")) << 20 >= max(MAX_BYTES.values())


def test_host_of_ingress_is_allowed() -> None:
    ingress = only(MANIFESTS, "Ingress", "gateway")["spec"]
    hosts = [rule["host"] for rule in ingress["rules"]]
    assert ingress["tls"][0]["hosts"] == hosts
    assert list(SETTINGS.server.hosts) == hosts


def test_configuration_finds_redis() -> None:
    (port,) = only(MANIFESTS, "Service", "redis")["spec"]["ports"]
    assert SETTINGS.cache.redis_url == SETTINGS.server.redis_url == f"redis://redis:{port['port']}/0"
    policy = only(MANIFESTS, "NetworkPolicy", "redis")["spec"]["ingress"][0]
    assert policy["ports"] == [{"protocol": "TCP", "port": port["port"]}]


@pytest.mark.parametrize("name", ["gateway", "redis"])
def test_pods_are_restricted(name: str) -> None:
    """The namespace enforces the standard `restricted` of Kubernetes."""
    pods = only(MANIFESTS, "Deployment", name)["spec"]["template"]["spec"]
    assert pods["securityContext"]["runAsNonRoot"] is True
    assert pods["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*pods["containers"], *pods.get("initContainers", ())):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]


def test_kustomize_renders_the_configuration(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run([kubectl, "kustomize", FOLDER], capture_output=True, check=True, timeout=100)
    rendered = [document for document in yaml.safe_load_all(done.stdout) if document]
    assert len(rendered) == len(MANIFESTS) + 1
    (configuration,) = [each for each in rendered if each["kind"] == "ConfigMap"]
    assert configuration["data"] == {CONFIG.name: CONFIG.read_text(encoding="utf-8")}
    volumes = only(rendered, "Deployment", "gateway")["spec"]["template"]["spec"]["volumes"]
    assert {"name": "config", "configMap": {"name": configuration["metadata"]["name"]}} in volumes
    assert {each["metadata"].get("namespace", "repartee") for each in rendered} == {"repartee"}
    check_with_schemas(rendered, tmp_path)


def test_every_file_has_one_or_more_manifests() -> None:
    assert [file for file in FOLDER.glob("*.yaml") if not documents_of(file)] == []
