"""Decides whether a mark ends a sentence. A full stop can also follow an abbreviation, a number or an initial."""

import re
from dataclasses import dataclass

from assistant.text.abbreviations import (
    BEFORE_NUMBER,
    BOUND_TO,
    CAPITAL_BEFORE_NAME,
    CAPITAL_BEFORE_NUMBER,
    COUNTED_IN_ORDINALS,
    ENDS_BEFORE_STARTER,
    GERMAN_STARTERS,
    MAY_END,
    NEVER_ENDS,
    STARTERS,
    UNSPACED_STARTERS,
)
from assistant.text.chunk_buffer import CLOSERS, UNSPACED_LETTER, Boundary, BoundaryDecision, ChunkBuffer, ScanState

END_AT_ONCE = "!?。！？｡।॥؟۔\u037e።։"  # U+037E is the Greek question mark, which looks like ";"
ENDS = END_AT_ONCE + ".…"
_FULL_WIDTH_ENDS = frozenset("。！？｡।॥؟۔።։")
_TRAILING = frozenset(CLOSERS + "\"'’]")
_LIST_NUMBER = re.compile(r"[\s(]*(?:\d{1,3}|[A-Za-z])")
STAGE_DIRECTION = re.compile(r"\s*\([^\W\d_](?:[^\W\d_]|[ ,'’-]){2,59}\)")
_LETTERS = re.compile(r"[^\W_]+")
_UNSPACED_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’](?=[^\W\d_]|\Z)){0,24}")
_SENTENCE_CONTINUES = re.compile(r"[\s,?!…'’-]|\.(?:\s|\Z)|\Z")
_CODE_AFTER = re.compile(r"[\d_=(\[:/&]|\.\w")
_SPACED_LETTERS = re.compile(r"\b(?:[^\W\d_]\. )+[^\W\d_]{1,2}\Z")
_ROAD = re.compile(r"\S\s+(?:[A-Z][a-z]+|\d+(?:st|nd|rd|th)) (?:St|Dr)\Z")
_SPANISH_SIR = re.compile(r"(?:\A\s*|(?:\A|\W)(?:El|Al|Del|Estimado|[^\W\d_A-Z]+,?) )Sr\Z")
_ROAD_STARTERS = STARTERS - {"who", "no"}  # "Dr. Who", "Dr. No"
_GERMAN_ORDINAL = re.compile(
    r"(?<!\bI )\b(?:d(?:er|ie|as|e[mns])|[ai]m|zu[mr]|vom|beim|ins|ab|bis|(?:[mds]?ein|jed|dies)(?:e[mnrs]?)?)"
    r" (?:\d{1,3}\. (?:(?:und|oder|bis|bis zum) )?)?\d{1,3}(?:\.\d{1,2})?\Z",
    re.IGNORECASE,
)
_ROMAN_ORDINAL = re.compile(
    r"(?<!\bI )(?i:\b(?:de[rmns]|die|das|[ai]m|zu[mr]|vom|beim|ins)) [IVXL]{1,6}\Z"
)  # "im II. Weltkrieg"
_COUNT_BEFORE = re.compile(r"\d \w+\Z")
_DIALED_NUMBER = re.compile(r"\b(?:ruf|wähl)\w{0,3} (?:\w+ ){0,2}die \d{3}\Z", re.IGNORECASE)  # "Wählen Sie die 112."
_DAY = re.compile(r"\d{1,2}(?:\.\d{1,2})?")  # "am 3.", "am 3.10."
_ORDINAL = re.compile(rf"{_DAY.pattern}|[IVXL]+")


@dataclass(frozen=True, slots=True)
class _NextWord:
    """The word after a mark, up to an apostrophe: "It" in "It's".

    Attributes:
        word: The word as written, "" if none has arrived.
        incomplete: Whether more of the word may arrive.
    """

    word: str
    incomplete: bool

    def is_one_of(self, words: frozenset[str]) -> bool | None:
        """Returns whether the word is one of `words`; None if that depends on further text."""
        word = self.word.lower()
        if self.incomplete and any(known.startswith(word) for known in words):
            return None
        return word in words


def decide_sentence_end(buffer: ChunkBuffer, state: ScanState, mark: int) -> Boundary:
    """Decides about a mark that may end a sentence, including the end marks and closing quotes after it."""
    text, size = buffer.text, len(buffer.text)
    end = mark + 1
    while end < size and text[end] in ENDS:
        end += 1
    marks_end = end
    while end < size and _closes(buffer, state, end):
        end += 1
    inside = state.copy()
    for position in range(mark, end):
        inside.track(buffer, position)
    known = end < size or buffer.final
    at_once = text[mark] in END_AT_ONCE or text[mark] == ";"  # a Greek question mark
    if inside.encloses(mark):
        return (BoundaryDecision.PASS, end) if known else (BoundaryDecision.WAIT, mark)
    if not known:
        return (BoundaryDecision.END, end) if at_once and end == marks_end else (BoundaryDecision.WAIT, mark)
    if end < size and not text[end].isspace():
        if end == marks_end and (text[end].isupper() or text[end] in "¿¡"):
            return _decide_unspaced(buffer, mark, end, at_once=at_once)
        wide = text[mark] in _FULL_WIDTH_ENDS or UNSPACED_LETTER.match(text[end])
        # A letter directly after a closed quotation continues the sentence.
        return (BoundaryDecision.END if wide and end == marks_end else BoundaryDecision.PASS), end
    return _decide_by_next(buffer, mark, marks_end, end, at_once=at_once)


