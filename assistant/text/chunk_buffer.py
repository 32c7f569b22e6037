"""The text of a reply that is in no unit yet, where a search stands in it, and what such a search finds."""

import re
from dataclasses import dataclass
from enum import Enum, auto

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer: a space ends a phrase
UNSPACED_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff" + UNSPACED + "]")
WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
NEXT_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
OPENERS = "(（“„«「『"
CLOSERS = ")）”»」』"

_CLOSES_GERMAN = {"“": "„", '"': "„", "«": "»"}
"""Marks that open elsewhere, to those that they close in German: „Ja.“, „Ja." and »Ja.«."""
_BEHIND_FRENCH = re.compile(r"[\s.,;:!?)]")  # behind "»", where that closes
_QUOTE_PATIENCE_CHARS = 120  # a sentence inside a longer quotation may end a unit: a story in quotes must not wait


class BoundaryDecision(Enum):
    """Of a mark: nothing ends here; what follows must be known first; a clause ends; a sentence ends."""

    PASS = auto()
    WAIT = auto()
    CLAUSE = auto()
    END = auto()


Judgement = tuple[BoundaryDecision, int]
"""What a mark means, and the position after what belongs to it."""


@dataclass(slots=True)
class ChunkBuffer:
    """Speakable text.

    Attributes:
        min_words: A first unit cut at a clause has at least this many.
        start: Where the next unit begins.
        first: There was no unit yet.
        final: No more text comes.
    """

    min_words: int
    text: str = ""
    start: int = 0
    first: bool = True
    final: bool = False

    def words(self, end: int) -> list[str]:
        """Of the next unit, if it ends here."""
        return WORD.findall(self.text[self.start : end])

    def word_count(self, end: int) -> int:
        """The same, counted; in scripts without spaces two letters count as one word, in the Thai family four."""
        text = self.text[self.start : end]
        unspaced = UNSPACED_LETTER.findall(text)
        if not unspaced:
            return len(WORD.findall(text))
        wide = sum(1 for letter in unspaced if letter >= "\u3040" or "\u1780" > letter > "\u3000")
        spaced = len(WORD.findall(UNSPACED_LETTER.sub(" ", text)))
        return spaced + wide // 2 + (len(unspaced) - wide) // 4


@dataclass(slots=True)
class ScanState:
    """Where the search stands in the text: next position, and what is open there."""

    scan: int = 0
    depth: int = 0
    quoted: bool = False
    opened_at: int = 0

    def copy(self) -> "ScanState":
        """Another one, there."""
        return ScanState(self.scan, self.depth, self.quoted, self.opened_at)

    def encloses(self, at: int) -> bool:
        """Whether a quotation or bracket is open that is not longer than one waits for."""
        return (self.depth > 0 or self.quoted) and at - self.opened_at < _QUOTE_PATIENCE_CHARS

    def closes_german(self, unspoken: ChunkBuffer, at: int) -> bool:
        """Whether the mark at `at`, which opens elsewhere, closes a German quotation."""
        char, before = unspoken.text[at], unspoken.text[unspoken.start : at]
        opener = _CLOSES_GERMAN.get(char) if self.depth else None
        if opener is None:
            return False
        # The second: „Er rief „Ja“ laut“, one inside another.
        return before.rfind(opener) > before.rfind(char) or before.count(opener) > before.count(char)

    def track(self, unspoken: ChunkBuffer, at: int) -> None:
        """What the character at `at` opens or closes."""
        text = unspoken.text
        char = text[at]
        if self.depth and (char in CLOSERS or self.closes_german(unspoken, at)):
            self.depth -= 1
        elif char == '"':
            inches = not self.quoted and at > 0 and text[at - 1].isdigit()
            if not inches:
                self.quoted = not self.quoted
                self.opened_at = at if self.quoted and not self.depth else self.opened_at
        elif char in OPENERS or (char == "»" and not _BEHIND_FRENCH.match(text, at + 1)):
            self.opened_at = self.opened_at if self.depth or self.quoted else at
            self.depth += 1

    def move(self, unspoken: ChunkBuffer, at: int, end: int) -> None:
        """On to `end`, past what stands from `at` on."""
        for position in range(at, min(end, len(unspoken.text))):
            self.track(unspoken, position)
        self.scan = end
