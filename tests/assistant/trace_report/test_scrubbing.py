"""Words go; everything else stays to the letter."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_samples import DEMO, demo_records, written

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


def test_words_are_gone_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "words.jsonl", with_words())
    assert scrub(path, pytest.fail) == Scrubbed(turns=5, held_words=3)
    assert "555" not in path.read_text()
    assert read(path) == demo_records()
    assert [each.name for each in tmp_path.iterdir()] == ["words.jsonl"]


@given(
    st.text(),
    st.dictionaries(st.text(min_size=1), st.integers(-(2**63), 2**63 - 1) | st.text() | st.none(), max_size=3),
)
def test_whatever_was_said_goes_and_fields_nobody_knows_stay(
    tmp_path_factory: pytest.TempPathFactory, said: str, more: dict[str, object]
) -> None:
    record = more | demo_records()[0]
    path = written(tmp_path_factory.mktemp("scrub") / "words.jsonl", [record | {"words": {"user": said}}])
    assert scrub(path, pytest.fail).held_words == 1
    assert read(path) == [record | {"words": None}]
    assert list(read(path)[0]) == list(record)


def test_a_trace_without_words_is_not_even_touched(tmp_path: Path) -> None:
    path = tmp_path / "demo.jsonl"
    path.write_bytes(DEMO.read_bytes())
    before = path.stat()
    assert scrub(path, pytest.fail).held_words == 0
    assert path.read_bytes() == DEMO.read_bytes()
    assert path.stat().st_ino == before.st_ino


def test_a_torn_line_goes_because_it_may_hold_words(tmp_path: Path) -> None:
    path = written(tmp_path / "torn.jsonl", with_words())
    line = path.read_bytes().splitlines()[1]
    path.write_bytes(path.read_bytes() + line[: line.index(b"1234") + 2])
    warnings: list[str] = []
    assert scrub(path, warnings.append).turns == 5
    assert "555" not in path.read_text()
    assert len(warnings) == 1


def test_age_and_rights_stay(tmp_path: Path) -> None:
    path = written(tmp_path / "words.jsonl", with_words())
    path.chmod(0o640)
    os.utime(path, (1000, 2000))
    scrub(path, pytest.fail)
    assert path.stat().st_mtime == 2000
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("fails", ["fsync", "utime"])
def test_a_disk_that_refuses_leaves_the_trace_as_it_was(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "words.jsonl", with_words())

    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(TraceError, match="No space left on device"):
        scrub(path, pytest.fail)
    assert read(path) == with_words()
    assert [each.name for each in tmp_path.iterdir()] == ["words.jsonl"]


def test_a_trace_that_grows_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "words.jsonl", with_words())
    fsync = os.fsync

    def grows(descriptor: int) -> None:
        with path.open("a") as file:
            file.write(json.dumps(demo_records()[0]) + "\n")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", grows)
    with pytest.raises(TraceError, match="is being written"):
        scrub(path, pytest.fail)
    assert len(read(path)) == 6


def test_a_newer_schema_is_refused_for_words_may_be_elsewhere_in_it(tmp_path: Path) -> None:
    path = written(tmp_path / "newer.jsonl", [demo_records()[0] | {"schema": 2}])
    with pytest.raises(TraceError, match="schema 2"):
        scrub(path, pytest.fail)


def test_what_is_no_trace_is_not_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("dear diary\n")
    with pytest.raises(TraceError, match="no JSON"):
        scrub(path, pytest.fail)
    assert path.read_text() == "dear diary\n"


def test_behind_a_link_the_words_go_from_what_it_leads_to(tmp_path: Path) -> None:
    real, link = written(tmp_path / "real.jsonl", with_words()), tmp_path / "link.jsonl"
    link.symlink_to(real)
    assert scrub(link, pytest.fail) == Scrubbed(5, 3)
    assert "555" not in real.read_text()
    assert link.is_symlink()


def test_other_names_of_a_file_are_told(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", with_words())
    os.link(path, tmp_path / "b.jsonl")
    told: list[str] = []
    scrub(path, told.append)
    assert "has 1 more names (hard links)" in told[0]
    assert "555" in (tmp_path / "b.jsonl").read_text(), "what the warning is about"


def test_half_a_character_goes_with_the_words(tmp_path: Path) -> None:
    said = {"user": "555 \ud83d", "assistant": ""}
    path = written(tmp_path / "a.jsonl", [record | {"words": said} for record in demo_records()])
    assert scrub(path, pytest.fail) == Scrubbed(5, 5)
    assert read(path) == demo_records()
