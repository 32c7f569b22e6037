"""Writes the figures of a run into a documentation page, between two marks.

    python -m bench.serve --doc docs/lab/performance.md                 # measure, and write
    python -m bench.serving.doc out/serve docs/lab/performance.md         # write what was measured before

The plots are stored beside the page, with its name as a prefix. The page leaves out what a run did not measure.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.serving.plots import SHOWN, plot
from bench.serving.rows import Run, read
from bench.serving.table import (
    conditions,
    cost_table,
    first_and_later_turns,
    interruptions,
    main_table,
    stages_table,
    sweep,
    turns_table,
)

BEGIN = "<!-- Written by python -m bench.serve --doc: -->"
END = "<!-- So far. -->"

_STAGES = """\
Only time that adds to the latency is listed. *Our own share* is spread over the stages (`bench/serving/figures.py`).
*Measured outside, less the trace* is mostly the error of the detected end of speech."""

_CURVE = """\
One point for each threshold, computed on the same silences: the wait, not the whole latency, without Smart Turn's own
time. Crosses are measured from outside. The same on more recordings: [turn-taking.md](turn-taking.md)."""

_SWEEP = """\
The time to the first token overlaps with the wait for silence; only the time beyond it adds to the latency."""

_COST = """\
Event loop: the detector, turn taking, the wire protocol. Other threads: Smart Turn and the trace writer. Without the
client and the language model. With eight simultaneous users, the figure is the share of each."""


def document(page: str, run: Run, name: str) -> str:
    """Returns the page with this run's figures between its marks.

    Args:
        page: Current content.
        run: The run.
        name: Prefix of the plots' file names.

    Raises ValueError without the marks.
    """
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(
            f"the page has no place for the figures: put a line {BEGIN} and a line {END} where they belong"
        )
    return f"{head}{BEGIN}\n\n" + "\n\n".join(_sections(run, name)) + f"\n\n{END}{tail}"


def write_page(run: Run, page: Path) -> list[Path]:
    """Writes the figures into a page, and its plots beside it. Returns the files.

    Raises SystemExit if the page does not exist or has no marks.
    """
    try:
        text = document(page.read_text(encoding="utf-8"), run, page.stem)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{page}: {error}") from error
    page.write_text(text, encoding="utf-8")
    plots = [path.replace(page.parent / f"{page.stem}-{path.name}") for path in plot(run, page.parent)]
    return [page, *plots]


def _sections(run: Run, name: str) -> Iterator[str]:
    yield conditions(run)
    for title, parts in (
        ("Against others", (main_table(run),)),
        ("Turns", (turns_table(run), stages_table(run, "turns"), _picture(_answered(run), name, "latencies"))),
        ("Silence timeout against cut-ins", (_picture(run.curve, name, "curve"),)),
        ("Interruptions and noise", ("\n".join(interruptions(run)),)),
        ("The first turn", ("\n".join(first_and_later_turns(run)),)),
        ("Speed of the language model", ("\n".join(sweep(run)), _picture(run.of("sweep"), name, "sweep"))),
        ("Processor time", (cost_table(replace(run, costs=tuple(cost for cost in run.costs if not cost.variant))),)),
    ):
        names = [part for part in parts if part]
        if names:
            yield f"## {title}"
            yield from names
            if title in _SAID:
                yield _SAID[title]


_SAID = {
    "Turns": _STAGES,
    "Silence timeout against cut-ins": _CURVE,
    "Speed of the language model": _SWEEP,
    "Processor time": _COST,
}

_PICTURES = {
    "latencies": "Share of the turns answered within a time",
    "curve": "Median wait against the share of turns with a pause that are cut into",
    "sweep": "Latency against the time to the first token and the token rate",
}


def _picture(shown: object, name: str, plot_name: str) -> str:
    return f"![{_PICTURES[plot_name]}]({name}-{plot_name}.svg)" if shown else ""


def _answered(run: Run) -> bool:
    return any(run.of(scenario) for scenario in SHOWN)


def main() -> None:
    """Writes a page from a stored run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="--out folder of a run")
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    print(*write_page(read(options.run), options.page), sep="\n")


if __name__ == "__main__":
    main()
