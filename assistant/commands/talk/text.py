"""Makes text of users and models safe for a terminal. Pure.

Text may contain escape sequences, bidirectional controls, or characters whose width differs between terminals. None of
them may move the cursor or break a line of the screen.
"""

import unicodedata

REPLACED = "\ufffd"
MAX_MARKS = 4
"""Combining marks kept per character. No language needs more, and they would cover the lines above and below."""

CUT = " …"

_JOINERS = "\u200c\u200d"
"""Zero-width (non-)joiners: Persian and Indian scripts need them between letters."""
_BLANK = frozenset({"Zl", "Zp", "Zs"})
_DROPPED = frozenset({"Cf", "Cc"})
_UNKNOWN = frozenset({"Cs", "Co", "Cn"})
_VARIANTS = {*range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400), 0x20E3}
"""Variation selectors, skin tones and key caps: depending on the terminal they make a character one, two or four cells
wide."""
_FLAG_A = 0x1F1E6
_FLAG_Z = 0x1F1FF
"""Letters of flags. Terminals differ in the width of a pair, so flags are shown as plain letters."""


def printable(text: str, max_chars: int = 4000) -> str:
    """Returns one line that is safe to draw; every run of whitespace becomes one space.

    Removes control and format characters, except joiners between letters. Replaces surrogates and unassigned characters
    by U+FFFD. Cuts the text after `max_chars` characters, with an ellipsis.
    """
    kept: list[str] = []
    marks = 0
    for char in text[: max_chars * 2]:
        category = unicodedata.category(char)
        if category in _BLANK or char in "\t\n\r\v\f\x85":
            if kept and kept[-1] != " ":
                kept.append(" ")
        elif ord(char) in _VARIANTS or (category in _DROPPED and not _joins(char, kept)):
            continue
        elif category.startswith("M"):
            marks += 1
            # Without a base character the mark would change the cell before it.
            if kept and kept[-1] != " " and marks <= MAX_MARKS:
                kept.append(char)
            continue
        elif _FLAG_A <= ord(char) <= _FLAG_Z:
            kept.append(chr(ord("A") + ord(char) - _FLAG_A))
        else:
            kept.append(REPLACED if category in _UNKNOWN else char)
        marks = 0
    line = "".join(kept).strip()
    if len(line) > max_chars or len(text) > max_chars * 2:
        return line[: max_chars - len(CUT)].rstrip() + CUT
    return line


def _joins(char: str, before: list[str]) -> bool:
    return char in _JOINERS and bool(before) and unicodedata.category(before[-1])[0] in "LM"
