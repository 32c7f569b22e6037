"""Decides whether the first chunk may end at a clause: at a comma, at a dash, or before a conjunction."""

import re

from assistant.text.abbreviations import (
    BOUND_TO_NEXT,
    CLAUSE_STARTERS,
    CUT_BEFORE,
    CUT_BEFORE_LATE,
    CUT_BEFORE_WITH_STARTER,
    NAME_SUFFIXES,
)
from assistant.text.chunk_buffer import NEXT_WORD, UNSPACED, Boundary, BoundaryDecision, ChunkBuffer
from assistant.text.minus_signs import between_amounts, spaced_minus

_MIN_PHRASE_CHARS = 60  # minimum length of a later chunk in an unspaced script that ends at a space
_MIN_WORDS_LATE = 7
_MIN_WORDS_NEW_CLAUSE = 6
_WHOLE_WEEKDAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\Z|\b(?:mon|diens|donners|frei|sams|sonn)tag\Z|\bmittwoch\Z"
    r"|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\Z",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"\b(?:(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat)\.?|(?:Sun|Mo|Di|Mi|Do|Fr|Sa|So)\.)\Z")
_PLAIN_WORD = re.compile(r"(?:\A|\s)([^\W\d_](?:[^\W\d_]|['’-])+)[.?!]?\Z")
_PLAIN_WORD_CHARS = 40
_NAMES_NUMBER = re.compile(
    r"(?:number|nummer|code|código|contraseña|clave|passwor[dt]|mot de passe|kennwort|reference|referen[zc]i?a?|"
    r"référence|"
    r"digits|ziffern|chiffres|dígitos|score|result|ergebnis|stand|résultat|resultado|marcador|"
    r"\b(?:id|pin|otp|tan|cvv)|iban|phone|telefon|téléphone|teléfono|n[uú]m[eé]ro(?: de \w{1,12})?)"
    r"(?: is| are| ist| sind| lautet| est| sont| es| son)? ?\Z",
    re.IGNORECASE,
)
_OPERAND_END = re.compile(r"(?:\d|(?<![^\W\d_])[xyzn]|[²³⁰-⁹])\Z")


def decide_space(buffer: ChunkBuffer, position: int) -> Boundary:
    """Decides about a space before a conjunction, or after a phrase in a script without spaces between words."""
    passed = BoundaryDecision.PASS, position + 1
    if position > buffer.start and re.match(f"[{UNSPACED}]", buffer.text[position - 1]):
        words = buffer.word_count(position)
        enough = words >= buffer.min_words if buffer.first else position - buffer.start >= _MIN_PHRASE_CHARS
        return (BoundaryDecision.CLAUSE, position + 1) if enough else passed
    if not buffer.first:
        return passed
    match = NEXT_WORD.match(buffer.text, position + 1)
    if match is None:
        return _decide_dash(buffer, position)
    word = match.group()
    incomplete = match.end() == len(buffer.text) and not buffer.final
    if word not in CUT_BEFORE | CUT_BEFORE_LATE | CUT_BEFORE_WITH_STARTER:
        could = incomplete and any(known.startswith(word) for known in CUT_BEFORE | CUT_BEFORE_LATE)
        return (BoundaryDecision.WAIT, position) if could else passed
    return _decide_conjunction(buffer, position, word, match.end(), incomplete=incomplete)


def _decide_conjunction(buffer: ChunkBuffer, position: int, word: str, word_end: int, *, incomplete: bool) -> Boundary:
    passed = BoundaryDecision.PASS, position + 1
    words = buffer.words(position)
    needed = buffer.min_words + 1
    if word in CUT_BEFORE_LATE:
        needed = max(needed, _MIN_WORDS_LATE)
    elif word in CUT_BEFORE_WITH_STARTER:
        needed = max(needed, _MIN_WORDS_NEW_CLAUSE)
    if len(words) < needed or words[-1].lower() in BOUND_TO_NEXT:
        return passed
    if incomplete:
        return BoundaryDecision.WAIT, position
    if word in CUT_BEFORE_WITH_STARTER:
        next_word = NEXT_WORD.match(buffer.text, word_end + 1)
        if (next_word is None or next_word.end() == len(buffer.text)) and not buffer.final:
            complete = next_word is not None and next_word.group().lower() in CLAUSE_STARTERS
            room = len(buffer.text) - word_end < 12
            return (BoundaryDecision.WAIT, position) if room and (next_word is None or complete) else passed
        if next_word is None or next_word.group().lower() not in CLAUSE_STARTERS:
            return passed
    return BoundaryDecision.CLAUSE, position + 1


