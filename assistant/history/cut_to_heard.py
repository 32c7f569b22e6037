"""Cuts a reply to the words that were heard: maps positions in its audio to words.

A reply is spoken chunk by chunk. The transcript collects each chunk's text when its audio is made, with the position of
every word. `History.set_heard` cuts a reply to the words that this transcript reports as heard.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assistant.history.items import AssistantMessage, ItemId, ToolUse
from audio.tts import WordMark
from audio.units import ReplySamples, ms_of_reply_samples

if TYPE_CHECKING:
    from assistant.history.written_reply import WrittenReply

Stretch = tuple[int, int]
"""A range of samples of a reply's audio: the first, and the one after the last."""

GAP = "…"
"""Replaces words in the middle of a reply that were not audible."""


@dataclass(frozen=True, slots=True)
class TimedWord:
    """A word of a reply and its time, in ms from the reply's first sample."""

    text: str
    start_ms: float
    end_ms: float
    estimated: bool


@dataclass(slots=True)
class SpokenTranscript:
    """The words of one reply and their positions in the audio. It grows while the reply is made.

    Attributes:
        written: The reply as the LLM wrote it, where the user sees its Markdown; None where they do not.
        whole_answer: All words of the answer, even if they were not synthesized; "" until the reply ends.
    """

    written: "WrittenReply | None" = None
    whole_answer: str = ""
    _text: str = ""
    _sound_starts: list[int] = field(default_factory=list)  # of each word, in samples
    _sound_ends: list[int] = field(default_factory=list)  # of each word, in samples
    _text_ends: list[int] = field(default_factory=list)  # of each word, in characters
    _samples: int = 0
    _chunk_text_start: int = 0
    _to_written: Callable[[int], int] = int
    _chunk_samples_start: int = 0
    _notice_end: int = 0  # length of the notice at the beginning, in characters
    _answer_end: int | None = None  # where a notice ends the answer, in characters

    @property
    def text(self) -> str:
        """All text that was synthesized so far."""
        return self._text

    @property
    def answer(self) -> str:
        """The text without notices of the program at its beginning and its end."""
        return self._text[self._notice_end : self._answer_end].strip()

    @property
    def samples(self) -> ReplySamples:
        """The length of the audio made so far."""
        return ReplySamples(self._samples)

    def begin_chunk(self, text: str, to_written: Callable[[int], int] = int, *, is_notice: bool = False) -> None:
        """Adds the text of the next chunk, whose audio follows.

        Args:
            text: The text.
            to_written: Maps a position in the spoken form of the text to one in `text`.
            is_notice: It belongs to a notice of the program, which precedes or ends the answer.
        """
        self._to_written = to_written
        self._chunk_text_start = len(self._text) + bool(self._text)
        self._chunk_samples_start = self._samples
        self._text = f"{self._text} {text}" if self._text else text
        self._note_notice(self._chunk_text_start, is_notice=is_notice)

    def _note_notice(self, begin: int, *, is_notice: bool) -> None:
        """Records a notice before the answer, or the one that ends it."""
        if is_notice and begin - self._notice_end <= 1:
            self._notice_end = len(self._text)
        elif is_notice and self._answer_end is None:
            self._answer_end = begin

    def add_audio(self, samples: int, marks: tuple[WordMark, ...]) -> tuple[TimedWord, ...]:
        """Adds an audio chunk, with the marks of the words that begin in it, in order.

        Returns the written words that it completes. The spoken "twelve kilometers" is the one written word "12 km".
        """
        self._samples += samples
        timed_words = []
        for mark in marks:
            text_from = self._text_ends[-1] if self._text_ends else 0
            text_end = self._chunk_text_start + self._to_written(mark.text_end)
            sound_end = self._chunk_samples_start + mark.end
            self._sound_starts.append(self._chunk_samples_start + mark.start)
            self._sound_ends.append(sound_end)
            self._text_ends.append(text_end)
            if text := self._text[text_from:text_end].strip():
                start_ms = ms_of_reply_samples(self._chunk_samples_start + mark.start)
                timed_words.append(TimedWord(text, start_ms, ms_of_reply_samples(sound_end), mark.estimated))
        return tuple(timed_words)

    def add_shown_text(self, text: str, *, is_notice: bool = False) -> None:
        """Adds text that is shown and not spoken. It counts as heard at once. `is_notice`: see `begin_chunk`."""
        begin = len(self._text)
        self._text += text
        self._note_notice(begin, is_notice=is_notice)
        self._sound_starts.append(self._samples)
        self._sound_ends.append(self._samples)
        self._text_ends.append(len(self._text))

    def cut(self, end: ReplySamples) -> None:
        """Removes everything after this position of the audio. Only whole words before it stay."""
        heard = self.words_heard(end)
        self._text = self.text_heard(end)
        self._notice_end = min(self._notice_end, len(self._text))
        self._samples = min(self._samples, end)
        for places in (self._sound_starts, self._sound_ends, self._text_ends):
            del places[heard:]

    def words_heard(self, played: int) -> int:
        """Returns how many whole words end before this position of the audio."""
        return bisect_right(self._sound_ends, played)

    def text_heard(self, played: int, unheard: Sequence[Stretch] = ()) -> str:
        """Returns the text up to the last whole word before this position; "" if there is none.

        Words that overlap an `unheard` stretch are left out.
        """
        return self._words_between(0, self.words_heard(played), unheard)

    def answer_heard(self, played: int, unheard: Sequence[Stretch] = ()) -> str:
        """Returns the same as `text_heard`, but without notices of the program at the beginning and the end."""
        first = bisect_right(self._text_ends, self._notice_end) if self._notice_end else 0
        end = self.words_heard(played)
        if self._answer_end is not None:
            end = min(end, bisect_right(self._text_ends, self._answer_end))
        return self._words_between(first, end, unheard)

    def message(self, item: ItemId, words: str, used: tuple[ToolUse, ...], *, complete: bool) -> AssistantMessage:
        """Returns the item of the reply with these heard words, and the calls of tools during it."""
        markup, unheard = ("", "") if self.written is None else self.written.split(words)
        if not unheard and not markup and self.whole_answer.startswith(words):
            unheard = self.whole_answer[len(words) :]
        if complete or not unheard.strip():
            unheard = ""
        return AssistantMessage(item, words, complete, used, "" if markup == words else markup, unheard)

    def _words_between(self, first: int, end: int, unheard: Sequence[Stretch]) -> str:
        """Returns the text of the words from number `first` to before `end`, without those not played."""
        if not unheard:
            begin = self._text_ends[first - 1] if first else 0
            return self._text[begin : self._text_ends[end - 1]].strip() if end > first else ""
        pieces, missing = [], False
        for word in range(first, end):
            if self._is_unheard(word, unheard):
                missing = True
                continue
            begin = self._text_ends[word - 1] if word else 0
            text = self._text[begin : self._text_ends[word]]
            pieces.append(f" {GAP} {text.lstrip()}" if missing else text)
            missing = False
        return "".join(pieces).strip()

    def text_between(self, since: int, until: int) -> str:
        """Returns the words that sound, at least in part, between two positions of the audio."""
        first, behind = bisect_right(self._sound_ends, since), bisect_right(self._sound_starts, until)
        begin = self._text_ends[first - 1] if first else 0
        return self._text[begin : self._text_ends[behind - 1]].strip() if behind > first else ""

    def all_heard(self, played: int, unheard: Sequence[Stretch] = ()) -> bool:
        """Returns whether every word ends before this position and none overlaps an unheard stretch."""
        words = len(self._sound_ends)
        return self.words_heard(played) == words and not any(self._is_unheard(word, unheard) for word in range(words))

    def _is_unheard(self, word: int, unheard: Sequence[Stretch]) -> bool:
        return any(self._sound_starts[word] < until and self._sound_ends[word] > since for since, until in unheard)
