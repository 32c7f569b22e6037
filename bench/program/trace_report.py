"""Measures time and memory of `repartee trace report` for a given number of turns.

    .venv/bin/python -m bench.program.trace_report --turns 1000000

The turns repeat those of recorded traces, each with its own conversation id, number and latency, in files of 1000
turns.
They are written to a temporary folder (5 GB for a million) and removed again.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson

TURNS_PER_FILE = 1000
RECORDED = Path(__file__).parents[2] / "tests" / "assistant" / "recordings" / "demo.jsonl"


def write_turns(folder: Path, turns: int) -> int:
    """Writes turns; returns their size in bytes."""
    recorded = [orjson.loads(line) for line in RECORDED.read_bytes().splitlines()]
    chance = random.Random(1)
    written = 0
    for first in range(0, turns, TURNS_PER_FILE):
        lines = []
        for turn in range(first, min(first + TURNS_PER_FILE, turns)):
            record = recorded[turn % len(recorded)]
            later_ms = chance.expovariate(1 / 40)
            record |= {"conversation": f"{first:08}", "turn": turn - first + 1}
            record["stages"]["llm_first_token"]["ms"] = later_ms
            record["response_latency_ms"] = sum(share["ms"] for share in record["stages"].values())
            lines.append(orjson.dumps(record))
        text = b"\n".join(lines) + b"\n"
        (folder / f"{first:08}.jsonl").write_bytes(text)
        written += len(text)
    return written


def main() -> None:
    """Writes the turns, runs the report, and prints what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--html", action="store_true", help="also write the HTML page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_turns(folder, arguments.turns)
        command = [str(Path(sys.executable).with_name("repartee")), "trace", "report", str(folder)]
        command += ["--html", str(folder / "page.html")] if arguments.html else []
        began_s = time.perf_counter()
        process = subprocess.Popen(command)
        _, status, used = os.wait4(process.pid, 0)
        took_s = time.perf_counter() - began_s
        print(f"\n{arguments.turns:,} turns, {size / 1e6:,.0f} MB: {took_s:.1f} s, exit status {status}")
        print(
            f"processor {used.ru_utime + used.ru_stime:.1f} s, most memory of one process {used.ru_maxrss / 1e3:.0f} MB"
        )


if __name__ == "__main__":
    main()