def decide_stage_direction(buffer: ChunkBuffer, position: int) -> Boundary:
    """Decides about the closing bracket at `position`.

    A chunk ends after a stage direction such as "(laughs)" if a new sentence follows.
    """
    text = buffer.text
    if STAGE_DIRECTION.fullmatch(text, buffer.start, position + 1) is None:
        return BoundaryDecision.PASS, position + 1
    following = text[position + 1 : position + 4]
    first = following.lstrip(" ")[:1]
    if not first and not buffer.final and len(following) < 3:
        return BoundaryDecision.WAIT, position
    starts = following.startswith(" ") and (first.isupper() or (first and first in "\"'“„«¿¡(0123456789"))
    return (BoundaryDecision.END if starts or first in ("", "\n") else BoundaryDecision.PASS), position + 1


def _decide_unspaced(buffer: ChunkBuffer, position: int, end: int, *, at_once: bool) -> Boundary:
    """Decides about a mark directly before a capital letter.

    "another one.What now?" contains a sentence end, "foo.Bar" and "Sheet1!A1" do not.
    """
    text = buffer.text
    if text[end] in "¿¡":
        return BoundaryDecision.END, end
    match = _UNSPACED_WORD.match(text, end)
    word_end = match.end() if match else end + 1
    incomplete = word_end == len(text) and not buffer.final
    ends = (
        _ends_at_once(buffer, position, word_end)
        if at_once
        else _starts(buffer, position, match, incomplete=incomplete)
    )
    if ends is False:
        return BoundaryDecision.PASS, end
    if ends is None or incomplete:
        return BoundaryDecision.WAIT, position
    if at_once or end - position > 1 or text[position] == "…":
        return BoundaryDecision.END, end
    return _decide_dot(buffer, position, end, text[end])


def _ends_at_once(buffer: ChunkBuffer, position: int, word_end: int) -> bool:
    text = buffer.text
    behind_word = position > buffer.start and text[position - 1].isalpha() and text[position - 2 : position - 1] != "."
    return behind_word and _CODE_AFTER.match(text, word_end) is None


def _starts(buffer: ChunkBuffer, position: int, match: re.Match[str] | None, *, incomplete: bool) -> bool | None:
    """Returns whether the word directly after a dot begins a sentence; None if that depends on further text."""
    before = _word_before(buffer, position)
    named = "." in before.strip(".") or not before[-1:].isalnum() or (len(before) < 2 and not before.isdigit())
    if match is None or named:
        return None if incomplete and not named else False
    ahead = _NextWord(match[0].replace("’", "'"), incomplete=incomplete)
    starts = ahead.is_one_of(UNSPACED_STARTERS)
    if len(match[0]) == 1 and match[0] != "I" and not incomplete:
        starts = match[0] in ("A", "Y", "O", "À") and before.islower()
    if starts and not incomplete and not _SENTENCE_CONTINUES.match(buffer.text, match.end()):
        return False
    return starts


def _closes(buffer: ChunkBuffer, state: ScanState, position: int) -> bool:
    """Returns whether the character at `position` closes a quotation or bracket after an end mark."""
    char = buffer.text[position]
    if char == '"':
        return state.quoted or position + 1 >= len(buffer.text) or buffer.text[position + 1].isspace()
    return char in _TRAILING or state.closes_german(buffer, position)


def _decide_by_next(buffer: ChunkBuffer, position: int, marks_end: int, end: int, *, at_once: bool) -> Boundary:
    following = buffer.text[end : end + 4].lstrip(" ")[:1]
    if not following and not buffer.final:
        return (BoundaryDecision.END, end) if at_once and end == marks_end else (BoundaryDecision.WAIT, position)
    if not following or following == "\n":
        return BoundaryDecision.END, end
    if at_once:
        return (BoundaryDecision.PASS if following.islower() and end > marks_end else BoundaryDecision.END), end
    if marks_end - position > 1 or buffer.text[position] == "…":
        return _decide_ellipsis(buffer, end, following)
    return _decide_dot(buffer, position, end, following)


def _decide_ellipsis(buffer: ChunkBuffer, end: int, following: str) -> Boundary:
    ahead = _next_word(buffer, end)
    if not following.islower() and ahead.word != "I":
        return BoundaryDecision.END, end
    if ahead.word == "I" and ahead.incomplete:
        return BoundaryDecision.WAIT, end
    long_enough = buffer.first and buffer.word_count(end) >= buffer.min_words
    return (BoundaryDecision.CLAUSE if long_enough else BoundaryDecision.PASS), end


