"""The trace commands: their output and exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from support.conversations.trace_samples import (
    DEMO,
    TIME,
    demo_records,
    simulated_records,
    slower,
    write_trace,
)
from support.texts.text_cases import named_cases
from typer.testing import CliRunner

from assistant.commands.trace import trace


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Runs a command in this process. Returns its exit status, its output and its errors."""
    done = CliRunner().invoke(trace, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.stdout, done.stderr


def test_report_of_the_configured_folder_names_its_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "traces"
    folder.mkdir()
    write_trace(folder / "20261121-143058-a25eaf86.jsonl", demo_records())
    assert run("report")[1].splitlines()[0] == f"read from {folder}, 2026-11-21 (UTC)"
    later = [{**record, "conversation": "20261124-090000-a25eaf87"} for record in demo_records()]
    write_trace(folder / "20261124-090000-a25eaf87.jsonl", later)
    assert run("report")[1].splitlines()[0] == f"read from {folder}, 2026-11-21 to 2026-11-24 (UTC)"
    assert "read from" not in run("report", folder)[1]


def test_other_commands_do_not_import_trace_code() -> None:
    modules = ("orjson", "numpy", "rich.table")
    code = f"import sys, repartee.cli; print([name for name in {modules} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=15, check=True)
    assert done.stdout == "[]\n"


def test_one_turn_of_several_files_is_shown() -> None:
    code, out, _ = run("show", DEMO, DEMO, "--turn", "4")
    assert code == 0
    assert out.count("turn 4 of") == 2
    assert "turn 5 of" not in out


@pytest.mark.parametrize("command", ["report", "replay", "advise"])
def test_duplicate_turns_are_counted_once(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_trace(Path("a.jsonl"), simulated_records([TIME]))
    write_trace(Path("b.jsonl"), demo_records())
    Path("copy.jsonl").write_bytes(Path("a.jsonl").read_bytes())
    Path("link.jsonl").symlink_to("a.jsonl")
    once = run(command, "a.jsonl", "b.jsonl", "--json")
    code, out, err = run(command, "a.jsonl", "./a.jsonl", "copy.jsonl", "link.jsonl", tmp_path, "--json")
    assert (code, out) == once[:2]
    assert err.endswith(
        "repartee: left out, because another file has the same turns: a.jsonl (a.jsonl), copy.jsonl (a.jsonl), "
        "link.jsonl (a.jsonl) and 3 more.\n"
    )


@pytest.mark.slow  # it draws a page
def test_report_has_several_formats(tmp_path: Path) -> None:
    code, out, _ = run("report", DEMO, "--json", "--html", tmp_path / "page.html")
    assert code == 0
    assert json.loads(out)["turns"] == 5
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run("report", DEMO, "--csv")[1].startswith("stage,turns,")
    assert run("report", DEMO, "--csv", "--json")[0] == 2
    assert "name another file with --html" in run("report", DEMO, "--html", tmp_path / "missing" / "page.html")[2]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("a.jsonl", "a.jsonl is one of the traces that are read"),
        ("b.JSONL", "b.JSONL has the suffix of a trace"),
    ],
    ids=["read trace", "name of a trace"],
)
def test_html_page_does_not_replace_a_trace(
    out: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = write_trace(tmp_path / "a.jsonl", demo_records())
    (tmp_path / "link.html").symlink_to(trace)
    before = trace.read_bytes()
    code, shown, err = run("report", tmp_path, "--html", out)
    assert (code, shown) == (2, "")
    assert said in err
    assert err.endswith("; name another file with --html.\n")
    assert trace.read_bytes() == before
    assert not (tmp_path / "b.JSONL").exists()


@pytest.mark.parametrize(
    ("command", "terminal"),
    [("report", True), ("replay", True), ("advise", True), ("compare", True), ("report", False)],
    ids=["report", "replay", "advise", "compare", "report to a pipe"],
)
def test_terminal_shows_that_traces_are_being_read(
    command: str, terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_trace(tmp_path / "a.jsonl", simulated_records([TIME]))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(Console, "is_terminal", property(lambda console: terminal and console.stderr))
    code, out, err = run(command, path, *[path] * (command == "compare"))
    assert code == 0
    assert (("reading 2 traces" if command == "compare" else "reading 1 trace") in err) == terminal
    assert terminal or not err
    assert "reading" not in out


def test_brackets_in_a_name_are_not_interpreted_as_markup(tmp_path: Path) -> None:
    records = demo_records()
    for record in records:
        record["engines"] |= {"answered_by": "box [red] [/b]"}
    code, out, _ = run("report", write_trace(tmp_path / "a.jsonl", records))
    assert code == 0
    assert "box [red] [/b]" in out


def test_gate_sets_the_exit_status(tmp_path: Path) -> None:
    before = write_trace(tmp_path / "before.jsonl", demo_records() * 20)
    after = write_trace(tmp_path / "after.jsonl", slower(demo_records(), "tts", 80) * 20)
    assert run("compare", before, after)[0] == 0
    code, out, _ = run("compare", before, after, "--gate")
    assert code == 1
    assert "worse" in out
    assert run("compare", after, before, "--gate")[0] == 0
    assert run("compare", before, before, "--gate")[0] == 0


def test_empty_comparison_is_an_error(tmp_path: Path) -> None:
    silent = [record | {"response_latency_ms": None, "stages": {}} for record in demo_records()]
    code, _, err = run("compare", DEMO, write_trace(tmp_path / "silent.jsonl", silent), "--gate")
    assert code == 2
    assert "silent.jsonl has no turn with a response latency" in err


def test_folder_is_scrubbed(tmp_path: Path) -> None:
    said = [record | {"words": {"user": "hello", "assistant": ""}} for record in demo_records()]
    path = write_trace(tmp_path / "a.jsonl", said)
    code, out, _ = run("scrub", tmp_path)
    assert code == 0
    assert out == f"{path}  5 turns, words of 5 removed\n"
    assert "hello" not in path.read_text()
    assert run("scrub", tmp_path)[1] == f"{path}  5 turns, no words in them\n"


def test_truncated_line_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(DEMO.read_bytes()[:-100])
    code, out, err = run("report", path)
    assert code == 0
    assert out.startswith("4 turns of 1 conversation")
    assert err.startswith("repartee: ")
    assert "line 5 is incomplete" in err


@named_cases(
    ("arguments", "said"),
    {
        "report of missing file": (("report", "missing.jsonl"), "missing.jsonl does not exist"),
        "follow missing file": (("follow", "missing.jsonl"), "missing.jsonl does not exist"),
        "follow ftp address": (("follow", "ftp://127.0.0.1"), "ftp://127.0.0.1 is not the address of a server"),
        "follow unreachable server": (("follow", "http://127.0.0.1:1"), "http://127.0.0.1:1/traces cannot be reached"),
        "report of other file": (("report", Path(__file__)), "line 1 is not JSON"),
        "show of missing turn": (("show", DEMO, "--turn", "9"), "it has no turn 9; without --turn all are shown"),
        "show empty file": (("show", os.devnull), f"{os.devnull}: it has no turns.\n"),
        "report of empty file": (("report", os.devnull), f"{os.devnull}: it has no turns"),
        "scrub other file": (("scrub", Path(__file__)), "line 1 is not JSON"),
    },
)
def test_user_error_is_one_line(arguments: tuple[str | Path, ...], said: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("repartee: ")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("field", sorted(simulated_records([TIME])[0]))
def test_field_of_wrong_type_is_at_most_one_line(tmp_path: Path, field: str) -> None:
    values: tuple[object, ...] = (None, "x", [{}], 1e30, {"x": 1})
    commands = ("show", "report", "replay", "advise", "scrub")
    turn = simulated_records([TIME])[0]
    began = sorted(turn).index(field)
    for number, value in enumerate(values):
        record = turn | {field: value}
        # Each field meets each command once, with another value: all combinations took five minutes.
        code, _, err = run(commands[(began + number) % 5], write_trace(tmp_path / "a.jsonl", [record]))
        assert code in {0, 2}
        assert code == 0 or err.startswith("repartee: ")
