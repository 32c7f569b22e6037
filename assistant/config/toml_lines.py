"""Finds the line of each key in a TOML file, which tomllib does not report."""

import re
from collections.abc import Iterator, Mapping, Sequence

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"\s*([\w.-]+)\s*=")


def lines_of_keys(text: str) -> Mapping[str, int]:
    """Maps dotted keys and tables to their line, counted from 1, in a text that tomllib accepts.

    This is a scan, not a parser: it omits keys that are quoted or inside a multi-line value. The n-th `[[a.b]]` is
    `a.b[n]`,
    counted from 0.
    """
    lines_by_key: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in _outside_strings(text):
        if header := _HEADER.match(line):
            table = header[2]
            if header[1] == "[[":
                index = counts.get(table, 0)
                counts[table] = index + 1
                lines_by_key.setdefault(table, number)
                table = f"{table}[{index}]"
            lines_by_key.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(line):
            lines_by_key.setdefault(f"{table}.{assignment[1]}".removeprefix("."), number)
    return lines_by_key


def lines_of_tables(text: str) -> Sequence[tuple[int, str]]:
    """Returns each table's line (from 1) and its header without spaces: "[turn]", "[[llm.endpoints]]"."""
    headers = ((number, _HEADER.match(line)) for number, line in _outside_strings(text))
    return [(number, f"{match[1]}{match[2]}{']' * len(match[1])}") for number, match in headers if match]


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines that do not begin inside a multi-line string, with their number from 1."""
    closes = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if closes:
            closes = "" if closes in line else closes
            continue
        yield number, line
        if not _HEADER.match(line) and _ASSIGNMENT.match(line):
            closes = _left_open(line)


def _left_open(line: str) -> str:
    """Returns the quotes that close a multi-line string begun on this line; "" if none is open."""
    for quotes in ('"""', "'''"):
        if line.count(quotes) % 2 == 1:
            return quotes
    return ""
