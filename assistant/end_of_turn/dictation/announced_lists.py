"""Follows lists that the speaker announces: "two questions", "first … second …". Pure."""

import re

from assistant.end_of_turn.completeness import is_request, words_of
from assistant.end_of_turn.dictation.dictated_text import DictatedText
from assistant.end_of_turn.dictation.phone_numbers import ValueState

_THINGS = (
    r"(?:things?|items?|questions?|points?|reasons?|options?|requests?|tasks?|ideas?|names?|steps?|problems?|orders?"
    r"|parts?)"
)
_COUNTED = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6}
_COUNTED_THINGS = re.compile(
    rf"\b(?:i|we|i've|i'd|there are|here are)\b[^.?!]*?\b({'|'.join(_COUNTED)}) (?:\w+ )?{_THINGS}\b"
)
_FIRST = re.compile(r"(?:\w+,? )?(?:first,|firstly|first of all)\b|(?:first,)")
_PLACES = (
    ("first", "firstly", "number one"),
    ("second", "secondly", "number two"),
    ("third", "thirdly", "number three"),
    ("fourth", "fourthly", "number four"),
    ("fifth", "fifthly", "number five"),
    ("sixth", "number six"),
)
_LAST = re.compile(r"\b(?:finally|lastly|last)\b")
_NEXT = re.compile(r"\b(?:second|secondly|then|next|finally|lastly|also|after that)\b")
_MIN_ITEM_WORDS = 2


def announces_list(plain: str, *, asked: bool) -> bool:
    """Returns whether the speaker announces several things, or begins with the first of them."""
    return _announced_count(plain) is not None or (not asked and bool(_FIRST.match(plain)))


def _announced_count(plain: str) -> re.Match[str] | None:
    """Finds the number of things that the speaker announces: "I have two questions"."""
    return None if is_request(words_of(plain)) else _COUNTED_THINGS.search(plain)


def list_state(speech: DictatedText) -> ValueState:
    plain, counted = speech.plain, _announced_count(speech.plain)
    count = _COUNTED[counted[1]] if counted else speech.question.count
    body = plain[counted.end() :] if counted else plain
    if re.search(r"\b(?:and|or|und|et|y|first|second|third|then|next|also|finally)$", body) or speech.goes_on:
        return "incomplete"
    place, rest = _last_place(body)
    if place and len(rest.split()) < _MIN_ITEM_WORDS - 1:
        return "incomplete"
    if place:
        done = place >= count if count else bool(_NEXT.search(body))
        return ("complete" if count else "unknown") if done or _LAST.search(body) else "incomplete"
    items = [item for item in re.split(r",(?: and)?|\band\b|\bund\b|\bet\b|\by\b|[.;]", body) if words_of(item)]
    if count:
        return "complete" if len(items) >= count else "incomplete"
    return "complete" if re.search(r",.*\b(?:and|und|et|y)\b \S", body) else "unknown"


def _last_place(body: str) -> tuple[int, str]:
    """Returns the highest place that was named, and the text after it."""
    last = (0, "")
    for place, names in enumerate(_PLACES, 1):
        for name in names:
            position = body.rfind(name)
            if position >= 0:
                last = (place, body[position + len(name) :].strip(" ,.:"))
    return last
