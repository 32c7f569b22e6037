"""Splits the streamed reply into speakable chunks.

The first chunk may end early, at a clause; later chunks end at sentences. Chunks are consecutive slices of the
speakable text, so no word is lost or repeated, however the text was divided into tokens. A mark is decided as soon
as the text after it is known; "?", "!" and a comma after a plain word are decided immediately.
"""

import re
import unicodedata
from dataclasses import dataclass

from assistant.text.chunk_buffer import CLOSERS, OPENERS, UNSPACED, BoundaryDecision, ChunkBuffer, Judgement, ScanState
from assistant.text.clause_boundaries import judge_clause, judge_space
from assistant.text.sentence_boundaries import END_AT_ONCE, ENDS, STAGE_DIRECTION, judge_direction, judge_end
from assistant.text.speakable import CODE_NOTE, Speakable

_MARK = re.compile(rf'[{END_AT_ONCE}.…\n{re.escape(OPENERS + CLOSERS)}"]|(?<=[{UNSPACED}]) |;')
_FIRST_MARK = re.compile(rf'[{END_AT_ONCE}.…\n{re.escape(OPENERS + CLOSERS)}" ,;:，、；：،؛·—–]')
_CUT_MARK = re.compile(r"[,;:，、；：،؛—–.!?…。！？](?=\s)|[，、；：。！？]")
_LEFTOVER = re.compile(r"[\s…!?,;:.)”»」』\]，、；：。！？]*(?<!\d)(?:[\"'’—–-]+\s+)*\s*")

