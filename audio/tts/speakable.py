"""Removes from a text what its voice cannot speak: letters of other scripts, repeated characters, endless words. Pure.

espeak-ng, which also gives Piper its phonemes, spells a letter that the voice does not know by its number or name: one
Thai letter is 22 phonemes, three seconds of sound.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from audio.tts.word_bounds import bounded_words

LATIN = "LATIN"

SCRIPTS: dict[str, tuple[str, ...]] = {
    "am": ("ETHIOPIC",),
    "ar": ("ARABIC",),
    "as": ("BENGALI",),
    "ba": ("CYRILLIC",),
    "be": ("CYRILLIC",),
    "bg": ("CYRILLIC",),
    "bn": ("BENGALI",),
    "chr": ("CHEROKEE",),
    "cmn": ("CJK", "BOPOMOFO"),
    "cv": ("CYRILLIC",),
    "el": ("GREEK",),
    "fa": ("ARABIC",),
    "grc": ("GREEK",),
    "gu": ("GUJARATI",),
    "hak": ("CJK",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "hy": ("ARMENIAN",),
    "hyw": ("ARMENIAN",),
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    "ka": ("GEORGIAN",),
    "kk": ("CYRILLIC",),
    "kn": ("KANNADA",),
    "ko": ("HANGUL", "CJK"),
    "kok": ("DEVANAGARI",),
    "ky": ("CYRILLIC",),
    "lo": ("LAO",),
    "mk": ("CYRILLIC",),
    "ml": ("MALAYALAM",),
    "mn": ("CYRILLIC",),
    "mr": ("DEVANAGARI",),
    "my": ("MYANMAR",),
    "ne": ("DEVANAGARI",),
    "nog": ("CYRILLIC",),
    "or": ("ORIYA",),
    "pa": ("GURMUKHI",),
    "ru": ("CYRILLIC",),
    "sd": ("ARABIC",),
    "shn": ("MYANMAR",),
    "si": ("SINHALA",),
    "sr": ("CYRILLIC",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "th": ("THAI",),
    "ti": ("ETHIOPIC",),
    "tt": ("CYRILLIC",),
    "ug": ("ARABIC",),
    "uk": ("CYRILLIC",),
    "ur": ("ARABIC",),
    "yue": ("CJK",),
    "zh": ("CJK", "BOPOMOFO"),
}
"""Scripts of languages that are not written in Latin letters, by their codes. Every voice speaks Latin letters too."""

_NAMES = {
    "CJK": "Chinese",
    "HANGUL": "Korean",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "DEVANAGARI": "Hindi",
    "CYRILLIC": "Cyrillic letters",
}
"""Names for people, where the script is not called like its language."""

_FEW_LETTERS = 2
"""Greek letters in a row that every voice names, as in "2 π r" and "Δx"."""

_MARKS = 3
"""Combining marks that one letter keeps: Vietnamese has two."""

_REPEATED = re.compile(r"([^\w\s])\1{3,}")
"""Repeated punctuation or symbols. Three of them sound as more do."""


@dataclass(frozen=True, slots=True)
class Speakable:
    """A text for a voice.

    Attributes:
        text: The text with blanks in place of what the voice cannot speak. It has the same length.
        unspoken: Names of the scripts of the removed letters, in order: "Thai", "Korean".
    """

    text: str
    unspoken: tuple[str, ...] = ()


def speakable(text: str, language: str) -> Speakable:
    """Returns what a voice of the language can speak of the text. `language`: a code such as "en" or "pt-BR"."""
    text = _REPEATED.sub(lambda run: run[1] * 3 + " " * (len(run[0]) - 3), text)
    text, _ = bounded_words(text)
    if text.isascii():
        return Speakable(text)
    known = SCRIPTS.get(re.split("[-_]", language)[0].lower(), ())
    kept, unspoken = list(text), dict[str, None]()
    for start, end, script in _runs(text):
        if script == LATIN or script in known or (script == "GREEK" and end - start <= _FEW_LETTERS):
            continue
        kept[start:end] = " " * (end - start)
        unspoken[_NAMES.get(script, script.capitalize())] = None
    for start, end in _spare_marks(text):
        kept[start:end] = " " * (end - start)
    return Speakable("".join(kept), tuple(unspoken))


def unspoken_notice(unspoken: Sequence[str], voice_language: str) -> str:
    """Returns the line for the screen: "the reply is in Thai; this voice speaks English"."""
    return f"the reply is in {' and '.join(unspoken)}; this voice speaks {voice_language}"


def _runs(text: str) -> list[tuple[int, int, str]]:
    """Returns the runs of letters of one script, with their marks: start, end and script."""
    runs: list[tuple[int, int, str]] = []
    for index, character in enumerate(text):
        category = unicodedata.category(character)
        if category[0] == "L" and category != "Lm":
            script = _script(character)
        elif category[0] == "M" and runs and runs[-1][1] == index:
            script = runs[-1][2]
        else:
            continue
        if runs and runs[-1][1] == index and runs[-1][2] == script:
            runs[-1] = (runs[-1][0], index + 1, script)
        else:
            runs.append((index, index + 1, script))
    return runs


def _spare_marks(text: str) -> list[tuple[int, int]]:
    """Returns where a letter has more combining marks than letters of any language have."""
    spare, marks = [], 0
    for index, character in enumerate(text):
        marks = marks + 1 if unicodedata.category(character) == "Mn" else 0
        if marks > _MARKS:
            spare.append((index, index + 1))
    return spare


@lru_cache(4096)
def _script(letter: str) -> str:
    """Returns the script of a letter, the first word of its name in Unicode; signs derived from Latin are Latin."""
    name = unicodedata.name(letter, LATIN)
    first = name.partition(" ")[0]
    if first in ("FULLWIDTH", "HALFWIDTH"):
        first = name.split(" ")[1]
    plain = unicodedata.normalize("NFKD", letter)[0]
    if plain.isascii() or first in ("FEMININE", "MASCULINE", "MICRO", "OHM", "ANGSTROM", "KELVIN", "MODIFIER"):
        return LATIN
    return first
