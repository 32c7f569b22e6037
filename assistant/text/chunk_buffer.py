"""Data types of the chunk search: the text not yet in a chunk, the scan position and the boundary decision."""

import re
from dataclasses import dataclass
from enum import Enum, auto

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer: a space separates phrases, not words
UNSPACED_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff" + UNSPACED + "]")
WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
NEXT_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
OPENERS = "(（“„«「『"
CLOSERS = ")）”»」』"

_CLOSES_GERMAN = {"“": "„", '"': "„", "«": "»"}
"""Maps a mark that closes a German quotation to its opening mark: „Ja.“, „Ja." and »Ja.«.

Elsewhere the first mark of each pair opens a quotation.
"""
_AFTER_FRENCH_CLOSER = re.compile(r"[\s.,;:!?)]")  # follows a closing "»"
_MAX_QUOTE_WAIT_CHARS = 120  # in a longer quotation, sentences may end a chunk, so that it does not delay speech


class BoundaryDecision(Enum):
    """The decision about one mark in the text.

    Attributes:
        PASS: No chunk boundary here.
        WAIT: The decision depends on text that has not arrived yet.
        CLAUSE: A clause ends here.
        END: A sentence ends here.
    """

    PASS = auto()
    WAIT = auto()
    CLAUSE = auto()
    END = auto()


Boundary = tuple[BoundaryDecision, int]
"""The decision about a mark, and the position after the mark and its trailing characters."""


@dataclass(slots=True)
class ChunkBuffer:
    """Speakable text that is not yet part of a chunk.

    Attributes:
        min_words: Minimum number of words of a first chunk that is cut at a clause.
        text: The text, starting at or before the next chunk.
        start: Start of the next chunk in `text`.
        first: Whether the next chunk is the first of the reply.
        final: Whether the reply is complete.
    """

    min_words: int
    text: str = ""
    start: int = 0
    first: bool = True
    final: bool = False

    def words(self, end: int) -> list[str]:
        """Returns the words of the next chunk if it ends at `end`."""
        return WORD.findall(self.text[self.start : end])

    def word_count(self, end: int) -> int:
        """Returns the number of words of the next chunk if it ends at `end`.

        In scripts without spaces between words, two letters count as one word; in Thai, Lao, Burmese and Khmer, four.
        """
        text = self.text[self.start : end]
        unspaced = UNSPACED_LETTER.findall(text)
        if not unspaced:
            return len(WORD.findall(text))
        wide = sum(1 for letter in unspaced if letter >= "\u3040" or "\u1780" > letter > "\u3000")
        spaced = len(WORD.findall(UNSPACED_LETTER.sub(" ", text)))
        return spaced + wide // 2 + (len(unspaced) - wide) // 4


@dataclass(slots=True)
class ScanState:
    """Position of a boundary search, with the quotations and brackets open there.

    Attributes:
        scan: Next position to examine.
        depth: Number of open brackets and paired quotation marks.
        quoted: Whether a straight double quotation mark is open.
        opened_at: Position of the outermost opening mark.
    """

    scan: int = 0
    depth: int = 0
    quoted: bool = False
    opened_at: int = 0

    def copy(self) -> "ScanState":
        """Returns a copy of this state."""
        return ScanState(self.scan, self.depth, self.quoted, self.opened_at)

    def encloses(self, position: int) -> bool:
        """Returns whether `position` is inside a quotation or bracket opened less than `_MAX_QUOTE_WAIT_CHARS` ago."""
        return (self.depth > 0 or self.quoted) and position - self.opened_at < _MAX_QUOTE_WAIT_CHARS

    def closes_german(self, buffer: ChunkBuffer, position: int) -> bool:
        """Returns whether the mark at `position`, an opening mark in other languages, closes a German quotation."""
        char, before = buffer.text[position], buffer.text[buffer.start : position]
        opener = _CLOSES_GERMAN.get(char) if self.depth else None
        if opener is None:
            return False
        # The count covers nested quotations: „Er rief „Ja“ laut“.
        return before.rfind(opener) > before.rfind(char) or before.count(opener) > before.count(char)

    def track(self, buffer: ChunkBuffer, position: int) -> None:
        """Updates the open quotations and brackets for the character at `position`."""
        text = buffer.text
        char = text[position]
        if self.depth and (char in CLOSERS or self.closes_german(buffer, position)):
            self.depth -= 1
        elif char == '"':
            inches = not self.quoted and position > 0 and text[position - 1].isdigit()
            if not inches:
                self.quoted = not self.quoted
                self.opened_at = position if self.quoted and not self.depth else self.opened_at
        elif char in OPENERS or (char == "»" and not _AFTER_FRENCH_CLOSER.match(text, position + 1)):
            self.opened_at = self.opened_at if self.depth or self.quoted else position
            self.depth += 1

    def move(self, buffer: ChunkBuffer, target: int, end: int) -> None:
        """Moves the scan position to `end`, tracking the characters from `target` on."""
        for position in range(target, min(end, len(buffer.text))):
            self.track(buffer, position)
        self.scan = end
