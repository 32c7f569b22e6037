"""Measures the latency of the demo by stage, and writes the sound that the README links.

    python -m bench.demo [--runs 3] [--sound docs/demo.ogg] [--set turn.hangover_ms=300]

Each run takes as long as the shipped recording (half a minute). Prints a markdown table over the turns of all runs.
"""

import argparse
import asyncio
import io
import json
import os
import tempfile
from pathlib import Path

import soundfile
from rich.console import Console

from assistant.commands.demo import TAPE, demo
from assistant.config.loading import load_settings
from assistant.trace.latency import STAGES
from assistant.trace.waterfall import SHORT_NAMES, nearest_rank
from bench.program.pictured import check_recognizer


def run_once(out: Path, overrides: list[str]) -> list[dict[str, object]]:
    """Runs the demo once and returns its records."""
    loaded = load_settings(None, os.environ, [*overrides, f"trace.dir={out / 'traces'}"])
    asyncio.run(demo(None, out, loaded, os.environ, Console(file=io.StringIO())))
    return [json.loads(line) for line in (out / "trace.jsonl").read_text(encoding="utf-8").splitlines()]


def table(records: list[dict[str, object]]) -> str:
    """Returns latency and stages over all answered turns as markdown."""
    answered = [record for record in records if record["response_latency_ms"] is not None]
    columns = {"**response latency**": [float(str(record["response_latency_ms"])) for record in answered]}
    for stage in STAGES:
        values = [float(record["stages"][stage]["ms"]) for record in answered]  # type: ignore[index]
        if max(values) >= 0.05:
            columns[f"{SHORT_NAMES[stage]} (`{stage}`)"] = values
    lines = [f"| ms, {len(answered)} turns | p50 | p95 | max |", "|---|---|---|---|"]
    for name, values in columns.items():
        p50, p95 = nearest_rank(values, 50), nearest_rank(values, 95)
        lines.append(f"| {name} | {p50:.0f} | {p95:.0f} | {max(values):.0f} |")
    return "\n".join(lines)


def _recognizer(records: list[dict[str, object]]) -> str:
    engines = records[-1]["engines"]
    return str(engines["stt"]) if isinstance(engines, dict) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--sound", type=Path, help="file for the sound of the last run, as Ogg Vorbis")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    records = []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            records += run_once(Path(folder), options.set)
            if options.sound is not None:
                check_recognizer(_recognizer(records), options.set)
                pcm, rate_hz = soundfile.read(Path(folder) / TAPE, dtype="int16")
                soundfile.write(options.sound, pcm, rate_hz, format="OGG", subtype="VORBIS")
    print(table(records))


if __name__ == "__main__":
    main()
