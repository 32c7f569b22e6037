"""Rewrites other ways to write an expression to the way that the rules know: "20~30", "5−10 days", "$.50"."""

import re

from assistant.text.abbreviations import GERMAN_STARTERS
from assistant.text.normalization.abbreviations import ROMAN, roman
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import cardinal, digits
from assistant.text.normalization.rule import Rule

_EQUALS = r" ?(?:[=<>≤≥≈]|(?:is|are|equals?|gives|makes|ist|sind|gleich|ergibt|est|égale?|font|es|son|igual)\b)"
_AMOUNT = r"\d(?: ?[^\W\d_]{1,3})?[%°]?[CF]?"


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules. They come before all others."""
    names = "|".join(re.escape(name) for name in sorted(lexicon.currencies, key=len, reverse=True))

    units = "|".join(re.escape(unit) for unit in sorted(lexicon.units, key=len, reverse=True))

    def hours(match: re.Match[str]) -> str:
        return f"{match[1]} {lexicon.to} "

    def iso(match: re.Match[str]) -> str:
        return re.sub("[–−]", "-", match[0])

    def span(match: re.Match[str]) -> str:
        return f"{match[1]}–"

    def true_minus(match: re.Match[str]) -> str:
        return f"{match[1]} {lexicon.minus} " if match["equals"] is not None else f"{match[1]}-"

    def zero(match: re.Match[str]) -> str:
        return f"{match[1]}0{lexicon.decimal[-1]}"

    def section(match: re.Match[str]) -> str:
        figures = digits(match[1], lexicon.code)
        if lexicon.code == "en":
            figures = figures.replace("zero", "oh")
        number = f" {cardinal(int(match[3]), lexicon.code)}" if match[3] else ""
        return f"{figures} {match[2]}{number}" + ("'s" if match[4] else "")

    def micro(match: re.Match[str]) -> str:
        return f"{match[1]}µ"

    rules = [
        Rule(frozenset("–−"), re.compile(r"(?<![\w–−-])\d{4}[–−]\d\d[–−]\d\d(?!\w|[–−-]\d)"), iso),
        Rule(frozenset("~"), re.compile(rf"({_AMOUNT}) ?~ ?(?=(?:{names})? ?\d)"), span),
        Rule(frozenset("−"), re.compile(rf"(?<![\w.,])(\d{{1,9}})−(?=\d{{1,9}}(?P<equals>{_EQUALS})?)"), true_minus),
        Rule(frozenset("."), re.compile(rf"(?<![\w.,$€£¥₹])((?:{names}) ?)\.(?=\d{{1,2}}(?![\d.,]*\d))"), zero),
        Rule(
            frozenset("("), re.compile(r"(?<![\w.,-])([1-9]\d\d) ?\(([a-z])\)(?:\((\d{1,2})\))?(?:(s)(?!\w))?"), section
        ),
        Rule(frozenset("."), re.compile(rf"(?<![^\s(])()\.(?=\d{{1,4}} ?(?:{units})(?!\w))"), zero),
        Rule(frozenset("h"), re.compile(r"(?<![\w:])(\d{1,2} ?h(?:\d\d)?) ?[-–] ?(?=\d{1,2} ?h(?![^\W\d]))"), hours),
        Rule(frozenset("μ"), re.compile(r"(\d ?)μ(?=[A-Za-z])"), micro),
    ]
    if lexicon.code == "de":
        article = "(?:d(?:er|ie|as|e[mns])|[ai]m|zu[mr]|vom|beim|[ia]ns) "
        rules.append(
            Rule(
                frozenset("IVX"),
                re.compile(rf"((?i:\b{article}))({ROMAN})\.(?= (?P<next>[A-ZÄÖÜ][^\W\d_]+))"),
                _roman_ordinal,
            )
        )
    if lexicon.code == "en":
        rules.append(Rule(frozenset("k"), re.compile(r"(?<![\w$€£.,-])401k(s)?(?!\w)"), _retirement_plan))
    return tuple(rules)


def _roman_ordinal(match: re.Match[str]) -> str | None:
    """ "im II. Weltkrieg" """
    return None if match["next"].lower() in GERMAN_STARTERS else f"{match[1]}{roman(match[2])}."


def _retirement_plan(match: re.Match[str]) -> str:
    return "four oh one k" + ("'s" if match[1] else "")
