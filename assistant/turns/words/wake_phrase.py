"""Decides whether speech is addressed to the assistant: by the wake phrase, or in the window after a reply.

No I/O, no clock. The phrase is searched in the recognizer's transcript at the start of a turn, after fillers, and at
the start of a sentence. It is not searched elsewhere, so that talk about the phrase does not match. One wrong letter in
eight is accepted; word breaks are ignored. Positions are on the sample clock.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from rapidfuzz.distance import Levenshtein

from assistant.turns.settings import WakePhraseThresholds
from audio.units import Samples, samples_of_ms, samples_of_s

FILLERS = frozenset(
    "um uh uhm erm er hm hmm mm ah oh eh so well ok okay and now ahm also na naja euh heu alors bon este pues"
    " bueno".split()
)
"""Fillers that may precede the wake phrase: English, German, French, Spanish, without accents."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_ENDS = re.compile(r"[.!?…]\s")
_REST_MAX = samples_of_ms(300)
"""Speech that begins this near to the estimated end of a wake word may begin with the rest of it."""

_MIN_INEXACT_REST = 4
"""Letters from which the rest of a wake word may have a wrong one: shorter ones would match many words."""

_BETWEEN = " \t\n,.;:!?…-–—"


@dataclass(frozen=True, slots=True)
class AddressedSpeech:
    """Classifies a transcript by its addressee.

    Attributes:
        kind: meant: for the assistant, to be answered. called: the wake phrase alone. overheard: for somebody else.
        text: The words without the phrase, if they are meant; otherwise "".
        has_wake_phrase: The transcript contains the phrase.
    """

    kind: Literal["meant", "called", "overheard"]
    text: str = ""
    has_wake_phrase: bool = False


class WakePhrase:
    """Searches transcripts for the wake phrase.

    Attributes:
        text: The phrase as configured, with single spaces.
    """

    def __init__(self, phrase: str, thresholds: WakePhraseThresholds | None = None) -> None:
        """Prepares the phrase. Raises ValueError if it has no letters."""
        self.text = " ".join(phrase.split())
        self._words = len(_WORD.findall(phrase))
        self._letters = "".join(_plain(word) for word in _WORD.findall(phrase))
        if not self._letters:
            raise ValueError(
                f"the wake phrase {phrase!r} has no letters; set talk.wake_phrase to words, such as hey computer"
            )
        self._min_rest = (len(_plain(_WORD.findall(phrase)[-1])) + 1) // 2
        self._max_letter_errors = len(self._letters) // (thresholds or WakePhraseThresholds()).letters_per_error

    def text_after(self, text: str) -> str | None:
        """Returns what follows the last occurrence of the phrase; None if the phrase does not occur.

        If only fillers follow, the result is "".
        """
        rest: str | None = None
        while (end := self._end(text if rest is None else rest)) is not None:
            rest = (text if rest is None else rest)[end:].lstrip(_BETWEEN)
        if rest is not None and all(_plain(word) in FILLERS for word in _WORD.findall(rest)):
            return ""
        return rest

    def text_before(self, text: str) -> str:
        """Returns what precedes the first occurrence of the phrase; "" if it does not occur, or after fillers only."""
        span = self._span(text)
        before = "" if span is None else text[: span[0]].rstrip(" \t\n,;:-–—")
        return "" if all(_plain(word) in FILLERS for word in _WORD.findall(before)) else before

    def text_after_rest(self, text: str) -> str:
        """Returns a transcript without the end of the phrase at its beginning: "Bu, what time is it" after "okay nabu".

        The sound of a wake word is removed up to its estimated end, which may be early. At least half of the last word
        counts, as it is spelled, or with one wrong letter where that is a quarter at most.
        """
        words = list(_WORD.finditer(text))
        for count in (3, 2, 1):
            heard = "".join(_plain(word.group()) for word in words[:count])
            if len(words) >= count and self._is_rest(heard):
                return text[words[count - 1].end() :].lstrip(_BETWEEN)
        return text

    def _is_rest(self, heard: str) -> bool:
        if len(heard) < self._min_rest or len(heard) > len(self._letters) + 1:
            return False
        if self._letters.endswith(heard):
            return True
        return len(heard) >= _MIN_INEXACT_REST and Levenshtein.distance(heard, self._letters[-len(heard) :]) <= 1

    def is_in(self, text: str) -> bool:
        """Returns whether the text contains the letters of the phrase anywhere."""
        return self._letters in "".join(_plain(word) for word in _WORD.findall(text))

    def _end(self, text: str) -> int | None:
        """Returns the index after the first occurrence of the phrase in `text`, or None."""
        span = self._span(text)
        return None if span is None else span[1]

    def _span(self, text: str) -> tuple[int, int] | None:
        """Returns where the first occurrence of the phrase begins and ends in `text`, or None."""
        words = list(_WORD.finditer(text))
        plain = [_plain(word.group()) for word in words]
        for start in _beginnings(text, words, plain):
            spoken = self._spoken_at(plain, start)
            if spoken:
                return words[start].start(), words[start + spoken - 1].end()
        return None

    def _spoken_at(self, plain: Sequence[str], start: int) -> int:
        """Returns the number of words from `start` that match the phrase; 0 without a match."""
        best, words = self._max_letter_errors + 1, 0
        for count in (self._words, self._words - 1, self._words + 1):
            heard = plain[start : start + count]
            if count == 0 or len(heard) < count:
                continue
            letter_errors = Levenshtein.distance(self._letters, "".join(heard))
            if letter_errors < best:
                best, words = letter_errors, count
        return words


