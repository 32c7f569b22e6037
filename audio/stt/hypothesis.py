"""What a pocketsphinx decoder says, as plain words, and whether it is speech at all."""

import re
from dataclasses import dataclass

MAX_FRAMES_PER_PHONE = 22.0
"""Slower than this nobody speaks: in steady noise a decoder holds one short word for a second.

Frames of 10 ms. Fluent speech measured 8-12, the slowest single words ("no", "yes") 18-19, noise 24-90.
"""

_PRONUNCIATION = re.compile(r"\(\d+\)$")
_FILLERS = ("<", "[", "+")
_SAY_NOTHING_ALONE = frozenset({"a", "an", "the", "and", "or", "but", "if", "of", "in", "on", "at", "to", "for", "as"})
"""Words that mean nothing by themselves; short bursts of noise come out as them."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The words so far of one decoder.

    Attributes:
        words: Lower case, as in the dictionary but without marks of alternative pronunciations.
        phones: Of the words, in the pronunciations heard.
        speech_frames: Frames of 10 ms that the decoder gave to words, not to silence or noise.
    """

    words: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    speech_frames: int = 0

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def paced_like_speech(self) -> bool:
        """Whether somebody could have said so many phones in this time; False without words."""
        return bool(self.phones) and self.speech_frames <= MAX_FRAMES_PER_PHONE * len(self.phones)

    @property
    def says_something(self) -> bool:
        """Whether there is more than articles, conjunctions and prepositions."""
        return not _SAY_NOTHING_ALONE.issuperset(self.words)


def is_filler(word: str) -> bool:
    """Whether a decoder's word is a silence, a noise or a sentence mark: <sil>, [NOISE], ++breath++."""
    return word.startswith(_FILLERS)


def plain(word: str) -> str:
    """A decoder's word as people write it: without the "(2)" of a second pronunciation."""
    return _PRONUNCIATION.sub("", word).lower()
