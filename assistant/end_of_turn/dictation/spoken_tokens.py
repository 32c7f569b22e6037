"""Splits a transcript into digits, letters and words, for the rules about dictation. Pure.

Recognizers write dictated values in many forms: "five five five", "555-12", "1,0001 90210", "A-B-C", "ABC", "S as in
Sam". The tokens are the same for all of them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.end_of_turn.dictation.dictation_words import FILLERS, JOINING_WORDS, NATO, DictationWords

TokenKind = Literal["digits", "letter", "word", "sign"]

_RAW = re.compile(r"\d+(?:st|nd|rd|th)\b|\d+|[^\W\d_]+(?:['’][^\W\d_]+)*|[+@]", re.IGNORECASE)
_GERMAN_PAIR = re.compile(
    r"(ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun)und(zwanzig|dreißig|dreissig|vierzig|fünfzig|sechzig|siebzig"
    r"|achtzig|neunzig)"
)
_ACRONYMS = frozenset("OK TV PM AM US USA UK EU PC CD DVD ID PIN ZIP FM DJ AI GPS FAQ I A".split())
_LETTER_NAMES: Mapping[str, str] = {
    "are": "r",
    "you": "u",
    "see": "c",
    "sea": "c",
    "be": "b",
    "bee": "b",
    "tea": "t",
    "why": "y",
    "oh": "o",
    "eye": "i",
    "jay": "j",
    "kay": "k",
    "el": "l",
    "em": "m",
    "en": "n",
    "ex": "x",
    "zee": "z",
    "zed": "z",
    "ef": "f",
    "as": "s",
    "and": "n",
    "pea": "p",
    "queue": "q",
    "cue": "q",
    "vee": "v",
    "dee": "d",
    "gee": "g",
    "ess": "s",
    "aitch": "h",
    "ay": "a",
}
"""Words that recognizers write for the names of letters. They count as letters only after a letter."""

_FOR_EXAMPLE = frozenset({"for", "like", "wie", "comme", "de", "como"})
_LONGEST_SPELT = 16


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a transcript.

    Attributes:
        kind: digits, one letter that is spelt, a word in lower case, or a sign ("+", "@").
        text: Its text: "25" for "twenty five", "j", "street".
        capital: Whether a word begins with a capital letter; whether a letter was written in a word of capitals.
    """

    kind: TokenKind
    text: str
    capital: bool = False


def tokens_of(text: str, words: DictationWords) -> tuple[Token, ...]:
    """Returns the tokens of a transcript, without fillers.

    Args:
        text: The transcript, with or without punctuation.
        words: The number words of the language.
    """
    raw = [raw for raw in _RAW.findall(text) if raw.lower() not in FILLERS]
    tokens: list[Token] = []
    position = 0
    while position < len(raw):
        position = _read(raw, position, tokens, words)
    return tuple(_without_articles(tokens))


def _read(raw: Sequence[str], position: int, tokens: list[Token], words: DictationWords) -> int:
    """Adds the token at `position` to `tokens`. Returns where the next one begins."""
    word = raw[position].lower().replace("’", "'")
    following = raw[position + 1].lower() if position + 1 < len(raw) else ""
    if word.isdecimal():
        tokens.append(Token("digits", word))
    elif word in words.repeats and (again := _repeated(following, words)) is not None:
        tokens += [again] * (words.repeats[word] if again.kind == "letter" else 1)
        if again.kind == "digits":
            tokens[-1] = Token("digits", again.text * words.repeats[word])
        return position + 2
    elif (number := _number(raw, position, words)) is not None:
        digits, end = number
        tokens.append(Token("digits", digits))
        return end
    elif word in words.hundreds and tokens and tokens[-1].kind == "digits" and len(tokens[-1].text) <= len("12"):
        tokens[-1] = Token("digits", tokens[-1].text + "0" * words.hundreds[word])
    elif word in words.zero_if_near and (_is_digits(tokens, -1) or following in words.digits or following.isdecimal()):
        tokens.append(Token("digits", "0"))
    elif word in words.like_digits and _is_digits(tokens, -1) and (following in words.digits or following.isdecimal()):
        tokens.append(Token("digits", words.like_digits[word]))
    elif word in ("+", "@"):
        tokens.append(Token("sign", word))
    else:
        return _read_letters(raw, position, tokens, words)
    return position + 1


