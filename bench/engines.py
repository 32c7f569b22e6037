"""`repartee bench engines` on models with random weights in true shapes: what they cost, not what they hear or say.

    python -m bench.engines [--shapes tiny base small] [--manifest FILE] [--rounds N] [--out DIR] [--set KEY=VALUE]

Also a Piper voice of medium size, and beside them the engines that need no weights. Real models are measured by
`repartee bench engines`.

Two things are put right, or random weights would cost what no trained ones do. A decode says 4 tokens for each second
of sound, a person's pace, where they would go on for ever. And it counts as in no doubt: one that is in doubt is done
once more in the full window, so that the times of the two settings add up.
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

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from synthetic_piper import medium_voice
from synthetic_whisper import SHAPES, as_trained, random_whisper


def run(options: argparse.Namespace, folder: Path, console: Console) -> BenchReport:
    """Make the models, and measure them."""
    models = [random_whisper(folder / name, SHAPES[name]) for name in options.shapes]
    for model in models:
        (model / RANDOM_WEIGHTS).touch()
    bench = Bench(
        os.environ,
        overrides=options.set,
        manifest=options.manifest,
        stt=["pocketsphinx", *(str(model) for model in models)],
        tts=["espeak-ng", str(medium_voice(folder))],
        rounds=options.rounds,
    )
    with as_trained():
        return asyncio.run(measure(bench, lambda what: console.print(what, style="dim")))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=list(SHAPES))
    parser.add_argument("--manifest", type=Path, help="else the recording of the demo")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    sys.setswitchinterval(0.0005)  # as the program sets it
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        report = run(options, Path(folder), console)
    for table in tables(report):
        console.print(table)
    for path in write(report, options.out):
        console.print(path)


if __name__ == "__main__":
    main()
