"""Reads the table of the whole Realtime API, docs/data/protocol-table.txt.

tests/web/openai_clients/test_protocol_table.py sends each field to a server. A row of the data is

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

ROOT = Path(__file__).parents[3]
DATA_FILE = ROOT / "docs" / "data" / "protocol-table.txt"

ANSWERS = ("works", "error", "hint", "ignored", "sent", "no")
PARTS = ("client", "server", "http")


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
