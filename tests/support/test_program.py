"""`repartee` in a forked child behaves as in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs.program import REPARTEE, repartee

ENVIRON = {**os.environ, "COLUMNS": "60"}


@pytest.mark.parametrize(
    "arguments",
    [("config", "--config", "mine.toml"), ("config", "--set", "x"), ("nonsense",)],
    ids=["result", "user error", "unknown command"],
)
def test_result_equals_that_of_the_console_script(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[turn]\nprofile = 'patient'\n")
    own = subprocess.run(
        [REPARTEE, *arguments], cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, timeout=50, check=False
    )
    forked = repartee(*arguments, cwd=tmp_path, env=ENVIRON)
    assert (forked.returncode, forked.stdout, forked.stderr) == (own.returncode, own.stdout, own.stderr)


def test_runs_share_no_state(tmp_path: Path) -> None:
    wide, narrow = (repartee("config", cwd=tmp_path, env=ENVIRON | {"COLUMNS": columns}) for columns in ("160", "60"))
    assert max(map(len, narrow.stdout.splitlines())) <= 60 < max(map(len, wide.stdout.splitlines()))
    assert repartee("config", "--set", "turn.hangover_ms=soon").returncode == 2
    assert repartee("config").returncode == 0


def test_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        repartee("serve", "--port", "0", cwd=tmp_path, timeout_s=0.2)


def test_installation_without_registered_engines_names_the_remedy() -> None:
    program = (
        "import importlib.metadata as m, sys; m.entry_points = lambda **_: m.EntryPoints(()); "
        "sys.argv = ['repartee', 'config']; from repartee.program import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRON, capture_output=True, text=True, timeout=50, check=False
    )
    assert result.returncode == 2
    assert result.stderr.startswith("repartee: the engines of Repartee are not registered")
    assert "make setup" in result.stderr
    assert "Traceback" not in result.stderr
