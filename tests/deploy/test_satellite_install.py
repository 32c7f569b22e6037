"""`make satellite`: a new installation from the lock, which takes little of a small board. Needs the package index."""

import subprocess
from pathlib import Path

import pytest

from bench.program.satellite import disk_mb, install, measured

pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(900)]

MAX_DISK_MB = 120
MAX_RESIDENT_MB = 80
MAX_CORE_PERCENT = 3.0


def run(program: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60)


def test_satellite_is_light_and_other_commands_say_what_they_need(tmp_path: Path) -> None:
    program = install(tmp_path, echo=False)
    checked = run(program, "doctor", "--satellite").stdout
    assert "ok   packages: all that a satellite needs" in checked
    assert "ok   wake word:" in checked
    assert "`make setup` installs the rest" in run(program, "demo").stderr
    again = subprocess.run(
        [tmp_path / "deploy" / "setup.sh", "--satellite"], capture_output=True, text=True, check=True
    )
    assert (again.stdout, again.stderr) == ("", "")
    figures = measured(program, 30)
    assert disk_mb(tmp_path) <= MAX_DISK_MB
    assert figures.resident_mb <= MAX_RESIDENT_MB, figures
    assert figures.core_percent <= MAX_CORE_PERCENT, figures
