"""Reads German numbers as people say them and as recognizers write them: one long word, or digits."""

import re
from fractions import Fraction

from assistant.skills.languages.numerals import TableNumerals, word_or_empty
from assistant.skills.languages.unit_names import load_unit_names

_SMALL = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
)
_ROUND = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_ONES = dict.fromkeys(("ein", "eine", "einen", "einem", "einer"), 1)
_UNITS = {word: value for value, word in enumerate(_SMALL.split())} | _ONES | {"zwo": 2}
_TENS = {word: 10 * value for value, word in enumerate(_ROUND.split(), start=2)} | {"dreissig": 30}
_COMPOUND = re.compile(
    r"(?:(?P<thousands>\w+?)?(?P<tausend>tausend)(?:und)?)?"
    r"(?:(?P<hundreds>\w+?)?(?P<hundert>hundert)(?:und)?)?(?P<rest>\w+)?"
)
_PARTS = {"einhalb": Fraction(1, 2), "einviertel": Fraction(1, 4), "dreiviertel": Fraction(3, 4)}


class GermanNumerals(TableNumerals):
    """Reads German numbers, which are single words below a million."""

    def number(self, words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
        """Returns the number that begins at `position` and its end; (None, at) if there is none."""
        word = word_or_empty(words, position)
        if word == "anderthalb":
            return Fraction(3, 2), position + 1
        for ending, part in _PARTS.items():
            whole = _compound(word.removesuffix(ending).removesuffix("und")) if word.endswith(ending) else None
            if whole is not None:
                return whole + part, position + 1
        return super().number(words, position)

    def _below_thousand(self, words: tuple[str, ...], position: int) -> tuple[int | None, int]:
        value = _compound(word_or_empty(words, position))
        return value, position if value is None else position + 1


def _compound(word: str) -> int | None:
    """Reads a compound: "zweitausenddreihundertvierundfünfzig", "neunzehnhundertvierundachtzig"."""
    simple = _below_hundred(word)
    if simple is not None or ("hundert" not in word and "tausend" not in word):
        return simple
    match = _COMPOUND.fullmatch(word)
    assert match is not None, "the pattern takes any word"
    thousands = _times(match["thousands"]) if match["tausend"] else 0
    hundreds = _times(match["hundreds"]) if match["hundert"] else 0
    rest = _below_hundred(match["rest"]) if match["rest"] else 0
    if thousands is None or hundreds is None or rest is None:
        return None
    return 1000 * thousands + 100 * hundreds + rest


def _times(word: str | None) -> int | None:
    return 1 if word is None else _compound(word)


def _below_hundred(word: str) -> int | None:
    value = _UNITS.get(word, _TENS.get(word))
    if value is not None:
        return value
    unit, _, ten = word.partition("und")
    if ten in _TENS and 1 <= _UNITS.get(unit, 0) < 10:
        return _TENS[ten] + _UNITS[unit]
    return None


NUMERALS = GermanNumerals(
    below_thousand={},
    scales={"tausend": 10**3, "million": 10**6, "millionen": 10**6, "milliarde": 10**9, "milliarden": 10**9},
    points=frozenset(("komma",)),
    signs=frozenset(("minus",)),
    articles=frozenset(_ONES),
    counted=frozenset(name.split()[0] for unit in load_unit_names("de").values() for name in unit.all_names)
    | {"uhr", "plus", "minus", "mal", "min", "std", "sek"},
)
