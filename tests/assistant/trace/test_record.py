"""Tests of the trace schema and its documentation."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from support.conversations.simulation import Simulation, Utterance
from support.generated import trace_texts

from assistant.trace import record as records
from assistant.trace.latency import STAGES
from assistant.trace.record import SCHEMA, EventName, Outcome, TurnRecord

PAGE = Path(__file__).parents[3] / "docs" / "lab" / "trace-record.md"


@pytest.fixture(scope="module")
def record() -> TurnRecord:
    utterances = [Utterance(1000, 1800, "what time is it")]
    (made,) = Simulation(utterances, keep_words=True).run().records
    return made


def test_record_is_one_line_of_json_with_every_field(record: TurnRecord) -> None:
    line = replace(record, speaker="S1", language="de", tracing={"workflow_name": "support"}).to_json()
    assert "\n" not in line
    read = json.loads(line)
    assert list(read) == list(TurnRecord.__dataclass_fields__)
    assert read["schema"] == SCHEMA
    assert list(read["stages"]) == list(STAGES)
    assert all(set(share) == {"ms", "slack_ms"} for share in read["stages"].values())


def test_names_of_the_client_are_absent_without_any(record: TurnRecord) -> None:
    assert "tracing" not in json.loads(record.to_json())


def test_rounded_stages_sum_to_the_latency(record: TurnRecord) -> None:
    read = json.loads(record.to_json())
    total_ms = sum(share["ms"] for share in read["stages"].values())
    assert total_ms == pytest.approx(read["response_latency_ms"], abs=0.01)


def test_record_has_a_vad_result_for_every_frame(record: TurnRecord) -> None:
    (hearing,) = json.loads(record.to_json())["hearings"]
    frames = len(base64.b64decode(hearing["vad"]))
    # From the first frame of the pre-roll to the commit.
    assert hearing["vad_start_ms"] == pytest.approx(hearing["segment_ms"], abs=20)
    assert hearing["vad_start_ms"] + frames * 20 == pytest.approx(read_event(record, "commit"), abs=20)


def read_event(record: TurnRecord, name: str) -> float:
    return next(event.at_ms for event in record.events if event.name == name)


def test_every_record_class_has_a_table() -> None:
    parts = {part for name, part in vars(records).items() if name.startswith("Traced")}
    assert {record for _, record in trace_texts.RECORDS} == {TurnRecord, *parts}


def test_documentation_matches_the_schema() -> None:
    written = trace_texts.FIELDS_FILE.read_text(encoding="utf-8")
    assert written == trace_texts.table(), "run `PYTHONPATH=. python tests/support/generated/trace_texts.py`"


def described(title: str) -> set[str]:
    """Returns the names in the first column of a table."""
    page = PAGE.read_text(encoding="utf-8")
    (rows,) = re.findall(rf"^\| {title} \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    return {name for row in rows.splitlines() for name in re.findall("`([^`]+)`", row.split("|")[1])}


def test_page_names_the_version() -> None:
    assert f"(`schema: {SCHEMA}`)" in PAGE.read_text(encoding="utf-8")


def test_every_outcome_and_every_event_is_described() -> None:
    assert described("`outcome`") == set(get_args(Outcome))
    assert described("event") == set(get_args(EventName))


def test_every_special_span_name_is_described() -> None:
    sources = [file.read_text(encoding="utf-8") for file in Path("assistant").rglob("*.py")]
    names = {name for source in sources for name in re.findall(r'\bSpan\("([a-z_]+)"', source)}
    shown = {name.split()[0] for name in described(r"span \| stage")}
    assert {"silence", "again", "asked", "tool"} <= shown
    assert names - shown - set(STAGES) == set()
