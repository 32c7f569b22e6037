"""A unit's text on its way to espeak-ng: cleaned, cut into pieces, and its words found again in what was said."""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

PIECE_CHARS = 200
"""The most that is given to the library at once. A sentence is shorter and stays whole; 200 characters are 12 s of
speech, 77 s at worst (spelled out), so that the memory of a unit and its hold on the library are bounded."""

_SPOKEN_PUNCTUATION = "&%@#§‰"
_REPLACEMENT = "\ufffd"

# Control characters carry commands for the library (0x01 changes the voice), NUL ends the text, lone surrogates have
# no UTF-8 form and private characters no sound. One blank for each: offsets stay those of the caller's text.
_UNSPEAKABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff]")

# Where a long text may be cut, best first: after a sentence, after a clause, between words, and only then between two
# digits, where "15:30", "1.234,56" and "12 500" are one thing each.
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
    """What the library gets at once: `text`, and its offset in the unit."""

    offset: int
    text: str


def clean(text: str) -> str:
    """The text with a blank in place of every character that must not reach the library; same length."""
    return _UNSPEAKABLE.sub(" ", text)


def pronounceable(text: str) -> bool:
    """Whether there is anything to say: a letter, a digit, a symbol with a name. Punctuation alone is nothing."""
    return any(map(_has_sound, text))


def words(text: str) -> tuple[tuple[int, int], ...]:
    """Start and end offsets of the words: what stands between white space and has something to say."""
    return tuple(token.span() for token in re.finditer(r"\S+", text) if pronounceable(token[0]))


def pieces(text: str) -> list[TextPiece]:
    """The text cut where it hurts least into pieces of at most PIECE_CHARS, those without sound left out."""
    found = []
    start = 0
    while start < len(text):
        end = _cut(text, start)
        if pronounceable(text[start:end]):
            found.append(TextPiece(start, text[start:end]))
        start = end
    return found


def ends_sentence(text: str) -> bool:
    """Whether the text ends like a sentence, in front of closing quotes and brackets."""
    return text.rstrip().rstrip(_CLOSING).endswith(tuple(_SENTENCE_ENDS))


def word_at(text: str, spans: tuple[tuple[int, int], ...], offset: int, length: int) -> int:
    """Index of the word that the library means by these characters; -1 before the first one.

    Where they are in no word: a dash stands for the word after it ("wait -- what" has its second event on the
    dash), white space for the one before it (the second half of an emoji's name).
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
        # The first half stays: a piece of two words would sound chopped.
        found = cut.finditer(text, start + PIECE_CHARS // 2, limit + 1)
        if ends := [match.end() for match in found if match.end() <= limit]:
            return ends[-1]
    return limit


def _has_sound(character: str) -> bool:
    if character in _SPOKEN_PUNCTUATION:
        return True
    category = unicodedata.category(character)
    return category[0] in "LN" or (category in ("Sc", "Sm", "So") and character != _REPLACEMENT)
