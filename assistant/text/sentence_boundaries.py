"""Decides whether a mark ends a sentence. A full stop can also follow an abbreviation, a number or an initial."""

import re
from dataclasses import dataclass

from assistant.text.abbreviations import (
    BEFORE_NUMBER,
    BOUND_TO,
    CAPITAL_BEFORE_NUMBER,
    COUNTED_IN_ORDINALS,
    ENDS_BEFORE_STARTER,
    GERMAN_STARTERS,
    MAY_END,
    NEVER_ENDS,
    STARTERS,
    UNSPACED_STARTERS,
)
from assistant.text.chunk_buffer import CLOSERS, UNSPACED_LETTER, BoundaryDecision, ChunkBuffer, Judgement, ScanState

END_AT_ONCE = "!?。！？｡।॥؟۔\u037e።։"  # U+037E is the Greek question mark, which looks like ";"
ENDS = END_AT_ONCE + ".…"
_FULL_WIDTH_ENDS = frozenset("。！？｡।॥؟۔።։")
_TRAILING = frozenset(CLOSERS + "\"'’]")
_LIST_NUMBER = re.compile(r"[\s(]*(?:\d{1,3}|[A-Za-z])")
STAGE_DIRECTION = re.compile(r"\s*\([^\W\d_](?:[^\W\d_]|[ ,'’-]){2,59}\)")
_LETTERS = re.compile(r"[^\W_]+")
_UNSPACED_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’](?=[^\W\d_]|\Z)){0,24}")
_SENTENCE_GOES_ON = re.compile(r"[\s,?!…'’-]|\.(?:\s|\Z)|\Z")
_CODE_BEHIND = re.compile(r"[\d_=(\[:/&]|\.\w")
_SPACED_LETTERS = re.compile(r"\b(?:[^\W\d_]\. )+[^\W\d_]{1,2}\Z")
_ROAD = re.compile(r"\S\s+(?:[A-Z][a-z]+|\d+(?:st|nd|rd|th)) (?:St|Dr)\Z")
_SPANISH_SIR = re.compile(r"(?:\A\s*|(?:\A|\W)(?:El|Al|Del|Estimado|[^\W\d_A-Z]+,?) )Sr\Z")
_ROAD_STARTERS = STARTERS - {"who", "no"}  # "Dr. Who", "Dr. No"
_GERMAN_ORDINAL = re.compile(
    r"(?<!\bI )\b(?:d(?:er|ie|as|e[mns])|[ai]m|zu[mr]|vom|beim|ins|ab|bis|(?:[mds]?ein|jed|dies)(?:e[mnrs]?)?)"
    r" (?:\d{1,3}\. (?:(?:und|oder|bis|bis zum) )?)?\d{1,3}(?:\.\d{1,2})?\Z",
    re.IGNORECASE,
)
_DIALLED = re.compile(r"\b(?:ruf|wähl)\w{0,3} (?:\w+ ){0,2}die \d{3}\Z", re.IGNORECASE)  # "Wählen Sie die 112."
_DAY = re.compile(r"\d{1,2}(?:\.\d{1,2})?")  # "am 3.", "am 3.10."
_ORDINAL = re.compile(rf"{_DAY.pattern}|[IVXL]+")


@dataclass(frozen=True, slots=True)
class _Ahead:
    """The word after a mark, up to an apostrophe: "It" in "It's".

    Attributes:
        word: The word as written, "" if none has arrived.
        grows: Whether more of the word may arrive.
    """

    word: str
    grows: bool

    def among(self, words: frozenset[str]) -> bool | None:
        """Returns whether the word is one of `words`; None if that depends on further text."""
        word = self.word.lower()
        if self.grows and any(known.startswith(word) for known in words):
            return None
        return word in words


def judge_end(unspoken: ChunkBuffer, place: ScanState, at: int) -> Judgement:
    """Decides about a mark that may end a sentence, including the end marks and closing quotes after it."""
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
    at_once = text[at] in END_AT_ONCE or text[at] == ";"  # a Greek question mark
    if inside.encloses(at):
        return (BoundaryDecision.PASS, end) if known else (BoundaryDecision.WAIT, at)
    if not known:
        return (BoundaryDecision.END, end) if at_once and end == marks_end else (BoundaryDecision.WAIT, at)
    if end < size and not text[end].isspace():
        if end == marks_end and (text[end].isupper() or text[end] in "¿¡"):
            return _judge_unspaced(unspoken, at, end, at_once=at_once)
        wide = text[at] in _FULL_WIDTH_ENDS or UNSPACED_LETTER.match(text[end])
        # A letter directly after a closed quotation continues the sentence.
        return (BoundaryDecision.END if wide and end == marks_end else BoundaryDecision.PASS), end
    return _judge_by_next(unspoken, at, marks_end, end, at_once=at_once)


