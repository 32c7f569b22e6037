"""Normalizes short durations ("1h 30m") and counts whose letter looks like a unit ("5m people", "10s of thousands")."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.numbers import counted, number_pattern, say
from assistant.text.normalization.rule import DIGITS, ENDS, STARTS, Rule

_COUNTED = (
    "people|users|followers|subscribers|members|customers|visitors|viewers|listeners|readers|players|residents|"
    "inhabitants|voters|workers|students|tourists|refugees|households|views|downloads|copies|jobs|homes|records|rows"
)
_TENS = {"10": "tens", "100": "hundreds", "1000": "thousands", "1,000": "thousands"}


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules. They apply before units, which read "m" as meters, and before decades, which read "10s"."""
    symbols = ("h", "min", "s")

    def parts(match: re.Match[str]) -> str:
        figures = match.groupdict()
        amounts = [(int(figures[symbol]), symbol) for symbol in symbols if figures.get(symbol)]
        return " ".join(amount(value, symbol) for value, symbol in amounts if value or len(amounts) == 1)

    def amount(value: int, symbol: str) -> str:
        one, many = lexicon.units[symbol]
        return one if value == 1 else f"{counted(str(value), one, lexicon)} {many}"

    hours = r"(?P<h>\d{1,3}) ?h ?(?P<min>\d{1,2}) ?m(?:in)?(?: ?(?P<s>\d{1,2}) ?s)?"
    rules = [
        Rule(DIGITS, re.compile(rf"{STARTS}{hours}{ENDS}"), parts),
        Rule(DIGITS, re.compile(rf"{STARTS}(?P<min>\d{{1,3}})m ?(?P<s>\d{{1,2}})s{ENDS}"), parts),
    ]
    if lexicon.code == "en":
        rules.append(Rule(DIGITS, re.compile(rf"{STARTS}(?P<min>\d{{1,3}})m(?= ago\b)"), parts))
        rules += _english(lexicon)
    return tuple(rules)


def _english(lexicon: Lexicon) -> tuple[Rule, ...]:
    def million(match: re.Match[str]) -> str:
        return f"{say(match[1], lexicon)} million"

    def tens(match: re.Match[str]) -> str:
        return _TENS[match[1]]

    return (
        Rule(DIGITS, re.compile(rf"{STARTS}({number_pattern(lexicon)})m(?= (?:{_COUNTED})\b)"), million),
        Rule(
            DIGITS, re.compile(rf"{STARTS}(10|100|1,?000)s(?= of (?:thousands|millions|billions|{_COUNTED})\b)"), tens
        ),
    )
