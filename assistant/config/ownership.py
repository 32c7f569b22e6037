"""Decides whether a config.toml belongs to Repartee or to another program. Pure.

Many programs have a config.toml, and some share a section name with Repartee, such as [server]. A file that the user
did not name is read only if it belongs to Repartee. A file with typing errors still counts as Repartee's, so that the
errors are reported.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping

from assistant.config.settings import KEYS, SECTIONS
from assistant.config.sources import LISTS

_COMMON = frozenset({"server", "audio", "trace", "tools"})
"""Section names that other programs use too."""

_WEIGHT, _COMMON_WEIGHT, _SLIP_WEIGHT = 1.5, 0.5, 0.5
"""Weights of a section of Repartee, of one with a common name, and of a mistyped one. Any other section weighs 1."""

_MIN_SIMILARITY = 0.75
"""Least difflib similarity (0-1) of a mistyped name to the right one; "tutn" and "turn" have this similarity."""

_MIN_PREFIX_LENGTH = 5
"""Least number of letters of a key that is matched as the beginning of a known key."""

_LEAVES = frozenset(key.partition(".")[2] for key in (*KEYS, *LISTS))
_HEADER = re.compile(r"^\s*\[\[?\s*([\w-]+)", re.MULTILINE)


MAX_BYTES = 1 << 20
"""Number of bytes of the file that are examined."""


def is_ours(content: bytes) -> bool:
    """Whether a config.toml with this content belongs to Repartee.

    Compares the total weight of sections that are Repartee's or mistyped with the weight of all others. A file that
    sets
    nothing, or that mentions Repartee, counts as Repartee's.
    """
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    if "repartee" in text.lower():
        return True
    try:
        document: Mapping[str, object] = tomllib.loads(text)
    except (ValueError, RecursionError):
        return _invalid_file_is_ours(text)
    if not document:
        return True
    ours = theirs = 0.0
    has_loose_keys = False  # keys outside any section; Repartee has none
    for name, value in document.items():
        if name in SECTIONS:
            if _holds_our_keys(name, value):
                ours += _COMMON_WEIGHT if name in _COMMON else _WEIGHT
            else:
                theirs += 1
        elif _resembles(name, SECTIONS) or name in _LEAVES:
            ours += _SLIP_WEIGHT
        elif isinstance(value, dict | list):
            theirs += 1
        else:
            has_loose_keys = True
    return ours > theirs + has_loose_keys


def _holds_our_keys(section: str, value: object) -> bool:
    """Whether a table with a section name of ours has keys of ours, mistyped or not: one, or half for a common name."""
    if not isinstance(value, dict) or not value:
        return True  # a mistake that is reported later
    keys = [key.partition(".")[2] for key in (*KEYS, *LISTS) if key.startswith(f"{section}.")]
    shortest = _MIN_PREFIX_LENGTH if section in _COMMON else 0  # "node" is no mistyped "mode"
    known = sum(
        name in _LEAVES or (len(name) >= shortest and _resembles(name, keys)) or _is_prefix(name, keys)
        for name in value
    )
    return 2 * known >= len(value) if section in _COMMON else known > 0


def _invalid_file_is_ours(text: str) -> bool:
    """Decides by the headers of a file that is not valid TOML. A file without headers is not Repartee's."""
    headers = _HEADER.findall(text)
    known = sum(name in SECTIONS or _resembles(name, SECTIONS) for name in headers)
    return bool(headers) and 2 * known > len(headers)


def _is_prefix(name: str, known: list[str]) -> bool:
    return len(name) >= _MIN_PREFIX_LENGTH and any(key.startswith(name) for key in known)


def _resembles(name: str, known: tuple[str, ...] | list[str]) -> bool:
    return bool(difflib.get_close_matches(name, known, n=1, cutoff=_MIN_SIMILARITY))
