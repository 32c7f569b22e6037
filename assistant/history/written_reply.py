"""Keeps a reply as the language model wrote it, with its Markdown, and cuts it to the words that were heard.

The spoken form leaves out code, tables and addresses. For a cut, the text is converted to speech again, word by word,
until it has given the letters and digits that were heard. A block whose sentence was heard is kept as a whole.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.support.unicode import visible
from assistant.text.markup.notes import BlockNotes
from assistant.text.speakable import Speakable

MAX_CHARS = 200_000
"""Longest text of one reply that is kept; of a longer one the history has the spoken form."""

_WORD = re.compile(r"\s*\S+|\s+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_REST_OF_WORD = re.compile(r"\S*")
_OPEN_LINK = re.compile(r"!?\[([^\[\]\n]*)\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(slots=True)
class _Part:
    """One answer of the model, or a paragraph of the program's own."""

    text: str = ""
    own: bool = False


@dataclass(slots=True)
class WrittenReply:
    """The text of one reply. It grows while the reply is made.

    Attributes:
        notes: What is spoken in place of blocks.
    """

    notes: BlockNotes
    _parts: list[_Part] = field(default_factory=lambda: [_Part()])
    _chars: int = 0

    @property
    def text(self) -> str:
        """The model's text so far."""
        return _joined([part.text for part in self._parts if not part.own])

    def add_text(self, text: str) -> None:
        """Adds a piece of the model's text."""
        self._chars += len(text)
        if self._chars <= MAX_CHARS:
            self._parts[-1].text += text

    def end_answer(self) -> None:
        """Ends an answer of the model: it has called tools, and goes on with their results."""
        self._parts.append(_Part())

    def add_paragraph(self, text: str) -> None:
        """Adds a paragraph of the program: a notice, or an apology after an answer that may have broken off."""
        self._chars += len(text)
        self._parts += [_Part(text, own=True), _Part()]

    def heard(self, words: str) -> str:
        """Returns the text up to the words that were heard, or "" where it does not contain them, as with gaps."""
        return self.split(words)[0]

    def split(self, words: str) -> tuple[str, str]:
        """Returns the text up to the words that were heard, and what follows, with the space between them.

        Both are "" where the text does not contain the words.
        """
        if self._chars > MAX_CHARS:
            return "", ""
        rest, unheard = _Letters(words), ""
        kept: list[str] = []
        parts = [part for part in self._parts if part.text.strip()]
        for number, part in enumerate(parts):
            if not rest.left:
                later = _joined([part.text for part in parts[number:] if not part.own])
                gap = "\n\n" if later and (kept or unheard) else ""
                unheard = unheard.rstrip() + gap + later
                break
            spoken = _Spoken(part.text, self.notes, as_it_is=part.own)
            matching = rest.matching(spoken.letters)
            if rest.left > matching < len(spoken.letters):
                if part.own:
                    continue  # a notice, which the history leaves out
                # It broke off, or was withdrawn: an apology is spoken after some of its words.
                after = parts[number + 1 : number + 2]
                place = rest.place_of(_letters_of(after[0].text), matching) if after and after[0].own else None
                if place is None:
                    return "", ""
                matching = place
            heard, unheard = spoken.split(matching, rest.words_until(matching))
            kept.append(heard)
            rest.skip(matching)
        return ("", "") if rest.left else (_joined(kept), unheard)


@dataclass(slots=True)
class _Letters:
    """The letters and digits of heard words, from a place on."""

    words: str
    _letters: str = field(init=False)
    _places: list[int] = field(init=False)  # of each letter, in the words
    _start: int = 0

    def __post_init__(self) -> None:
        self._places = [index for index, char in enumerate(self.words) if char.isalnum()]
        self._letters = "".join(self.words[place] for place in self._places)

    @property
    def left(self) -> int:
        return len(self._letters) - self._start

    def matching(self, letters: str) -> int:
        """Returns how many letters are the first of `letters`."""
        if self._letters.startswith(letters, self._start):
            return len(letters)
        low, high = 0, min(len(letters), self.left)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._letters.startswith(letters[:middle], self._start) else (low, middle - 1)
        return low

    def place_of(self, letters: str, at_most: int) -> int | None:
        """Returns the last place, counted from here, at which only `letters` follow, whole or in part."""
        for place in range(at_most, -1, -1):
            rest = self._letters[self._start + place :]
            if rest and letters.startswith(rest[: len(letters)]):
                return place
        return None

    def skip(self, count: int) -> None:
        self._start += count

    def words_until(self, count: int) -> "_Words":
        return _Words(self.words, self._places[self._start : self._start + count])