def _decide_dot(buffer: ChunkBuffer, position: int, end: int, following: str) -> Boundary:
    continues = _sentence_continues(buffer, position, end, following)
    if continues is None:
        return BoundaryDecision.WAIT, position
    return (BoundaryDecision.PASS if continues else BoundaryDecision.END), end


def _sentence_continues(buffer: ChunkBuffer, position: int, end: int, following: str) -> bool | None:
    """Returns whether the sentence continues after a dot; None if the next word decides and may be incomplete."""
    word, ahead = _word_before(buffer, position), _next_word(buffer, end)
    lower = word.lower()
    head = buffer.text[max(buffer.start, position - 40) : position]
    if _never_ends(head, lower) or _is_list_number(buffer, position, word):
        return _not_starter(ahead, following, _ROAD_STARTERS) if _ROAD.search(head) else True
    bound = ahead.is_one_of(BOUND_TO.get(lower, frozenset()))
    if bound is not False:
        return bound
    if lower in ENDS_BEFORE_STARTER or _ROMAN_ORDINAL.search(head) or _precedes_name(head, word, following):
        return _not_starter(ahead, following, GERMAN_STARTERS)
    if lower in MAY_END or lower.endswith(("str", "nr")):  # "Hauptstr. 12"
        first = ahead.word[:1] if following == "(" else following
        return None if not first and ahead.incomplete else first.isalnum() and not first.isupper()
    inner: bool | None = following.isdigit() and (lower in BEFORE_NUMBER or word in CAPITAL_BEFORE_NUMBER)
    inner = inner or (
        _continues_after_number(head, ahead, following)
        if word.isdigit() or _DAY.fullmatch(word)
        else _continues_after_letters(buffer, word, end, following)
    )
    short = end > position + 1 or len(word) < 3 or _ORDINAL.fullmatch(word) is not None
    return following.islower() and short if inner is False else inner


def _precedes_name(head: str, word: str, following: str) -> bool:
    """Returns whether the word abbreviates a part of the name after it: "Ft. Worth", but not "5 Ft. Then"."""
    return word in CAPITAL_BEFORE_NAME and following.isupper() and _COUNT_BEFORE.search(head) is None


def _never_ends(head: str, word: str) -> bool:
    """Returns whether the dot of this abbreviation never ends a sentence.

    Covers spaced forms ("z. B.", "p. ej.") and the Spanish "Sr.", which precedes a name.
    """
    spaced = _SPACED_LETTERS.search(head)
    joined = spaced.group().replace(" ", "").lower() if spaced else word
    return word in NEVER_ENDS or joined in NEVER_ENDS or (word == "sr" and _SPANISH_SIR.search(head) is not None)


def _continues_after_number(head: str, ahead: _NextWord, following: str) -> bool | None:
    """Returns whether a number is a German ordinal, so that the sentence continues."""
    counted = ahead.is_one_of(COUNTED_IN_ORDINALS) if following.isupper() else False
    if counted is False and _GERMAN_ORDINAL.search(head) and not _DIALED_NUMBER.search(head):
        return _not_starter(ahead, following, GERMAN_STARTERS)
    return counted


def _continues_after_letters(buffer: ChunkBuffer, word: str, end: int, following: str) -> bool | None:
    """Returns whether letters are initials or start a dotted abbreviation, so that the sentence continues."""
    ahead = _next_word(buffer, end)
    initials = "." in word and all(len(part) == 1 for part in word.split("."))
    if initials or (len(word) == 1 and word.isupper() and word != "I"):
        return _not_starter(ahead, following, STARTERS)
    if len(word) == 1 and word.islower() and len(ahead.word) <= 1:
        # "z. B.", but not "Solve for x. A solution ..."
        return None if ahead.incomplete else buffer.text.startswith(ahead.word + ".", _skip_to_letter(buffer, end))
    return False


def _not_starter(ahead: _NextWord, following: str, starters: frozenset[str]) -> bool | None:
    """Returns whether the next word does not begin a sentence; None if that depends on further text."""
    starts = ahead.is_one_of(starters) if following.isupper() else False
    return None if starts is None else not starts


def _is_list_number(buffer: ChunkBuffer, position: int, word: str) -> bool:
    head = buffer.text[buffer.start : position]
    if _LIST_NUMBER.fullmatch(head):
        return True
    return word.isdigit() and len(word) <= 2 and head[: -len(word)].rstrip().endswith(":")


def _word_before(buffer: ChunkBuffer, position: int) -> str:
    head = buffer.text[max(buffer.start, position - 30) : position]
    return re.split(r"[\s(\[{“„«\"'’—–/]", head)[-1]


def _next_word(buffer: ChunkBuffer, position: int) -> _NextWord:
    position = _skip_to_letter(buffer, position)
    match = _LETTERS.match(buffer.text, position)
    end = match.end() if match else position
    return _NextWord(buffer.text[position:end], incomplete=end == len(buffer.text) and not buffer.final)


def _skip_to_letter(buffer: ChunkBuffer, position: int) -> int:
    while position < len(buffer.text) and (buffer.text[position] in " \"'“„«(‘¿¡"):
        position += 1
    return position
