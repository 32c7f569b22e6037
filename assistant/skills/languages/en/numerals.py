"""Reads English numbers as people say them and as recognizers write them."""

from fractions import Fraction

from assistant.skills.languages.numerals import MAX_DIGITS, word_or_empty, written_number

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_ROUND = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {word: value for value, word in enumerate(_SMALL.split())}
_TENS = {word: 10 * value for value, word in enumerate(_ROUND.split(), start=2)}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_AFTER_POINT = {word: str(value) for word, value in _UNITS.items() if value < 10} | {"oh": "0", "o": "0"}
_PARTS = {"half": Fraction(1, 2), "quarter": Fraction(1, 4)}


class EnglishNumerals:
    """Reads English numbers."""

    def sign(self, words: tuple[str, ...], position: int) -> bool:
        """Returns whether the word at `position` makes the following number negative."""
        return words[position] in ("minus", "negative")

    def number(self, words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
        """Returns the number that begins at `position` and its end; (None, at) if there is none."""
        return _number(words, position)


NUMERALS = EnglishNumerals()


def _number(words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
    """Returns the number that begins at `position` and its end; (None, at) if there is none."""
    value, end = _cardinal(words, position)
    decimals, decimals_end = _decimals(words, end)
    if decimals is not None:
        value, end = (value or Fraction(0)) + decimals, decimals_end
    if value is None:
        return None, position
    if words[end : end + 2] in (("and", "a"), ("and", "one")) and word_or_empty(words, end + 2) in _PARTS:
        value, end = value + _PARTS[words[end + 2]], end + 3
    scale = _SCALES.get(word_or_empty(words, end))
    while scale is not None:  # "three point five million"
        value, end = value * scale, end + 1
        scale = _SCALES.get(word_or_empty(words, end))
    return value, end


def _cardinal(words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
    """Reads thousands, millions, ... in descending order, each with a factor below one thousand."""
    total, end, previous = Fraction(0), position, max(_SCALES.values()) * 1000
    while True:
        start = end + (end > position and word_or_empty(words, end) == "and" and previous > 1)
        group, group_end = _below_thousand(words, start)
        if group is None or (start > end and group >= 100):
            break
        scale = _SCALES.get(word_or_empty(words, group_end), 1)
        if scale >= previous or (scale > 1 and start > end):
            break
        total, end, previous = total + group * scale, group_end + (scale > 1), scale
        if scale == 1:
            break
    return (total, end) if end > position else (None, position)


def _below_thousand(words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
    """Reads digits, "[a|five] hundred [[and] six]", or "twenty five"; "a" counts only before a magnitude."""
    word = word_or_empty(words, position)
    digits = written_number(word, ",", ".")
    if digits is not None:
        return (
            (digits * 100, position + 2) if word_or_empty(words, position + 1) == "hundred" else (digits, position + 1)
        )
    if word == "a" and (
        word_or_empty(words, position + 1) == "hundred" or word_or_empty(words, position + 1) in _SCALES
    ):
        value, end = 1, position + 1
    else:
        small, end = _below_hundred(words, position)
        if small is None:
            return None, position
        value = small
    if word_or_empty(words, end) == "hundred" and 0 < value < 100:
        value, end = value * 100, end + 1
        start = end + (word_or_empty(words, end) == "and")
        rest, rest_end = _below_hundred(words, start)
        if rest and word_or_empty(words, rest_end) != "hundred":
            value, end = value + rest, rest_end
    return Fraction(value), end


def _below_hundred(words: tuple[str, ...], position: int) -> tuple[int | None, int]:
    word = word_or_empty(words, position)
    if word in _UNITS:
        return _UNITS[word], position + 1
    if word not in _TENS:
        return None, position
    unit = _UNITS.get(word_or_empty(words, position + 1), 0)
    return (_TENS[word] + unit, position + 2) if 0 < unit < 10 else (_TENS[word], position + 1)


def _decimals(words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
    """Reads the decimals after "point": single digits ("one four"), or a number below a hundred ("twenty five")."""
    if word_or_empty(words, position) not in ("point", "dot"):
        return None, position
    text, end = "", position + 1
    while len(text) < MAX_DIGITS:
        digit = _AFTER_POINT.get(word_or_empty(words, end))
        if digit is None and word_or_empty(words, end).isdecimal():
            digit = word_or_empty(words, end)
        if digit is None:
            break
        text, end = text + digit, end + 1
    if not text:
        value, end = _below_hundred(words, position + 1)
        text = "" if value is None else str(value)
    return (Fraction("0." + text), end) if 0 < len(text) <= MAX_DIGITS else (None, position)
