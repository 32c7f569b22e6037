"""Scrubbing removes words and keeps everything else byte for byte."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.trace_samples import DEMO, demo_records, write_trace

from assistant.trace.record import SCHEMA
from assistant.trace_report.reading import Record, TraceError
from assistant.trace_report.scrubbing import Scrubbed, scrub

SAID = {"user": "my number is 555 1234", "assistant": "I am afraid I cannot call 555 1234."}


def with_words() -> list[Record]:
    records = demo_records()
    for record in records[1:4]:
        record["words"] = SAID
    return records


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_scrubbing_removes_words_and_keeps_the_rest(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "words.jsonl", with_words())
    assert scrub(path, pytest.fail) == Scrubbed(turns=5, held_words=3)
    assert "555" not in path.read_text()
    assert read(path) == demo_records()
    assert [each.name for each in tmp_path.iterdir()] == ["words.jsonl"]


def test_scrubbing_removes_names_of_voices(tmp_path: Path) -> None:
    records = with_words()
    records[1]["speaker"], records[2]["speaker"] = "Ottilie", "S2"
    path = write_trace(tmp_path / "words.jsonl", records)
    scrub(path, pytest.fail)
    assert "Ottilie" not in path.read_text()
    assert [record.get("speaker") for record in read(path)[1:4]] == ["enrolled", "S2", None]


@given(
    st.text(),
    st.dictionaries(st.text(min_size=1), st.integers(-(2**63), 2**63 - 1) | st.text() | st.none(), max_size=3),
)
def test_all_words_are_removed_and_unknown_fields_kept(
    tmp_path_factory: pytest.TempPathFactory, said: str, more: dict[str, object]
) -> None:
    record = more | demo_records()[0]
    path = write_trace(tmp_path_factory.mktemp("scrub") / "words.jsonl", [record | {"words": {"user": said}}])
    assert scrub(path, pytest.fail).held_words == 1
    assert read(path) == [record | {"words": None}]
    assert list(read(path)[0]) == list(record)


def test_trace_without_words_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "demo.jsonl"
    path.write_bytes(DEMO.read_bytes())
    before = path.stat()
    assert scrub(path, pytest.fail).held_words == 0
    assert path.read_bytes() == DEMO.read_bytes()
    assert path.stat().st_ino == before.st_ino


def test_torn_line_is_removed(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "torn.jsonl", with_words())
    line = path.read_bytes().splitlines()[1]
    path.write_bytes(path.read_bytes() + line[: line.index(b"1234") + 2])
    warnings: list[str] = []
    assert scrub(path, warnings.append).turns == 5
    assert "555" not in path.read_text()
    assert len(warnings) == 1


def test_file_times_and_permissions_are_kept(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "words.jsonl", with_words())
    path.chmod(0o640)
    os.utime(path, (1000, 2000))
    scrub(path, pytest.fail)
    assert path.stat().st_mtime == 2000
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("fails", ["fsync", "utime"])
def test_disk_error_leaves_trace_unchanged(fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_trace(tmp_path / "words.jsonl", with_words())

    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(TraceError, match="No space left on device"):
        scrub(path, pytest.fail)
    assert read(path) == with_words()
    assert [each.name for each in tmp_path.iterdir()] == ["words.jsonl"]


def test_growing_trace_is_left_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_trace(tmp_path / "words.jsonl", with_words())
    fsync = os.fsync

    def grows(descriptor: int) -> None:
        with path.open("a") as file:
            file.write(json.dumps(demo_records()[0]) + "\n")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", grows)
    with pytest.raises(TraceError, match="is being written"):
        scrub(path, pytest.fail)
    assert len(read(path)) == 6


def test_newer_schema_is_rejected(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "newer.jsonl", [demo_records()[0] | {"schema": SCHEMA + 1}])
    with pytest.raises(TraceError, match=f"schema {SCHEMA + 1}"):
        scrub(path, pytest.fail)


def test_file_that_is_no_trace_is_not_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("dear diary\n")
    with pytest.raises(TraceError, match="not JSON"):
        scrub(path, pytest.fail)
    assert path.read_text() == "dear diary\n"


def test_target_of_link_is_scrubbed(tmp_path: Path) -> None:
    real, link = write_trace(tmp_path / "real.jsonl", with_words()), tmp_path / "link.jsonl"
    link.symlink_to(real)
    assert scrub(link, pytest.fail) == Scrubbed(5, 3)
    assert "555" not in real.read_text()
    assert link.is_symlink()


def test_hard_links_are_reported(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.jsonl", with_words())
    os.link(path, tmp_path / "b.jsonl")
    told: list[str] = []
    scrub(path, told.append)
    assert "has other hard links (1)" in told[0]
    assert "555" in (tmp_path / "b.jsonl").read_text(), "what the warning is about"


def test_lone_surrogate_is_removed_with_words(tmp_path: Path) -> None:
    said = {"user": "555 \ud83d", "assistant": ""}
    path = write_trace(tmp_path / "a.jsonl", [record | {"words": said} for record in demo_records()])
    assert scrub(path, pytest.fail) == Scrubbed(5, 5)
    assert read(path) == demo_records()
