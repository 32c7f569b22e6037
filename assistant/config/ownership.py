"""Tells a config.toml of Repartee from one that belongs to another program. Pure.

Many programs keep their settings in a config.toml, and some use a section name of ours, such as [server]. A file that
nobody named is read only if it is ours. It stays ours with a typing error in it: an error is told, never ignored.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping

from assistant.config.settings import KEYS, SECTIONS
from assistant.config.sources import LISTS

_COMMON = frozenset({"server", "audio", "trace", "tools"})
"""Section names that other programs have, too."""

_WEIGHT, _COMMON_WEIGHT, _SLIP_WEIGHT = 1.5, 0.5, 0.5
"""Of a section that is ours, of one with a common name, of a mistyped one; a section that is not ours has 1."""

_LIKE = 0.75
"""Likeness by difflib from which a name is taken for a mistyped one: that of "tutn" and "turn"."""

_LEAST_BEGINNING = 5
"""Letters of a key from which they are taken for the beginning of one of ours."""

_LEAVES = frozenset(key.partition(".")[2] for key in (*KEYS, *LISTS))
_HEADER = re.compile(r"^\s*\[\[?\s*([\w-]+)", re.MULTILINE)


MOST_BYTES = 1 << 20
"""Of a file that are looked at."""


def is_ours(content: bytes) -> bool:
    """Whether a config.toml of this content is Repartee's.

    Sections are weighed against each other: those that are ours, or mistyped, and those that cannot be. A file that
    sets nothing, or mentions Repartee, is ours.
    """
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    if "repartee" in text.lower():
        return True
    try:
        document: Mapping[str, object] = tomllib.loads(text)
    except (ValueError, RecursionError):
        return _broken_is_ours(text)
    if not document:
        return True
    ours = theirs = 0.0
    loose = False  # keys above all sections, which we have none of
    for name, value in document.items():
        if name in SECTIONS:
            if _holds_our_keys(name, value):
                ours += _COMMON_WEIGHT if name in _COMMON else _WEIGHT
            else:
                theirs += 1
        elif _like(name, SECTIONS) or name in _LEAVES:
            ours += _SLIP_WEIGHT
        elif isinstance(value, dict | list):
            theirs += 1
        else:
            loose = True
    return ours > theirs + loose


def _holds_our_keys(section: str, value: object) -> bool:
    """Whether a table named as one of our sections holds keys of ours, mistyped or not; half of them if common."""
    if not isinstance(value, dict) or not value:
        return True  # a mistake that is told
    keys = [key.partition(".")[2] for key in (*KEYS, *LISTS) if key.startswith(f"{section}.")]
    known = sum(name in _LEAVES or _like(name, keys) or _begins(name, keys) for name in value)
    return 2 * known >= len(value) if section in _COMMON else known > 0


def _broken_is_ours(text: str) -> bool:
    """Of a file that is no valid TOML its headers tell; a file without any is not ours."""
    headers = _HEADER.findall(text)
    known = sum(name in SECTIONS or _like(name, SECTIONS) for name in headers)
    return bool(headers) and 2 * known > len(headers)


def _begins(name: str, known: list[str]) -> bool:
    return len(name) >= _LEAST_BEGINNING and any(key.startswith(name) for key in known)


def _like(name: str, known: tuple[str, ...] | list[str]) -> bool:
    return bool(difflib.get_close_matches(name, known, n=1, cutoff=_LIKE))
