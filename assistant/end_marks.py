"""Whether a mark ends a sentence: full stops also stand behind abbreviations, numbers and initials."""

import re

from assistant.abbreviations import BEFORE_NUMBER, MAY_END, MONTHS, NEVER_ENDS, STARTERS
from assistant.unspoken import CLOSERS, NEXT_WORD, UNSPACED_LETTER, Judgement, Place, Unspoken, Verdict

END_AT_ONCE = "!?。！？｡।॥؟۔\u037e።։"  # U+037E is the Greek question mark, which looks like ";"
ENDS = END_AT_ONCE + ".…"
_FULL_WIDTH_ENDS = frozenset("。！？｡।॥؟۔።։")
_TRAILING = frozenset(CLOSERS + "\"'’]")
_LIST_NUMBER = re.compile(r"[\s(]*(?:\d{1,3}|[A-Za-z])")


def judge_end(unspoken: Unspoken, place: Place, at: int) -> Judgement:
    """A mark that may end a sentence, with the marks and closing quotes behind it."""
    text, size = unspoken.text, len(unspoken.text)
    end = at + 1
    while end < size and text[end] in ENDS:
        end += 1
    marks_end = end
    while end < size and _closes(unspoken, place, end):
        end += 1
    inside = place.copy()
    for position in range(at, end):
        inside.track(unspoken, position)
    known = end < size or unspoken.final
    at_once = text[at] in END_AT_ONCE or text[at] == ";"  # a Greek one
    if inside.encloses(at):
        return (Verdict.PASS, end) if known else (Verdict.WAIT, at)
    if not known:
        return (Verdict.END, end) if at_once and end == marks_end else (Verdict.WAIT, at)
    if end < size and not text[end].isspace():
        wide = text[at] in _FULL_WIDTH_ENDS or UNSPACED_LETTER.match(text[end])
        # A letter right behind a closed quotation goes on with its sentence.
        return (Verdict.END if wide and end == marks_end else Verdict.PASS), end
    return _judge_by_next(unspoken, at, marks_end, end, at_once=at_once)


def _closes(unspoken: Unspoken, place: Place, at: int) -> bool:
    """Whether the character at `at` closes a quotation or bracket behind an end mark."""
    char = unspoken.text[at]
    if char == '"':
        return place.quoted or at + 1 >= len(unspoken.text) or unspoken.text[at + 1].isspace()
    return char in _TRAILING or (char == "“" and place.depth > 0)


def _judge_by_next(unspoken: Unspoken, at: int, marks_end: int, end: int, *, at_once: bool) -> Judgement:
    following = unspoken.text[end : end + 4].lstrip(" ")[:1]
    if not following and not unspoken.final:
        return (Verdict.END, end) if at_once and end == marks_end else (Verdict.WAIT, at)
    if not following or following == "\n":
        return Verdict.END, end
    if at_once:
        return (Verdict.PASS if following.islower() and end > marks_end else Verdict.END), end
    if marks_end - at > 1 or unspoken.text[at] == "…":
        return _judge_ellipsis(unspoken, end, following)
    return _judge_dot(unspoken, at, end, following)


def _judge_ellipsis(unspoken: Unspoken, end: int, following: str) -> Judgement:
    word = _next_word(unspoken, end)
    if following.islower() or word in ("I", "I'm", "I'll", "I’m", "I’ll", "I'd", "I've"):
        long_enough = unspoken.first and unspoken.word_count(end) >= unspoken.min_words
        return (Verdict.CLAUSE if long_enough else Verdict.PASS), end
    return Verdict.END, end


def _judge_dot(unspoken: Unspoken, at: int, end: int, following: str) -> Judgement:
    word = _word_before(unspoken, at)
    lower = word.lower()
    next_word = _next_word(unspoken, end)
    dated = word.isdigit() and len(word) <= 2 and next_word.lower() in MONTHS
    numbered = following.isdigit() and lower in BEFORE_NUMBER
    initials = "." in word and all(len(part) == 1 for part in word.split("."))
    if lower in NEVER_ENDS or numbered or dated or _is_list_number(unspoken, at, word):
        goes_on = True
    elif lower in MAY_END:
        goes_on = following.isalnum() and not following.isupper()
    elif initials or (len(word) == 1 and word.isupper() and word != "I"):
        goes_on = next_word.lower() not in STARTERS or not following.isupper()
    else:
        goes_on = following.islower() and (end > at + 1 or len(word) < 3)
    return (Verdict.PASS if goes_on else Verdict.END), end


def _is_list_number(unspoken: Unspoken, at: int, word: str) -> bool:
    head = unspoken.text[unspoken.start : at]
    if _LIST_NUMBER.fullmatch(head):
        return True
    return word.isdigit() and len(word) <= 2 and head[: -len(word)].rstrip().endswith(":")


def _word_before(unspoken: Unspoken, at: int) -> str:
    head = unspoken.text[max(unspoken.start, at - 30) : at]
    return re.split(r"[\s(\[{“„«\"'’—–/]", head)[-1]


def _next_word(unspoken: Unspoken, at: int) -> str:
    found = NEXT_WORD.match(unspoken.text, _skip_to_letter(unspoken, at))
    return found.group() if found else ""


def _skip_to_letter(unspoken: Unspoken, at: int) -> int:
    while at < len(unspoken.text) and (unspoken.text[at] in " \"'“„«(‘¿¡"):
        at += 1
    return at
