"""Text written for the eye as words for the ear.

Only what is surely a number, a date, a unit, an abbreviation and the like is changed; everything else is left to the
synthesizer as it is. The rules are applied until nothing changes, so that doing it twice changes nothing more.
"""

import importlib
from dataclasses import replace
from functools import cache

from assistant.text.normalization import (
    abbreviations,
    codes,
    dates,
    decimals,
    durations,
    equations,
    identifiers,
    names,
    numbers,
    quantities,
    signs,
    times,
)
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.rule import Rule

_MODULES = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}
_MOST_PASSES = 6
"""Sentences settle in one; of 60 000 rows of odd pieces 84 needed a second, for what one reading uncovers for another.
A pass without digits and signs costs a thirtieth of the first."""
_DAY_FIRST = frozenset("en-gb en-au en-nz en-ie en-in en-za".split())


def spoken(text: str, language: str = "en") -> str:
    """`text` as people say it.

    Args:
        text: One unit of a reply, without markup.
        language: A code such as "en", "en-GB" or "de_AT"; text of a language without rules is returned unchanged.
    """
    rules = _rules(language.lower().replace("_", "-"))
    for _ in range(_MOST_PASSES):
        heard = _pass(text, rules)
        if heard == text:
            break
        text = heard
    return text


def _pass(text: str, rules: tuple[Rule, ...]) -> str:
    chars = frozenset(text)
    for rule in rules:
        if not rule.needs or not rule.needs.isdisjoint(chars):
            text = rule.apply(text)
    return text


@cache
def _rules(language: str) -> tuple[Rule, ...]:
    """In the order in which they apply: the longer and surer expression first."""
    base = language.split("-", maxsplit=1)[0]
    name = _MODULES.get(base)
    if name is None:
        return ()
    lexicon: Lexicon = getattr(importlib.import_module(f"assistant.text.normalization.{name}"), name.upper())
    if language in _DAY_FIRST:
        lexicon = replace(lexicon, day_first=True)
    powers = {symbol: symbol.replace("²", "2").replace("³", "3") for symbol in lexicon.units}
    lexicon = replace(lexicon, units={powers[symbol]: words for symbol, words in lexicon.units.items()} | lexicon.units)
    return (
        *names.rules(lexicon),
        *equations.rules(lexicon),
        *identifiers.rules(lexicon),
        *durations.rules(lexicon),
        *dates.rules(lexicon),
        *times.rules(lexicon),
        *decimals.rules(lexicon),
        *codes.rules(lexicon),
        *abbreviations.rules(lexicon),
        *signs.before_amounts(lexicon),
        *quantities.rules(lexicon),
        *signs.rules(lexicon),
        *numbers.rules(lexicon),
        *numbers.plain_rules(lexicon),
    )