def _read_letters(raw: Sequence[str], position: int, tokens: list[Token], words: DictationWords) -> int:
    """Adds a spelt letter, several of them, or a word."""
    word, lower = raw[position], raw[position].lower().replace("’", "'")
    after_letter = bool(tokens) and tokens[-1].kind == "letter"
    near = [raw[place].lower() for place in (position - 1, position + 1) if 0 <= place < len(raw)]
    if len(word) == 1:
        tokens.append(Token("letter", lower))
        return _after_example(raw, position + 1, lower, words)
    if lower in NATO and (after_letter or any(other in NATO for other in near)):
        tokens.append(Token("letter", NATO[lower]))
    elif word.isupper() and word not in _ACRONYMS and len(word) <= _LONGEST_SPELT and word.isalpha():
        tokens += [Token("letter", letter, capital=True) for letter in lower]
    elif lower in _LETTER_NAMES and after_letter and (len(lower) > 2 or len(raw[min(position + 1, len(raw) - 1)]) == 1):
        tokens.append(Token("letter", _LETTER_NAMES[lower]))
    else:
        tokens.append(Token("word", lower, word[0].isupper()))
    return position + 1


def _after_example(raw: Sequence[str], position: int, letter: str, words: DictationWords) -> int:
    """Returns where the text goes on after the example word of a letter: "as in Sam", "for sugar"."""
    following = [word.lower() for word in raw[position : position + 3]]
    for example in words.as_in:
        count = len(example)
        if tuple(following[:count]) == example and len(following) > count:
            return position + count + 1
    if len(following) > 1 and following[0] in _FOR_EXAMPLE and following[1][0] == letter and len(following[1]) > 1:
        return position + 2
    return position


def _repeated(following: str, words: DictationWords) -> Token | None:
    if len(following) == 1 and following.isalpha() and following not in words.zero_if_near:
        return Token("letter", following)
    if following in words.zero_if_near:
        return Token("digits", "0")
    digits = following if len(following) == 1 and following.isdecimal() else words.digits.get(following)
    return None if digits is None else Token("digits", digits)


def _number(raw: Sequence[str], position: int, words: DictationWords) -> tuple[str, int] | None:
    """Returns the digits of the number words that begin at `position`, and their end; None if there are none."""
    word = raw[position].lower()
    if (pair := _GERMAN_PAIR.fullmatch(word)) and "zwanzig" in words.tens:
        return words.tens[pair[2].replace("dreissig", "dreißig")] + words.digits[pair[1]], position + 1
    if word in words.digits:
        return words.digits[word], position + 1
    if word in words.teens:
        return words.teens[word], position + 1
    if word not in words.tens:
        return None
    tens, position = words.tens[word], position + 1
    if position + 1 < len(raw) and raw[position].lower() in JOINING_WORDS and raw[position + 1].lower() in words.digits:
        position += 1
    unit = words.digits.get(raw[position].lower()) if position < len(raw) else None
    return (f"{tens}{unit}", position + 1) if unit not in (None, "0") else (f"{tens}0", position)


def _is_digits(tokens: Sequence[Token], position: int) -> bool:
    return bool(tokens) and tokens[position].kind == "digits"


def _without_articles(tokens: Sequence[Token]) -> list[Token]:
    """Turns "a" and "I" into words, unless they stand beside another letter or a digit."""
    rest = []
    for index, token in enumerate(tokens):
        beside = [tokens[place].kind for place in (index - 1, index + 1) if 0 <= place < len(tokens)]
        if token.kind == "letter" and token.text in "aiyoà" and not {"letter", "digits"} & set(beside):
            rest.append(Token("word", token.text))
        else:
            rest.append(token)
    return rest
