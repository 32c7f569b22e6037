"""Text with phonemes as espeak-ng reads it, and the words that it reports."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from audio.pronunciation import PronouncedWord

_BRACKETS_TO_BLANKS = str.maketrans("[]", "  ")

ESPEAK_PHONEMES: Mapping[str, str] = MappingProxyType(
    {
        **{same: same for same in "bdfhijklmnprstvwxzaeou"},
        **dict(zip("ɡθðʃʒŋɹɾʔçɲʎʁχβɣɫ", "g T D S Z N r t# ? C n^ l^ R x B Q l".split(), strict=True)),
        **dict(zip("ɪɛæɑɒɔʊʌəɐɜɚᵻ", "I E a A: 0 O U V @ a# 3: 3 I#".split(), strict=True)),
        **dict(zip("yøœ", "u: 3: 3:".split(), strict=True)),  # English lacks them
        **dict(zip("iː ɑː ɔː uː ɜː eː oː aː yː øː".split(), "i: A: O: u: 3: e: o: a: u: 3:".split(), strict=True)),
        **dict(zip("eɪ aɪ aʊ ɔɪ oʊ əʊ ɪə eə ʊə".split(), "eI aI aU OI oU oU i@ e@ U@".split(), strict=True)),
        **dict(zip("tʃ dʒ n̩ l̩ ɑ̃ ɔ̃".split(), "tS dZ n- @L A~ O~".split(), strict=True)),
        "ˈ": "'",
        "ˌ": ",",
        **dict.fromkeys("ː\u0329\u0303", ""),  # after other phonemes than those above
    }
)
"""espeak-ng's names, in English voices, of the signs that an entry of `Pronunciations` may have."""

_LONGEST = max(map(len, ESPEAK_PHONEMES))


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
        spoken_form, done = "", 0
        replaced = []
        for word in pronounced:
            spoken_form += text[done : word.text_start]
            start = len(spoken_form)
            spoken_form += f"[[{espeak_phonemes(word.phonemes)}]]"
            replaced.append((start, len(spoken_form), word.text_start, word.text_end))
            done = word.text_end
        return cls(spoken_form + text[done:], tuple(replaced))

    @property
    def has_phonemes(self) -> bool:
        return bool(self.replaced)

    def offset(self, position: int) -> int:
        """Returns the offset in the piece for an offset in `text`."""
        shift = 0
        for start, end, word_start, word_end in self.replaced:
            if position < start:
                break
            if position < end:
                return word_start
            shift = word_end - end
        return position + shift


def espeak_phonemes(phonemes: str) -> str:
    """Returns the phonemes of a `PronouncedWord` by espeak-ng's names."""
    result, position = [], 0
    while position < len(phonemes):
        sign = next(
            sign for size in range(_LONGEST, 0, -1) if (sign := phonemes[position : position + size]) in ESPEAK_PHONEMES
        )
        result.append(ESPEAK_PHONEMES[sign])
        position += len(sign)
    return "".join(result)


def word_at(text: str, spans: tuple[tuple[int, int], ...], offset: int, length: int) -> int:
    """Returns the index of the word that the library means by these characters; -1 before the first one.

    Characters outside of words: a dash stands for the word after it ("wait -- what" has its second event on the dash),
    white space for the word before it (the second half of an emoji's name).
    """
    index = bisect_right(spans, offset, key=lambda span: span[1])
    in_word = index < len(spans) and spans[index][0] < offset + max(1, length)
    before_word = index < len(spans) and not text[offset : offset + length].isspace()
    return index if in_word or before_word else index - 1
