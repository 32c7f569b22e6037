"""What a reply's sound says where: from played samples to heard words.

A reply is spoken unit by unit. The script collects the units as their sound is made, with the position of every
word, so that at any moment it can be said which words have been heard.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from audio.tts import WordMark
from audio.units import ReplySamples


@dataclass(slots=True)
class Script:
    """The words of one reply and where they sound; grows as the reply is made."""

    _text: str = ""
    _sound_ends: list[int] = field(default_factory=list)  # of each word, in samples
    _text_ends: list[int] = field(default_factory=list)  # of each word, in characters
    _samples: int = 0
    _unit_text_start: int = 0
    _written: Callable[[int], int] = int
    _unit_samples_start: int = 0

    @property
    def text(self) -> str:
        """Everything that was given to be spoken so far."""
        return self._text

    @property
    def samples(self) -> ReplySamples:
        """The length of the sound made so far."""
        return ReplySamples(self._samples)

    def begin_unit(self, text: str, written: Callable[[int], int] = int) -> None:
        """The next unit's sound follows. The unit's text is part of the reply from here on.

        `written` tells from a place in the text that is spoken the place in `text`, where the two differ.
        """
        self._written = written
        self._unit_text_start = len(self._text) + bool(self._text)
        self._unit_samples_start = self._samples
        self._text = f"{self._text} {text}" if self._text else text

    def add(self, samples: int, marks: tuple[WordMark, ...]) -> None:
        """A chunk of the unit's sound, with the marks of the words that begin in it, in order."""
        self._samples += samples
        for mark in marks:
            self._sound_ends.append(self._unit_samples_start + mark.end)
            self._text_ends.append(self._unit_text_start + self._written(mark.text_end))

    def words_heard(self, played: int) -> int:
        """How many whole words lie before this position of the reply's sound."""
        return bisect_right(self._sound_ends, played)

    def text_heard(self, played: int) -> str:
        """The text up to the last whole word before this position; "" where no whole word was heard."""
        heard = self.words_heard(played)
        return self._text[: self._text_ends[heard - 1]].strip() if heard else ""
