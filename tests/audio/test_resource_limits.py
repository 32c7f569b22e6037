"""Limits of a process that reads the file of a stranger."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce all limits")


@pytest.mark.parametrize(
    ("use", "how"),
    [
        ("bytearray(1 << 30)", "MemoryError"),
        ("sum(iter(lambda: 1, 0))", "-9"),  # SIGKILL
        ("open('x', 'wb', 0).write(b'x')", "File too large"),
    ],
    ids=["memory", "processor time", "files"],
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
