"""On which line of a TOML file a key stands: tomllib does not say."""

import re
from collections.abc import Mapping

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"\s*([\w.-]+)\s*=")


def lines_of_keys(text: str) -> Mapping[str, int]:
    """Dotted keys and tables with their line, counted from 1, of a text that tomllib accepts.

    A scan, not a parser: a key it cannot be sure of (quoted, or inside a multi-line value) is left out. The n-th
    `[[a.b]]` is `a.b[n]`, counted from 0.
    """
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    closes = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if closes:
            closes = "" if closes in line else closes
            continue
        if header := _HEADER.match(line):
            table = header[2]
            if header[1] == "[[":
                index = counts.get(table, 0)
                counts[table] = index + 1
                found.setdefault(table, number)
                table = f"{table}[{index}]"
            found.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(line):
            found.setdefault(f"{table}.{assignment[1]}".removeprefix("."), number)
            closes = _left_open(line)
    return found


def _left_open(line: str) -> str:
    """The quotes that close a multi-line string begun on this line; "" if none is open."""
    for quotes in ('"""', "'''"):
        if line.count(quotes) % 2 == 1:
            return quotes
    return ""
