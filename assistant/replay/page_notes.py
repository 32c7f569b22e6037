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
from assistant.turns.log.event_entries import settings_of

_SETTINGS = "set "
"""Prefix of the entry that holds the settings of turn taking."""


def page_notes(files: Sequence[Path]) -> PageNotes:
    """Reads the notes from the trace files. Warnings were given when the figures were counted. Raises TraceError."""
    last: Record | None = None
    settings, began = "", set[str]()
    for record in read_records(files, _ignore):
        last = record
        began.add(str(record.get("started_at", ""))[:16])
        settings = next(
            (each for each in reversed(record.get("turn_events", ())) if each.startswith(_SETTINGS)), settings
        )
    if last is None:
        return PageNotes()
    given = advice(collect_inputs(files, _ignore))
    return PageNotes(
        _dates(began - {""}),
        convert_record(lambda record: _settings_in_use(record, settings), last),
        tuple(advice_lines(given)) if given.turns else (),
    )


def _dates(began: set[str]) -> str:
    """Describes when the conversations began: minutes in ISO 8601, UTC."""
    if not began:
        return ""
    first, last = (date.replace("T", " ") for date in (min(began), max(began)))
    return f"Conversation of {first} UTC" if first == last else f"Conversations from {first} to {last} UTC"


def _settings_in_use(record: Record, settings: str) -> dict[str, str]:
    """Returns the engines, fallbacks and turn taking of a turn. `settings`: the entry in its events, or ""."""
    values = {name.replace("_", " "): str(value) for name, value in record["engines"].items()}
    values |= {"fallbacks": ", ".join(record["fallbacks"])} if record["fallbacks"] else {}
    if settings:
        turns = settings_of(json.loads(settings.removeprefix(_SETTINGS)))
        values["end of turn"] = (
            f"a silence of {turns.hangover_ms:g} ms (turn.hangover_ms)"
            if turns.profile is None
            else f"turn.profile={profile_of(turns)}"
        )
        values["ends turns"], values["interrupted by"] = turns.ends_turn, turns.interrupted_by
    return values


def _ignore(_warning: str) -> None:
    """Ignores a warning."""
