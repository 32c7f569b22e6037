"""Everything that the documents refer to exists: pages, sections, commands, flags, settings."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from assistant.commands.talk.dialogs import HELP
from assistant.commands.talk.plain import COMMANDS as TYPED
from assistant.config.settings import DEFAULTS, SECTIONS
from assistant.replay.findings import KEYS
from repartee.cli import app

ROOT = Path(__file__).parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "bench" / "README.md",
    ROOT / "examples" / "README.md",
    *sorted(ROOT.glob("docs/**/*.md")),
)
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def sections(page: Path) -> set[str]:
    """Returns the anchors of a page, as GitHub makes them."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@EACH_PAGE
def test_links_have_targets(page: Path) -> None:
    dead = []
    for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        file, _, section = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (section and section not in sections(target)):
            dead.append(link)
    assert dead == []


def test_readme_links_to_every_page() -> None:
    readme = PAGES[0].read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 120
    assert "(examples/README.md)" in readme
    assert [page.name for page in PAGES if page.parent.name == "docs" and f"(docs/{page.name})" not in readme] == []


def commands() -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Yields each command of the program with its flags."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(app))]
    while waiting:
        path, command = waiting.pop()
        yield path, {flag for parameter in command.params for flag in parameter.opts} | {"--help"}
        waiting += [((*path, name), one) for name, one in getattr(command, "commands", {}).items()]


COMMANDS = dict(commands())


@EACH_PAGE
def test_commands_and_flags_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"`(?:\.venv/bin/)?repartee ([^`\n]+)`", text)
    lines += re.findall(r"^ *(?:\$ |[A-Z_]+=\S+ )*(?:\.venv/bin/)?repartee ([^#\n]+)", text, re.MULTILINE)
    wrong = []
    for line in lines:
        words = line.split()
        path: tuple[str, ...] = ()
        while words and (*path, words[0]) in COMMANDS:
            path = (*path, words.pop(0))
        flags = {word.partition("=")[0] for word in words if re.match("--[a-z]", word)}
        if not flags <= COMMANDS[path] or (not path and not flags):
            wrong.append(line)
    assert wrong == []


@EACH_PAGE
def test_benches_and_flags_exist(page: Path) -> None:
    wrong = []
    for name, rest in re.findall(r"python -m bench\.([\w.]+)([^`\n#]*)", page.read_text(encoding="utf-8")):
        bench = ROOT / "bench" / f"{name.replace('.', '/')}.py"
        flags = re.findall(r"(?<!\S)--[a-z-]+", rest)
        if not bench.exists() or any(f'"{flag}"' not in bench.read_text(encoding="utf-8") for flag in flags):
            wrong.append(name + rest)
    assert wrong == []


@EACH_PAGE
def test_settings_exist(page: Path) -> None:
    """Checks `section.key`, also with a value after it; file names have the same form."""
    known = {f"{section}.{field.name}" for section in SECTIONS for field in fields(DEFAULTS.section(section))}
    named = re.compile(rf"`(?:--set )?((?:{'|'.join(sorted(SECTIONS, reverse=True))})\.[a-z0-9_]+)(?![\w.(])")
    found = set(named.findall(page.read_text(encoding="utf-8")))
    assert {name for name in found if not name.endswith((".md", ".py", ".svg", ".jsonl"))} - known == set()


def test_program_map_has_every_command() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [path for path in COMMANDS if len(path) == 1 and f"| `repartee {path[0]}" not in page] == []


def test_keys_and_typed_commands_of_talk_are_documented() -> None:
    page = (ROOT / "docs" / "talk.md").read_text(encoding="utf-8")
    assert [key for key, _ in HELP if not re.search(rf"^\| {re.escape(key)}(, wheel)? \|", page, re.MULTILINE)] == []
    assert [line for line in TYPED if line.startswith("/") and f"`{line.split()[0]}" not in page] == []


def test_every_stage_names_its_settings() -> None:
    page = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
    section = page.split("## The stages add up\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| \w+ \| `(\w+)` \| [^|]+ \|(.*)\|$", section, re.MULTILINE))
    assert {stage: tuple(re.findall("`([^`]+)`", rows[stage])) for stage in KEYS} == KEYS


@pytest.mark.parametrize("page", ["docs/performance.md", "README.md"])
def test_page_has_the_latencies_of_the_run(page: str) -> None:
    run = (ROOT / "docs" / "lab" / "performance.md").read_text(encoding="utf-8")
    (plain, paused) = re.findall(r"^\| (?:plain turns|with a pause) \| \d+ \| (\d+ / \d+) / ", run, re.MULTILINE)
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.search(rf"espeak-ng \| {plain}(?: ms)? \| {paused}(?: ms)? \|", text)
