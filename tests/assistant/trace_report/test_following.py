"""Follows traces while they are written."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.conversations.trace_samples import DEMO, demo_records, write_trace
from support.programs.forbidden_folder import forbid
from typer.testing import CliRunner

from assistant.commands.trace import trace
from assistant.trace.record import SCHEMA
from assistant.trace_report.following import follow
from assistant.trace_report.reading import Record, TraceError
from assistant.trace_report.scrubbing import scrub

LINES = DEMO.read_bytes().splitlines(keepends=True)


Action = tuple[Path, bytes | None] | Callable[[], None]
"""Bytes to append to a file; None removes the file. Or any other action."""


class ScriptedActions:
    """Performs one action at every pause; after the last, Ctrl-C."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = iter(actions)

    def pause(self, _seconds: float) -> None:
        try:
            action = next(self._actions)
        except StopIteration:
            raise KeyboardInterrupt from None
        if callable(action):
            action()
            return
        path, text = action
        if text is None:
            path.unlink()
            return
        with path.open("ab") as file:
            file.write(text)


def followed_turns(path: Path, *actions: Action) -> list[int]:
    """Returns the turns that are shown."""
    turns: list[int] = []
    records = follow(path, pytest.fail, ScriptedActions(actions).pause)
    with pytest.raises(KeyboardInterrupt):
        turns += map(_turn, records)
    return turns


def _turn(record: Record) -> int:
    number: int = record["turn"]
    return number


def test_only_new_turns_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES[0])
    assert followed_turns(path, (path, LINES[1]), (path, LINES[2] + LINES[3])) == [2, 3, 4]


def test_line_is_shown_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES[0])
    assert followed_turns(path, (path, LINES[1][:500]), (path, LINES[1][500:-1]), (path, b"\n" + LINES[2][:7])) == [2]


def test_new_conversation_is_shown_completely(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES[0])
    actions: list[Action] = [
        (tmp_path / "b.jsonl", LINES[1]),
        (tmp_path / "a.jsonl", LINES[2]),
        (tmp_path / "notes.txt", b"hello\n"),
    ]
    assert followed_turns(tmp_path, *actions) == [2, 3]


def test_trace_may_be_removed_or_restarted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES[0] + LINES[1])
    actions: list[Action] = [(path, None), (path, LINES[2]), (path, LINES[3])]
    assert followed_turns(tmp_path, *actions) == [3, 4]


def test_shortened_trace_is_not_shown_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    spoken = [record | {"words": {"user": "hello", "assistant": "Hello."}} for record in demo_records()[:2]]

    def scrubbed() -> None:
        long = path.stat().st_size
        scrub(path, pytest.fail)
        assert path.stat().st_size < long

    def half_a_line_taken_back() -> None:
        os.truncate(path, path.stat().st_size - 100)

    half = LINES[2][:100]
    actions: list[Action] = [scrubbed, (path, half), half_a_line_taken_back, (path, LINES[2])]
    for followable in (path, tmp_path):
        write_trace(path, spoken)
        assert followed_turns(followable, *actions) == [3]


def test_unreadable_trace_is_reported_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    trace = write_trace(folder / "a.jsonl", demo_records())
    with monkeypatch.context() as patches:
        forbid(folder, patches)
        for path in (folder, trace):
            with pytest.raises(TraceError, match=rf"^{path} cannot be read \(Permission denied\)\.$"):
                followed_turns(path)

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # its size is visible, but it would never yield a record
    with pytest.raises(TraceError, match=rf"^{trace} cannot be read"):
        followed_turns(folder)


def test_newer_version_is_reported_once_per_file(tmp_path: Path) -> None:
    newer = [record | {"schema": SCHEMA + 1} for record in demo_records()]
    path = tmp_path / "a.jsonl"
    path.touch()
    told: list[str] = []
    lines = [json.dumps(record).encode() + b"\n" for record in newer]
    records = follow(path, told.append, ScriptedActions([(path, lines[0]), (path, lines[1])]).pause)
    with pytest.raises(KeyboardInterrupt):
        list(records)
    assert told == [f"{path} has schema {SCHEMA + 1}; this version supports {SCHEMA} and ignores other fields."]


def test_missing_folder_is_awaited(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    actions: list[Action] = [folder.mkdir, (folder / "a.jsonl", LINES[0])]
    records = follow(folder, pytest.fail, ScriptedActions(actions).pause, to_come=True)
    assert _turn(next(records)) == 1


def test_address_without_scheme_is_recognized(tmp_path: Path) -> None:
    done = CliRunner().invoke(trace, ["follow", "127.0.0.1:8765"])
    assert done.exit_code == 2
    said = "127.0.0.1:8765 is not a file; if it is a server, use: repartee trace follow http://127.0.0.1:8765"
    assert done.stderr == f"repartee: {said}\n"


def test_unsuitable_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="does not exist"):
        next(follow(tmp_path / "missing", pytest.fail, ScriptedActions([]).pause))
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    with pytest.raises(TraceError, match="not JSON"):
        followed_turns(path, (path, b"hello\n"))
