"""Limits of a process that reads the file of a stranger."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce all limits")


@pytest.mark.parametrize(
    ("use", "how"),
    [
        pytest.param("bytearray(1 << 30)", "MemoryError", id="memory"),
        pytest.param("sum(iter(lambda: 1, 0))", "-9", id="processor time"),  # SIGKILL
        pytest.param("open('x', 'wb', 0).write(b'x')", "File too large", id="files"),
    ],
)
def test_process_beyond_its_limits_ends(use: str, how: str, tmp_path: Path) -> None:
    code = f"from audio.resource_limits import limit_resources; limit_resources(1 << 29, 1); print({use})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert how in f"{done.returncode} {done.stderr}"


@pytest.mark.parametrize(
    "limiting",
    [
        pytest.param("from audio.resource_limits import limit_resources; limit_resources(1, 1)", id="uploads"),
        pytest.param("from audio.tts.pico.synthesis_process import _limit_resources; _limit_resources()", id="pico"),
    ],
)
def test_refused_limit_leaves_the_others(limiting: str) -> None:
    code = (
        "import resource as r; set_limit = r.setrlimit\n"
        "def refusing(what, limits):\n"
        "    if what == r.RLIMIT_AS: raise ValueError\n"
        "    set_limit(what, limits)\n"
        f"r.setrlimit = refusing; {limiting}; print(r.getrlimit(r.RLIMIT_FSIZE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "(0, 0)\n"
