"""deploy/systemd/repartee.service: systemd accepts it, and it agrees with the program and the unit of a desktop."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.commands.service.unit import ServiceJob, unit
from assistant.config.loading import OTHER_VARIABLES
from assistant.config.settings import DEFAULTS
from assistant.config.sources import unknown_variables
from assistant.support.paths import config_folder, data_folder

UNIT = Path(__file__).parent.parent.parent / "deploy" / "systemd" / "repartee.service"
TEXT = UNIT.read_text(encoding="utf-8")
PROGRAM = "/opt/repartee/bin/repartee"
ENDED_AFTER_DRAIN_S = 5
"""Seconds in which the server ends after its drain (docs/serving.md)."""
MAX_EXPOSURE = 20
"""Tenths: systemd calls 2.0 and less "OK"; 9.6 is a unit without any protection."""

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def values_of(key: str, text: str = TEXT) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in values_of("Environment") for pair in line.split())


@needs_systemd
def test_systemd_accepts_unit(tmp_path: Path) -> None:
    copy = tmp_path / "repartee.service"
    # systemd checks that the program exists.
    copy.write_text(TEXT.replace(PROGRAM, sys.executable), encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False, timeout=100
    )
    assert [line for line in checked.stderr.splitlines() if "repartee" in line] == []


@needs_systemd
def test_unit_is_hardened() -> None:
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE}", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd cannot check a file")
    assert done.returncode == 0, done.stdout[-400:] + done.stderr


def test_program_finds_its_files_where_systemd_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = environment()
    assert unknown_variables(variables, OTHER_VARIABLES) == []
    (state,), (folder,) = values_of("StateDirectory"), values_of("WorkingDirectory")
    assert str(data_folder(variables)) == folder == f"/var/lib/{state}"
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(config_folder()) == "/etc/repartee"
    (cache,) = values_of("CacheDirectory")
    assert variables["HF_HOME"].startswith(f"/var/cache/{cache}/")


def test_unit_stops_server_after_its_drain() -> None:
    (limit_s,) = values_of("TimeoutStopSec")
    assert int(limit_s) > DEFAULTS.server.drain_s + ENDED_AFTER_DRAIN_S


def test_unit_agrees_with_that_of_a_desktop() -> None:
    home = Path("/home/u")
    desktop = unit(ServiceJob("repartee", home / "repartee", ("serve",), home, home / "service.env"))
    for key in ("Type", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec", "UMask",
                "NoNewPrivileges", "LockPersonality", "RestrictSUIDSGID", "RestrictAddressFamilies",
                "SystemCallArchitectures", "PrivateTmp", "StartLimitBurst", "StartLimitIntervalSec"):  # fmt: skip
        assert values_of(key) == values_of(key, desktop) != [], key


def test_unit_runs_serve_without_a_user_of_its_own() -> None:
    assert values_of("ExecStart") == [f"{PROGRAM} serve"]
    assert values_of("DynamicUser") == ["yes"]
    assert values_of("User") == []
