"""Compares the table of the whole Realtime API with what the server does.

`PYTHONPATH=.:tests python tests/support/protocol/protocol_answers.py` in the repository's root prints each row that is
wrong and the right answer; with --write it changes the words in docs/data/protocol-table.txt. Read the changes:
"ignored" means that a field needs another value (the third cell of its row), a test of its own, or an error.
"""

import asyncio
import importlib.util
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support.protocol.protocol_probe import Outcome, probe, probed_server
from support.protocol.protocol_table import DATA_FILE, ROOT, Row, Table, table
from support.protocol.realtime_sdk import SdkField, client_fields, objects_in, seen_fields, server_models
from support.protocol.wire_client import Client

AT_ONCE = 6
SCENES = ROOT / "tests" / "web" / "wire" / "test_wire_turns.py"

Outcomes = Mapping[tuple[str, str], Outcome]
"""(type of the event, field) -> what became of it."""

Wrong = dict[tuple[str, str, str], str]
"""(part, name of the event or object, field) -> the right answer."""


def is_probed(row: Row) -> bool:
    """Returns whether a field is sent; otherwise a test of its own shows it."""
    return row.how != "unused" and not row.how.startswith("test_")


async def probe_all(folder: Path, rows: Table) -> Outcomes:
    """Sends every field of a client that has no test of its own."""
    found: dict[tuple[str, str], Outcome] = {}
    turns = asyncio.Semaphore(AT_ONCE)
    async with probed_server(folder) as server, asyncio.TaskGroup() as tasks:

        async def ask(kind: str, field: SdkField, how: str) -> None:
            async with turns:
                found[kind, field.path] = await probe(server, kind, field, "" if how == "shown" else how)

        for kind, fields in client_fields().items():
            known = {row.path: row for row in rows["client", kind]}
            for field in fields:
                if field.path in known and is_probed(known[field.path]):
                    tasks.create_task(ask(kind, field, known[field.path].how))
    return found


def wrong_client_rows(rows: Table, outcomes: Outcomes) -> Wrong:
    """Returns the rows of what clients send whose answer is not what the server does."""
    wrong: Wrong = {}
    for kind, fields in client_fields().items():
        known = {row.path: row for row in rows["client", kind]}
        for field in fields:
            if (kind, field.path) in outcomes:
                answer = _answer_of(outcomes[kind, field.path], field.wire_path, shown=known[field.path].how == "shown")
                if answer == "ignored" and known[field.path].answer == "hint":
                    continue
                if answer != known[field.path].answer:
                    wrong["client", kind, field.path] = answer
    return wrong


def _answer_of(outcome: Outcome, wire_path: str, *, shown: bool) -> str:
    if outcome.named(wire_path):
        return "error"
    works = outcome.shows_what_is_used if shown else outcome.took_effect
    return "works" if works else "ignored"


def wrong_server_rows(rows: Table, outcomes: Outcomes) -> Wrong:
    """Returns the rows of what the server sends that are not so, in the scenes with golden lists and the probes."""
    models = server_models()
    seen: dict[str, set[str]] = {name: set() for name in models}
    events = [event for outcome in outcomes.values() for event in outcome.events]
    for event in [*_scene_events(), *events]:
        for name, value in [(event["type"], {**event, "event_id": "any"}), *objects_in(event)]:
            if name in models:
                seen[name] |= seen_fields(models[name], value) | {""}
    return {
        ("server", name, row.path): "sent" if row.path in seen[name] else "no"
        for (part, name), fields in rows.items()
        for row in fields
        if part == "server" and not row.how and (row.answer == "sent") != (row.path in seen[name])
    }


def _scene_events() -> Iterator[dict[str, Any]]:
    spec = importlib.util.spec_from_file_location("scenes_with_golden_lists", SCENES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for scene in module.SCENES:
        client = Client()
        scene(client)
        yield from client.events


def corrected(text: str, wrong: Wrong) -> str:
    """Returns the data with the right words."""
    lines, at = [], ("", "")
    for line in text.splitlines():
        if line.startswith("== "):
            part, _, name = line.removeprefix("== ").partition(": ")
            at = (part, name)
        path = line.split(" | ")[0]
        answer = wrong.get((*at, "" if path == "-" else path))
        lines.append(line if answer is None else re.sub(r"\| \w+", f"| {answer}", line, count=1))
    return "\n".join(lines) + "\n"


async def main() -> None:
    """Prints the wrong rows, and corrects them on request."""
    rows = table()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = await probe_all(Path(folder), rows)
    wrong = wrong_client_rows(rows, outcomes) | wrong_server_rows(rows, outcomes)
    for (part, name, path), answer in wrong.items():
        about = outcomes.get((name, path))
        sys.stdout.write(f"{part}: {name}: {path or '-'}: {answer} {about.errors if about else ''}\n")
    if "--write" in sys.argv:
        DATA_FILE.write_text(corrected(DATA_FILE.read_text(encoding="utf-8"), wrong), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
