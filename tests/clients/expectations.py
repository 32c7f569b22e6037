"""The expected answers of the server to each client program, and the page that shows them."""

import re
import tomllib
from pathlib import Path

from clients.environments import CLIENTS
from clients.running import CLIENT_PROGRAMS, Client

PAGE = CLIENTS.parent.parent / "docs" / "lab" / "clients.md"

TABLE = tomllib.loads((CLIENTS / "expected.toml").read_text(encoding="utf-8"))

BEGIN, END = "<!-- begin: made by tests/clients/matrix.py -->", "<!-- end -->"


def features_of(client: Client) -> list[str]:
    """Returns the features that a client program uses, in the order of the table."""
    sources = [CLIENTS / client.program]
    if client.program.startswith("javascript/agents_"):
        sources.append(CLIENTS / "javascript" / "agents.mjs")
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    if client.program.endswith(".py"):
        used = set(re.findall(r'^@feature\("([^"]+)"\)$', text, re.MULTILINE))
    else:
        # Keys of the object `features`, and what is assigned to it later.
        used = set(re.findall(r'^ +"?([A-Za-z][\w ]*?)"?: (?:async )?\(settings\) =>', text, re.MULTILINE))
        used |= {first or second for first, second in re.findall(r'features(?:\["([\w ]+)"\]|\.(\w+)) = ', text)}
    unknown = used - set(TABLE["features"])
    assert not unknown, f"{client.name}: not in expected.toml: {unknown}"
    return [name for name in TABLE["features"] if name in used]


def expected_answers(client: Client) -> dict[str, str]:
    """Returns the expected answer to each feature of a client program."""
    exceptions = TABLE.get("exceptions", {}).get(client.name, {})
    return {name: exceptions.get(name, TABLE["features"][name]) for name in features_of(client)}


def titled(client: Client) -> str:
    """Returns the client's name and version for readers."""
    title: str = TABLE["clients"][client.name]["title"]
    return title


def rendered(answers: dict[str, dict[str, str]]) -> str:
    """Returns the numbered clients, and the table: for each feature, the clients for which it works or not."""
    names = [client.name for client in CLIENT_PROGRAMS]
    rows = []
    for feature in TABLE["features"]:
        used = [(number, answers[name][feature]) for number, name in enumerate(names, 1) if feature in answers[name]]
        works = [number for number, answer in used if answer == "works"]
        rows.append((feature, _ranges(works), _ranges([number for number, _ in used if number not in works]) or "none"))
    legend = [f"{number}. {titled(client)}" for number, client in enumerate(CLIENT_PROGRAMS, 1)]
    lines = [("feature", "works with", "does not work with"), ("---",) * 3, *rows]
    return "\n".join([*legend, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _ranges(numbers: list[int]) -> str:
    """Returns ascending numbers with each run of three or more shortened: "1-3, 5"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def page_with(table: str) -> str:
    """Returns the page with this table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def pinned(environment: Path) -> dict[str, str]:
    """Returns the versions that the lock of an environment pins, by package."""
    lock = environment / "requirements.lock"
    if lock.exists():
        return dict(re.findall(r"^([a-z0-9._-]+)==([\w.]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
    text = (environment / "package-lock.json").read_text(encoding="utf-8")
    return dict(re.findall(r'"node_modules/([^"]+)": \{\s+"version": "([^"]+)"', text))
