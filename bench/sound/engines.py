"""Runs `repartee bench engines` on models with random weights in true shapes. Measures cost, not quality.

    python -m bench.sound.engines [--shapes tiny base small] [--manifest FILE] [--rounds N] [--out DIR]
        [--set KEY=VALUE]

Also measures a Piper voice of medium size, and the engines that need no weights. `repartee bench engines` itself
measures real models.

Two corrections make the cost of random weights realistic. A decode ends after 4 tokens per second of sound, a usual
speaking rate; otherwise it would never end. And it counts as confident, because a decode without confidence is repeated
in the full window and would add up the times of both settings.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from assistant.commands.engine_bench.bench import RANDOM_WEIGHTS, Bench, BenchReport, measure
from assistant.commands.engine_bench.report import tables, write

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from support.models.synthetic_piper import medium_voice
from support.models.synthetic_whisper import SHAPES, as_trained, random_whisper


def run(options: argparse.Namespace, folder: Path, console: Console) -> BenchReport:
    """Creates the models and measures them."""
    models = [random_whisper(folder / name, SHAPES[name]) for name in options.shapes]
    for model in models:
        (model / RANDOM_WEIGHTS).touch()
    bench = Bench(
        os.environ,
        overrides=options.set,
        manifest=options.manifest,
        stt=[str(model) for model in models],
        tts=["espeak-ng", str(medium_voice(folder))],
        rounds=options.rounds,
    )
    with as_trained():
        return asyncio.run(measure(bench, lambda what: console.print(what, style="dim")))


def main() -> None:
    """Measures and prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=list(SHAPES))
    parser.add_argument("--manifest", type=Path, help="manifest of recordings; default: the recording of the demo")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    sys.setswitchinterval(0.0005)  # same value as in the program
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        report = run(options, Path(folder), console)
    for table in tables(report):
        console.print(table)
    for path in write(report, options.out):
        console.print(path)


if __name__ == "__main__":
    main()
