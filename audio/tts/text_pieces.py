"""Prepares text for a voice: cleans it, cuts it into pieces of bounded length, and finds its words."""

import re
import unicodedata
from dataclasses import dataclass

PIECE_CHARS = 200
"""Longest text of one call of a synthesizer.

A sentence is usually shorter and stays whole. 200 characters are 12 s of speech, 77 s at worst (spelled out). So the
memory of a text and the time it occupies the engine are bounded.
"""

_SPOKEN_PUNCTUATION = "&%@#§‰"
_REPLACEMENT = "\ufffd"

# Control characters carry commands for espeak-ng (0x01 changes the voice), NUL ends the text, lone surrogates have
# no UTF-8 form, private characters are not pronounced. Each becomes one blank, so that offsets stay valid.
_UNSPEAKABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff]")

# Places to cut a long text, best first: after a sentence, after a clause, between words, and last between two digits,
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
    """The text of one call of a synthesizer and its offset in the whole text."""

    offset: int
    text: str


def clean(text: str) -> str:
    """Replaces every character that must not reach a synthesizer by a blank; keeps the length."""
    return _UNSPEAKABLE.sub(" ", text)


def pronounceable(text: str) -> bool:
    """Returns whether the text has a letter, a digit or a symbol with a name. Punctuation is not pronounced."""
    return any(map(_has_sound, text))


def words(text: str) -> tuple[tuple[int, int], ...]:
    """Returns start and end offsets of the words: pronounceable text between white space."""
    return tuple(token.span() for token in re.finditer(r"\S+", text) if pronounceable(token[0]))


def pieces(text: str) -> list[TextPiece]:
    """Cuts the text at the best places into pieces of at most PIECE_CHARS; omits pieces without sound."""
    result = []
    start = 0
    while start < len(text):
        end = _cut(text, start)
        if pronounceable(text[start:end]):
            result.append(TextPiece(start, text[start:end]))
        start = end
    return result


def ends_sentence(text: str) -> bool:
    """Returns whether the text ends like a sentence, ignoring closing quotes and brackets."""
    return text.rstrip().rstrip(_CLOSING).endswith(tuple(_SENTENCE_ENDS))


def _cut(text: str, start: int) -> int:
    limit = start + PIECE_CHARS
    if len(text) <= limit:
        return len(text)
    for cut in _CUTS:
        # Cuts only in the second half: a piece of two words would sound chopped.
        matches = cut.finditer(text, start + PIECE_CHARS // 2, limit + 1)
        if ends := [match.end() for match in matches if match.end() <= limit]:
            return ends[-1]
    return limit


def _has_sound(character: str) -> bool:
    if character in _SPOKEN_PUNCTUATION:
        return True
    category = unicodedata.category(character)
    return category[0] in "LN" or (category in ("Sc", "Sm", "So") and character != _REPLACEMENT)
