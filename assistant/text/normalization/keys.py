"""Normalizes the keys "*" and "#" of a telephone: "star", "pound"."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import digits
from assistant.text.normalization.rule import Rule
from assistant.text.telephone_keys import after_verb

_NAMES = {
    "en": {"*": "star", "#": "pound"},
    "de": {"*": "Stern", "#": "Raute"},
    "fr": {"*": "étoile", "#": "dièse"},
    "es": {"*": "asterisco", "#": "almohadilla"},
}
_PIECE = re.compile(r"[*#]|\d+")


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rule. It comes before multiplication and before "#5"."""
    names = _NAMES[lexicon.code]

    def read(match: re.Match[str]) -> str | None:
        text = match.string
        before = text[max(0, match.start() - 40) : match.start()]
        of_number = re.fullmatch(r"#\d+", match[0]) and not re.search(
            r"(?i)(?:dial|wähl|compos|marc|marq)\w{0,4} ", before
        )
        between = before.rstrip()[-1:].isdigit() and text[match.end() : match.end() + 2].lstrip()[:1].isdigit()
        if of_number or between or not after_verb(before):
            return None
        return " ".join(names.get(piece) or digits(piece, lexicon.code) for piece in _PIECE.findall(match[0]))

    return (Rule(frozenset("*#"), re.compile(r"(?<![\w*#])(?:[*#]{1,2}\d{0,15}){1,4}(?![\w*#])"), read),)
