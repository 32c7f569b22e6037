"""Adds and removes [[llm.endpoints]] tables in the text of a config.toml. Pure; all other text is unchanged."""

from assistant.config.endpoint_settings import EndpointSection, defaults_of, values_of
from assistant.config.sources import ENDPOINTS
from assistant.config.toml_lines import lines_of_tables
from assistant.config.words import spelled

_HEADER = f"[[{ENDPOINTS}]]"
_INSIDE = f"[{ENDPOINTS}."
"""Beginning of the header of a table that belongs to the endpoint before it, such as its headers."""


def table_of(endpoint: EndpointSection) -> str:
    """Returns the endpoint as TOML, with a line for each key that differs from its default."""
    defaults = defaults_of(endpoint.kind)
    lines = [f"{name} = {spelled(value)}" for name, value in values_of(endpoint).items() if value != defaults.get(name)]
    return "\n".join([_HEADER, *lines]) + "\n"


def with_table(text: str, endpoint: EndpointSection) -> str:
    """Returns the text with the endpoint's table appended, with the line endings of the text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text if not text or text.endswith("\n") else text + newline
    return before + (newline if before else "") + table_of(endpoint).replace("\n", newline)


def without_table(text: str, index: int) -> str:
    """Returns the text without its endpoint number `index`, counted from 0.

    Removes the table from its header to its last key, the tables inside it and the empty lines before it. Comments
    before and after it stay, because they may be about something else.

    Raises ValueError if there is no such table.
    """
    tables = lines_of_tables(text)
    headers = [number for number, table in tables if table == _HEADER]
    if index >= len(headers):
        raise ValueError(f"there is no {_HEADER} number {index + 1}")
    lines = text.split("\n")
    first = headers[index] - 1
    after = (number - 1 for number, table in tables if number - 1 > first and not table.startswith(_INSIDE))
    end = next(after, len(lines))
    while end > first + 1 and _is_blank_or_comment(lines[end - 1]):
        end -= 1
    while first > 0 and not lines[first - 1].strip():
        first -= 1
    while first == 0 and end < len(lines) - 1 and not lines[end].strip():
        end += 1
    return "\n".join(lines[:first] + lines[end:])


def _is_blank_or_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