def judge_direction(unspoken: ChunkBuffer, at: int) -> Judgement:
    """Decides about the closing bracket at `at`.

    A chunk ends after a stage direction such as "(laughs)" if a new sentence follows.
    """
    text = unspoken.text
    if STAGE_DIRECTION.fullmatch(text, unspoken.start, at + 1) is None:
        return BoundaryDecision.PASS, at + 1
    following = text[at + 1 : at + 4]
    first = following.lstrip(" ")[:1]
    if not first and not unspoken.final and len(following) < 3:
        return BoundaryDecision.WAIT, at
    starts = following.startswith(" ") and (first.isupper() or (first and first in "\"'“„«¿¡(0123456789"))
    return (BoundaryDecision.END if starts or first in ("", "\n") else BoundaryDecision.PASS), at + 1


def _judge_unspaced(unspoken: ChunkBuffer, at: int, end: int, *, at_once: bool) -> Judgement:
    """Decides about a mark directly before a capital letter.

    "another one.What now?" contains a sentence end, "foo.Bar" and "Sheet1!A1" do not.
    """
    text = unspoken.text
    if text[end] in "¿¡":
        return BoundaryDecision.END, end
    found = _UNSPACED_WORD.match(text, end)
    word_end = found.end() if found else end + 1
    grows = word_end == len(text) and not unspoken.final
    ends = _ends_at_once(unspoken, at, word_end) if at_once else _starts(unspoken, at, found, grows=grows)
    if ends is False:
        return BoundaryDecision.PASS, end
    if ends is None or grows:
        return BoundaryDecision.WAIT, at
    if at_once or end - at > 1 or text[at] == "…":
        return BoundaryDecision.END, end
    return _judge_dot(unspoken, at, end, text[end])


def _ends_at_once(unspoken: ChunkBuffer, at: int, word_end: int) -> bool:
    text = unspoken.text
    behind_word = at > unspoken.start and text[at - 1].isalpha() and text[at - 2 : at - 1] != "."
    return behind_word and _CODE_BEHIND.match(text, word_end) is None


def _starts(unspoken: ChunkBuffer, at: int, found: re.Match[str] | None, *, grows: bool) -> bool | None:
    """Returns whether the word directly after a dot begins a sentence; None if that depends on further text."""
    before = _word_before(unspoken, at)
    named = "." in before.strip(".") or not before[-1:].isalnum() or (len(before) < 2 and not before.isdigit())
    if found is None or named:
        return None if grows and not named else False
    ahead = _Ahead(found[0].replace("’", "'"), grows=grows)
    starts = ahead.among(UNSPACED_STARTERS)
    if len(found[0]) == 1 and found[0] != "I" and not grows:
        starts = found[0] in ("A", "Y", "O", "À") and before.islower()
    if starts and not grows and not _SENTENCE_GOES_ON.match(unspoken.text, found.end()):
        return False
    return starts


def _closes(unspoken: ChunkBuffer, place: ScanState, at: int) -> bool:
    """Returns whether the character at `at` closes a quotation or bracket after an end mark."""
    char = unspoken.text[at]
    if char == '"':
        return place.quoted or at + 1 >= len(unspoken.text) or unspoken.text[at + 1].isspace()
    return char in _TRAILING or place.closes_german(unspoken, at)


def _judge_by_next(unspoken: ChunkBuffer, at: int, marks_end: int, end: int, *, at_once: bool) -> Judgement:
    following = unspoken.text[end : end + 4].lstrip(" ")[:1]
    if not following and not unspoken.final:
        return (BoundaryDecision.END, end) if at_once and end == marks_end else (BoundaryDecision.WAIT, at)
    if not following or following == "\n":
        return BoundaryDecision.END, end
    if at_once:
        return (BoundaryDecision.PASS if following.islower() and end > marks_end else BoundaryDecision.END), end
    if marks_end - at > 1 or unspoken.text[at] == "…":
        return _judge_ellipsis(unspoken, end, following)
    return _judge_dot(unspoken, at, end, following)


def _judge_ellipsis(unspoken: ChunkBuffer, end: int, following: str) -> Judgement:
    ahead = _ahead(unspoken, end)
    if not following.islower() and ahead.word != "I":
        return BoundaryDecision.END, end
    if ahead.word == "I" and ahead.grows:
        return BoundaryDecision.WAIT, end
    long_enough = unspoken.first and unspoken.word_count(end) >= unspoken.min_words
    return (BoundaryDecision.CLAUSE if long_enough else BoundaryDecision.PASS), end


