"""Runs the complete bench on two clips and two noises."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile
from support.models.installed_model import TINY_EN_FOLDER

from bench.serving.compare import comparison
from bench.serving.rows import read

ROOT = Path(__file__).parents[3]
CLIPS = ROOT / "bench" / "clips"
TALKS = {"python-docs-sample_audio", "howl_common-voice-en-20009651"}
"""Two clips of two speakers: each speaker has a connection."""

NOISE_S = 3.0


def short_manifest(folder: Path) -> Path:
    """Writes a manifest with two speech clips of the bench and the beginnings of all noises."""
    rows = []
    for row in map(json.loads, (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()):
        whole = CLIPS / row["file"]
        if row["id"] in TALKS:
            rows.append(row | {"file": str(whole)})
        elif row["tag"] == "noise":
            sound, rate_hz = soundfile.read(whole, dtype="int16")
            soundfile.write(folder / whole.name, sound[: round(NOISE_S * rate_hz)], rate_hz, subtype="PCM_16")
            rows.append(row | {"file": str(folder / whole.name)})
    assert len(rows) == 4
    manifest = folder / "manifest.jsonl"
    manifest.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return manifest


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
@pytest.mark.real_time
@pytest.mark.timeout(400)
@pytest.mark.weights
@pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en was not downloaded")
def test_two_clips_are_answered_and_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.serve", "--quick", "--only", "turns,noise", "--out", str(tmp_path)]
    command += ["--manifest", str(short_manifest(tmp_path))]
    for value in ("engine=faster-whisper", f"model={TINY_EN_FOLDER}", "faster-whisper.device=cpu"):
        command += ["--set", f"stt.{value}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    run = read(tmp_path)
    turns = run.of("turns")
    assert [(row.lost, row.cut_in, row.wrong_reply, row.other_words) for row in turns] == [
        ("", False, False, False)
    ] * 2
    for row in turns:
        assert row.latency_ms is not None
        assert row.trace is not None
        assert 100 < row.latency_ms < 3000
        # Two clocks and two definitions of the end of speech.
        assert abs(row.latency_ms - row.trace["response_latency_ms"]) < 250
    assert [row.replies for row in run.of("noise")] == [0, 0]
    assert {cost.scenario for cost in run.costs} <= {"turns", "noise"}
    assert "| **Repartee, this run** |" in done.stdout
    assert (tmp_path / "report.md").read_text() in done.stdout
    assert (tmp_path / "latencies.svg").exists()
    assert "| plain turns: talked over, unanswered, premature, of | 0, 0, 0, 2 | 0, 0, 0, 2 |" in comparison(run, run)