def _decide_dash(buffer: ChunkBuffer, position: int) -> Boundary:
    """Decides about a spaced hyphen. It is a dash, except after an operand and as the sign of an amount."""
    text, passed = buffer.text, (BoundaryDecision.PASS, position + 1)
    ahead = text[position + 1 : position + 4]
    if ahead[:1] not in ("", "-") or buffer.word_count(position) < buffer.min_words:
        return passed
    if len(ahead) < 3 and "- ".startswith(ahead[:2]) and not buffer.final:
        return BoundaryDecision.WAIT, position
    if not ahead.startswith("- ") or _OPERAND_END.search(text, max(buffer.start, position - 2), position):
        return passed
    minus = _is_minus(buffer, position + 1)
    if minus is None:
        return BoundaryDecision.WAIT, position
    return passed if minus else (BoundaryDecision.CLAUSE, position + 2)


def _is_minus(buffer: ChunkBuffer, position: int) -> bool | None:
    """Returns whether the dash at `position` is a minus sign; None if more text is needed."""
    before = buffer.text[max(buffer.start, position - 40) : position]
    following = buffer.text[position + 1 : position + 8].lstrip(" ")[:1]
    if between_amounts(before) and (following.isdigit() or following in ("$", "€", "£", "¥", "₹")):
        return True
    return spaced_minus(before, buffer.text, position, final=buffer.final)


def decide_clause_mark(buffer: ChunkBuffer, position: int) -> Boundary:
    """Decides about a comma, colon, semicolon or dash."""
    text, passed = buffer.text, (BoundaryDecision.PASS, position + 1)
    char = text[position]
    if buffer.word_count(position) < buffer.min_words:
        return passed
    if position + 1 == len(text):
        at_once = char in "，、；：" or buffer.final or (char == "," and _follows_plain_word(buffer, position))
        return (BoundaryDecision.CLAUSE, position + 1) if at_once else (BoundaryDecision.WAIT, position)
    if char in "—–":
        return _decide_long_dash(buffer, position)
    if not text[position + 1].isspace() and char not in "，、；：،؛":
        return passed
    if char == ":" and _NAMES_NUMBER.search(text, max(buffer.start, position - 32), position):
        return _decide_named_number(buffer, position)
    rest = text[position + 1 : position + 8].lstrip()
    return passed if char in ",:·" and _joins(text, position, rest) else (BoundaryDecision.CLAUSE, position + 1)


def _decide_long_dash(buffer: ChunkBuffer, position: int) -> Boundary:
    text, following = buffer.text, buffer.text[position + 1]
    joins = not following.isspace() and (
        text[position] == "–" or (text[position - 1].isdigit() and following.isdigit())
    )
    minus = True if joins else _is_minus(buffer, position)
    if minus is None:
        return BoundaryDecision.WAIT, position
    return (BoundaryDecision.PASS if minus else BoundaryDecision.CLAUSE), position + 1


def _decide_named_number(buffer: ChunkBuffer, position: int) -> Boundary:
    """Decides about the colon in "Your order number is: 12345". It is no boundary if the number follows."""
    rest = buffer.text[position + 1 : position + 8].lstrip()
    if not rest and not buffer.final:
        return BoundaryDecision.WAIT, position
    return (
        BoundaryDecision.PASS if rest[:1].isdigit() or rest[:1] in ("+", "(") else BoundaryDecision.CLAUSE
    ), position + 1


def _follows_plain_word(buffer: ChunkBuffer, position: int) -> bool:
    """Returns whether a plain word precedes: not a name, number, date or variable.

    After a plain word, no following text can make the comma part of a larger expression.
    """
    match = _PLAIN_WORD.search(buffer.text[max(buffer.start, position - _PLAIN_WORD_CHARS) : position])
    return match is not None and match.group(1).islower()


def _joins(text: str, position: int, rest: str) -> bool:
    """Returns whether a mark belongs to a name, number, date ("Sat., Dec. 5") or sum ("10 : 2 = 5")."""
    before = text[position - 1] if text[position] == "," else text[position - 2] * text.startswith(" ", position - 1)
    if before.isdigit() and rest[:1].isdigit():
        return True
    if text[position] == "," and rest[:1].isdigit() and _WHOLE_WEEKDAY.search(text, max(0, position - 12), position):
        return True  # "Tuesday, 3/4"
    return text[position] == "," and (
        rest.startswith(NAME_SUFFIXES) or _WEEKDAY.search(text, max(0, position - 7), position) is not None
    )
