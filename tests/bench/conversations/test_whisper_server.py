"""Runs a conversation with a Whisper that has realistic cost and scripted words."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.serving.rows import read

ROOT = Path(__file__).parents[3]


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
@pytest.mark.real_time
@pytest.mark.timeout(400)
def test_turn_has_scripted_words_and_costs_a_decode(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.serve", "--quick", "--only", "engines", "--engine", "whisper-tiny"]
    command += ["--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    [row] = read(tmp_path).of("turns", "whisper-tiny")
    assert (row.lost, row.errors, row.other_words, row.wrong_reply) == ("", 0, False, False)
    assert row.words > 0
    assert row.latency_ms is not None
    assert "stt faster-whisper" in "; ".join(read(tmp_path).engines)
    assert "| whisper-tiny | 1 |" in done.stdout


def test_unknown_shape_is_rejected() -> None:
    command = [sys.executable, "-m", "bench.conversations.whisper_server", "huge", "manifest.jsonl", "serve"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert "SHAPE (tiny, base, small), MANIFEST" in done.stderr
