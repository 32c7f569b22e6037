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
from assistant.text.chunk_buffer import NEXT_WORD, UNSPACED, BoundaryDecision, ChunkBuffer, Judgement
from assistant.text.minus_signs import between_amounts, spaced_minus

_PHRASE_CHARS = 60  # minimum length of a later chunk in an unspaced script that ends at a space
_LATE_WORDS = 7
_NEW_CLAUSE_WORDS = 6
_WEEKDAY = re.compile(r"\b(?:(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat)\.?|(?:Sun|Mo|Di|Mi|Do|Fr|Sa|So)\.)\Z")
_PLAIN_WORD = re.compile(r"(?:\A|\s)([^\W\d_](?:[^\W\d_]|['’-])+)[.?!]?\Z")
_PLAIN_WORD_CHARS = 40
_NAMES_NUMBER = re.compile(
    r"(?:number|nummer|code|código|\bid|\bpin|iban|phone|telefon|téléphone|teléfono|n[uú]m[eé]ro(?: de \w{1,12})?)"
    r"(?: is| ist| est| es)? ?\Z",
    re.IGNORECASE,
)
_OPERAND_END = re.compile(r"(?:\d|(?<![^\W\d_])[xyzn]|[²³⁰-⁹])\Z")


def judge_space(unspoken: ChunkBuffer, at: int) -> Judgement:
    """Decides about a space before a conjunction, or after a phrase in a script without spaces between words."""
    passed = BoundaryDecision.PASS, at + 1
    if at > unspoken.start and re.match(f"[{UNSPACED}]", unspoken.text[at - 1]):
        words = unspoken.word_count(at)
        enough = words >= unspoken.min_words if unspoken.first else at - unspoken.start >= _PHRASE_CHARS
        return (BoundaryDecision.CLAUSE, at + 1) if enough else passed
    if not unspoken.first:
        return passed
    found = NEXT_WORD.match(unspoken.text, at + 1)
    if found is None:
        return _judge_dash(unspoken, at)
    word = found.group()
    begun = found.end() == len(unspoken.text) and not unspoken.final
    if word not in CUT_BEFORE | CUT_BEFORE_LATE | CUT_BEFORE_WITH_STARTER:
        could = begun and any(known.startswith(word) for known in CUT_BEFORE | CUT_BEFORE_LATE)
        return (BoundaryDecision.WAIT, at) if could else passed
    return _judge_conjunction(unspoken, at, word, found.end(), begun=begun)


def _judge_conjunction(unspoken: ChunkBuffer, at: int, word: str, word_end: int, *, begun: bool) -> Judgement:
    passed = BoundaryDecision.PASS, at + 1
    words = unspoken.words(at)
    needed = unspoken.min_words + 1
    if word in CUT_BEFORE_LATE:
        needed = max(needed, _LATE_WORDS)
    elif word in CUT_BEFORE_WITH_STARTER:
        needed = max(needed, _NEW_CLAUSE_WORDS)
    if len(words) < needed or words[-1].lower() in BOUND_TO_NEXT:
        return passed
    if begun:
        return BoundaryDecision.WAIT, at
    if word in CUT_BEFORE_WITH_STARTER:
        next_word = NEXT_WORD.match(unspoken.text, word_end + 1)
        if (next_word is None or next_word.end() == len(unspoken.text)) and not unspoken.final:
            complete = next_word is not None and next_word.group().lower() in CLAUSE_STARTERS
            room = len(unspoken.text) - word_end < 12
            return (BoundaryDecision.WAIT, at) if room and (next_word is None or complete) else passed
        if next_word is None or next_word.group().lower() not in CLAUSE_STARTERS:
            return passed
    return BoundaryDecision.CLAUSE, at + 1


