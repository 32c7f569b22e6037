"""Normalizes the decimal mark of another language where a sign or unit makes it clear: "-1.5 °C" in German."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.rule import Rule

_ALSO_WORDS = frozenset(("in", "pt", "N", "a"))  # units that are also words or word endings
_UNIT_WORDS = {
    "de": "Grad|Prozent|Millionen|Milliarden|Tausend|Meilen?|Zoll|Fuß|Punkte?|Mal|mal",
    "fr": "degrés?|degré|pour cent|millions?|milliards?|milles?|points?|fois",
    "es": "grados?|por ciento|millones|millón|mil millones|millas?|puntos?|veces",
    "en": "degrees?|percent|million|billion|thousand|miles?|points?",
}


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules, which correct decimals whose mark is that of another language, as in "3,5" in English.

    They apply after the rules for dates and times, and before those for versions, which read "3.5" as two parts.
    """
    point = lexicon.decimal == ","
    wrong, right = (".", ",") if point else (",", ".")
    # "1,234" is one thousand in English. In the others "1.500" is one thousand, but "1.50" and "0.500" are decimals.
    places = r"(?:\d{1,2}|\d{4,6})" if point else r"\d{1,2}"
    number = rf"(?:\d{{1,9}}{re.escape(wrong)}{places}|0{re.escape(wrong)}\d{{3}})(?!\d)"

    def read(match: re.Match[str]) -> str:
        return match[0].replace(wrong, right)

    unit = rf" ?(?:{_unit_names(lexicon)})(?![\w/²³])"
    money = "|".join(re.escape(name) for name in lexicon.currencies)
    span = rf"(?:\s?[-–—]\s?|\s(?:{lexicon.to}|{lexicon.conjunction})\s)[-−]?"
    other = r"\d{1,9}(?:[.,]\d{1,6})?"
    start = r"(?<![\w.,:/@#=^&?+\\])(?<![\w.,]-)"
    end = r"(?![\w\\]|[.,:/@]\w|[-–—]\d)"
    patterns = [
        rf"{start}(?:(?<![-−])[-−±~≈]|(?<=[-−±~≈] ))?{number}(?=(?:{span}{other})?{unit})",
        rf"(?<=[\d.,][-–—]){number}(?={unit})",
        rf"(?<![\w.,])[-−]?(?:{money}) ?{number}(?:[-–—](?:{money})?{number})?{end}",
    ]
    if point:
        # A sign belongs to an amount, not to a version.
        patterns.append(rf"(?<![\w.,:/@#=^&?+\\$€£-])[-−±]{number}{end}(?!\.\d)")
    readers = [Rule(frozenset(wrong), re.compile(pattern), read) for pattern in patterns]
    return (_grouped_money(lexicon, money), *readers)


def _grouped_money(lexicon: Lexicon, money: str) -> Rule:
    """ "$1,500.50" in Spanish, "€1.500,50" in English. Money has no third decimal, so the groups are thousands."""
    point = lexicon.decimal == ","
    group, decimal = (",", ".") if point else (".", ",")
    swapped = str.maketrans(",.", ".,")

    def read(match: re.Match[str]) -> str:
        return match[0].translate(swapped)

    number = rf"[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}}){{1,4}}(?:{re.escape(decimal)}\d\d)?(?![\d.,]*\d)"
    symbols_after = "|".join(
        re.escape(name) for name in lexicon.currencies if not name[-1].isalnum() and name[-1] != "."
    )
    pattern = rf"(?<![\w.,])[-−]?(?:(?:{money}) ?{number}|{number}(?= ?(?:{symbols_after})))"
    return Rule(frozenset(group), re.compile(pattern), read)


def _unit_names(lexicon: Lexicon) -> str:
    # In French and Spanish, "12.30 h" is a time. In German, times are already normalized here.
    left_out = _ALSO_WORDS if lexicon.code == "de" else _ALSO_WORDS | {"h"}
    names = {symbol for symbol in lexicon.units if symbol not in left_out} | set(lexicon.currencies)
    for one, many in lexicon.units.values():
        names |= {one.split(" ", 1)[1], many}
    for currency in lexicon.currencies.values():
        names |= {currency.one.split(" ", 1)[1], currency.many}
    ordered = sorted(filter(None, names), key=len, reverse=True)
    return "|".join([re.escape(name) for name in ordered] + [_UNIT_WORDS[lexicon.code]])
