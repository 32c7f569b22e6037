"""Signs between and beside words: arithmetic, comparison, ampersand, percent of nothing."""

import re

from assistant.spoken.lexicon import Lexicon
from assistant.spoken.numbers import cardinal, number_pattern, say, year
from assistant.spoken.rule import DIGITS, ENDS, STARTS, Rule

_TIMES = {"en": "times", "de": "mal", "fr": "fois", "es": "por"}
_BY = {"en": "by", "de": "mal", "fr": "par", "es": "por"}
_RATIO = {"en": "to", "de": "zu", "fr": "pour", "es": "a"}


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Signs with operands on both sides; marks behind a number; feet and inches."""
    signs = "|".join(re.escape(sign) for sign in sorted(lexicon.signs, key=len, reverse=True))
    tight = "|".join(
        re.escape(sign) for sign in ("+", "=", "*", "×", "÷", "≤", "≥", "≠", "≈", "±") if sign in lexicon.signs
    )
    code, number = lexicon.code, number_pattern(lexicon)

    def sign(match: re.Match[str]) -> str:
        return f" {lexicon.signs[match[1]]} "

    def minus(match: re.Match[str]) -> str:
        return f"{match[1]} {lexicon.minus} "

    def about(match: re.Match[str]) -> str:
        return f"{lexicon.about} "

    def plus_minus(match: re.Match[str]) -> str:
        return f"{lexicon.signs['±']} "

    def power(match: re.Match[str]) -> str:
        return " " + (lexicon.squared if match[0] == "²" else lexicon.cubed)

    def multiple(match: re.Match[str]) -> str:
        return f"{say(match[1], lexicon)} {_TIMES[code]}"

    def by(match: re.Match[str]) -> str:
        return f"{side(match[1])} {_BY[code]} {side(match[2])}"

    def side(figures: str) -> str:
        # "nineteen twenty by ten eighty"
        return (
            year(int(figures), code)
            if code == "en" and len(figures) == 4 and figures.isdigit()
            else say(figures, lexicon)
        )

    def ratio(match: re.Match[str]) -> str:
        return f"{cardinal(int(match[1]), code)} {_RATIO[code]} {cardinal(int(match[2]), code)}"

    found = [
        Rule(frozenset("x×"), re.compile(rf"{STARTS}({number})x{ENDS}"), multiple),
        Rule(frozenset("x×"), re.compile(rf"{STARTS}({number})[x×]({number}){ENDS}"), by),
        Rule(frozenset(":"), re.compile(rf"{STARTS}(\d{{1,3}}):(\d{{1,3}}){ENDS}"), ratio),
        Rule(frozenset("-−–"), re.compile(r"((?<![\w.,])[\w.,]{1,20}|\)) [-−–] (?=[\w.,()]{1,20} ?=)"), minus),
        Rule(frozenset("-−"), re.compile(r"(?<![\w.,-])(\d{1,9})[-−](?=\d{1,9} ?=)"), minus),
        Rule(frozenset("".join(lexicon.signs)), re.compile(rf"(?<=[\w)%²³°½]) ({signs}) (?=[\w(√$€£+−-])"), sign),
        Rule(frozenset("".join(lexicon.signs)), re.compile(rf"(?<=[0-9)²³])({tight})(?=[0-9(])"), sign),
        Rule(frozenset("~≈"), re.compile(r"(?<![\w~≈])[~≈] ?(?=[$€£]?\d)"), about),
        Rule(frozenset("±"), re.compile(r"(?<![\w±])± ?(?=\d)"), plus_minus),
        Rule(frozenset("²³"), re.compile(r"(?<=[\w)])[²³](?!\w)"), power),
    ]
    if code == "en":
        found += _english(lexicon)
    return tuple(found)


def _english(lexicon: Lexicon) -> list[Rule]:
    def feet(match: re.Match[str]) -> str:
        foot = "foot" if match[2] else "feet"
        return f"{cardinal(int(match[1]), 'en')} {foot}" + (f" {cardinal(int(match[2]), 'en')}" if match[2] else "")

    def inches(match: re.Match[str]) -> str | None:
        if match.string.count('"', 0, match.start()) % 2:
            return None  # it closes a quotation
        return f"{say(match[1], lexicon)} inch" + ("" if match.string[match.end() : match.end() + 1] == " " else "es")

    def word(match: re.Match[str]) -> str:
        return {"w/o": "without ", "w/": "with "}[match[1].lower()]

    def thousands(match: re.Match[str]) -> str | None:
        if match[2] == "K" and match[1] in ("1", "2", "4", "5", "8"):
            return None  # a 4K screen
        return f"{say(match[1], lexicon)} {'million' if match[2] == 'M' else 'thousand'}"

    def protocol(match: re.Match[str]) -> str:
        return f"IP version {cardinal(int(match[1]), 'en')}"

    return [
        Rule(frozenset("'’′"), re.compile(r"(?<![\w.,/'’])(\d)['’′] ?(\d{1,2})(?:\"|”|″|'')?(?![\w'’])"), feet),
        Rule(frozenset('"″'), re.compile(r"(?<![\w.,/'’\"])(\d{1,3}(?:\.\d)?)[\"″](?!\w)"), inches),
        Rule(frozenset("/"), re.compile(r"(?<![\w/])([wW]/o|[wW]/(?!o\b)) ?(?=[A-Za-z$\d])"), word),
        Rule(DIGITS, re.compile(rf"{STARTS}(\d{{1,4}}(?:\.\d{{1,2}})?)([kKM])(?![\w'’/-])"), thousands),
        Rule(DIGITS, re.compile(r"\bIPv([46])\b"), protocol),
    ]
