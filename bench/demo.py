"""Produces what the README shows of the demo: its terminal as a picture, and its latency by stage.

    python -m bench.demo [--runs 3] [--picture docs/terminal.svg] [--set turn.hangover_ms=300]

Each run takes as long as the shipped recording (half a minute). Prints a markdown table over the turns of all runs.
"""

import argparse
import asyncio
import io
import json
import os
import tempfile
from pathlib import Path

from rich.console import Console

from assistant.commands.demo import demo
from assistant.config.loading import load_settings
from assistant.trace.latency import STAGES
from assistant.trace.waterfall import SHORT_NAMES, nearest_rank
from bench.pictured import check_recognizer

WIDTH = 118
# rich's own frame without its web font: a picture in a repository must not fetch anything.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def run_once(out: Path, overrides: list[str], console: Console) -> list[dict[str, object]]:
    """Runs the demo once and returns its records."""
    loaded = load_settings(None, os.environ, [*overrides, f"trace.dir={out / 'traces'}"])
    asyncio.run(demo(None, out, loaded, os.environ, console))
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
    parser.add_argument("--picture", type=Path, help="file for the terminal of the last run, as SVG")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    records = []
    for _ in range(options.runs):
        # Not a terminal: on a terminal, interim transcripts are rewritten in place, which a picture cannot show.
        console = Console(record=True, width=WIDTH, highlight=False, file=io.StringIO(), color_system="truecolor")
        with tempfile.TemporaryDirectory() as folder:
            previous = Path.cwd()
            os.chdir(folder)  # keeps the paths in the picture short
            try:
                records += run_once(Path("out"), options.set, console)
            finally:
                os.chdir(previous)
        if options.picture is not None:
            check_recognizer(_recognizer(records), options.set)
            options.picture.write_text(console.export_svg(title="make run", code_format=FRAME), encoding="utf-8")
    print(table(records))


if __name__ == "__main__":
    main()
