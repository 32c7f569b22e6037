"""External text never controls the terminal, in the output of any command."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.live import Live
from rich.table import Table
from rich.text import Text
from support.conversations.trace_samples import DEMO
from support.programs.program import repartee

from assistant.support.console import REPLACED, guarded, safe, safe_json, terminal, wrapped

HOSTILE = "\x1b]0;pwned\x07\x1b[31mred\x1b[2J\x9b1A\x9d0;x\x9c\x08\r\u202eback\u2066iso\u2069"
HOSTILE += "\u200bzw\u2028ls\u2029ps\ufeff\x7f"

UNSAFE = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0))]
UNSAFE = [char for char in UNSAFE if char not in "\n\t"]
UNSAFE += list("\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff")
UNSAFE += ["\U000e0041", "\u00ad", "\u180e"]


def unsafe_in(text: str) -> list[str]:
    return [f"{ord(char):x}" for char in text if char in UNSAFE]


@pytest.mark.parametrize("char", UNSAFE, ids=lambda char: f"u{ord(char):04x}")
def test_character_that_controls_a_terminal_is_replaced(char: str) -> None:
    assert safe(f"a{char}b") == f"a{REPLACED}b"


@pytest.mark.parametrize(
    "text",
    ["plain\n\ttext", "Grüße, 東京 ░▒▓", "[red]no markup[/red]", "می‌خواهم", "👩‍🚀", "a\u00a0b", "שלום"],
    ids=["lines", "letters", "brackets", "persian", "emoji", "blank", "hebrew"],
)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert safe(text) == text


def test_joiner_after_ascii_is_replaced() -> None:
    assert safe("pay\u200dpal") == f"pay{REPLACED}pal"


def test_json_keeps_its_meaning() -> None:
    text = json.dumps({"name": HOSTILE}, ensure_ascii=False, indent=2)
    assert unsafe_in(safe_json(text)) == []
    assert json.loads(safe_json(text)) == {"name": HOSTILE}


def test_console_replaces_characters_in_any_form() -> None:
    out = io.StringIO()
    console = terminal(file=out, width=200)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE, style="red"))
    console.print(HOSTILE, Text(HOSTILE), table)
    console.log(HOSTILE)
    console.rule(HOSTILE)
    with Live(Text(HOSTILE), console=console):
        pass
    assert "pwned" in out.getvalue()
    assert unsafe_in(out.getvalue()) == []


def test_console_keeps_its_own_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = io.StringIO()
    terminal(file=out).print(Text("x\x1by", style="red"))
    assert out.getvalue() == f"\x1b[31mx{REPLACED}y\x1b[0m\n"


def test_markup_in_a_name_is_text() -> None:
    out = io.StringIO()
    terminal(file=out, width=80).print("[red]a[/red] [link=http://x]b[/link] :wave:")
    assert out.getvalue() == "[red]a[/red] [link=http://x]b[/link] :wave:\n"


def test_guard_covers_both_standard_streams(capsys: pytest.CaptureFixture[str]) -> None:
    with guarded():
        sys.stdout.write(f"{HOSTILE}\n")
        sys.stderr.writelines([HOSTILE])
        terminal().print(HOSTILE)
    said = capsys.readouterr()
    assert unsafe_in(said.out + said.err) == []


def test_live_display_on_guarded_streams_keeps_its_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with guarded(), terminal().status("loading"):
        sys.stdout.write(f"{HOSTILE}\n")
        terminal().print(HOSTILE)
    assert "\x1b[2K" in out.getvalue()
    assert "pwned" in out.getvalue()
    assert "\x1b]" not in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()


def test_standard_error_stays_guarded_while_libraries_are_hushed(tmp_path: Path) -> None:
    code = "import sys\nfrom assistant.support.console import guarded\nfrom audio.noisy_libraries import hushed\n"
    code += "with guarded(), hushed(lambda: True):\n    sys.stderr.write(sys.argv[1])\n"
    code += "    print('inside', file=sys.stderr)\n"
    done = subprocess.run([sys.executable, "-c", code, "a\x1b[2Jb"], capture_output=True, text=True, check=True)
    assert done.stderr == f"a{REPLACED}[2Jbinside\n"


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("one two three four", ["one two three", "four"]),
        ("   you  one two three", ["   you  one two", "        three"]),
        ("  one two three four", ["  one two three", "  four"]),
        ("/a/path/longer/than/it and more", ["/a/path/longer/than/it", "and more"]),
        ("saved  /a/path/longer/than/it", ["saved  /a/path/longer/than/it"]),
        ("東京東京 東京東京", ["東京東京", "東京東京"]),
        ("one\ntwo", ["one", "two"]),
    ],
)
def test_line_is_broken_between_words_and_below_its_label(line: str, lines: list[str]) -> None:
    assert wrapped(Text(line), 16).plain.split("\n") == lines


# ---- all commands ----


def run(folder: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()} | {"COLUMNS": "200"}
    env |= {"HF_HUB_OFFLINE": "1", "XDG_DATA_HOME": str(folder), **environ}
    return repartee(*arguments, cwd=folder, env=env, timeout_s=100)


@pytest.mark.parametrize("command", [("serve",), ("trace", "show"), ("endpoints", "add")], ids=" ".join)
def test_hostile_arguments_reach_no_terminal(command: tuple[str, ...], tmp_path: Path) -> None:
    hostile = HOSTILE.replace("/", "")
    said = ""
    for arguments in ([f"--{hostile}"], ["--config", f"{hostile}.toml"], ["--set", f"{hostile}={hostile}"]):
        done = run(tmp_path, *command, *arguments)
        said += done.stdout + done.stderr
    assert said
    assert unsafe_in(said) == []


def hostile_trace(folder: Path) -> Path:
    """Returns the demo's trace with a hostile text in every text field."""
    lines = []
    for line in DEMO.read_text().splitlines():
        record = json.loads(line)
        record["conversation"] = f"c{HOSTILE}"
        record["error"] = HOSTILE
        record["fallbacks"] = [HOSTILE]
        record["engines"] = {stage: f"{name}{HOSTILE}" for stage, name in record["engines"].items()}
        for span in record["spans"]:
            span["name"] += HOSTILE + "\nforged line"
        for answer in record.get("answers") or []:
            answer["endpoint"] = f"{answer.get('endpoint')}{HOSTILE}"
        lines.append(json.dumps(record))
    path = folder / f"hostile{HOSTILE.replace('/', '')}.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "colour"),
    [(command, False) for command in ("show", "report", "compare", "replay", "advise", "scrub", "report --json")]
    + [("show", True), ("report", True)],
)
def test_hostile_trace_reaches_no_terminal(command: str, colour: bool, tmp_path: Path) -> None:
    path = hostile_trace(tmp_path)
    files = [str(path)] * (2 if command == "compare" else 1)
    done = run(tmp_path, "trace", *command.split(), *files, **({"FORCE_COLOR": "1"} if colour else {}))
    said = done.stdout + done.stderr
    assert said.strip()
    own = ["1b", "d"] if colour else []  # the program's own styles, and the spinner's
    assert [char for char in unsafe_in(said) if char not in own] == []
    assert "\x1b]" not in said
    assert "\x1b[2J" not in said
    assert not any(line.startswith("forged line") for line in said.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["config", "endpoints --requests 0", "models list", "endpoints add x"])
def test_hostile_settings_reach_no_terminal(command: str, tmp_path: Path) -> None:
    name = json.dumps(f"far{HOSTILE}")
    endpoint = f'[[llm.endpoints]]\nname = {name}\nurl = "http://127.0.0.1:9/v1"\nmodel = {name}\n'
    text = f"[assistant]\ngreeting = {name}\n{endpoint}"
    (tmp_path / "config.toml").write_text(text)
    done = run(tmp_path, *command.split(), "--config", "config.toml")
    assert done.stdout + done.stderr
    assert unsafe_in(done.stdout + done.stderr) == []
