"""Works out what 10 to 1,000,000 concurrent conversations need and cost, and what breaks first.

    python -m bench.scale [--set NAME=VALUE ...] [--doc docs/scale.md]

Computes only: the measured figures come from other benches (scale_inputs.py names them). --set replaces an input, such
as a price. --doc writes the tables, all but that of the inputs, into a page, between their marks.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from bench.doc_tables import document, write_page
from bench.scaling.inputs import ABOUT, Inputs
from bench.scaling.tables import breaks_table, capacity_table, choices_table, cost_table, inputs_table, summary

PAGE_PARTS = ("summary", "capacity", "cost", "choices", "limits")
PARTS = (*PAGE_PARTS, "inputs")


def mark(part: str) -> str:
    """Returns the line of a page that begins a generated part."""
    return f"<!-- Written by python -m bench.scale, {part}: -->"


def texts(given: Inputs) -> dict[str, str]:
    """Returns the generated parts, by name."""
    made = (
        summary(given),
        capacity_table(given),
        cost_table(given),
        choices_table(given),
        breaks_table(given),
        inputs_table(given),
    )
    return dict(zip(PARTS, made, strict=True))


def written(page: str, given: Inputs) -> str:
    """Returns the page with its parts renewed. Raises ValueError if it has no marks for one."""
    for part in PAGE_PARTS:
        page = document(page, texts(given)[part], mark(part))
    return page


def inputs_of(assigned: list[str]) -> Inputs:
    """Returns the inputs with some replaced, each "name=value". Raises ValueError for an unknown name or value."""
    values: dict[str, float] = {}
    for text in assigned:
        name, _, value = text.partition("=")
        if name not in ABOUT:
            raise ValueError(f"{name} is no input; they are {', '.join(ABOUT)}")
        values[name] = float(value)
    return replace(Inputs(), **values)


def main() -> None:
    """Prints the tables, and writes them into pages if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--doc", type=Path, help="page that gets the tables of capacity, cost and limits")
    options = parser.parse_args()
    try:
        given = inputs_of(options.set)
        made = texts(given)
    except ValueError as error:
        parser.error(str(error))
    for part, text in made.items():
        print(f"\n== {part}\n\n{text}")
        if options.doc is not None and part in PAGE_PARTS:
            write_page(text, options.doc, mark(part))


if __name__ == "__main__":
    main()
