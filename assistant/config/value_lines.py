"""Sets single values in the text of a config.toml. Pure; all other text is unchanged."""

import re
from collections.abc import Mapping

from assistant.config.keys import Value
from assistant.config.toml_lines import lines_of_keys, lines_of_tables
from assistant.config.words import spelled

_ASSIGNMENT = re.compile(
    r"""(?P<before>\s*[\w.-]+\s*=\s*)(?:"(?!"")(?:[^"\\]|\\.)*"|'(?!'')[^']*'|[^\s#"'\[{]+)(?P<after>\s*(?:\#.*)?)"""
)
"""A key and a value on one line: a text, a number or a boolean."""


def with_values(text: str, values: Mapping[str, Value]) -> str:
    """Returns the text with each dotted key set to its value. Comments and line endings stay.

    A key that is there is changed in its line; a new one is added below the header of its section, or in a new section
    at the end. Raises ValueError if the value that is there does not fit on one line.
    """
    for dotted, value in values.items():
        text = _with_value(text, dotted, spelled(value))
    return text


def _with_value(text: str, dotted: str, toml: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    number = lines_of_keys(text).get(dotted)
    if number is not None:
        line = lines[number - 1].removesuffix("\r")
        found = _ASSIGNMENT.fullmatch(line)
        if found is None:
            raise ValueError(f"the value of {dotted} is not on one line")
        lines[number - 1] = found["before"] + toml + found["after"] + lines[number - 1][len(line) :]
        return "\n".join(lines)
    section, _, name = dotted.rpartition(".")
    added = f"{name} = {toml}"
    header = next((number for number, table in lines_of_tables(text) if table == f"[{section}]"), None)
    if header is not None:
        if header == len(lines):  # the file ends with the header, without a line break
            return f"{text}{newline}{added}{newline}"
        lines.insert(header, added + newline.removesuffix("\n"))
        return "\n".join(lines)
    before = text if not text or text.endswith("\n") else text + newline
    return before + (newline if before else "") + f"[{section}]{newline}{added}{newline}"
