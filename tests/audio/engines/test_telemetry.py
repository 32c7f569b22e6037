"""Telemetry of libraries is off in every process, before the first import of the library."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from audio.telemetry import TELEMETRY_OFF

ROOT = Path(__file__).parents[3]

SHOW = "import os, sys; print([name for name, value in {off!r}.items() if os.environ.get(name) != value])"


@pytest.mark.parametrize(
    "module",
    [
        "repartee.program",
        "audio.formats.upload_decoder",
        "bench.conversations.recordings",
    ],
)
def test_importing_a_module_switches_telemetry_off(module: str) -> None:
    environ = {**os.environ, **dict.fromkeys(TELEMETRY_OFF, "?"), "ORT_DISABLE_TELEMETRY": "0"}
    code = f"import {module}; {SHOW.format(off=dict(TELEMETRY_OFF))}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_packages_with_telemetry_are_imported_below_audio_only() -> None:
    """Elsewhere they could be imported before it is off."""
    reporting = ("onnxruntime", "faster_whisper", "huggingface_hub", "piper", "ray")
    found = [
        str(file.relative_to(ROOT))
        for package in ("llm", "web")
        for file in (ROOT / package).rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.split()[:1] in (["import"], ["from"]) and line.split()[1].partition(".")[0] in reporting
    ]
    assert found == []
