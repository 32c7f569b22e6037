"""Generates docs/data/trace-fields.tsv, the fields of the trace record, from assistant/trace/record.py.

`PYTHONPATH=. python tests/support/generated/trace_texts.py` in the repository's root writes it; test_record.py compares
it.
"""

from pathlib import Path

from assistant.trace.record import (
    TracedAnswer,
    TracedEvent,
    TracedHearing,
    TracedPartial,
    TracedSpan,
    TracedWords,
    TurnRecord,
    schema_rows,
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