def _judge_dot(unspoken: ChunkBuffer, at: int, end: int, following: str) -> Judgement:
    goes_on = _goes_on(unspoken, at, end, following)
    if goes_on is None:
        return BoundaryDecision.WAIT, at
    return (BoundaryDecision.PASS if goes_on else BoundaryDecision.END), end


def _goes_on(unspoken: ChunkBuffer, at: int, end: int, following: str) -> bool | None:
    """Returns whether the sentence continues after a dot; None if the next word decides and may be incomplete."""
    word, ahead = _word_before(unspoken, at), _ahead(unspoken, end)
    lower = word.lower()
    head = unspoken.text[max(unspoken.start, at - 40) : at]
    if _never_ends(head, lower) or _is_list_number(unspoken, at, word):
        return _no_starter(ahead, following, _ROAD_STARTERS) if _ROAD.search(head) else True
    bound = ahead.among(BOUND_TO.get(lower, frozenset()))
    if bound is not False:
        return bound
    if lower in MAY_END or lower.endswith(("str", "nr")):  # "Hauptstr. 12"
        first = ahead.word[:1] if following == "(" else following
        return None if not first and ahead.grows else first.isalnum() and not first.isupper()
    if lower in ENDS_BEFORE_STARTER:
        return _no_starter(ahead, following, GERMAN_STARTERS)
    inner: bool | None = following.isdigit() and (lower in BEFORE_NUMBER or word in CAPITAL_BEFORE_NUMBER)
    inner = inner or (
        _behind_number(head, ahead, following)
        if word.isdigit() or _DAY.fullmatch(word)
        else _behind_letters(unspoken, word, end, following)
    )
    short = end > at + 1 or len(word) < 3 or _ORDINAL.fullmatch(word) is not None
    return following.islower() and short if inner is False else inner


def _never_ends(head: str, word: str) -> bool:
    """Returns whether the dot of this abbreviation never ends a sentence.

    Covers spaced forms ("z. B.", "p. ej.") and the Spanish "Sr.", which precedes a name.
    """
    spaced = _SPACED_LETTERS.search(head)
    joined = spaced.group().replace(" ", "").lower() if spaced else word
    return word in NEVER_ENDS or joined in NEVER_ENDS or (word == "sr" and _SPANISH_SIR.search(head) is not None)


def _behind_number(head: str, ahead: _Ahead, following: str) -> bool | None:
    """Returns whether a number is a German ordinal, so that the sentence continues."""
    counted = ahead.among(COUNTED_IN_ORDINALS) if following.isupper() else False
    if counted is False and _GERMAN_ORDINAL.search(head) and not _DIALLED.search(head):
        return _no_starter(ahead, following, GERMAN_STARTERS)
    return counted


def _behind_letters(unspoken: ChunkBuffer, word: str, end: int, following: str) -> bool | None:
    """Returns whether letters are initials or start a dotted abbreviation, so that the sentence continues."""
    ahead = _ahead(unspoken, end)
    initials = "." in word and all(len(part) == 1 for part in word.split("."))
    if initials or (len(word) == 1 and word.isupper() and word != "I"):
        return _no_starter(ahead, following, STARTERS)
    if len(word) == 1 and word.islower() and len(ahead.word) <= 1:
        # "z. B.", but not "Solve for x. A solution ..."
        return None if ahead.grows else unspoken.text.startswith(ahead.word + ".", _skip_to_letter(unspoken, end))
    return False


def _no_starter(ahead: _Ahead, following: str, starters: frozenset[str]) -> bool | None:
    """Returns whether the next word does not begin a sentence; None if that depends on further text."""
    starts = ahead.among(starters) if following.isupper() else False
    return None if starts is None else not starts


def _is_list_number(unspoken: ChunkBuffer, at: int, word: str) -> bool:
    head = unspoken.text[unspoken.start : at]
    if _LIST_NUMBER.fullmatch(head):
        return True
    return word.isdigit() and len(word) <= 2 and head[: -len(word)].rstrip().endswith(":")


def _word_before(unspoken: ChunkBuffer, at: int) -> str:
    head = unspoken.text[max(unspoken.start, at - 30) : at]
    return re.split(r"[\s(\[{“„«\"'’—–/]", head)[-1]


def _ahead(unspoken: ChunkBuffer, at: int) -> _Ahead:
    at = _skip_to_letter(unspoken, at)
    found = _LETTERS.match(unspoken.text, at)
    end = found.end() if found else at
    return _Ahead(unspoken.text[at:end], grows=end == len(unspoken.text) and not unspoken.final)


def _skip_to_letter(unspoken: ChunkBuffer, at: int) -> int:
    while at < len(unspoken.text) and (unspoken.text[at] in " \"'“„«(‘¿¡"):
        at += 1
    return at
