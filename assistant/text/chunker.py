"""Splits the streamed reply into speakable chunks.

The first chunk may end early, at a clause (`clause_boundaries.py`); later chunks end at sentences. Chunks are
consecutive slices of the speakable text, so no word is lost or repeated, however the text was divided into tokens. A
mark is decided as soon as the text after it is known; "?", "!" and a comma after a plain word are decided immediately.
"""

import re
import unicodedata
from dataclasses import dataclass

from assistant.text.chunk_buffer import CLOSERS, OPENERS, UNSPACED, Boundary, BoundaryDecision, ChunkBuffer, ScanState
from assistant.text.clause_boundaries import decide_clause_mark, decide_space
from assistant.text.markup.notes import BlockNotes
from assistant.text.sentence_boundaries import (
    END_AT_ONCE,
    ENDS,
    STAGE_DIRECTION,
    decide_sentence_end,
    decide_stage_direction,
)
from assistant.text.speakable import CODE_NOTE, Speakable

_MARK = re.compile(rf'[{END_AT_ONCE}.…\n{re.escape(OPENERS + CLOSERS)}"]|(?<=[{UNSPACED}]) |;')
_FIRST_MARK = re.compile(rf'[{END_AT_ONCE}.…\n{re.escape(OPENERS + CLOSERS)}" ,;:，、；：،؛·—–]')
_CUT_MARK = re.compile(r"[,;:，、；：،؛—–.!?…。！？](?=\s)|[，、；：。！？]")
_LEADING_REST = re.compile(r"[\s…!?,;:.)”»」』\]，、；：。！？]*(?<!\d)(?:[\"'’—–-]+\s+)*\s*")

