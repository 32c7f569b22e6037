"""The whole bench, on two clips."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.serve_compare import comparison
from bench.serve_rows import read

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.real_time
@pytest.mark.timeout(400)
def test_two_clips_are_answered_and_accounted_for(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.serve", "--quick", "--only", "turns,noise", "--out", str(tmp_path)]
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
        # Two clocks and two ideas of where speech ends.
        assert abs(row.latency_ms - row.trace["response_latency_ms"]) < 250
    assert sum(row.replies for row in run.of("noise")) == 0
    assert {cost.scenario for cost in run.costs} <= {"turns", "noise"}
    assert "| **Repartee, this run** |" in done.stdout
    assert (tmp_path / "report.md").read_text() in done.stdout
    assert (tmp_path / "latencies.svg").exists()
    assert "| plain turns: talked over, unanswered, premature, of | 0, 0, 0, 2 | 0, 0, 0, 2 |" in comparison(run, run)
