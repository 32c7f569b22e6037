"""Formats settings and their problems as text."""

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from assistant.config.toml_table import TomlTable

_SECRET_NAME = re.compile(r"(^|_)(api_?key|token|secret|password|authorization|bearer)$")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*@)?(.*)", re.DOTALL)
_SHOWN_CHARACTERS = 60


def spelled(value: object) -> str:
    """Returns a value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, TomlTable):
        return str(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", text) + '"'


def spelled_without_secret(value: object) -> str:
    """Returns a value as TOML, an address without its user name, password and query, which may hold a key."""
    match = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return spelled(value)
    scheme, user, rest = match.groups()
    rest, query, _ = rest.partition("?")
    return spelled(f"{scheme}{'…@' if user else ''}{rest}{'?…' if query else ''}")


def shown(raw: object) -> str:
    """Returns a value for an error text: short, on one line."""
    if isinstance(raw, dict):
        return "a table"
    if isinstance(raw, list):
        return "a list"
    text = spelled(raw)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 2]}…" + text[0] * (text[0] == '"')


def config_option(config: Path | None) -> str:
    """Returns the option that names this configuration file, to end a suggested command; "" without a file."""
    return "" if config is None else f" --config {shlex.quote(str(config))}"


def unknown(
    name: str, known: Iterable[str], what: str = "no such setting", *, listed: bool = False, dotted: bool = True
) -> str:
    """Returns the problem text for an unknown name. For a secret it says where secrets belong.

    `listed`: list all known names if none is similar. `dotted`: the names are settings, "section.key", and the same key
    of another section is similar.
    """
    leaf = name.rpartition(".")[2]
    if _SECRET_NAME.search(leaf.lower()):
        return (
            "secrets do not belong here; put the key into an environment variable and name that variable in "
            "api_key_env of the endpoint"
        )
    names = list(known)
    same_leaf = [other for other in names if dotted and other.rpartition(".")[2] == leaf]
    alike = same_leaf[:2] or difflib.get_close_matches(name, names, n=1)
    return with_known_names(what, names) if listed and not alike else what + _did_you_mean(alike)


def with_known_names(problem: str, names: Iterable[str]) -> str:
    """Returns the problem text with the known names at its end."""
    known = f"he known names are {', '.join(names)}"
    return f"{problem} T{known}" if problem.endswith("?") else f"{problem}; t{known}"


def _did_you_mean(names: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(names)}?" if names else ""
