"""Calculates typed expressions with brackets and powers: "(3+4)*2", "2^10", "√16". Exact with fractions. Pure."""

import re
from fractions import Fraction

from assistant.skills.answers import Reply
from assistant.skills.arithmetic.replies import UnanswerableError, divide, power, square_root
from assistant.skills.languages.language import Language

_MAX_CHARS = 120
_MAX_DEPTH = 20
_TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+|\*\*|sqrt|[-+*/^()%√])", re.ASCII)
_NEEDED = re.compile(r"[()^]|\*\*|sqrt")
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "x": "*", ":": "/", "²": "^2", "³": "^3"})
_WORDS = re.compile(r"[^\W\d_]+|[?!=\"“”„«»']+|\.$|,$")


def expression_in(text: str, frame: frozenset[str], thousands: str, decimal: str) -> str | None:
    """Returns the expression in `text` with Python's signs; None if it is none, or if templates understand it.

    Args:
        text: As typed or recognized.
        frame: Words that may stand around an expression ("what", "is").
        thousands: Marks between groups of three digits.
        decimal: Mark before the decimals.
    """
    if len(text) > _MAX_CHARS:
        return None
    lower = text.lower().strip()
    kept = _WORDS.sub(
        lambda word: word[0] if word[0] in {"x", "sqrt"} else " " if _is_frame(word[0], frame) else "?", lower
    )
    for mark in thousands:
        kept = re.sub(rf"(?<=\d){re.escape(mark)}(?=\d{{3}}(?!\d))", "", kept)
    kept = kept.replace(decimal, ".").translate(_SIGNS).strip()
    if "?" in kept or not _NEEDED.search(kept) or not re.search(r"\d", kept):
        return None
    return kept


def _is_frame(word: str, frame: frozenset[str]) -> bool:
    return word in frame or not any(map(str.isalpha, word))


def evaluate(expression: str) -> Fraction | None:
    """Returns the value; None if it is not well-formed. Raises UnanswerableError or OverflowError without a value."""
    tokens: list[str] = []
    position = 0
    while position < len(expression.rstrip()):
        token = _TOKEN.match(expression, position)
        if token is None:
            return None
        tokens.append(token[1])
        position = token.end()
    try:
        return _Parser(tokens).whole()
    except (IndexError, SyntaxError):
        return None


class _Parser:
    """Reads sums of products of powers."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [*tokens, ""]
        self._position = 0
        self._depth = 0

    def whole(self) -> Fraction:
        value = self._sum()
        if self._tokens[self._position]:
            raise SyntaxError
        return value

    def _take(self, *tokens: str) -> str:
        token = self._tokens[self._position]
        if token and token in tokens:
            self._position += 1
            return token
        return ""

    def _sum(self) -> Fraction:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SyntaxError
        value = self._product()
        while sign := self._take("+", "-"):
            start = self._position
            term = self._product()
            if self._position == start + 2 and self._tokens[start + 1] == "%":
                term *= value  # "80 + 20%" adds 20 percent of 80
            value = value + term if sign == "+" else value - term
        self._depth -= 1
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while True:
            if self._take("*"):
                value *= self._signed()
            elif self._take("/"):
                value = divide(value, self._signed())
            elif self._tokens[self._position] in {"(", "√", "sqrt"}:  # "2(3+4)"
                value *= self._signed()
            else:
                return value

    def _signed(self) -> Fraction:
        if sign := self._take("-", "+"):
            value = self._signed()
            return -value if sign == "-" else value
        return self._power()

    def _power(self) -> Fraction:
        base = self._percent()
        return power(base, self._signed()) if self._take("^", "**") else base

    def _percent(self) -> Fraction:
        value = self._atom()
        return value / 100 if self._take("%") else value

    def _atom(self) -> Fraction:
        if self._take("√", "sqrt"):
            return square_root(self._atom())
        if self._take("("):
            value = self._sum()
            if not self._take(")"):
                raise SyntaxError
            return value
        token = self._tokens[self._position]
        if not token or not (token[0].isdigit() or token[0] == "."):
            raise SyntaxError
        self._position += 1
        return Fraction(token)


def calculate_expression(expression: str, language: Language) -> Reply | None:
    """Returns the reply to an expression; None if it is not well-formed."""
    try:
        value = evaluate(expression)
        if value is None:
            return None
        text = language.say("result", number=language.number(value))
    except UnanswerableError as reason:
        text = language.say(str(reason))
    except OverflowError:
        text = language.say("too_big")
    return lambda _context: text
