"""deploy/compose.yaml and its files agree with the Compose specification, the configuration and each other."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.config.loading import OTHER_VARIABLES, load_settings
from assistant.config.sources import unknown_variables

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CONFIG = DEPLOY / "compose" / "config.toml"
PROMETHEUS: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
SETTINGS = load_settings(CONFIG, {}, []).settings
ENDED_AFTER_DRAIN_S = 5
"""Seconds in which the server ends after its drain (docs/serving.md)."""


def bound_files(service: str) -> dict[str, Path]:
    """Returns the files of the repository that a service mounts, by their place in the container."""
    mounts = [mount.split(":") for mount in SERVICES[service].get("volumes", ()) if mount.startswith("./")]
    return {place: DEPLOY / file for file, place, mode in mounts if mode == "ro"}


def address(service: str, url: str) -> str:
    """Checks that a URL names a service or one of its aliases. Returns its port."""
    aliases = SERVICES[service].get("networks", {}).get("default", {}).get("aliases", [])
    found = re.fullmatch(r"\w+://([a-z]+)(?::(\d+))?(/\S*)?", url)
    assert found is not None
    assert found[1] in {service, *aliases}
    return found[2]


def test_compose_specification_accepts_file() -> None:
    checking = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run(
        [*checking, DEPLOY / "compose.yaml"], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("service", SERVICES)
def test_every_mounted_file_exists(service: str) -> None:
    assert [file for file in bound_files(service).values() if not file.is_file()] == []
    named = {mount.split(":")[0] for mount in SERVICES[service].get("volumes", ()) if not mount.startswith("./")}
    assert named <= set(COMPOSE["volumes"])
    assert set(SERVICES[service].get("secrets", ())) <= set(COMPOSE["secrets"])


def test_variables_of_server_are_settings() -> None:
    for service in ("repartee", "models"):
        environment = SERVICES[service]["environment"]
        assert unknown_variables(environment, OTHER_VARIABLES) == []
        assert bound_files(service)[environment["REPARTEE_CONFIG"]] == CONFIG


def test_server_has_the_port_of_its_configuration_and_image() -> None:
    port = SETTINGS.server.port
    assert SERVICES["repartee"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"EXPOSE {port}\n" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_server_is_stopped_after_its_drain() -> None:
    grace_s = int(SERVICES["repartee"]["stop_grace_period"].removesuffix("s"))
    assert grace_s > SETTINGS.server.drain_s + ENDED_AFTER_DRAIN_S


def test_services_are_limited() -> None:
    """Language models need what the GPU's machine has; Prometheus gets its secret as a written file."""
    models, own = {"vllm", "tgi"}, {name for name in SERVICES if name not in {"vllm", "tgi"}}
    assert {name for name, service in SERVICES.items() if "mem_limit" not in service} == models
    assert {name for name in own if not SERVICES[name].get("read_only")} == {"prometheus"}
    for name, service in SERVICES.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["pids_limit"] > 0, name
        assert not {"privileged", "ipc", "pid", "network_mode"} & set(service), name


def test_images_of_others_are_pinned_to_a_version() -> None:
    others = {name: service["image"] for name, service in SERVICES.items() if "build" not in service}
    assert [image for image in others.values() if not re.search(r":v?\d+\.\d+\.\d+(-\w+)?$", image)] == []
    assert others["redis"] in (DEPLOY / "kubernetes" / "redis.yaml").read_text(encoding="utf-8")


def test_ports_are_open_on_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(published) > 3
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_configuration_names_the_services_of_the_file() -> None:
    (endpoint,) = SETTINGS.llm.endpoints
    for service in ("vllm", "tgi"):
        assert f"--port={address(service, endpoint.url)}" in SERVICES[service]["command"]
    assert f"--served-model-name={endpoint.model}" in SERVICES["vllm"]["command"]
    assert SETTINGS.cache.store == "redis"
    assert address("redis", SETTINGS.cache.redis_url) == address("redis", SETTINGS.server.redis_url) == "6379"
    assert address("jaeger", SETTINGS.trace.otlp_url) == "4318"


def test_both_language_models_have_a_profile_and_the_same_name() -> None:
    with_alias = {name for name, service in SERVICES.items() if "networks" in service}
    assert with_alias == {name for name, service in SERVICES.items() if "profiles" in service} == {"vllm", "tgi"}


def test_prometheus_reads_the_server_with_its_token() -> None:
    (job,) = PROMETHEUS["scrape_configs"]
    (group,) = job["static_configs"]
    assert group["targets"] == [f"repartee:{SETTINGS.server.port}"]
    assert set(group["targets"]) <= set(SETTINGS.server.hosts)
    (secret,) = SERVICES["prometheus"]["secrets"]
    assert job["authorization"] == {"credentials_file": f"/run/secrets/{secret}"}
    assert COMPOSE["secrets"][secret] == {"environment": "REPARTEE_TOKEN"}
    mounted = bound_files("prometheus")
    assert [mounted[f"/etc/prometheus/{file}"] for file in PROMETHEUS["rule_files"]] == [DEPLOY / "alerts.yml"]


def test_grafana_finds_its_sources_and_dashboard() -> None:
    mounted = bound_files("grafana")
    sources = yaml.safe_load((DEPLOY / "compose" / "grafana-datasources.yml").read_text(encoding="utf-8"))
    assert [address(source["type"], source["url"]) for source in sources["datasources"]] == ["9090", "16686"]
    (provider,) = yaml.safe_load((DEPLOY / "compose" / "grafana-dashboards.yml").read_text("utf-8"))["providers"]
    assert mounted[f"{provider['options']['path']}/repartee.json"] == DEPLOY / "grafana.json"
