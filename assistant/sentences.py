"""Tokens to speakable units: the first one early, at a clause; the later ones at the ends of sentences.

Units are slices of the speakable text in its order, so no word is lost or said twice, wherever the tokens were cut.
A mark decides as soon as what follows it is known; "?" and "!" decide at once.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum, auto

from assistant.abbreviations import (
    BEFORE_NUMBER,
    BOUND_TO_NEXT,
    CLAUSE_STARTERS,
    CUT_BEFORE,
    CUT_BEFORE_LATE,
    CUT_BEFORE_WITH_STARTER,
    MAY_END,
    MONTHS,
    NAME_SUFFIXES,
    NEVER_ENDS,
    STARTERS,
)
from assistant.speakable import CODE_NOTE, Speakable

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer: a space ends a phrase
_END_AT_ONCE = "!?。！？｡।॥؟۔\u037e።։"  # U+037E is the Greek question mark, which looks like ";"
_ENDS = _END_AT_ONCE + ".…"
_FULL_WIDTH_ENDS = frozenset("。！？｡।॥؟۔።։")
_OPENERS = "(（“„«「『"
_CLOSERS = ")）”»」』"
_TRAILING = frozenset(_CLOSERS + "\"'’]")
_MARK = re.compile(rf'[{_END_AT_ONCE}.…\n{re.escape(_OPENERS + _CLOSERS)}"]|(?<=[{_UNSPACED}]) |;')
_FIRST_MARK = re.compile(rf'[{_END_AT_ONCE}.…\n{re.escape(_OPENERS + _CLOSERS)}" ,;:，、；：،؛·—–]')
_CUT_MARK = re.compile(r"[,;:，、；：،؛—–.!?…。！？](?=\s)|[，、；：。！？]")
_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_UNSPACED_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff" + _UNSPACED + "]")
_NEXT_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_LIST_NUMBER = re.compile(r"[\s(]*(?:\d{1,3}|[A-Za-z])")
_LEFTOVER = re.compile(r"[\s…!?,;:.)”»」』\]，、；：。！？]*(?<!\d)(?:[\"'’—–-]+\s+)*\s*")

_QUOTE_PATIENCE_CHARS = 120  # a sentence inside a longer quotation may end a unit: a story in quotes must not wait
_MERGED_CHARS = 120
_SHORT_SENTENCE_CHARS = 60  # a whole first sentence up to this length is spoken whole if it is already there
_SHORT_WORDS = 2
_PHRASE_CHARS = 60  # of an unspaced script, from which on a later unit may end at a space
_LATE_WORDS = 7
_NEW_CLAUSE_WORDS = 6


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of the reply that is synthesized at once.

    Attributes:
        text: Plain text for a voice; holds at least one letter or digit; no line breaks.
        index: Position in the reply, from 0.
        ends_sentence: False where it was cut at a clause or for its length, and the voice goes on.
    """

    text: str
    index: int
    ends_sentence: bool


class _Verdict(Enum):
    PASS = auto()
    WAIT = auto()
    CLAUSE = auto()
    END = auto()


_Judgement = tuple[_Verdict, int]
"""What a mark means, and the position after what belongs to it."""


@dataclass(slots=True)
class _Place:
    """Where the search stands in the text: next position, and what is open there."""

    scan: int = 0
    depth: int = 0
    quoted: bool = False
    opened_at: int = 0

    def copy(self) -> "_Place":
        return _Place(self.scan, self.depth, self.quoted, self.opened_at)


def _word_count(text: str) -> int:
    """Words; in scripts without spaces two letters count as one word, in the Thai family four."""
    unspaced = _UNSPACED_LETTER.findall(text)
    if not unspaced:
        return len(_WORD.findall(text))
    wide = sum(1 for letter in unspaced if letter >= "\u3040" or "\u1780" > letter > "\u3000")
    spaced = len(_WORD.findall(_UNSPACED_LETTER.sub(" ", text)))
    return spaced + wide // 2 + (len(unspaced) - wide) // 4


