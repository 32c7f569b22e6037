"""deploy/Dockerfile: hadolint accepts it, it copies what the wheel needs, and Docker builds it where a daemon runs."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assistant.config.settings import DEFAULTS
from audio.telemetry import TELEMETRY_OFF

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
TEXT = DOCKERFILE.read_text(encoding="utf-8")
BASE = "python:3.11-slim-bookworm"
BUILD_TIMEOUT_S = 1800


def stage(name: str) -> str:
    """Returns the instructions of a stage, without comments."""
    for part in re.split(r"^FROM ", TEXT, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if head.endswith(f" AS {name}"):
            return re.sub(r"^#.*\n", "", body, flags=re.MULTILINE)
    raise AssertionError(f"no stage {name}")


def copied() -> list[str]:
    """Returns the files and folders that are copied from the repository."""
    lines = re.findall(r"^COPY (?!--from)(.*)$", TEXT, re.MULTILINE)
    return [source for line in lines for source in line.split()[:-1]]


def test_hadolint_accepts_dockerfile() -> None:
    program = Path(sys.executable).parent / "hadolint"
    if not program.exists():
        pytest.skip("hadolint is not installed for this system")
    done = subprocess.run([program, "--no-color", DOCKERFILE], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_image_has_everything_that_the_wheel_contains() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    needed = [*wheel["wheel"]["packages"], *wheel["wheel"]["force-include"], "LICENSE", "README.md", "pyproject.toml"]
    sources = copied()
    assert [file for file in needed if not any(file == one or file.startswith(f"{one}/") for one in sources)] == []
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_build_context_is_exactly_what_is_copied() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    assert sorted(line[1:] for line in ignored if line.startswith("!")) == sorted(copied())


def test_image_switches_off_telemetry_for_every_process() -> None:
    variables = re.findall(r"\b([A-Z_]+)=(\S+)", stage("program"))
    assert set(TELEMETRY_OFF.items()) <= set(variables)


def test_packages_are_installed_by_hash() -> None:
    commands = re.findall(r"^RUN (.*pip install.*)$", stage("build"), re.MULTILINE)
    assert len(commands) == 3
    assert [command for command in commands if "--require-hashes" not in command and "--no-deps" not in command] == []


def test_server_runs_without_root_and_keeps_data_in_a_volume() -> None:
    program = stage("program")
    (user,) = re.findall(r"^USER (\d+):(\d+)$", program, re.MULTILINE)
    assert all(int(number) > 0 for number in user)
    assert "USER" not in stage("server")
    assert re.findall(r"^USER (.*)$", stage("cluster"), re.MULTILINE)[-1] == ":".join(user)
    assert re.search(r"^VOLUME /data$", program, re.MULTILINE)
    for variable in ("XDG_DATA_HOME", "HF_HOME"):
        assert re.search(rf"\b{variable}=/data", program)


def test_image_serves_and_checks_the_default_port() -> None:
    server, port = stage("server"), DEFAULTS.server.port
    assert f"EXPOSE {port}\n" in server
    assert f"http://127.0.0.1:{port}/healthz" in server
    assert TEXT.rindex("FROM ") == TEXT.index("FROM program AS server\n")
    assert 'ENTRYPOINT ["repartee"]\nCMD ["serve", "--host", "0.0.0.0"]' in server


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(BUILD_TIMEOUT_S + 60)
def test_docker_builds_image() -> None:
    docker = shutil.which("docker")
    if docker is None:
        pytest.skip("Docker is not installed")
    if subprocess.run([docker, "info"], capture_output=True, check=False, timeout=60).returncode != 0:
        pytest.skip("no Docker daemon runs here")
    if subprocess.run([docker, "pull", "--quiet", BASE], capture_output=True, check=False, timeout=600).returncode != 0:
        pytest.skip(f"the image {BASE} cannot be fetched")
    building = [docker, "build", "--quiet", "--file", str(DOCKERFILE), "--tag", "repartee-test", str(ROOT)]
    subprocess.run(building, check=True, timeout=BUILD_TIMEOUT_S)
    asking = [docker, "run", "--rm", "repartee-test", "serve", "--help"]
    assert "Realtime" in subprocess.run(asking, check=True, capture_output=True, text=True, timeout=120).stdout
