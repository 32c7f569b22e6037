"""Collects what the page of `repartee trace report --html` shows besides the figures: dates, settings, advice."""

import json
from collections.abc import Sequence
from pathlib import Path

from assistant.replay.advice import advice
from assistant.replay.advice_report import advice_lines
from assistant.replay.conversations import collect_inputs
from assistant.replay.settings import profile_of
from assistant.trace_report.page import PageNotes
from assistant.trace_report.reading import Record, convert_record, read_records
from assistant.turns.event_entries import settings_of

_SETTINGS = "set "
"""Prefix of the entry that holds the settings of turn taking."""


def page_notes(files: Sequence[Path]) -> PageNotes:
    """Reads the notes from the trace files. Warnings were given when the figures were counted. Raises TraceError."""
    first: Record | None = None
    last: Record | None = None
    settings = ""
    for record in read_records(files, _ignore):
        first, last = first or record, record
        settings = next((each for each in reversed(record.get("told", ())) if each.startswith(_SETTINGS)), settings)
    if first is None or last is None:
        return PageNotes()
    given = advice(collect_inputs(files, _ignore))
    return PageNotes(
        _dates(str(first.get("started_at", "")), str(last.get("started_at", ""))),
        convert_record(lambda record: _settings_in_use(record, settings), last),
        tuple(advice_lines(given)) if given.turns else (),
    )


def _dates(first: str, last: str) -> str:
    """Describes when the conversations began, from ISO 8601 in UTC."""
    began, ended = (at[:16].replace("T", " ") for at in (first, last))
    if not began:
        return ""
    return f"Conversation of {began} UTC" if began == ended else f"Conversations from {began} to {ended} UTC"


def _settings_in_use(record: Record, settings: str) -> dict[str, str]:
    """Returns the engines, fallbacks and turn taking of a turn. `settings`: the entry in its events, or ""."""
    found = {name.replace("_", " "): str(value) for name, value in record["engines"].items()}
    found |= {"fallbacks": ", ".join(record["fallbacks"])} if record["fallbacks"] else {}
    if settings:
        turns = settings_of(json.loads(settings.removeprefix(_SETTINGS)))
        found["end of turn"] = (
            f"a silence of {turns.hangover_ms:g} ms (turn.hangover_ms)"
            if turns.patience is None
            else f"turn.profile={profile_of(turns)}"
        )
        found["ends turns"], found["interrupted by"] = turns.ends_turn, turns.interrupted_by
    return found


def _ignore(_warning: str) -> None:
    """Ignores a warning."""
