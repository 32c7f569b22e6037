"""Reading skips torn or newer lines and reports files that are no traces."""

import json
import os
from pathlib import Path

import pytest
from support.conversations.trace_samples import DEMO, demo_records, write_trace
from support.programs.forbidden_folder import forbid

from assistant.trace.record import SCHEMA
from assistant.trace_report.reading import TraceError, convert_record, distinct, parse_line, read_records, trace_files


def test_folder_stands_for_its_traces_oldest_first(tmp_path: Path) -> None:
    for name in ("20260102-b.jsonl", "20260101-a.jsonl", "notes.txt"):
        write_trace(tmp_path / name, demo_records()[:1])
    single = write_trace(tmp_path / "notes.txt", demo_records())
    names = [path.name for path in trace_files([tmp_path, single])]
    assert names == ["20260101-a.jsonl", "20260102-b.jsonl", "notes.txt"]


def test_missing_path_is_reported_with_remedy(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"missing does not exist.*trace\.dir"):
        trace_files([tmp_path / "missing"])
    with pytest.raises(TraceError, match="contains no traces"):
        trace_files([tmp_path])


def test_unreadable_path_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_trace(tmp_path / "a.jsonl", demo_records())
    forbid(tmp_path, monkeypatch)
    for path in (tmp_path, trace):
        with pytest.raises(TraceError, match=rf"^{path} cannot be read \(Permission denied\)\.$"):
            trace_files([path])


def test_names_of_schema_2_are_read(tmp_path: Path) -> None:
    old = json.loads(DEMO.read_text(encoding="utf-8").splitlines()[0])
    old |= {"schema": 2, "told": ["hear 1"], "told_before": 3, "counters": {"invented_frames": 4}}
    (record,) = read_records([write_trace(tmp_path / "old.jsonl", [old])], pytest.fail)
    assert (record["turn_events"], record["turn_events_before"]) == (["hear 1"], 3)
    assert record["counters"] == {"inserted_frames": 4}
    assert record.keys().isdisjoint({"told", "told_before"})
    assert {"name": "judged", "at_ms": 2458.75, "detail": "0.187 at 100 ms by sound"} in old["events"]
    assert record["events"][1] == {"name": "estimate", "at_ms": 2458.75, "detail": "0.187 at 100 ms by sound"}


def test_records_are_read_unchanged(tmp_path: Path) -> None:
    records = [json.loads(line) | {"schema": SCHEMA} for line in DEMO.read_text(encoding="utf-8").splitlines()]
    assert list(read_records([write_trace(tmp_path / "a.jsonl", records)], pytest.fail)) == records


@pytest.mark.parametrize(
    "kept",
    [1, 9, 10, 11, 300, -2],
    ids=["1 byte kept", "9 bytes kept", "10 bytes kept", "11 bytes kept", "300 bytes kept", "2 bytes missing"],
)
def test_torn_last_line_is_skipped_wherever_it_is_torn(kept: int, tmp_path: Path) -> None:
    first, second = DEMO.read_bytes().splitlines(keepends=True)[:2]
    path = tmp_path / "torn.jsonl"
    path.write_bytes(first + second[:kept])
    warnings: list[str] = []
    assert [record["turn"] for record in read_records([path], warnings.append)] == [1]
    (warning,) = warnings
    assert f"{path}, line 2 is incomplete" in warning


def test_torn_line_in_the_middle_is_skipped(tmp_path: Path) -> None:
    first, second = DEMO.read_bytes().splitlines(keepends=True)[:2]
    path = tmp_path / "torn.jsonl"
    path.write_bytes(first[:100] + b"\n\n" + second)
    warnings: list[str] = []
    assert [record["turn"] for record in read_records([path], warnings.append)] == [2]
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "line 1 is not JSON"),
        ('{"scheme": 1', "line 1 is not JSON"),
        ("[1, 2]\n", "line 1 is not a turn record"),
        ('{"turn": 1}\n', "line 1 is not a turn record"),
        ('{"schema": "1"}\n', "line 1 is not a turn record"),
        ('{"schema": 1, "turn": 1}\n', "line 1 lacks attempts, conversation, endpoint_ms"),
        (b"\xff\xfe\x00", "line 1 is not JSON"),
    ],
    ids=["text", "torn JSON", "list", "turn without schema", "schema as a text", "missing fields", "binary"],
)
def test_file_that_is_no_trace_is_named(text: str | bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TraceError, match=said) as caught:
        list(read_records([path], pytest.fail))
    assert str(path) in str(caught.value)


