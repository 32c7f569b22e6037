"""`repartee` in a forked child behaves as in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from support.programs.program import REPARTEE, repartee

ENVIRON = {**os.environ, "COLUMNS": "60"}


def test_result_equals_that_of_the_console_script(tmp_path: Path) -> None:
    arguments = ("config", "--set", "x")
    own = subprocess.run(
        [REPARTEE, *arguments], cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, timeout=50, check=False
    )
    forked = repartee(*arguments, cwd=tmp_path, env=ENVIRON)
    assert (forked.returncode, forked.stdout, forked.stderr) == (own.returncode, own.stdout, own.stderr)


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
