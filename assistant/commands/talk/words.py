"""A reply's words on the screen, and the word being spoken. No I/O, no clock."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from assistant.commands.talk.text import CUT, printable
from assistant.history.cut_to_heard import TimedWord

PASSAGE_CHARS = 280
"""Characters after which a chunk starts a new passage. Redrawing for every word stays cheap, and the passage being
spoken can be kept in view."""

MAX_WAITING = 50
"""Maximum number of timed words without their text; older ones are dropped, which only loses their highlighting."""


@dataclass(frozen=True, slots=True)
class HighlightedWord:
    """A word of a reply: its passage, start and end character."""

    passage: int
    start: int
    end: int


class ReplyWords:
    """The text of one reply in passages, with the positions of its timed words.

    Attributes:
        passages: The texts shown, one paragraph each.
    """

    def __init__(self) -> None:
        """Starts empty."""
        self.passages: list[str] = []
        self._blank = False  # whether the text so far ends with a blank
        self._starts_ms: list[float] = []
        self._words: list[HighlightedWord] = []
        self._end_ms = 0.0
        self._position = (0, 0)  # passage and character after the last word found
        self._unplaced: list[TimedWord] = []  # timed words whose text has not arrived

    def add_chunk(self, text: str, *, spaced: bool) -> None:
        """Adds the next chunk. `spaced`: a blank separates it from the previous one; plain text has its own blanks."""
        shown = printable(text)  # it strips the blanks, which are evaluated separately
        blank = self._blank or spaced or text[:1].isspace()
        self._blank = text[-1:].isspace() or (self._blank and not shown)
        if not shown:
            return
        last = self.passages[-1] if self.passages else ""
        if not last or (blank and len(last) >= PASSAGE_CHARS) or len(last) >= 2 * PASSAGE_CHARS:
            self.passages.append(shown)
        else:
            self.passages[-1] = f"{last} {shown}" if blank else f"{last}{shown}"
        self._find_unplaced()

    def place(self, words: Iterable[TimedWord]) -> None:
        """Adds the times of the next words, in order."""
        self._unplaced.extend(words)
        self._find_unplaced()
        del self._unplaced[:-MAX_WAITING]

    def word_at(self, played_ms: float) -> HighlightedWord | None:
        """Returns the word that is spoken after `played_ms` of the reply; during a pause, the word before.

        Before the first and after the last word returns an empty range before or after it; None without timed words.
        """
        if not self._words:
            return None
        index = bisect_right(self._starts_ms, played_ms) - 1
        if index < 0:
            return HighlightedWord(self._words[0].passage, self._words[0].start, self._words[0].start)
        word = self._words[index]
        return word if played_ms < self._end_ms else HighlightedWord(word.passage, word.end, word.end)

    def unheard_position(self, heard: str) -> tuple[int, int]:
        """Returns the passage and character after `heard`, where the unheard text begins, as far as both agree."""
        left = len(printable(heard, max_chars=2 * len(heard) + len(CUT)))
        for index, passage in enumerate(self.passages):
            if left <= len(passage):
                return index, left
            left -= len(passage) + 1  # the blank between two chunks
            left = max(0, left)
        return len(self.passages), 0

    def _find_unplaced(self) -> None:
        while self._unplaced:
            place = self._find(self._unplaced[0])
            # If a later word is found, this one has another spelling on the screen and is skipped.
            if place is None and not any(self._find(later) for later in self._unplaced[1:]):
                return
            word = self._unplaced.pop(0)
            if place is not None and (not self._starts_ms or word.start_ms >= self._starts_ms[-1]):
                self._starts_ms.append(word.start_ms)
                self._words.append(place)
                self._end_ms = max(self._end_ms, word.end_ms)
                self._position = (place.passage, place.end)

    def _find(self, word: TimedWord) -> HighlightedWord | None:
        """Finds the next occurrence of the whole word after the last one found."""
        shown = printable(word.text)
        passage, position = self._position
        for index in range(passage, len(self.passages) if shown else 0):
            text = self.passages[index]
            start = place = position if index == passage else 0
            while (place := text.find(shown, place)) >= 0:
                if place in {0, start} or text[place - 1] == " ":
                    return HighlightedWord(index, place, place + len(shown))
                place += 1
        return None