def _judge_dash(unspoken: ChunkBuffer, at: int) -> Judgement:
    """Decides about a spaced hyphen. It is a dash, except after an operand and as the sign of an amount."""
    text, passed = unspoken.text, (BoundaryDecision.PASS, at + 1)
    ahead = text[at + 1 : at + 4]
    if ahead[:1] not in ("", "-") or unspoken.word_count(at) < unspoken.min_words:
        return passed
    if len(ahead) < 3 and "- ".startswith(ahead[:2]) and not unspoken.final:
        return BoundaryDecision.WAIT, at
    if not ahead.startswith("- ") or _OPERAND_END.search(text, max(unspoken.start, at - 2), at):
        return passed
    minus = _is_minus(unspoken, at + 1)
    if minus is None:
        return BoundaryDecision.WAIT, at
    return passed if minus else (BoundaryDecision.CLAUSE, at + 2)


def _is_minus(unspoken: ChunkBuffer, at: int) -> bool | None:
    """Returns whether the dash at `at` is a minus sign; None if more text is needed."""
    before = unspoken.text[max(unspoken.start, at - 40) : at]
    following = unspoken.text[at + 1 : at + 8].lstrip(" ")[:1]
    if between_amounts(before) and (following.isdigit() or following in ("$", "€", "£", "¥", "₹")):
        return True
    return spaced_minus(before, unspoken.text, at, final=unspoken.final)


def judge_clause(unspoken: ChunkBuffer, at: int) -> Judgement:
    """Decides about a comma, colon, semicolon or dash."""
    text, passed = unspoken.text, (BoundaryDecision.PASS, at + 1)
    char = text[at]
    if unspoken.word_count(at) < unspoken.min_words:
        return passed
    if at + 1 == len(text):
        at_once = char in "，、；：" or unspoken.final or (char == "," and _behind_a_plain_word(unspoken, at))
        return (BoundaryDecision.CLAUSE, at + 1) if at_once else (BoundaryDecision.WAIT, at)
    if char in "—–":
        return _judge_long_dash(unspoken, at)
    if not text[at + 1].isspace() and char not in "，、；：،؛":
        return passed
    if char == ":" and _NAMES_NUMBER.search(text, max(unspoken.start, at - 32), at):
        return _judge_named_number(unspoken, at)
    rest = text[at + 1 : at + 8].lstrip()
    return passed if char in ",:·" and _joins(text, at, rest) else (BoundaryDecision.CLAUSE, at + 1)


def _judge_long_dash(unspoken: ChunkBuffer, at: int) -> Judgement:
    text, following = unspoken.text, unspoken.text[at + 1]
    joins = not following.isspace() and (text[at] == "–" or (text[at - 1].isdigit() and following.isdigit()))
    minus = True if joins else _is_minus(unspoken, at)
    if minus is None:
        return BoundaryDecision.WAIT, at
    return (BoundaryDecision.PASS if minus else BoundaryDecision.CLAUSE), at + 1


def _judge_named_number(unspoken: ChunkBuffer, at: int) -> Judgement:
    """Decides about the colon in "Your order number is: 12345". It is no boundary if the number follows."""
    rest = unspoken.text[at + 1 : at + 8].lstrip()
    if not rest and not unspoken.final:
        return BoundaryDecision.WAIT, at
    return (BoundaryDecision.PASS if rest[:1].isdigit() or rest[:1] in ("+", "(") else BoundaryDecision.CLAUSE), at + 1


def _behind_a_plain_word(unspoken: ChunkBuffer, at: int) -> bool:
    """Returns whether a plain word precedes: not a name, number, date or variable.

    After a plain word, no following text can make the comma part of a larger expression.
    """
    found = _PLAIN_WORD.search(unspoken.text[max(unspoken.start, at - _PLAIN_WORD_CHARS) : at])
    return found is not None and found.group(1).islower()


def _joins(text: str, at: int, rest: str) -> bool:
    """Returns whether a mark belongs to a name, number, date ("Sat., Dec. 5") or sum ("10 : 2 = 5")."""
    before = text[at - 1] if text[at] == "," else text[at - 2] * text.startswith(" ", at - 1)
    if before.isdigit() and rest[:1].isdigit():
        return True
    return text[at] == "," and (rest.startswith(NAME_SUFFIXES) or _WEEKDAY.search(text, max(0, at - 7), at) is not None)
