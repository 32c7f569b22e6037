"""Generates the tables of docs/lab/trace-record.md from assistant/trace/record.py.

`PYTHONPATH=. python tests/trace_texts.py` in the repository's root writes them; test_record.py compares them.
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

DOCS_FILE = Path(__file__).parent.parent / "docs" / "lab" / "trace-record.md"
BEGINS = "<!-- Written by tests/trace_texts.py: -->\n"
ENDS = "<!-- End. -->\n"

RECORDS = (
    ("A turn", TurnRecord),
    ("`spans`", TracedSpan),
    ("`answers`", TracedAnswer),
    ("`events`", TracedEvent),
    ("`hearings`", TracedHearing),
    ("`hearings[].partials`", TracedPartial),
    ("`words`", TracedWords),
)


def tables() -> str:
    """Returns every record class as a table."""
    parts = []
    for title, record in RECORDS:
        rows = "".join(f"| `{name}` | {kind} | {meaning} |\n" for name, kind, meaning in schema_rows(record))
        parts.append(
            f"### {title}\n\n| field | type | meaning |\n|---|---|---|\n{rows.replace(' | None |', ' or null |')}"
        )
    return "\n".join(parts)


def with_tables(page: str) -> str:
    """Returns the page with generated tables."""
    begin, end = page.index(BEGINS) + len(BEGINS), page.index(ENDS)
    return f"{page[:begin]}\n{tables()}\n{page[end:]}"


if __name__ == "__main__":
    DOCS_FILE.write_text(with_tables(DOCS_FILE.read_text(encoding="utf-8")), encoding="utf-8")