def _is_greek(char: str) -> bool:
    return "\u0370" <= char <= "\u03ff" or "\u1f00" <= char <= "\u1fff"


class Sentences:
    """Takes the tokens of one reply, gives its units."""

    def __init__(self, first_unit_min_words: int = 3, max_unit_chars: int = 300, *, code_note: str = CODE_NOTE) -> None:
        """Settings of one reply.

        Args:
            first_unit_min_words: A first unit cut at a clause has at least this many words.
            max_unit_chars: No unit is longer; it is cut at a word where there is one.
            code_note: Said once in place of code, in the language of the reply; "" says nothing.

        Raises:
            ValueError: A setting below 1, or max_unit_chars below 20.
        """
        if first_unit_min_words < 1 or max_unit_chars < 20:
            raise ValueError(
                f"first_unit_min_words = {first_unit_min_words} and max_unit_chars = {max_unit_chars}: "
                "the first must be at least 1, the second at least 20"
            )
        self._min_words = first_unit_min_words
        self._max_chars = max_unit_chars
        self._speakable = Speakable(code_note)
        self._text = ""
        self._start = 0
        self._place = _Place()
        self._unit_place = _Place()  # as it was at the start of the unit
        self._index = 0
        self._final = False

    def feed(self, token: str) -> tuple[Unit, ...]:
        """Take a piece of the reply; return the units that are complete."""
        return self._take(self._speakable.feed(token))

    def finish(self) -> tuple[Unit, ...]:
        """The reply is complete: return what is left."""
        rest = self._speakable.finish()
        self._final = True
        return self._take(rest)

    def _take(self, text: str) -> tuple[Unit, ...]:
        if not text and not self._final:
            return ()
        self._text += text
        units: list[Unit] = []
        while self._start < len(self._text):
            if self._text[self._start] == " ":
                self._start += 1
                self._place.scan = max(self._place.scan, self._start)
                continue
            verdict, end = self._next_cut()
            if verdict is _Verdict.WAIT:
                break
            unit = self._unit(self._text[self._start : end], ends_sentence=verdict is _Verdict.END)
            if unit is not None:
                units.append(unit)
            self._start = end
            self._place.scan = max(self._place.scan, end)
            self._unit_place = self._place.copy()
        # The spoken part is dropped once per call, so that a long text in one call costs no copy per unit.
        self._text = self._text[self._start :]
        for place in (self._place, self._unit_place):
            place.scan -= self._start
            place.opened_at -= self._start
        self._start = 0
        return tuple(units)

    def _unit(self, piece: str, *, ends_sentence: bool) -> Unit | None:
        leftover = _LEFTOVER.match(piece)
        if leftover and leftover.end() < len(piece) and not piece[leftover.end()].isdigit():
            piece = piece[leftover.end() :]
        text = " ".join(piece.split())
        if not any(char.isalnum() for char in text):
            return None
        unit = Unit(text, self._index, ends_sentence)
        self._index += 1
        return unit

    # Where to cut

    def _next_cut(self) -> _Judgement:
        """The end of the next unit, or WAIT."""
        limit = self._start + self._max_chars
        verdict, end = self._search(self._place, limit)
        if verdict is _Verdict.CLAUSE:
            verdict, end = self._whole_sentence_or(end)
        elif verdict is _Verdict.END:
            end = self._merged(end)
        if verdict is not _Verdict.WAIT and len(self._text[self._start : end].rstrip()) <= self._max_chars:
            return verdict, end
        if len(self._text) > limit:
            end = self._forced_cut(limit)
            self._rewind_to(end)
            return _Verdict.CLAUSE, end
        if self._final:
            return _Verdict.END, len(self._text)
        return _Verdict.WAIT, self._start

    def _search(self, place: _Place, limit: int) -> _Judgement:
        """The next mark that ends a clause or a sentence; moves `place` up to it."""
        marks = _FIRST_MARK if self._index == 0 else _MARK
        while mark := marks.search(self._text, place.scan, limit + 1):
            at = mark.start()
            verdict, end = self._judge(place, at)
            if verdict is _Verdict.WAIT:
                place.scan = at
                return _Verdict.WAIT, at
            if verdict is _Verdict.PASS:
                self._track(place, at, end)
                continue
            self._close_up_to(place, at, end)
            return verdict, end
        place.scan = min(len(self._text), limit + 1)
        return _Verdict.WAIT, place.scan

    def _whole_sentence_or(self, clause_end: int) -> _Judgement:
        """The first clause, or the first sentence if it is short and already there."""
        ahead = self._place.copy()
        while True:
            verdict, end = self._search(ahead, self._start + _SHORT_SENTENCE_CHARS)
            if verdict is not _Verdict.CLAUSE:
                break
        if verdict is _Verdict.END and end - self._start <= _SHORT_SENTENCE_CHARS:
            self._place = ahead
            return _Verdict.END, end
        self._place.scan = clause_end
        return _Verdict.CLAUSE, clause_end

    def _merged(self, end: int) -> int:
        """A very short sentence takes the next one along if that is already there, in the same line."""
        if _word_count(self._text[self._start : end]) > _SHORT_WORDS or self._text.startswith("\n", end):
            return end
        if self._text[end - 1 : end] == "\n":
            return end
        ahead = self._place.copy()
        verdict, further = self._search(ahead, self._start + min(_MERGED_CHARS, self._max_chars))
        if verdict is _Verdict.END and further - self._start <= min(_MERGED_CHARS, self._max_chars):
            self._place = ahead
            return further
        return end

    def _forced_cut(self, limit: int) -> int:
        """At most at `limit`: behind a mark or a word in the second half if there is one, else inside the word."""
        half = self._start + self._max_chars // 2
        marks = [mark.end() for mark in _CUT_MARK.finditer(self._text, half, limit)]
        if marks:
            return marks[-1]
        space = self._text.rfind(" ", self._start + 1, limit + 1)
        if space > self._start:
            return space
        cut = limit
        while cut > limit - 8 and unicodedata.combining(self._text[cut]):
            cut -= 1
        return cut

    # What is open

    def _rewind_to(self, end: int) -> None:
        """The search went past a forced cut: what lies behind it is to be judged again."""
        self._place = self._unit_place.copy()
        for position in range(self._start, end):
            self._track_one(self._place, position)
        self._place.scan = end

    def _track(self, place: _Place, at: int, end: int) -> None:
        for position in range(at, max(end, at + 1)):
            self._track_one(place, position)
        place.scan = max(end, at + 1)

    def _track_one(self, place: _Place, at: int) -> None:
        char = self._text[at]
        if char == '"':
            inches = not place.quoted and at > 0 and self._text[at - 1].isdigit()
            if not inches:
                place.quoted = not place.quoted
                place.opened_at = at if place.quoted and not place.depth else place.opened_at
        elif char == "“" and place.depth and self._text.rfind("„", self._start, at) >= 0:
            place.depth -= 1
        elif char in _OPENERS:
            place.opened_at = place.opened_at if place.depth or place.quoted else at
            place.depth += 1
        elif char in _CLOSERS:
            place.depth = max(0, place.depth - 1)

    def _close_up_to(self, place: _Place, at: int, end: int) -> None:
        for position in range(at, min(end, len(self._text))):
            self._track_one(place, position)
        place.scan = end
        if self._text[at] == "\n":
            place.depth, place.quoted = 0, False

    def _enclosed(self, place: _Place, at: int) -> bool:
        return (place.depth > 0 or place.quoted) and at - place.opened_at < _QUOTE_PATIENCE_CHARS

    # What a mark means

    def _judge(self, place: _Place, at: int) -> _Judgement:
        char = self._text[at]
        if char == "\n":
            end = at + 1
            while self._text.startswith("\n", end):
                end += 1
            return _Verdict.END, end
        if char in _ENDS or (char == ";" and at > 0 and _is_greek(self._text[at - 1])):
            return self._judge_end(place, at)
        if char in _OPENERS or char in _CLOSERS or char == '"':
            return _Verdict.PASS, at + 1
        if self._enclosed(place, at):
            return _Verdict.PASS, at + 1
        if char == " ":
            return self._judge_space(at)
        return self._judge_clause(at) if self._index == 0 else (_Verdict.PASS, at + 1)

    def _judge_end(self, place: _Place, at: int) -> _Judgement:
        """A mark that may end a sentence, with the marks and closing quotes behind it."""
        text, size = self._text, len(self._text)
        end = at + 1
        while end < size and text[end] in _ENDS:
            end += 1
        marks_end = end
        while end < size and self._closes(place, end):
            end += 1
        inside = place.copy()
        for position in range(at, end):
            self._track_one(inside, position)
        known = end < size or self._final
        at_once = text[at] in _END_AT_ONCE or text[at] == ";"  # a Greek one
        if self._enclosed(inside, at):
            return (_Verdict.PASS, end) if known else (_Verdict.WAIT, at)
        if not known:
            return (_Verdict.END, end) if at_once and end == marks_end else (_Verdict.WAIT, at)
        if end < size and not text[end].isspace():
            wide = text[at] in _FULL_WIDTH_ENDS or _UNSPACED_LETTER.match(text[end])
            # A letter right behind a closed quotation goes on with its sentence.
            return (_Verdict.END if wide and end == marks_end else _Verdict.PASS), end
        return self._judge_by_next(at, marks_end, end, at_once=at_once)

    def _closes(self, place: _Place, at: int) -> bool:
        """Whether the character at `at` closes a quotation or bracket behind an end mark."""
        char = self._text[at]
        if char == '"':
            return place.quoted or at + 1 >= len(self._text) or self._text[at + 1].isspace()
        return char in _TRAILING or (char == "“" and place.depth > 0)

    def _judge_by_next(self, at: int, marks_end: int, end: int, *, at_once: bool) -> _Judgement:
        following = self._text[end : end + 4].lstrip(" ")[:1]
        if not following and not self._final:
            return (_Verdict.END, end) if at_once and end == marks_end else (_Verdict.WAIT, at)
        if not following or following == "\n":
            return _Verdict.END, end
        if at_once:
            return (_Verdict.PASS if following.islower() and end > marks_end else _Verdict.END), end
        if marks_end - at > 1 or self._text[at] == "…":
            return self._judge_ellipsis(end, following)
        return self._judge_dot(at, end, following)

    def _judge_ellipsis(self, end: int, following: str) -> _Judgement:
        word = self._next_word(end)
        if following.islower() or word in ("I", "I'm", "I'll", "I’m", "I’ll", "I'd", "I've"):
            long_enough = self._index == 0 and _word_count(self._text[self._start : end]) >= self._min_words
            return (_Verdict.CLAUSE if long_enough else _Verdict.PASS), end
        return _Verdict.END, end

    def _judge_dot(self, at: int, end: int, following: str) -> _Judgement:
        word = self._word_before(at)
        lower = word.lower()
        next_word = self._next_word(end)
        dated = word.isdigit() and len(word) <= 2 and next_word.lower() in MONTHS
        numbered = following.isdigit() and lower in BEFORE_NUMBER
        initials = "." in word and all(len(part) == 1 for part in word.split("."))
        if lower in NEVER_ENDS or numbered or dated or self._is_list_number(at, word):
            goes_on = True
        elif lower in MAY_END:
            goes_on = following.isalnum() and not following.isupper()
        elif initials or (len(word) == 1 and word.isupper() and word != "I"):
            goes_on = next_word.lower() not in STARTERS or not following.isupper()
        else:
            goes_on = following.islower() and (end > at + 1 or len(word) < 3)
        return (_Verdict.PASS if goes_on else _Verdict.END), end

    def _is_list_number(self, at: int, word: str) -> bool:
        head = self._text[self._start : at]
        if _LIST_NUMBER.fullmatch(head):
            return True
        return word.isdigit() and len(word) <= 2 and head[: -len(word)].rstrip().endswith(":")

    def _word_before(self, at: int) -> str:
        head = self._text[max(self._start, at - 30) : at]
        return re.split(r"[\s(\[{“„«\"'’—–/]", head)[-1]

    def _next_word(self, at: int) -> str:
        found = _NEXT_WORD.match(self._text, self._skip_to_letter(at))
        return found.group() if found else ""

    def _skip_to_letter(self, at: int) -> int:
        while at < len(self._text) and (self._text[at] in " \"'“„«(‘¿¡"):
            at += 1
        return at

    # Clauses of the first unit

    def _judge_space(self, at: int) -> _Judgement:
        passed = _Verdict.PASS, at + 1
        if at > self._start and re.match(f"[{_UNSPACED}]", self._text[at - 1]):
            words = _word_count(self._text[self._start : at])
            enough = words >= self._min_words if self._index == 0 else at - self._start >= _PHRASE_CHARS
            return (_Verdict.CLAUSE, at + 1) if enough else passed
        if self._index > 0:
            return passed
        found = _NEXT_WORD.match(self._text, at + 1)
        if found is None:
            return self._judge_dash(at)
        word = found.group()
        begun = found.end() == len(self._text) and not self._final
        if word not in CUT_BEFORE | CUT_BEFORE_LATE | CUT_BEFORE_WITH_STARTER:
            could = begun and any(known.startswith(word) for known in CUT_BEFORE | CUT_BEFORE_LATE)
            return (_Verdict.WAIT, at) if could else passed
        return self._judge_conjunction(at, word, found.end(), begun=begun)

    def _judge_conjunction(self, at: int, word: str, word_end: int, *, begun: bool) -> _Judgement:
        passed = _Verdict.PASS, at + 1
        words = _WORD.findall(self._text[self._start : at])
        needed = self._min_words + 1
        if word in CUT_BEFORE_LATE:
            needed = max(needed, _LATE_WORDS)
        elif word in CUT_BEFORE_WITH_STARTER:
            needed = max(needed, _NEW_CLAUSE_WORDS)
        if len(words) < needed or words[-1].lower() in BOUND_TO_NEXT:
            return passed
        if begun:
            return _Verdict.WAIT, at
        if word in CUT_BEFORE_WITH_STARTER:
            next_word = _NEXT_WORD.match(self._text, word_end + 1)
            if (next_word is None or next_word.end() == len(self._text)) and not self._final:
                complete = next_word is not None and next_word.group().lower() in CLAUSE_STARTERS
                room = len(self._text) - word_end < 12
                return (_Verdict.WAIT, at) if room and (next_word is None or complete) else passed
            if next_word is None or next_word.group().lower() not in CLAUSE_STARTERS:
                return passed
        return _Verdict.CLAUSE, at + 1

    def _judge_dash(self, at: int) -> _Judgement:
        """A spaced hyphen is a dash, except between numbers."""
        if self._text[at + 1 : at + 3] != "- ":
            return _Verdict.PASS, at + 1
        head = self._text[self._start : at]
        if head[-1:].isdigit() or _word_count(head) < self._min_words:
            return _Verdict.PASS, at + 1
        return _Verdict.CLAUSE, at + 2

    def _judge_clause(self, at: int) -> _Judgement:
        text, passed = self._text, (_Verdict.PASS, at + 1)
        char = text[at]
        if _word_count(text[self._start : at]) < self._min_words:
            return passed
        if at + 1 == len(text):
            wide = char in "，、；："
            return (_Verdict.CLAUSE, at + 1) if wide or self._final else (_Verdict.WAIT, at)
        following = text[at + 1]
        if char in "—–":
            joins = not following.isspace() and (char == "–" or (text[at - 1].isdigit() and following.isdigit()))
            return passed if joins else (_Verdict.CLAUSE, at + 1)
        if not following.isspace() and char not in "，、；：،؛":
            return passed
        rest = text[at + 1 : at + 8].lstrip()
        if char == "," and (rest.startswith(NAME_SUFFIXES) or (text[at - 1].isdigit() and rest[:1].isdigit())):
            return passed
        return _Verdict.CLAUSE, at + 1