_MERGED_CHARS = 120
_SHORT_SENTENCE_CHARS = 60  # a first sentence up to this length is not cut if it is already complete
_SHORT_WORDS = 2


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of the reply that is synthesized at once.

    Attributes:
        text: Plain text with at least one letter or digit and without line breaks.
        index: Position in the reply, from 0.
        ends_sentence: False if the chunk was cut at a clause or for its length, so that the intonation must not fall.
    """

    text: str
    index: int
    ends_sentence: bool


def _is_greek(char: str) -> bool:
    return "\u0370" <= char <= "\u03ff" or "\u1f00" <= char <= "\u1fff"


class Chunker:
    """Splits the tokens of one reply into chunks. Not thread-safe."""

    def __init__(self, first_unit_min_words: int = 3, max_unit_chars: int = 300, *, code_note: str = CODE_NOTE) -> None:
        """Configures the chunker for one reply.

        Args:
            first_unit_min_words: Minimum number of words of a first chunk that is cut at a clause.
            max_unit_chars: Maximum length of a chunk in characters. Longer text is cut between words where possible.
            code_note: Sentence that replaces the first block of code, in the language of the reply; "" for none.

        Raises:
            ValueError: `first_unit_min_words` is below 1, or `max_unit_chars` is below 20.
        """
        if first_unit_min_words < 1 or max_unit_chars < 20:
            raise ValueError(
                f"first_unit_min_words = {first_unit_min_words} and max_unit_chars = {max_unit_chars}: "
                "the first must be at least 1, the second at least 20"
            )
        self._max_chars = max_unit_chars
        self._speakable = Speakable(code_note)
        self._unspoken = ChunkBuffer(first_unit_min_words)
        self._place = ScanState()
        self._unit_place = ScanState()  # state at the start of the current chunk
        self._index = 0

    def feed(self, token: str) -> tuple[TextChunk, ...]:
        """Adds a token of the reply and returns the chunks that are now complete."""
        return self._take(self._speakable.feed(token))

    def finish(self) -> tuple[TextChunk, ...]:
        """Marks the reply as complete and returns the remaining chunks."""
        rest = self._speakable.finish()
        self._unspoken.final = True
        return self._take(rest)

    def _take(self, text: str) -> tuple[TextChunk, ...]:
        unspoken = self._unspoken
        if not text and not unspoken.final:
            return ()
        unspoken.text += text
        units: list[TextChunk] = []
        while unspoken.start < len(unspoken.text):
            if unspoken.text[unspoken.start] == " ":
                unspoken.start += 1
                self._place.scan = max(self._place.scan, unspoken.start)
                continue
            verdict, end = self._next_cut()
            if verdict is BoundaryDecision.WAIT:
                break
            unit = self._unit(unspoken.text[unspoken.start : end], ends_sentence=verdict is BoundaryDecision.END)
            if unit is not None:
                units.append(unit)
            unspoken.start = end
            self._place.scan = max(self._place.scan, end)
            self._unit_place = self._place.copy()
        # Chunked text is dropped once per call, so that a long text in one call is not copied for every chunk.
        unspoken.text = unspoken.text[unspoken.start :]
        for place in (self._place, self._unit_place):
            place.scan -= unspoken.start
            place.opened_at -= unspoken.start
        unspoken.start = 0
        return tuple(units)

    def _unit(self, piece: str, *, ends_sentence: bool) -> TextChunk | None:
        leftover = _LEFTOVER.match(piece)
        if leftover and leftover.end() < len(piece) and not piece[leftover.end()].isdigit():
            piece = piece[leftover.end() :]
        text = " ".join(piece.split())
        if not any(char.isalnum() for char in text):
            return None
        unit = TextChunk(text, self._index, ends_sentence)
        self._index += 1
        self._unspoken.first = False
        return unit

    # Boundary search

    def _next_cut(self) -> Judgement:
        """Finds the end of the next chunk; the decision is WAIT if more text is needed."""
        unspoken = self._unspoken
        limit = unspoken.start + self._max_chars
        verdict, end = self._search(self._place, limit)
        if verdict is BoundaryDecision.CLAUSE:
            verdict, end = self._whole_sentence_or(end)
        elif verdict is BoundaryDecision.END:
            end = self._merged(end)
        if (
            verdict is not BoundaryDecision.WAIT
            and len(unspoken.text[unspoken.start : end].rstrip()) <= self._max_chars
        ):
            return verdict, end
        if len(unspoken.text) > limit:
            end = self._forced_cut(limit)
            self._rewind_to(end)
            return BoundaryDecision.CLAUSE, end
        if unspoken.final:
            return BoundaryDecision.END, len(unspoken.text)
        return BoundaryDecision.WAIT, unspoken.start

    def _search(self, place: ScanState, limit: int) -> Judgement:
        """Finds the next clause or sentence boundary up to `limit` and moves `place` to it."""
        marks = _FIRST_MARK if self._unspoken.first else _MARK
        while mark := marks.search(self._unspoken.text, place.scan, limit + 1):
            at = mark.start()
            verdict, end = self._judge(place, at)
            if verdict is BoundaryDecision.WAIT:
                place.scan = at
                return BoundaryDecision.WAIT, at
            place.move(self._unspoken, at, end)
            if verdict is not BoundaryDecision.PASS:
                if self._unspoken.text[at] == "\n":
                    place.depth, place.quoted = 0, False
                return verdict, end
        place.scan = min(len(self._unspoken.text), limit + 1)
        return BoundaryDecision.WAIT, place.scan

    def _whole_sentence_or(self, clause_end: int) -> Judgement:
        """Returns the boundary of the first sentence if it is short and complete, otherwise that of the clause."""
        ahead = self._place.copy()
        while True:
            verdict, end = self._search(ahead, self._unspoken.start + _SHORT_SENTENCE_CHARS)
            if verdict is not BoundaryDecision.CLAUSE:
                break
        if verdict is BoundaryDecision.END and end - self._unspoken.start <= _SHORT_SENTENCE_CHARS:
            self._place = ahead
            return BoundaryDecision.END, end
        self._place.scan = clause_end
        return BoundaryDecision.CLAUSE, clause_end

    def _merged(self, end: int) -> int:
        """Extends a very short sentence by the next one if that is complete and on the same line."""
        unspoken = self._unspoken
        if unspoken.word_count(end) > _SHORT_WORDS or unspoken.text.startswith("\n", end):
            return end
        if unspoken.text[end - 1 : end] in ("\n", ")") or STAGE_DIRECTION.match(unspoken.text, end):
            return end
        ahead = self._place.copy()
        verdict, further = self._search(ahead, unspoken.start + min(_MERGED_CHARS, self._max_chars))
        if verdict is BoundaryDecision.END and further - unspoken.start <= min(_MERGED_CHARS, self._max_chars):
            self._place = ahead
            return further
        return end

    def _forced_cut(self, limit: int) -> int:
        """Returns a cut position of at most `limit`.

        Prefers the last mark in the second half, then the last space, then a position inside a word.
        """
        unspoken = self._unspoken
        half = unspoken.start + self._max_chars // 2
        marks = [mark.end() for mark in _CUT_MARK.finditer(unspoken.text, half, limit)]
        if marks:
            return marks[-1]
        space = unspoken.text.rfind(" ", unspoken.start + 1, limit + 1)
        if space > unspoken.start:
            return space
        cut = limit
        while cut > limit - 8 and unicodedata.combining(unspoken.text[cut]):
            cut -= 1
        return cut

    def _rewind_to(self, end: int) -> None:
        """Resets the search state to a forced cut, because the search has already passed it."""
        self._place = self._unit_place.copy()
        self._place.move(self._unspoken, self._unspoken.start, end)

    def _judge(self, place: ScanState, at: int) -> Judgement:
        """Decides whether a chunk may end at the mark at `at`."""
        char = self._unspoken.text[at]
        if char == "\n":
            end = at + 1
            while self._unspoken.text.startswith("\n", end):
                end += 1
            return BoundaryDecision.END, end
        if char in ENDS or (char == ";" and at > 0 and _is_greek(self._unspoken.text[at - 1])):
            return judge_end(self._unspoken, place, at)
        if char in OPENERS or char in CLOSERS or char == '"':
            return self._judge_bracket(at)
        if place.encloses(at):
            return BoundaryDecision.PASS, at + 1
        if char == " ":
            return judge_space(self._unspoken, at)
        return judge_clause(self._unspoken, at) if self._unspoken.first else (BoundaryDecision.PASS, at + 1)

    def _judge_bracket(self, at: int) -> Judgement:
        """Decides about a bracket or quotation mark: a boundary only after a stage direction."""
        unspoken, char = self._unspoken, self._unspoken.text[at]
        if char == ")" and unspoken.text[unspoken.start] == "(":
            return judge_direction(unspoken, at)
        begun = char == "»" and at + 1 == len(unspoken.text) and not unspoken.final
        return (
            (BoundaryDecision.WAIT, at) if begun else (BoundaryDecision.PASS, at + 1)
        )  # "»" opens a quotation only before a letter
