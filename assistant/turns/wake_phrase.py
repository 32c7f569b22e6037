"""Whether what is said in the room is meant for the assistant: the wake phrase, and the window after a reply. Pure.

The phrase is looked for in the words of the running recognizer, where a turn begins, after a filler, and where the
recognizer marks a new sentence; nowhere else, so that talk about the phrase is no call. Slips of one letter in eight
are forgiven, word breaks are not looked at. Positions are on the microphone's line.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from audio.units import Samples, samples_of_s

LETTERS_PER_SLIP = 8
"""So many letters of the phrase forgive one that is wrong, missing or too many: "hey commuter" calls "hey computer",
"the computer" (two letters off) does not, and a phrase of seven letters or fewer has to be heard exactly."""

CALLED_S = 5.0
"""Who has only called may take so long to begin, also where replies open no window."""

FILLERS = frozenset(
    "um uh uhm erm er hm hmm mm ah oh eh so well ok okay and now ahm also na naja euh heu alors bon este pues"
    " bueno".split()
)
"""What people begin with before they say what they want: English, German, French, Spanish, without accents."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_ENDS = re.compile(r"[.!?…]\s")
_BETWEEN = " \t\n,.;:!?…-–—"


@dataclass(frozen=True, slots=True)
class AddressedSpeech:
    """What words are, and to whom.

    Attributes:
        kind: meant: for the assistant, to be answered. called: the wake phrase alone. overheard: for somebody else.
        text: What was meant, without the phrase; "" of the others.
        named: The phrase was in it.
    """

    kind: Literal["meant", "called", "overheard"]
    text: str = ""
    named: bool = False


class WakePhrase:
    """The phrase, ready to be looked for.

    Attributes:
        text: As it was configured.
    """

    def __init__(self, phrase: str) -> None:
        """Raises ValueError for a phrase without letters."""
        self.text = " ".join(phrase.split())
        self._words = len(_WORD.findall(phrase))
        self._letters = "".join(_plain(word) for word in _WORD.findall(phrase))
        if not self._letters:
            raise ValueError(
                f"the wake phrase {phrase!r} has no letters; set talk.wake_phrase to words, as hey computer"
            )
        self._slips = len(self._letters) // LETTERS_PER_SLIP

    def after(self, text: str) -> str | None:
        """What follows the phrase in `text`, however often it was said; None where it was not."""
        rest: str | None = None
        while (found := self._end(text if rest is None else rest)) is not None:
            rest = (text if rest is None else rest)[found:].lstrip(_BETWEEN)
        if rest is not None and all(_plain(word) in FILLERS for word in _WORD.findall(rest)):
            return ""
        return rest

    def _end(self, text: str) -> int | None:
        """Where the first phrase in `text` ends."""
        words = list(_WORD.finditer(text))
        plain = [_plain(word.group()) for word in words]
        for start in _beginnings(text, words, plain):
            spoken = self._spoken_at(plain, start)
            if spoken:
                return words[start + spoken - 1].end()
        return None

    def _spoken_at(self, plain: Sequence[str], start: int) -> int:
        """How many words from `start` on are the phrase; 0 where it is not there."""
        best, words = self._slips + 1, 0
        for count in (self._words, self._words - 1, self._words + 1):
            heard = plain[start : start + count]
            if count == 0 or len(heard) < count:
                continue
            slips = _distance(self._letters, "".join(heard))
            if slips < best:
                best, words = slips, count
        return words


@dataclass(slots=True)
class WakePhraseGate:
    """Who is listened to in one conversation.

    Attributes:
        phrase: None: everybody, always.
        listen: For so long after a reply what begins needs no phrase; 0: it always needs one, also during a reply.
    """

    phrase: WakePhrase | None = None
    listen: Samples = Samples(0)
    _until: Samples | None = None  # what begins up to here needs no phrase

    @property
    def interruptible(self) -> bool:
        """Voice without the phrase may interrupt a reply: while it plays, the window is open."""
        return self.phrase is None or self.listen > 0

    @property
    def name(self) -> str:
        """What calls the assistant; "" where nothing has to."""
        return "" if self.phrase is None else self.phrase.text

    def awake(self, at: Samples) -> bool:
        """Whether what begins here needs no phrase."""
        return self.phrase is None or (self._until is not None and at <= self._until)

    def address(self, text: str, onset: Samples) -> AddressedSpeech:
        """Whom these words are meant for, said from `onset` on."""
        if self.phrase is None:
            return AddressedSpeech("meant", text)
        asked = self.phrase.after(text)
        if asked:
            return AddressedSpeech("meant", asked, named=True)
        if asked == "":
            return AddressedSpeech("called", named=True)
        return AddressedSpeech("meant", text) if self.awake(onset) else AddressedSpeech("overheard")

    def replying(self, at: Samples) -> None:
        """A reply has the floor up to here."""
        self._until = Samples(at + self.listen) if self.listen else None

    def called(self, at: Samples) -> None:
        """The phrase was said alone: what is wanted may still come."""
        self._until = Samples(at + max(self.listen, samples_of_s(CALLED_S)))


def _beginnings(text: str, words: Sequence[re.Match[str]], plain: Sequence[str]) -> Iterator[int]:
    """Where a call may begin: with the first word, behind fillers, with a new sentence."""
    fillers = len(list(takewhile(lambda word: word in FILLERS, plain)))
    for number, word in enumerate(words):
        new = number > 0 and _SENTENCE_ENDS.search(text, words[number - 1].end(), word.start()) is not None
        if number <= fillers or new:
            yield number


def _plain(word: str) -> str:
    """Lower case, without accents and apostrophes."""
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in apart if char.isalnum())


def _distance(wanted: str, heard: str) -> int:
    """Letters to insert, delete or replace to get from one to the other."""
    row = list(range(len(heard) + 1))
    for at, letter in enumerate(wanted, start=1):
        diagonal, row[0] = row[0], at
        for other_at, other in enumerate(heard, start=1):
            diagonal, row[other_at] = (
                row[other_at],
                min(row[other_at] + 1, row[other_at - 1] + 1, diagonal + (letter != other)),
            )
    return row[-1]