def test_newer_fields_are_kept_and_reported_once_per_file(tmp_path: Path) -> None:
    newer = [record | {"schema": SCHEMA + 1, "mood": "calm"} for record in demo_records()]
    path = write_trace(tmp_path / "newer.jsonl", newer)
    warnings: list[str] = []
    assert list(read_records([path], warnings.append)) == newer
    (warning,) = warnings
    assert f"schema {SCHEMA + 1}" in warning


def test_invalid_field_error_names_line_or_turn(tmp_path: Path) -> None:
    record = demo_records()[0]
    with pytest.raises(
        TraceError, match=rf"^turn 1 of {record['conversation']} is not a record as in docs/lab/trace-record.md"
    ):
        convert_record(lambda found: found["stages"]["endpoint_wait"] + 1, record)
    path = write_trace(tmp_path / "a.jsonl", demo_records())
    for found in read_records([path], pytest.fail):
        second = found
        if found["turn"] == 2:
            break
    with pytest.raises(
        TraceError, match=rf"^{path}, line 2 is not a record as in docs/lab/trace-record.md: 'lag' is missing\.$"
    ):
        convert_record(lambda found: found["lag"], second)


def test_longest_of_files_with_same_first_turn_is_counted(tmp_path: Path) -> None:
    records = demo_records()
    begun = write_trace(tmp_path / "a.jsonl", records[:2])
    whole = write_trace(tmp_path / "b.jsonl", records)
    scrubbed = write_trace(tmp_path / "c.jsonl", [record | {"events": [{}] * 99} for record in records[:4]])
    later = write_trace(tmp_path / "d.jsonl", records[2:])
    torn = tmp_path / "e.jsonl"
    torn.write_bytes(b'{"schema":1,"conv')
    pipe = tmp_path / "f.jsonl"
    os.mkfifo(pipe)
    warnings: list[str] = []
    assert distinct([begun, later, whole, scrubbed, torn, torn, pipe], warnings.append) == [
        whole, later, torn, pipe
    ]  # fmt: skip
    left_out = f"{begun} ({whole}), {scrubbed} ({whole}), {torn} ({torn})"
    assert warnings == [f"left out, because another file has the same turns: {left_out}."]
    # A pipe that is named twice is counted once, and is not read for that.
    assert distinct([pipe, later, pipe], warnings.append) == [pipe, later]


def test_empty_line_is_ignored() -> None:
    assert parse_line(b"\n", Path("a"), 1, pytest.fail) is None
    assert parse_line(json.dumps(demo_records()[0]).encode(), Path("a"), 1, pytest.fail) == demo_records()[0]


def test_lone_surrogate_does_not_lose_turn(tmp_path: Path) -> None:
    said = {"user": "well \ud83d", "assistant": "\ud83d\ude00"}
    path = write_trace(tmp_path / "a.jsonl", [record | {"words": said} for record in demo_records()])
    found = list(read_records([path], pytest.fail))
    assert len(found) == 5
    assert found[0]["words"] == {"user": "well ?", "assistant": "\U0001f600"}


def test_zero_bytes_are_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DEMO.read_bytes() + b"\0" * 4096)
    told: list[str] = []
    assert len(list(read_records([path], told.append))) == 5
    assert "line 6 is incomplete" in told[0]


def test_nonstandard_json_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DEMO.read_bytes() + b'{"schema":1,"x":NaN,"y":"\\ud83d"}\n{"schema":1,"y":"\\ud83d"' + b"[" * 9999)
    told: list[str] = []
    assert len(list(read_records([path], told.append))) == 5
    assert len(told) == 2
