"""Generates docs/data/trace-fields.tsv, the fields of the trace record, from assistant/trace/record.py.

`PYTHONPATH=. python tests/support/generated/trace_texts.py` in the repository's root writes it; test_record.py compares
it.
"""

from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

from assistant.trace.record import (
    TracedAnswer,
    TracedEvent,
    TracedHearing,
    TracedPartial,
    TracedSpan,
    TracedWords,
    TurnRecord,
)

FIELDS_FILE = Path(__file__).parents[3] / "docs" / "data" / "trace-fields.tsv"

RECORDS = (
    ("turn", TurnRecord),
    ("spans", TracedSpan),
    ("answers", TracedAnswer),
    ("events", TracedEvent),
    ("hearings", TracedHearing),
    ("hearings[].partials", TracedPartial),
    ("words", TracedWords),
)


def schema_rows(record: type) -> list[tuple[str, str, str]]:
    """Returns (field, type, meaning) of each field of a record class, for the documentation."""
    hints = get_type_hints(record, include_extras=True)
    return [
        (item.name, _type_name(get_args(hints[item.name])[0]), hints[item.name].__metadata__[0])
        for item in fields(record)
    ]


def _type_name(annotation: object) -> str:
    name = annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
    return name.replace("typing.", "").replace("assistant.trace.record.", "").replace("assistant.trace.latency.", "")


def table() -> str:
    """Returns the fields of every record class: tab-separated record, field, type and meaning."""
    rows = [
        (title, name, kind.removesuffix(" | None") + (" or null" if kind.endswith(" | None") else ""), meaning)
        for title, record in RECORDS
        for name, kind, meaning in schema_rows(record)
    ]
    return "".join("\t".join(row) + "\n" for row in (("record", "field", "type", "meaning"), *rows))


if __name__ == "__main__":
    FIELDS_FILE.write_text(table(), encoding="utf-8")
