"""From a transcript to plain words: one spelling for what recognizers write in many."""

import re
from dataclasses import dataclass

# Numbers with their separators, words with their apostrophes, and every other sign by itself: a sign that is
# not known stays, so that a sentence with it is not understood.
_TOKEN = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|\.\d+|[^\W\d_]+(?:'[^\W\d_]+)*|\S")
_SILENT = frozenset('.,?!;:"“”()…—–=')
_SPOKEN_SIGNS = {
    "+": "plus",
    "*": "times",
    "×": "times",
    "/": "divided by",
    "÷": "divided by",
    "%": "percent",
    "^": "to the power of",
    "°": "degrees",
    "²": "squared",
    "³": "cubed",
    "√": "square root of",
}
_HESITATIONS = frozenset(["um", "uh", "er", "erm", "uhm", "umm", "hm", "hmm"])
# Four large numbers in words and their operators fit; longer text is no command and would only cost time.
_MAX_CHARS = 400


@dataclass(frozen=True, slots=True)
class Wording:
    """How one thing is said in several ways.

    Attributes:
        contractions: "what's" to "what is".
        openings: Word runs that may stand before a request and change nothing, longest first.
        closings: The same for after it.
    """

    contractions: dict[str, str]
    openings: tuple[tuple[str, ...], ...]
    closings: tuple[tuple[str, ...], ...]


def plain_words(text: str, wording: Wording) -> tuple[str, ...]:
    """Lower case words of `text` without punctuation, hesitations and contractions; () if it is too long."""
    if len(text) > _MAX_CHARS:
        return ()
    lowered = text.lower().replace("’", "'").replace("−", "-").replace("a.m", "am").replace("p.m", "pm")
    words: list[str] = []
    for found in _TOKEN.finditer(lowered):
        piece = found.group()
        if piece == "-":
            words.extend(_hyphen(lowered, found.start()))
        elif piece not in _SILENT and piece not in _HESITATIONS:
            spoken = wording.contractions.get(piece) or _SPOKEN_SIGNS.get(piece) or piece
            words.extend(spoken.split())
    return tuple(words)


def _hyphen(text: str, at: int) -> tuple[str, ...]:
    """What a hyphen says: "5 - 3" and "-5" a minus, "twenty-five" nothing.

    "555-1234" may be a telephone number: the word "hyphen" lets the templates decide.
    """
    before, after = text[:at], text[at + 1 :]
    if not after.lstrip()[:1].isdigit():
        return ()
    return ("hyphen",) if before[-1:].isdigit() and after[0].isdigit() else ("minus",)


def without_frame(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    """`words` without the politeness around them; never empty unless `words` is."""
    while True:
        shorter = _without_opening(_without_closing(words, wording), wording)
        if shorter == words:
            return words
        words = shorter


def _without_opening(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    for opening in wording.openings:
        if len(words) > len(opening) and words[: len(opening)] == opening:
            return words[len(opening) :]
    return words


def _without_closing(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    for closing in wording.closings:
        if len(words) > len(closing) and words[-len(closing) :] == closing:
            return words[: -len(closing)]
    return words
