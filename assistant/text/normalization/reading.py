"""Converts written text to spoken words.

Only unambiguous numbers, dates, units, abbreviations and similar expressions change; the synthesizer reads the rest.
The rules are applied until the text is stable, so applying them again does not change it.
"""

import importlib
from dataclasses import replace
from functools import cache

from assistant.text.normalization import (
    abbreviations,
    alternative_forms,
    codes,
    dates,
    decimals,
    durations,
    equations,
    identifiers,
    keys,
    names,
    numbers,
    one_before_noun,
    prime_marks,
    quantities,
    scores,
    secret_numbers,
    signs,
    times,
    weekday_dates,
)
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.rule import Rule

_MODULES = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}
_MAX_PASSES = 6
"""Maximum number of passes over the rules.

Ordinary sentences are stable after one pass. Of 60 000 generated rows, 84 needed a second pass because one rule
enabled another. A pass over text without digits and signs costs a thirtieth of the first."""
_PLAIN_FORMS: dict[int, str | None] = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\ufe63\uff0d"), "-"),  # hyphens that do not break, and figure dashes
    **dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f"), " "),
    **dict.fromkeys(map(ord, "\u223c\u301c\uff5e"), "~"),
    **{ord("\uff10") + digit: str(digit) for digit in range(10)},
    **dict.fromkeys(map(ord, "\u00ad\u2060\ufeff"), None),  # soft hyphen, word joiner, no-break space of no width
}
"""Characters that look like another one, and that one, which the rules know."""
_DAY_FIRST_LANGUAGES = frozenset("en-gb en-au en-nz en-ie en-in en-za".split())


def spoken(text: str, language: str = "en") -> str:
    """Returns `text` in spoken form.

    Args:
        text: One chunk of a reply, without markup.
        language: A code such as "en", "en-GB" or "de_AT". Text in a language without rules is returned unchanged.
    """
    stages = _rules(language.lower().replace("_", "-"))
    if stages and not text.isascii():
        text = text.translate(_PLAIN_FORMS)
    for _ in range(_MAX_PASSES):
        normalized = text
        for rules in stages:
            normalized = _apply_rules(normalized, rules)
        if normalized == text:
            break
        text = normalized
    return text


def _apply_rules(text: str, rules: tuple[Rule, ...]) -> str:
    chars = frozenset(text)
    for rule in rules:
        if not rule.needs or not rule.needs.isdisjoint(chars):
            text = rule.apply(text)
    return text


@cache
def _rules(language: str) -> tuple[tuple[Rule, ...], ...]:
    """Returns the rules in order of application: longer and less ambiguous expressions first.

    The first stage rewrites expressions to characters that decide which rules of the second stage apply.
    """
    base = language.split("-", maxsplit=1)[0]
    name = _MODULES.get(base)
    if name is None:
        return ()
    lexicon: Lexicon = getattr(importlib.import_module(f"assistant.text.normalization.{name}"), name.upper())
    if language in _DAY_FIRST_LANGUAGES:
        lexicon = replace(lexicon, day_first=True)
    powers = {symbol: symbol.replace("²", "2").replace("³", "3") for symbol in lexicon.units}
    lexicon = replace(lexicon, units={powers[symbol]: words for symbol, words in lexicon.units.items()} | lexicon.units)
    read = (
        *keys.rules(lexicon),
        *names.rules(lexicon),
        *equations.rules(lexicon),
        *identifiers.rules(lexicon),
        *secret_numbers.rules(lexicon),
        *durations.rules(lexicon),
        *weekday_dates.rules(lexicon),
        *dates.rules(lexicon),
        *scores.rules(lexicon),
        *times.rules(lexicon),
        *decimals.rules(lexicon),
        *codes.rules(lexicon),
        *abbreviations.rules(lexicon),
        *signs.before_amounts(lexicon),
        *quantities.rules(lexicon),
        *prime_marks.rules(lexicon),
        *signs.rules(lexicon),
        *numbers.rules(lexicon),
        *one_before_noun.rules(lexicon),
        *numbers.plain_rules(lexicon),
    )
    return alternative_forms.rules(lexicon), read
