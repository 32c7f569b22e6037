"""A reply's words on the screen, and which of them is being spoken: pure."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from assistant.commands.talk.text import CUT, printable
from assistant.history.spoken_transcript import TimedWord

PASSAGE_CHARS = 280
"""A unit that begins behind so many characters begins a passage of its own: what is redrawn for every word stays short,
and of a long reply the passage being spoken can be kept in view."""

MOST_WAITING = 50
"""Placed words whose text has not come; more are forgotten: a word that is not lit is no harm."""


@dataclass(frozen=True, slots=True)
class HighlightedWord:
    """A word of a reply: in which passage, from which character to which."""

    passage: int
    start: int
    end: int


class ReplyWords:
    """The text of one reply in passages, with the words found in it as they are placed.

    Attributes:
        passages: What is shown, one paragraph each.
    """

    def __init__(self) -> None:
        """Nothing said so far."""
        self.passages: list[str] = []
        self._blank = False  # the text so far ends with one
        self._starts_ms: list[float] = []
        self._words: list[HighlightedWord] = []
        self._end_ms = 0.0
        self._at = (0, 0)  # passage and character behind the last word that was found
        self._waiting: list[TimedWord] = []  # placed before their text came

    def add(self, text: str, *, spaced: bool) -> None:
        """The next unit; `spaced`: a blank goes between it and the one before. Pieces of plain text bring their own."""
        shown = printable(text)  # which strips: blanks at the edges are the text's own
        blank = self._blank or spaced or text[:1].isspace()
        self._blank = text[-1:].isspace() or (self._blank and not shown)
        if not shown:
            return
        last = self.passages[-1] if self.passages else ""
        if not last or (blank and len(last) >= PASSAGE_CHARS) or len(last) >= 2 * PASSAGE_CHARS:
            self.passages.append(shown)
        else:
            self.passages[-1] = f"{last} {shown}" if blank else f"{last}{shown}"
        self._find_waiting()

    def place(self, words: Iterable[TimedWord]) -> None:
        """When the next words sound, in order."""
        self._waiting.extend(words)
        self._find_waiting()
        del self._waiting[:-MOST_WAITING]

    def at(self, played_ms: float) -> HighlightedWord | None:
        """The word that sounds after `played_ms` of the reply; in a pause, the one before.

        Before the first word and after the last one an empty place in front of or behind it; None if none is placed.
        """
        if not self._words:
            return None
        found = bisect_right(self._starts_ms, played_ms) - 1
        if found < 0:
            return HighlightedWord(self._words[0].passage, self._words[0].start, self._words[0].start)
        word = self._words[found]
        return word if played_ms < self._end_ms else HighlightedWord(word.passage, word.end, word.end)

    def behind(self, heard: str) -> tuple[int, int]:
        """Where the text goes on that was not heard: passage and character behind `heard`, as far as the two agree."""
        left = len(printable(heard, most=2 * len(heard) + len(CUT)))
        for index, passage in enumerate(self.passages):
            if left <= len(passage):
                return index, left
            left -= len(passage) + 1  # the blank between two units
            left = max(0, left)
        return len(self.passages), 0

    def _find_waiting(self) -> None:
        while self._waiting:
            place = self._find(self._waiting[0])
            # Where a later word is there already, this one is spelled otherwise on the screen.
            if place is None and not any(self._find(later) for later in self._waiting[1:]):
                return
            word = self._waiting.pop(0)
            if place is not None and (not self._starts_ms or word.start_ms >= self._starts_ms[-1]):
                self._starts_ms.append(word.start_ms)
                self._words.append(place)
                self._end_ms = max(self._end_ms, word.end_ms)
                self._at = (place.passage, place.end)

    def _find(self, word: TimedWord) -> HighlightedWord | None:
        """The word as a whole, behind the last one that was found."""
        shown = printable(word.text)
        passage, at = self._at
        for index in range(passage, len(self.passages) if shown else 0):
            text = self.passages[index]
            start = found = at if index == passage else 0
            while (found := text.find(shown, found)) >= 0:
                if found in {0, start} or text[found - 1] == " ":
                    return HighlightedWord(index, found, found + len(shown))
                found += 1
        return None
