"""`repartee cluster` without a cluster."""

import stat
from pathlib import Path

import pytest
from program import repartee

from assistant.commands.cluster.command import used_services
from assistant.commands.cluster.head import head_command, join_command, node_environment
from assistant.config.loading import ConfigError, load_settings


def test_nothing_is_deployed_unless_an_engine_is_set_to_ray() -> None:
    with pytest.raises(ConfigError, match="no engine is on a cluster"):
        used_services(load_settings(None, {}, []).settings)


def test_fewer_replicas_at_most_than_at_least_are_refused() -> None:
    given = ["tts.engine=ray", "cluster.min_replicas=3", "cluster.max_replicas=2"]
    with pytest.raises(ConfigError, match="must be at least cluster.min_replicas, which is 3"):  # noqa: RUF043
        used_services(load_settings(None, {}, given).settings)


def test_node_requires_a_token_that_only_its_owner_reads(tmp_path: Path) -> None:
    environment = node_environment({"PATH": "/bin"}, tmp_path)
    assert environment["RAY_AUTH_MODE"] == "token"
    token = tmp_path / ".ray" / "auth_token"
    assert len(token.read_text()) == 64
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    before = token.read_text()
    node_environment({"PATH": "/bin"}, tmp_path)
    assert token.read_text() == before


@pytest.mark.parametrize("given", [{"RAY_AUTH_TOKEN": "secret"}, {"RAY_AUTH_MODE": "disabled"}])
def test_node_writes_no_token_if_the_user_has_decided(given: dict[str, str], tmp_path: Path) -> None:
    assert node_environment(given, tmp_path).items() >= given.items()
    assert not list(tmp_path.iterdir())


def test_commands_name_the_head_and_the_cores() -> None:
    head = head_command("python", port=6379, cpus=2)
    assert {"--head", "--block", "--port=6379", "--node-ip-address=127.0.0.1", "--num-cpus=2"} <= set(head)
    joining = join_command("python", "10.0.0.1:6379", cpus=0)
    assert {"--address=10.0.0.1:6379", "--num-cpus=0"} <= set(joining)
    assert "--head" not in joining


def test_deploy_without_a_cluster_is_one_line(tmp_path: Path) -> None:
    ran = repartee("cluster", "deploy", "--set=tts.engine=ray", "--set=cluster.address=127.0.0.1:9", cwd=tmp_path)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "127.0.0.1:9 cannot be reached" in ran.stderr
    assert "repartee cluster start" in ran.stderr
    assert ran.stderr.count("\n") == 1