@dataclass(slots=True)
class WakePhraseGate:
    """Decides in one conversation which speech is addressed to the assistant.

    Attributes:
        phrase: The wake phrase; None: all speech is addressed to the assistant.
        window: How long after a reply speech may begin without the phrase. 0: the phrase is always needed, also
            during a reply.
        thresholds: The thresholds of the wake phrase.
        by_sound: Wake words that are detected by their sound, by name. They are removed from transcripts.
    """

    phrase: WakePhrase | None = None
    window: Samples = Samples(0)
    by_sound: Mapping[str, WakePhrase] = field(default_factory=dict)
    thresholds: WakePhraseThresholds = field(default_factory=WakePhraseThresholds)
    _until: Samples | None = None  # speech that begins up to here needs no phrase
    _heard: tuple[WakePhrase, Samples] | None = None  # the last wake word by its sound, and its estimated end

    @property
    def interruptible(self) -> bool:
        """Whether speech without the phrase may interrupt a reply. The window is open while a reply plays."""
        return (self.phrase is None and not self.by_sound) or self.window > 0

    @property
    def name(self) -> str:
        """The wake phrase, or the first wake word; "" if there is none."""
        return next((phrase.text for phrase in self._phrases), "")

    def is_open(self, position: Samples) -> bool:
        """Returns whether speech that begins here needs no phrase."""
        return self.phrase is None or (self._until is not None and position <= self._until)

    def classify(self, text: str, onset: Samples) -> AddressedSpeech:
        """Classifies the transcript of speech that began at `onset`.

        A wake word that is noticed by its sound wakes a conversation, which then listens to all words: it does not take
        away what was said before it.
        """
        if self._heard is not None and self._heard[1] - _REST_MAX <= onset <= self._heard[1] + _REST_MAX:
            remaining = self._heard[0].text_after_rest(text)
            if text and not remaining:
                return AddressedSpeech("called", has_wake_phrase=True)
            text = remaining
        asked = next((rest for phrase in self._phrases if (rest := phrase.text_after(text)) is not None), None)
        if asked:
            return AddressedSpeech("meant", asked, has_wake_phrase=True)
        if asked == "" and self.phrase is None:
            before = next((before for phrase in self._phrases if (before := phrase.text_before(text))), "")
            if before:
                return AddressedSpeech("meant", before)
        if asked == "":
            return AddressedSpeech("called", has_wake_phrase=True)
        return AddressedSpeech("meant", text) if self.is_open(onset) else AddressedSpeech("overheard")

    @property
    def _phrases(self) -> Iterable[WakePhrase]:
        return self.by_sound.values() if self.phrase is None else (self.phrase,)

    def spoken_name(self, word: str) -> WakePhrase:
        """Returns a wake word that is detected by its sound as a phrase."""
        return self.by_sound.get(word) or WakePhrase(word.replace("_", " "))

    def note_word(self, word: str, end: Samples) -> None:
        """Notes that a wake word was noticed by its sound, with its estimated end."""
        self._heard = self.spoken_name(word), end

    def extend_for_reply(self, position: Samples) -> None:
        """Notes that a reply is active up to here, which opens the window."""
        self._until = Samples(position + self.window) if self.window else None

    def close(self) -> None:
        """Closes the window."""
        self._until = None

    def open_after_phrase(self, position: Samples) -> None:
        """Opens the window after the phrase was said alone."""
        self._until = Samples(position + max(self.window, samples_of_s(self.thresholds.after_phrase_window_s)))


def _beginnings(text: str, words: Sequence[re.Match[str]], plain: Sequence[str]) -> Iterator[int]:
    """Yields the word indices at which the phrase may begin: the first word, after fillers, a new sentence."""
    fillers = len(list(takewhile(lambda word: word in FILLERS, plain)))
    for number, word in enumerate(words):
        new = number > 0 and _SENTENCE_ENDS.search(text, words[number - 1].end(), word.start()) is not None
        if number <= fillers or new:
            yield number


def _plain(word: str) -> str:
    """Returns the word in lower case, without accents and apostrophes."""
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in apart if char.isalnum())
