"""Words of people and models, made fit for a terminal: pure.

What they say may hold escape sequences, marks that turn the direction of the line around, or characters whose width
terminals disagree on: none of it may move the cursor or break a line of the screen.
"""

import unicodedata

REPLACED = "\ufffd"
MOST_MARKS = 4
"""Combining marks kept on one character: more, which no language needs, are stacked over the lines above and below."""

CUT = " …"

_JOINERS = "\u200c\u200d"
"""Zero-width (non-)joiners: Persian and the scripts of India need them between letters."""
_BLANK = frozenset({"Zl", "Zp", "Zs"})
_DROPPED = frozenset({"Cf", "Cc"})
_UNKNOWN = frozenset({"Cs", "Co", "Cn"})
_VARIANTS = {*range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400), 0x20E3}
"""Selectors of variants, skin tones and key caps: with them a character is one cell wide, two or four, depending on
which terminal is asked."""
_FLAG_A = 0x1F1E6
_FLAG_Z = 0x1F1FF
"""Flags are spelled with these; whether two of them are two cells wide or four is open: they are shown as letters."""


def printable(text: str, most: int = 4000) -> str:
    """One line that is safe to draw; blanks of every kind become single spaces.

    Control and format characters go, except for joiners between letters; surrogates and characters without a meaning
    become U+FFFD. Past `most` characters it is cut, and says so with an ellipsis.
    """
    kept: list[str] = []
    marks = 0
    for char in text[: most * 2]:
        category = unicodedata.category(char)
        if category in _BLANK or char in "\t\n\r\v\f\x85":
            if kept and kept[-1] != " ":
                kept.append(" ")
        elif ord(char) in _VARIANTS or (category in _DROPPED and not _joins(char, kept)):
            continue
        elif category.startswith("M"):
            marks += 1
            # Nothing to stand on: it would sit on what the screen drew before it.
            if kept and kept[-1] != " " and marks <= MOST_MARKS:
                kept.append(char)
            continue
        elif _FLAG_A <= ord(char) <= _FLAG_Z:
            kept.append(chr(ord("A") + ord(char) - _FLAG_A))
        else:
            kept.append(REPLACED if category in _UNKNOWN else char)
        marks = 0
    line = "".join(kept).strip()
    if len(line) > most or len(text) > most * 2:
        return line[: most - len(CUT)].rstrip() + CUT
    return line


def _joins(char: str, before: list[str]) -> bool:
    return char in _JOINERS and bool(before) and unicodedata.category(before[-1])[0] in "LM"
