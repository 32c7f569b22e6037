"""Normalizes the keys "*" and "#" of a telephone: "star", "pound"."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import digits
from assistant.text.normalization.rule import Rule

_NAMES = {
    "en": {"*": "star", "#": "pound"},
    "de": {"*": "Stern", "#": "Raute"},
    "fr": {"*": "étoile", "#": "dièse"},
    "es": {"*": "asterisco", "#": "almohadilla"},
}
_NUMBERED = re.compile(r"#\d{1,15}")  # "Take #5"
_PIECE = re.compile(r"[*#+]|\d+")


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rule. It comes before multiplication and before "#5"."""
    names = {**_NAMES[lexicon.code], "+": lexicon.signs["+"]}

    def read(match: re.Match[str]) -> str | None:
        text, piece = match.string, match[0]
        before, following = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 2]
        is_sign = before.strip()[-1:].isalnum() and following.strip()[:1].isdigit() and piece == "*"
        if is_sign or _NUMBERED.fullmatch(piece):
            return None
        return " ".join(names.get(part) or digits(part, lexicon.code) for part in _PIECE.findall(piece))

    def last(match: re.Match[str]) -> str:
        return f"{digits(match[1], lexicon.code)} {names['#']}"

    pattern = re.compile(r"(?<![\w*#/])(?:[*#]{1,2}\+?\d{0,15}){1,5}(?![\w*#/])")
    return (
        Rule(frozenset("*#"), pattern, read),
        Rule(frozenset("#"), re.compile(r"(?<![\w.,#*-])(\d{1,15})#(?![\w#])"), last),
    )
