"""Normalizes equations and spaced signs while their amounts are still digits."""

import re

from assistant.text.minus_signs import between_amounts, spaced_minus
from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.rule import DIGITS, Rule

_RELATIONS = frozenset("=≈≤≥≠<>")
_SUBTRACTS = frozenset("-–−")
_MARK = r"(?: [-–−+×÷*/·:=≈≤≥≠<>] |[-–−+×÷*=≈≤≥≠<>])"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_HEAD_CHARS = 40


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules. They apply before all other number rules, which read "$20 - $5" as a range."""
    return (_equation(lexicon), *_spaced(lexicon))


def _equation(lexicon: Lexicon) -> Rule:
    """ "$20 - $5 = $15", "(2 + 3) × 4 kg - 2 kg ≤ 20 kg": a hyphen is a minus if the expression contains a relation."""
    operand = _operand(lexicon)
    step = re.compile(rf"({_MARK})({operand})")
    first = re.compile(operand)

    def read(match: re.Match[str]) -> str | None:
        start = first.match(match[0])
        if start is None or _DATE.search(match[0]):
            return None
        words, position, marks = [start[0]], start.end(), set()
        while step_match := step.match(match[0], position):
            mark = step_match[1].strip()
            marks.add(mark)
            word = lexicon.minus if mark in _SUBTRACTS else lexicon.signs.get(mark, mark)
            words += [word, step_match[2]]
            position = step_match.end()
        whole = position == len(match[0]) and marks & _RELATIONS and marks & _SUBTRACTS
        return " ".join(words) if whole else None

    pattern = rf"(?<![\w.,:/@#$€£¥₹=^&?+\\()-]){operand}(?:{_MARK}{operand}){{1,12}}(?!\w)"
    return Rule(_RELATIONS, re.compile(pattern), read)


def _operand(lexicon: Lexicon) -> str:
    names, units = (
        "|".join(re.escape(name) for name in sorted(table, key=len, reverse=True))
        for table in (lexicon.currencies, lexicon.units)
    )
    number = r"\d{1,12}(?:[.,]\d{1,12}){0,4}"
    counted = rf"(?!{lexicon.to}\b)[^\W\d_]{{3,12}}(?= ?[-–−+×÷*/=≈≤≥≠<>])"
    unit = rf"(?: ?(?:{units}|{names})(?![\w/²³])| {counted})?"
    variable = r"[-−]?\d{0,4}[a-z](?![^\W²³₀-₉])[²³₀-₉]?"
    return rf"\(?(?:[-−]?(?:{names}) ?{number}|[-−]?{number}{unit}|{variable})\)?"


def _spaced(lexicon: Lexicon) -> tuple[Rule, ...]:
    def sign(match: re.Match[str]) -> str | None:
        before = match.string[max(0, match.start() - _HEAD_CHARS) : match.start()]
        dash = match[1]
        if dash == "−" or match[2] == "":
            is_minus = not between_amounts(before)
        else:
            is_minus = bool(spaced_minus(before, match.string, match.start(), final=True))
        return "-" if is_minus else None

    amount = r"(?=(?:[A-Z]{0,3}[$€£¥₹] ?)?\d)"
    return (
        Rule(DIGITS, re.compile(rf"(?<![^\s(\[\"“„«])([-–−])( ){amount}"), sign),
        Rule(DIGITS, re.compile(rf"(?<![^\s(\[\"“„«])(–)(){amount}"), sign),
    )
