"""`repartee cluster` without a cluster."""

import asyncio
import io
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.engines.scripted_cluster import INFO
from support.programs.program import repartee

from assistant.cluster.application import ServiceStatus
from assistant.commands.cluster import command
from assistant.commands.cluster.command import used_services
from assistant.commands.cluster.head import head_command, join_command, node_environment
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from audio.cluster import Service
from audio.cluster.wire import sent_info
from audio.errors import EngineError, EngineLoadError


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


def test_joining_without_the_token_of_the_head_names_the_file_to_copy(tmp_path: Path) -> None:
    with pytest.raises(EngineLoadError, match=r"copy ~/\.ray/auth_token from the machine of the head"):
        node_environment({"PATH": "/bin"}, tmp_path, joins=True)
    assert not list(tmp_path.iterdir())
    node_environment({"PATH": "/bin"}, tmp_path)
    assert node_environment({"PATH": "/bin"}, tmp_path, joins=True)["RAY_AUTH_MODE"] == "token"


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


@dataclass
class ScriptedConnection:
    """A connection whose cluster answers as it is told.

    Attributes:
        found: What `call` returns, or raises.
        replicas: What the replicas of each service answer, or the error.
    """

    found: object
    replicas: object = ()

    async def call(self, _work: object, _timeout_s: float) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    async def all_replicas(self, _service: Service, _method: str, _timeout_s: float) -> Any:
        if isinstance(self.replicas, Exception):
            raise self.replicas
        return self.replicas

    async def aclose(self) -> None:
        pass


RUNNING = ServiceStatus("recognizer", "RUNNING", "", {"RUNNING": 1})


def shown(connection: ScriptedConnection, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
    monkeypatch.setattr(command, "connection_of", lambda _settings: connection)
    console = Console(file=io.StringIO(), width=200)
    runs = asyncio.run(command.show_status(load_settings(None, {}, ["stt.engine=ray"]).settings, console))
    assert isinstance(console.file, io.StringIO)
    return runs, console.file.getvalue()


def test_status_shows_the_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, text = shown(ScriptedConnection([RUNNING], [sent_info(INFO)]), monkeypatch)
    assert runs
    assert "host:1" in text
    assert "an engine on CPU" in text


def test_status_says_that_replicas_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = EngineError("the cluster failed for recognizer (GetTimeoutError): run `repartee cluster status`")
    runs, text = shown(ScriptedConnection([RUNNING], lost), monkeypatch)
    assert not runs
    assert "recognizer: its replicas did not all answer" in text
    assert "GetTimeoutError" in text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "does not run after 600 s.*cluster.replica_cpus"),
        (EngineLoadError("recognizer could not be deployed"), "could not be deployed"),
        (LookupError("of Ray"), "the cluster failed .LookupError."),
    ],
)
def test_deployment_that_fails_says_why(error: Exception, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "connection_of", lambda _settings: ScriptedConnection(error))
    with pytest.raises(EngineLoadError, match=text):
        asyncio.run(command.deploy(load_settings(None, {}, ["stt.engine=ray"]).settings, lambda _line: None))