@dataclass(frozen=True, slots=True)
class _Words:
    """Heard words, with the places of their letters."""

    words: str
    places: Sequence[int]

    def after(self, letters: int) -> str:
        """Returns the words after this many letters."""
        return self.words[self.places[letters] : self.places[-1] + 1] if letters < len(self.places) else ""


@dataclass(slots=True)
class _Spoken:
    """Maps a written text to its spoken form.

    Attributes:
        letters: The letters and digits of its spoken form.
    """

    written: str
    notes: BlockNotes
    as_it_is: bool
    letters: str = field(init=False)

    def __post_init__(self) -> None:
        self.letters = _letters_of(self.written) if self.as_it_is else self._read(_LINE)[2]

    def split(self, count: int, heard: _Words) -> tuple[str, str]:
        """Returns the text whose spoken form has `count` letters, with the silent blocks after it, and the rest.

        A link, formula or block that was heard in part is in both.
        """
        if count == len(self.letters):
            return _with_closed_fence(self.written.strip()), ""
        if self.as_it_is:
            return heard.after(0), ""
        counts, places, _ = self._read(_WORD)
        reached = bisect_left(counts, count)
        if counts[reached] != count:  # in the middle of a link, a formula or the sentence of a block
            before = reached - 1
            written = self.written[: places[before]].rstrip()
            is_block = written.rpartition("\n")[2].lstrip().startswith(("```", "~~~", "|"))
            space = "\n\n" if is_block else " "  # nothing may stand in the last line of a block
            unheard = self.written[len(written) :].rstrip()
            return f"{written}{space}{heard.after(counts[before])}".strip(), unheard
        word_end = _rest_of_word(self.written, places[reached])
        silent_until = places[bisect_right(counts, count) - 1]
        next_word = len(self.written) - len(self.written[silent_until:].lstrip())
        next_line = self.written.rfind("\n", 0, next_word) + 1
        end = len(self.written[: max(word_end, next_line)].rstrip())
        kept, unheard = _with_closed_fence(self.written[:end].strip()), self.written[end:].rstrip()
        return (kept, unheard) if next_line >= word_end else _with_marks_closed(kept, unheard)

    def _read(self, pieces: re.Pattern[str]) -> tuple[list[int], list[int], str]:
        """Converts the text piece by piece. Returns letters spoken and place reached after each, and all letters."""
        kept = [index for index, char in enumerate(self.written) if visible(char)]  # what `Speakable` counts
        kept.append(len(self.written))
        speakable, fed, letters = Speakable(self.notes), 0, 0
        counts, places, spoken = [0], [0], []
        for piece in pieces.findall(self.written):
            spoken_letters = _letters_of(speakable.feed(piece))
            fed += len(visible(piece))
            letters += len(spoken_letters)
            spoken.append(spoken_letters)
            counts.append(letters)
            places.append(kept[fed - speakable.pending])
        spoken_letters = _letters_of(speakable.finish())
        return (
            [*counts, letters + len(spoken_letters)],
            [*places, len(self.written)],
            "".join([*spoken, spoken_letters]),
        )


def _letters_of(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _rest_of_word(text: str, position: int) -> int:
    rest = _REST_OF_WORD.match(text, position)
    return rest.end() if rest else position


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(filter(None, map(str.strip, texts)))


def _with_closed_fence(text: str) -> str:
    """Closes a block of code that is cut, so that nothing after the text belongs to it."""
    fence = ""
    for line in text.split("\n"):
        if (mark := _FENCE.match(line)) is None:
            continue
        if not fence:
            fence = mark.group(1)
        elif line.strip().startswith(fence[:3]):
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _with_marks_closed(text: str, unheard: str) -> tuple[str, str]:
    """Moves the marks of emphasis, code or a link that begin in the last paragraph of `text` to what follows it."""
    above, gap, last = text.rpartition("\n\n")
    space = unheard[: len(unheard) - len(unheard.lstrip())]
    unheard = unheard[len(space) :]
    if _OPEN_LINK.search(last):
        last, unheard = _OPEN_LINK.sub(r"\1", last), f"[{unheard}"
    for mark in ("**", "__", "`"):
        if last.count(mark) % 2:
            before, _, after = last.rpartition(mark)
            last, unheard = before + after, mark + unheard
    return above + gap + last, space + unheard
