"""The integration of deploy/homeassistant in a real Home Assistant, which needs a newer Python than the tests have."""

import os
import subprocess
from pathlib import Path

import pytest
from clients.environments import CLIENTS, CannotInstallError, newer_python, python_of
from support.programs.program import REPARTEE

pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.timeout(900)]

INTEGRATION = CLIENTS.parents[1] / "deploy" / "homeassistant"
COMPONENT = CLIENTS / "home_assistant" / "component"
ENDS_WITHIN_S = 600


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return python_of("home_assistant", "component", newer_python("3.13", "3.14"))
    except CannotInstallError as error:
        pytest.skip(f"no Home Assistant can be installed here: {error}")


def run(command: list[str | Path], folder: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environ, "TESTED_PROGRAM": str(REPARTEE)},
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-2000:]


@pytest.mark.parametrize("checks", ["flow_checks.py", "agent_checks.py", "lost_connection_checks.py"])
def test_integration_works_in_home_assistant(checks: str, python: Path, tmp_path: Path) -> None:
    options = ["-q", "-p", "no:cacheprovider", "--show-capture=no", "--tb=short", f"--basetemp={tmp_path / 'home'}"]
    run([python, "-m", "pytest", *options, "--confcutdir=.", checks], COMPONENT)


def test_integration_has_correct_types(python: Path, tmp_path: Path) -> None:
    options = ["--strict", f"--cache-dir={tmp_path}", "--config-file="]
    run([python, "-m", "mypy", *options, "-p", "custom_components.repartee"], INTEGRATION)
