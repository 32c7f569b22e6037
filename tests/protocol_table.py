"""The table of the whole Realtime API: reads tests/protocol_table.txt and writes docs/lab/protocol-table.md.

`PYTHONPATH=. python tests/protocol_table.py` in the repository's root writes the page; tests/web/test_protocol_table.py
compares it, and sends each field to a server. A row of the data is

    path | answer | how it is shown | note

- answer, of what a client sends: works, error, hint (a wish that changes nothing a client waits for), or ignored
  (accepted without effect, which has to end);
  of what the server sends: sent or no.
- how: empty: the server shows the value at the same place; JSON: with this value ($SOUND: some sound in base64);
  "in " and JSON: with this object in which the field is; shown: the server shows what it uses; unused: it shows the
  value, which has no effect; test_…: the test that shows it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA_FILE = ROOT / "tests" / "protocol_table.txt"
DOCS_FILE = ROOT / "docs" / "lab" / "protocol-table.md"

ANSWERS = ("works", "error", "hint", "ignored", "sent", "no")
PARTS = ("client", "server", "http")

_HEAD = """# Every event, field and endpoint

The whole Realtime API, as the newest `openai` package has it, and the HTTP requests of its namespaces `realtime`,
`audio` and `models`. [The protocol](../protocol.md) explains what each does. Written by tests/protocol_table.py from
tests/protocol_table.txt; a test sends each field to a server.

| answer | meaning |
|---|---|
| works | it takes effect, or the server shows what it uses instead |
| error | an `error` names the field, or the object that it is in |
| hint | accepted without effect, because no client waits for its fulfilment; the session shows what is in force |
| ignored | accepted without effect |
| sent, no | the server sends it, or never does |
"""

_TITLES = {"client": "## What clients send", "server": "## What the server sends", "http": "## HTTP"}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Attributes:
        path: The field; "" is the event or request itself.
        answer: One of `ANSWERS`.
        how: How it is shown.
        note: For the reader.
    """

    path: str
    answer: str
    how: str
    note: str


Table = Mapping[tuple[str, str], list[Row]]
"""(part, name of the event, object or request) -> its rows."""


def read_table(text: str) -> Table:
    """Parses the data. Raises ValueError for a line of another form."""
    found: dict[tuple[str, str], list[Row]] = {}
    rows: list[Row] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            part, _, name = line.removeprefix("== ").partition(": ")
            if part not in PARTS or (part, name) in found:
                raise ValueError(f"line {number}: {line}")
            rows = found[part, name] = []
            continue
        cells = [cell.strip() for cell in re.split(r"\s\|(?=\s|$)", line)]
        path, answer, how, note = [*cells, "", "", ""][:4]
        if rows is None or answer not in ANSWERS or len(cells) > 4:
            raise ValueError(f"line {number}: {line}")
        rows.append(Row("" if path == "-" else path, answer, how, note))
    return found


def table() -> Table:
    """Returns the table of the repository."""
    return read_table(DATA_FILE.read_text(encoding="utf-8"))


def page(rows: Table) -> str:
    """Returns the page of the documentation."""
    parts = [_HEAD]
    for part in PARTS:
        parts.append(f"\n{_TITLES[part]}\n")
        for (of, name), fields in rows.items():
            if of != part:
                continue
            if part == "server":
                parts += _server_lines(name, fields)
            else:
                parts += [f"\n### `{name}`\n\n| field | answer | |\n|---|---|---|\n"]
                parts += [
                    f"| {f'`{row.path}`' if row.path else 'the whole'} | {row.answer} | {row.note} |\n"
                    for row in fields
                ]
    return "".join(parts)


def _server_lines(name: str, fields: list[Row]) -> list[str]:
    sent = [f"`{row.path}`" for row in fields if row.answer == "sent" and row.path]
    never = [f"`{row.path}`" for row in fields if row.answer == "no" and row.path]
    notes = [row.note for row in fields if row.note]
    if fields[0].path == "" and fields[0].answer == "no":
        return [f"\n### `{name}`\n\nNot sent{f': {fields[0].note}' if fields[0].note else ''}.\n"]
    lines = [f"\n### `{name}`\n\nSent: {', '.join(sent)}.\n"]
    if never:
        lines.append(f"\nNot sent: {', '.join(never)}.\n")
    return [*lines, *(f"\n{note}.\n" for note in notes)]


if __name__ == "__main__":
    DOCS_FILE.write_text(page(table()), encoding="utf-8")