_MAX_EXTENDED_CHARS = 120
_MAX_UNCUT_SENTENCE_CHARS = 60  # a first sentence up to this length is not cut if it is already complete
_MAX_SHORT_SENTENCE_WORDS = 2


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of the reply that is synthesized at once.

    Attributes:
        text: Plain text with at least one letter or digit and without line breaks.
        index: Position in the reply, from 0.
        ends_sentence: False if the chunk was cut at a clause or for its length, so that the intonation must not fall.
        is_notice: It is a notice of the program before the answer, so the LLM must not see it.
    """

    text: str
    index: int
    ends_sentence: bool
    is_notice: bool = False


def _is_greek(char: str) -> bool:
    return "\u0370" <= char <= "\u03ff" or "\u1f00" <= char <= "\u1fff"


class Chunker:
    """Splits the tokens of one reply into chunks. Not thread-safe."""

    def __init__(
        self, first_unit_min_words: int = 3, max_unit_chars: int = 300, *, notes: BlockNotes | str = CODE_NOTE
    ) -> None:
        """Configures the chunker for one reply.

        Args:
            first_unit_min_words: Minimum number of words of a first chunk that is cut at a clause.
            max_unit_chars: Maximum length of a chunk in characters. Longer text is cut between words where possible.
            notes: Sentences that replace code and tables, in the language of the reply. A string replaces the first
                block of code; "" for none.

        Raises:
            ValueError: `first_unit_min_words` is below 1, or `max_unit_chars` is below 20.
        """
        if first_unit_min_words < 1 or max_unit_chars < 20:
            raise ValueError(
                f"first_unit_min_words = {first_unit_min_words} and max_unit_chars = {max_unit_chars}: "
                "the first must be at least 1, the second at least 20"
            )
        self._max_chars = max_unit_chars
        self._speakable = Speakable(notes)
        self._buffer = ChunkBuffer(first_unit_min_words)
        self._state = ScanState()
        self._chunk_start_state = ScanState()  # state at the start of the current chunk
        self._index = 0

    def feed(self, token: str) -> tuple[TextChunk, ...]:
        """Adds a token of the reply and returns the chunks that are now complete."""
        return self._next_chunks(self._speakable.feed(token))

    def finish(self) -> tuple[TextChunk, ...]:
        """Marks the reply as complete and returns the remaining chunks."""
        rest = self._speakable.finish()
        self._buffer.final = True
        return self._next_chunks(rest)

    def _next_chunks(self, text: str) -> tuple[TextChunk, ...]:
        buffer = self._buffer
        if not text and not buffer.final:
            return ()
        buffer.text += text
        chunks: list[TextChunk] = []
        while buffer.start < len(buffer.text):
            if buffer.text[buffer.start] == " ":
                buffer.start += 1
                self._state.scan = max(self._state.scan, buffer.start)
                continue
            decision, end = self._next_boundary()
            if decision is BoundaryDecision.WAIT:
                break
            chunk = self._make_chunk(buffer.text[buffer.start : end], ends_sentence=decision is BoundaryDecision.END)
            if chunk is not None:
                chunks.append(chunk)
            buffer.start = end
            self._state.scan = max(self._state.scan, end)
            self._chunk_start_state = self._state.copy()
        # Chunked text is dropped once per call, so that a long text in one call is not copied for every chunk.
        buffer.text = buffer.text[buffer.start :]
        for state in (self._state, self._chunk_start_state):
            state.scan -= buffer.start
            state.opened_at -= buffer.start
        buffer.start = 0
        return tuple(chunks)

    def _make_chunk(self, piece: str, *, ends_sentence: bool) -> TextChunk | None:
        leading_rest = _LEADING_REST.match(piece)
        if leading_rest and leading_rest.end() < len(piece) and not piece[leading_rest.end()].isdigit():
            piece = piece[leading_rest.end() :]
        text = " ".join(piece.split())
        if not any(char.isalnum() for char in text):
            return None
        chunk = TextChunk(text, self._index, ends_sentence)
        self._index += 1
        self._buffer.first = False
        return chunk

    # Boundary search

    def _next_boundary(self) -> Boundary:
        """Finds the end of the next chunk; the decision is WAIT if more text is needed."""
        buffer = self._buffer
        limit = buffer.start + self._max_chars
        decision, end = self._search(self._state, limit)
        if decision is BoundaryDecision.CLAUSE:
            decision, end = self._short_sentence_or_clause(end)
        elif decision is BoundaryDecision.END:
            end = self._extend_short_sentence(end)
        if decision is not BoundaryDecision.WAIT and len(buffer.text[buffer.start : end].rstrip()) <= self._max_chars:
            return decision, end
        if len(buffer.text) > limit:
            end = self._forced_cut(limit)
            self._rewind_to(end)
            return BoundaryDecision.CLAUSE, end
        if buffer.final:
            return BoundaryDecision.END, len(buffer.text)
        return BoundaryDecision.WAIT, buffer.start

    def _search(self, state: ScanState, limit: int) -> Boundary:
        """Finds the next clause or sentence boundary up to `limit` and moves `state` to it."""
        marks = _FIRST_MARK if self._buffer.first else _MARK
        while mark := marks.search(self._buffer.text, state.scan, limit + 1):
            position = mark.start()
            decision, end = self._decide(state, position)
            if decision is BoundaryDecision.WAIT:
                state.scan = position
                return BoundaryDecision.WAIT, position
            state.move(self._buffer, position, end)
            if decision is not BoundaryDecision.PASS:
                if self._buffer.text[position] == "\n":
                    state.depth, state.quoted = 0, False
                return decision, end
        state.scan = min(len(self._buffer.text), limit + 1)
        return BoundaryDecision.WAIT, state.scan

    def _short_sentence_or_clause(self, clause_end: int) -> Boundary:
        """Returns the boundary of the first sentence if it is short and complete, otherwise that of the clause."""
        ahead = self._state.copy()
        while True:
            decision, end = self._search(ahead, self._buffer.start + _MAX_UNCUT_SENTENCE_CHARS)
            if decision is not BoundaryDecision.CLAUSE:
                break
        if decision is BoundaryDecision.END and end - self._buffer.start <= _MAX_UNCUT_SENTENCE_CHARS:
            self._state = ahead
            return BoundaryDecision.END, end
        self._state.scan = clause_end
        return BoundaryDecision.CLAUSE, clause_end

    def _extend_short_sentence(self, end: int) -> int:
        """Extends a very short sentence by the next one if that is complete and on the same line."""
        buffer = self._buffer
        if buffer.word_count(end) > _MAX_SHORT_SENTENCE_WORDS or buffer.text.startswith("\n", end):
            return end
        if buffer.text[end - 1 : end] in ("\n", ")") or STAGE_DIRECTION.match(buffer.text, end):
            return end
        ahead = self._state.copy()
        decision, further = self._search(ahead, buffer.start + min(_MAX_EXTENDED_CHARS, self._max_chars))
        if decision is BoundaryDecision.END and further - buffer.start <= min(_MAX_EXTENDED_CHARS, self._max_chars):
            self._state = ahead
            return further
        return end

    def _forced_cut(self, limit: int) -> int:
        """Returns a cut position of at most `limit`.

        Prefers the last mark in the second half, then the last space, then a position inside a word.
        """
        buffer = self._buffer
        half = buffer.start + self._max_chars // 2
        marks = [mark.end() for mark in _CUT_MARK.finditer(buffer.text, half, limit)]
        if marks:
            return marks[-1]
        space = buffer.text.rfind(" ", buffer.start + 1, limit + 1)
        if space > buffer.start:
            return space
        cut = limit
        while cut > limit - 8 and unicodedata.combining(buffer.text[cut]):
            cut -= 1
        return cut

    def _rewind_to(self, end: int) -> None:
        """Resets the search state to a forced cut, because the search has already passed it."""
        self._state = self._chunk_start_state.copy()
        self._state.move(self._buffer, self._buffer.start, end)

    def _decide(self, state: ScanState, position: int) -> Boundary:
        """Decides whether a chunk may end at the mark at `position`."""
        char = self._buffer.text[position]
        if char == "\n":
            end = position + 1
            while self._buffer.text.startswith("\n", end):
                end += 1
            return BoundaryDecision.END, end
        if char in ENDS or (char == ";" and position > 0 and _is_greek(self._buffer.text[position - 1])):
            return decide_sentence_end(self._buffer, state, position)
        if char in OPENERS or char in CLOSERS or char == '"':
            return self._decide_bracket(position)
        if state.encloses(position):
            return BoundaryDecision.PASS, position + 1
        if char == " ":
            return decide_space(self._buffer, position)
        return (
            decide_clause_mark(self._buffer, position) if self._buffer.first else (BoundaryDecision.PASS, position + 1)
        )

    def _decide_bracket(self, position: int) -> Boundary:
        """Decides about a bracket or quotation mark: a boundary only after a stage direction."""
        buffer, char = self._buffer, self._buffer.text[position]
        if char == ")" and buffer.text[buffer.start] == "(":
            return decide_stage_direction(buffer, position)
        incomplete = char == "»" and position + 1 == len(buffer.text) and not buffer.final
        return (
            (BoundaryDecision.WAIT, position) if incomplete else (BoundaryDecision.PASS, position + 1)
        )  # "»" opens a quotation only before a letter
