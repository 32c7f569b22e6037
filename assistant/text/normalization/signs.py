"""Normalizes signs between and next to words: arithmetic, comparison, ampersand, isolated percent signs."""

import re

from assistant.text.minus_signs import between_amounts
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import cardinal, number_pattern, say, year
from assistant.text.normalization.rule import DIGITS, ENDS, STARTS, Rule

_TIMES = {"en": "times", "de": "mal", "fr": "fois", "es": "veces"}
_ONCE = {"de": "einmal", "fr": "une fois", "es": "una vez"}
_BEFORE_AMOUNT = {
    "en": {">": "more than", "<": "less than", "≥": "at least", "≤": "at most"},
    "de": {">": "mehr als", "<": "weniger als", "≥": "mindestens", "≤": "höchstens"},
    "fr": {">": "plus de", "<": "moins de", "≥": "au moins", "≤": "au plus"},
    "es": {">": "más de", "<": "menos de", "≥": "al menos", "≤": "como máximo"},
}
_POWER = {"en": "to the power of", "de": "hoch", "fr": "puissance", "es": "elevado a"}
_EXPONENTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
# Words after "2x" that continue a formula. Before any other word, "2x" means "two times".
_NOT_TIMES = (
    "is|are|and|or|to|from|by|on|both|for|when|where|if|then|so|equals?|gives?|with|of|at|we|you|ist|sind|und|oder|"
    "von|zu|auf|gleich|durch|mit|dann|est|sont|et|ou|égale?|donc|es|son|y|e|o|igual|entonces|con|de"
)
_ADDS = "plus|minus|moins|más|menos|times|mal|fois|por"
_OPERATORS = frozenset("=+−*/×÷<>≤≥≈√")
_VARIABLE = r"[xyzn](?![^\W²³⁰-⁹₀-₉])"
_BY = {"en": "by", "de": "mal", "fr": "par", "es": "por"}
_ONLY_OF_FIGURES = frozenset("/:·")
_FIGURES = frozenset("0123456789()²³xyzn")
_CONDITION = re.compile(r"\b(?:if|when|where|while|wenn|falls|si)\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:about|around|approximately|roughly|etwa|ungefähr|rund|circa|environ|unos|unas)\s+\Z", re.IGNORECASE
)
_RATIO = {"en": "to", "de": "zu", "fr": "pour", "es": "a"}


