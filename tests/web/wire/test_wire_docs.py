"""docs/protocol.md names exactly the existing events: extensions as in the code, the others as in the SDK."""

import re
from pathlib import Path
from typing import get_args

from openai.types.realtime import realtime_client_event, realtime_server_event

from web.webrtc.bridge import CALL_EVENTS
from web.wire.incoming.parse import CLIENT_EVENTS
from web.wire.outgoing.server_events import SERVER_EVENTS
from web.wire.values.errors import CODES, Refusal

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
ERRORS = PAGE.split("## Errors\n")[1]


LISTED = {"Without deviation": "yes", "Not sent": "no"}
"""Beginnings of the sentences below a table that list further events, and whether these are supported."""


def table(title: str) -> dict[str, str]:
    """Returns the events of a section, in its table or listed below it, and whether they are supported."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0].split("\n### ")[0]
    rows = re.findall(r"^\| `([a-z_.]+)` \| (yes|no) \|", section, re.MULTILINE)
    assert len(rows) == section.count("\n|") - 2, "a row is not of the form | `event` | yes or no | ... |"
    rows += [
        (name, supported)
        for beginning, supported in LISTED.items()
        for sentence in re.findall(rf"{re.escape(beginning)}: ([^.]*(?:\.[a-z_][^.]*)*)\.(?:\s|$)", section)
        for name in re.findall("`([a-z_.]+)`", sentence)
    ]
    assert len(rows) == len(dict(rows)), "an event is named twice"
    return dict(rows)


def sdk_types(union: object) -> set[str]:
    members, *_ = get_args(union)
    return {get_args(member.model_fields["type"].annotation)[0] for member in get_args(members)}


def of_realtime(names: set[str]) -> set[str]:
    return {name for name in names if not name.startswith("repartee.")}


def test_documentation_names_the_client_events() -> None:
    rows = table("Events from the client")
    assert {name for name, supported in rows.items() if supported == "yes"} == of_realtime(set(CLIENT_EVENTS))
    assert set(rows) == sdk_types(realtime_client_event.RealtimeClientEvent)


def test_documentation_names_the_server_events() -> None:
    rows = table("Events to the client")
    assert {name for name, sent in rows.items() if sent == "yes"} == of_realtime({*SERVER_EVENTS, *CALL_EVENTS})
    assert set(rows) == sdk_types(realtime_server_event.RealtimeServerEvent)


def test_documentation_describes_extensions_and_refusals() -> None:
    extensions = [name for name in (*SERVER_EVENTS, *CLIENT_EVENTS) if name.startswith("repartee.")]
    described = PAGE.split("## Extensions\n")[1].split("\n## ")[0]
    assert [name for name in extensions if f"`{name}`" not in described] == []
    assert [code for code in get_args(Refusal) if code not in CODES and ERRORS.count(f"`{code}`") != 1] == []


def test_documentation_names_exactly_the_other_errors() -> None:
    """Errors that end a connection are documented on the server page (test_session_limits.py)."""
    raised = re.compile(r"""\b(?:FieldError|ProtocolError)\(\s*"([a-z0-9_]+)\"""")
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / "web").rglob("*.py"))
    codes = {code for source in sources for code in raised.findall(source)} | {
        CODES.get(refusal, refusal) for refusal in get_args(Refusal)
    }
    rows = [row.split("|")[1] for row in ERRORS.splitlines() if row.startswith("| `")]
    assert {"binary_message", "invalid_json", "transcription_failed"} < codes
    assert sorted(code for row in rows for code in re.findall("`([a-z0-9_]+)`", row) if code != "code") == sorted(codes)
