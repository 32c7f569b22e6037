"""Prepares text for espeak-ng: cleans it, cuts it into pieces, and finds its words from the library's events."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from audio.pronunciation import PronouncedWord, espeak_phonemes

PIECE_CHARS = 200
"""Longest text of one library call.

A sentence is usually shorter and stays whole. 200 characters are 12 s of speech, 77 s at worst (spelled out). So the
memory of a text and the time it occupies the library are bounded.
"""

_BRACKETS_TO_BLANKS = str.maketrans("[]", "  ")
_SPOKEN_PUNCTUATION = "&%@#§‰"
_REPLACEMENT = "\ufffd"

# Control characters carry commands for the library (0x01 changes the voice), NUL ends the text, lone surrogates have
# no UTF-8 form, private characters are not pronounced. Each becomes one blank, so that offsets stay valid.
_UNSPEAKABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff]")

# Where to cut a long text, best first: after a sentence, after a clause, between words, and last between two digits,
# because "15:30", "1.234,56" and "12 500" belong together.
_CUTS = (
    re.compile(r"[.!?…。！？]['\")\]»”’]*\s+"),
    re.compile(r"[,;:–]\s+|[—،、，；：](?!(?<=\d.)\d)\s*"),
    re.compile(r"(?<![\s\d])\s+|\s+(?![\s\d])"),
    re.compile(r"\s+"),
)

_CLOSING = "'\")]}»”’›"
_SENTENCE_ENDS = ".!?…。！？؟।"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """The text of one library call and its offset in the whole text."""

    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class SpokenText:
    """The text for one library call: a piece in which words may be replaced by phonemes in [[ ]].

    Attributes:
        text: What the library reads.
        replaced: Where phonemes are: their start and end in `text`, and the start and end of the word in the piece.
    """

    text: str
    replaced: tuple[tuple[int, int, int, int], ...] = ()

    @classmethod
    def of(cls, text: str, pronounced: Sequence[PronouncedWord]) -> Self:
        """Replaces the `pronounced` words of a piece."""
        if not pronounced:
            return cls(text)
        text = text.translate(_BRACKETS_TO_BLANKS)  # a bracket of the text would join those of the phonemes
        said, done = "", 0
        replaced = []
        for word in pronounced:
            said += text[done : word.text_start]
            start = len(said)
            said += f"[[{espeak_phonemes(word.phonemes)}]]"
            replaced.append((start, len(said), word.text_start, word.text_end))
            done = word.text_end
        return cls(said + text[done:], tuple(replaced))

    @property
    def has_phonemes(self) -> bool:
        return bool(self.replaced)

    def offset(self, at: int) -> int:
        """Returns the offset in the piece for an offset in `text`."""
        shift = 0
        for start, end, word_start, word_end in self.replaced:
            if at < start:
                break
            if at < end:
                return word_start
            shift = word_end - end
        return at + shift


def clean(text: str) -> str:
    """Replaces every character that must not reach the library by a blank; keeps the length."""
    return _UNSPEAKABLE.sub(" ", text)


def pronounceable(text: str) -> bool:
    """Returns whether the text has a letter, a digit or a symbol with a name. Punctuation is not pronounced."""
    return any(map(_has_sound, text))


def words(text: str) -> tuple[tuple[int, int], ...]:
    """Returns start and end offsets of the words: pronounceable text between white space."""
    return tuple(token.span() for token in re.finditer(r"\S+", text) if pronounceable(token[0]))


def pieces(text: str) -> list[TextPiece]:
    """Cuts the text at the best places into pieces of at most PIECE_CHARS; omits pieces without sound."""
    found = []
    start = 0
    while start < len(text):
        end = _cut(text, start)
        if pronounceable(text[start:end]):
            found.append(TextPiece(start, text[start:end]))
        start = end
    return found


def ends_sentence(text: str) -> bool:
    """Returns whether the text ends like a sentence, ignoring closing quotes and brackets."""
    return text.rstrip().rstrip(_CLOSING).endswith(tuple(_SENTENCE_ENDS))


def word_at(text: str, spans: tuple[tuple[int, int], ...], offset: int, length: int) -> int:
    """Returns the index of the word that the library means by these characters; -1 before the first one.

    Characters outside of words: a dash stands for the word after it ("wait -- what" has its second event on the dash),
    white space for the word before it (the second half of an emoji's name).
    """
    index = bisect_right(spans, offset, key=lambda span: span[1])
    in_word = index < len(spans) and spans[index][0] < offset + max(1, length)
    before_word = index < len(spans) and not text[offset : offset + length].isspace()
    return index if in_word or before_word else index - 1


def _cut(text: str, start: int) -> int:
    limit = start + PIECE_CHARS
    if len(text) <= limit:
        return len(text)
    for cut in _CUTS:
        # Cuts only in the second half: a piece of two words would sound chopped.
        found = cut.finditer(text, start + PIECE_CHARS // 2, limit + 1)
        if ends := [match.end() for match in found if match.end() <= limit]:
            return ends[-1]
    return limit


def _has_sound(character: str) -> bool:
    if character in _SPOKEN_PUNCTUATION:
        return True
    category = unicodedata.category(character)
    return category[0] in "LN" or (category in ("Sc", "Sm", "So") and character != _REPLACEMENT)