def before_amounts(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns rules for signs at an amount ("~5 km", "±2 °C", "<5%", "10×15 cm"), which is still in digits here."""
    code, number = lexicon.code, number_pattern(lexicon)
    words = {
        "~": lexicon.about,
        "≈": lexicon.about,
        "±": lexicon.signs["±"],
        "+": lexicon.signs["+"],
        **_BEFORE_AMOUNT[code],
    }
    units = "|".join(re.escape(unit) for unit in sorted(lexicon.units, key=len, reverse=True))

    def read(match: re.Match[str]) -> str | None:
        if len(match[0]) > 1 and between_amounts(match.string[max(0, match.start() - 24) : match.start()]):
            return None  # "5 kg ≈ 11 lb"
        said_already = match[1] in "~≈" and _ABOUT.search(match.string, max(0, match.start() - 20), match.start())
        return "" if said_already else f"{words[match[1]]} "

    def by(match: re.Match[str]) -> str:
        counted = re.match(rf" ?(?!px)(?:{units})\b", match.string[match.end() :])
        is_sum = match.string.startswith(("=", " =", " to the power"), match.end()) or (
            match[0].count("×") > 1 and not counted
        )
        word = lexicon.signs["×"] if is_sum else _BY[code]
        pixels = code == "en" and not is_sum and not counted
        return f" {word} ".join(side(figures, pixels=pixels) for figures in re.split(" ?[x×] ?", match[0]))

    def side(figures: str, *, pixels: bool) -> str:
        # "nineteen twenty by ten eighty"
        return year(int(figures), code) if pixels and len(figures) == 4 and figures.isdigit() else figures

    def apart(match: re.Match[str]) -> str:
        return f"{match[1]} {_BY[code]} "

    end = r"(?![\w\\]|[.,:/@’']\w|[-–—]\d)"
    return (
        # "c ≈ 3" and "5 ± 2" have operands on both sides.
        Rule(
            frozenset("~≈±"),
            re.compile(r"(?<![\w~≈±])([~≈±])(?:(?<![\d)°] .)(?<!\b\w .) )?(?=[$€£]?\d)"),
            read,
        ),
        Rule(frozenset("<>≤≥+"), re.compile(r"(?<![^\s(])([<>≤≥+])(?:(?<![^(].) )?(?=[$€£]?\d)"), read),
        Rule(frozenset("x×"), re.compile(rf"{STARTS}(?<!×)(?:{number})(?:(?:[x×]| x )(?:{number})){{1,2}}{end}"), by),
        Rule(frozenset("x"), re.compile(rf"{STARTS}({number} ?(?:{units})) x (?=\d)"), apart),
    )


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns rules for signs between two operands, and marks after a number."""
    signs = "|".join(re.escape(sign) for sign in sorted(lexicon.signs, key=len, reverse=True))
    tight = "|".join(
        re.escape(sign) for sign in ("+", "=", "*", "×", "÷", "≤", "≥", "≠", "≈", "±") if sign in lexicon.signs
    )
    code, number = lexicon.code, number_pattern(lexicon)

    def sign(match: re.Match[str]) -> str | None:
        text, mark = match.string, match[1]
        figures = text[match.start() - 1] in _FIGURES and text[match.end()] in _FIGURES
        if mark in _ONLY_OF_FIGURES and not (figures or (mark == "/" and "=" in text)):
            return None  # "he / she"
        return f" {lexicon.signs[mark]} "

    def path(match: re.Match[str]) -> str | None:
        return None if _CONDITION.search(match.string, max(0, match.start() - 40), match.start()) else ", "

    def minus(match: re.Match[str]) -> str:
        return f"{match[1]} {lexicon.minus} "

    def ratio(match: re.Match[str]) -> str:
        return f"{cardinal(int(match[1]), code)} {_RATIO[code]} {say(match[2], lexicon)}"

    # A formula, not a range or a remark after a dash: one operand is a variable.
    left, right = r"(?<![^\W\d_])[xyzn][²³]?", rf"\d{{0,9}}{_VARIABLE}"
    rules = [
        Rule(frozenset("-−–"), re.compile(r"((?<![\w.,])[\w.,]{1,20}|\)) [-−–] (?=[\w.,()]{1,20} ?=)"), minus),
        Rule(
            frozenset("-−–"), re.compile(rf"({left}(?= . [\d(])|{left}(?= . {right})|\d(?= . {right})) [-−–] "), minus
        ),
        Rule(frozenset("-−"), re.compile(r"(?<![\w.,-])(\d{1,9})[-−](?=\d{1,9} ?=)"), minus),
        _multiple(lexicon),
        Rule(frozenset(":"), re.compile(rf"{STARTS}(\d{{1,3}}):({number}){ENDS}"), ratio),
        Rule(frozenset(">"), re.compile(r"(?<=[^\W\d_]{2}) > (?=[A-ZÄÖÜ][^\W\d_]|i[A-Z])"), path),
        Rule(frozenset("".join(lexicon.signs)), re.compile(rf"(?<=[\w)%²³°½]) ({signs}) (?=[\w(√$€£+−-])"), sign),
        Rule(frozenset("".join(lexicon.signs)), re.compile(rf"(?<=[0-9)²³])({tight})(?=[0-9(])"), sign),
        Rule(
            frozenset("".join(lexicon.signs)),
            re.compile(rf"(?<=(?<![^\W\d_])[xyzn])({tight})(?=[0-9(]|{_VARIABLE})"),
            sign,
        ),
        *_powers(lexicon),
    ]
    if code == "en":
        rules += _english(lexicon)
    return tuple(rules)


def _multiple(lexicon: Lexicon) -> Rule:
    """ "2x faster", or "2x" in a formula."""
    code = lexicon.code
    counted = re.compile(rf" (?!(?:{_NOT_TIMES})\b|(?:{_ADDS}) (?:\d|{_VARIABLE}))(?:[aà]\b|[^\W\d_]{{2}})")

    def multiple(match: re.Match[str]) -> str | None:
        low, high = match["low"], match["high"]
        behind_sign = match.string[max(0, match.start() - 2) : match.start()].rstrip()[-1:] in _OPERATORS
        if behind_sign or not counted.match(match.string, match.end()):
            return None if low else f"{say(high, lexicon)} x"
        if low:
            return f"{say(low, lexicon)} {lexicon.to} {say(high, lexicon)} {_TIMES[code]}"
        return _ONCE[code] if high == "1" and code in _ONCE else f"{say(high, lexicon)} {_TIMES[code]}"

    number = number_pattern(lexicon)
    pattern = rf"{STARTS}(?:(?P<low>{number})x?[-–])?(?P<high>{number})x(?:(?=[²³⁰-⁹⁻₀-₉])|{ENDS})"
    return Rule(frozenset("x"), re.compile(pattern), multiple)


def _powers(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns rules for superscripts after a number, variable or bracket, and for indices.

    A single ¹ is a footnote mark.
    """
    code = lexicon.code
    powers = "⁻[⁰¹²³⁴-⁹]{1,4}|[⁰¹²³⁴-⁹]{2,4}|[⁰⁴-⁹]"

    def exponent(match: re.Match[str]) -> str:
        minus = f"{lexicon.minus} " if match[0][0] == "⁻" else ""
        return f" {_POWER[code]} {minus}{cardinal(int(match[0].lstrip('⁻').translate(_EXPONENTS)), code)}"

    def power(match: re.Match[str]) -> str:
        return " " + (lexicon.squared if match[0] == "²" else lexicon.cubed)

    def index(match: re.Match[str]) -> str:
        figures = match[0].translate(_SUBSCRIPTS)
        of_variable = match.string[match.start() - 1].islower()
        return f" {cardinal(int(figures), code)}" if of_variable else figures  # "x₁", "H₂O"

    return (
        Rule(frozenset("₀₁₂₃₄₅₆₇₈₉"), re.compile(r"(?<=[A-Za-z])[₀-₉]{1,3}"), index),
        Rule(frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹"), re.compile(rf"(?<=[\d)])(?:{powers})|(?<=(?<!\w)[a-z])(?:{powers})"), exponent),
        Rule(frozenset("²³"), re.compile(r"(?<=[\w)])[²³](?!\w)"), power),
    )


def _english(lexicon: Lexicon) -> list[Rule]:
    def word(match: re.Match[str]) -> str:
        return {"w/o": "without ", "w/": "with "}[match[1].lower()]

    def thousands(match: re.Match[str]) -> str | None:
        if match[2] == "K" and match[1] in ("1", "2", "4", "5", "8"):
            return None  # a 4K screen
        return f"{say(match[1], lexicon)} {'million' if match[2] == 'M' else 'thousand'}"

    def protocol(match: re.Match[str]) -> str:
        return f"IP version {cardinal(int(match[1]), 'en')}"

    return [
        Rule(frozenset("/"), re.compile(r"(?<![\w/])([wW]/o|[wW]/(?!o\b)) ?(?=[A-Za-z$\d])"), word),
        Rule(DIGITS, re.compile(rf"{STARTS}(\d{{1,4}}(?:\.\d{{1,2}})?)([kKM])(?![\w'’/-])"), thousands),
        Rule(DIGITS, re.compile(r"\bIPv([46])\b"), protocol),
    ]
