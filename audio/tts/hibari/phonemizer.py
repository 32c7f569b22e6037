"""Turns text into phonemes, sentence by sentence, with the phonemes of each word.

The text is already in spoken form: `assistant.text.normalization` has written out numbers and abbreviations. hibari's
own normalization is left out, because it reads "no." as "number" and "Sat." as "Saturday" wherever they end a sentence.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from hibari.g2p import G2P

from audio.pronunciation import PronouncedWord
from audio.tts.streaming.phoneme_bounds import MAX_PHONEMES, bounded
from audio.tts.streaming.phonemes import Phonemes, WordPhonemes, is_audible
from audio.tts.text_pieces import pronounceable

_SENTENCE_END = re.compile(r"(?<!\b[A-Z])[.!?…]+[\"'”’)\]»]*\s+(?![a-zß-öø-ÿ])")
"""The end of a sentence. A dot after an initial or before a small letter does not end a sentence."""

_FINAL_DOT = re.compile(r"(?<=[\w)])\.(?=\)?$)")
"""The dot at the end of a sentence. A blank before it keeps hibari from taking the word for an abbreviation, whose dot
has no sound of an end."""

_DASH_ALONE = re.compile("^[-–]+$")

_PUNCTUATION = ";:,.!?—…() "

_ASCII_SIGNS = frozenset("$~")

_LEFT_OUT = {**dict.fromkeys(map(ord, '"“”„«»*[]')), ord("’"): "'"}
"""Quotation marks and the like, which have no sound: with them hibari does not find a word in its lexicon. It would
read text in [ ] as a word with phonemes."""


_SIGNS: Mapping[str, str] = MappingProxyType(
    {
        # Two letters are one sign of the voice.
        **dict(zip("eɪ aɪ aʊ ɔɪ oʊ əʊ tʃ dʒ".split(), "A I W Y O O ʧ ʤ".split(), strict=True)),
        **dict(zip("ɪə eə ʊə ɚ ɜː ɜ n̩ l̩".split(), "ɪɹ ɛɹ ʊɹ əɹ ɜɹ ɜɹ ən ᵊl".split(), strict=True)),
        "ɜɹ": "ɜɹ",
        "ɜːɹ": "ɜɹ",
        # Long vowels without a glide of their own in American English.
        **dict(zip("eː oː aː ɑː ɔː iː uː".split(), "A O ɑ ɑ ɔ i u".split(), strict=True)),
        **dict(zip("e o a ɒ r g".split(), "ɛ O ɑ ɑ ɹ ɡ".split(), strict=True)),
        # English lacks these.
        **dict(zip("x χ ç ɲ ʎ ʁ β ɣ ɫ ʔ ɾ".split(), "k k h nj lj ɹ v ɡ l t T".split(), strict=True)),
        **dict(zip("y yː ø øː œ ɑ\u0303 ɔ\u0303".split(), "u u ɜɹ ɜɹ ɜɹ ɑn ɔn".split(), strict=True)),
        "ː": "",
        "\u0329": "",
        "\u0303": "",
    }
)
"""Signs of `Pronunciations` that the voice has under another name. All others are the same."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        **dict(
            zip(
                "αβγδεζηθικλμ",
                "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu".split(),
                strict=True,
            )
        ),
        **dict(
            zip("νξοπρσςτυφχψω", "nu xi omicron pi rho sigma sigma tau upsilon phi chi psi omega".split(), strict=True)
        ),
        **dict(zip("$€£¥₹¢", "dollars euros pounds yen rupees cents".split(), strict=True)),
        **dict(
            zip(
                "§°~√∞©µ∑∫∂",
                "section degrees tilde root infinity copyright micro sum integral delta".split(),
                strict=True,
            )
        ),
        "‰": "per mille",
    }
)
"""English names of signs and of Greek letters, by the small letter."""

_VOWELS = frozenset("AIOWYiuæɑɔəɛɜɪʊʌᵻ")

_LONGEST = max(map(len, _SIGNS))


def voice_signs(phonemes: str) -> str:
    """Returns the phonemes of a `PronouncedWord` in the voice's signs, with a stress on the first vowel if it has none.

    The voice swallows words without a stress.
    """
    signs, position = [], 0
    while position < len(phonemes):
        size = next((size for size in range(_LONGEST, 1, -1) if phonemes[position : position + size] in _SIGNS), 1)
        sign = phonemes[position : position + size]
        signs.append(_SIGNS.get(sign, sign))
        position += size
    if not {"ˈ", "ˌ"} & set(signs):
        vowel = next((index for index, sign in enumerate(signs) if sign[:1] in _VOWELS), None)
        if vowel is not None:
            signs.insert(vowel, "ˈ")
    return "".join(signs)


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence, or a part of a long one, with at least one audible phoneme.

    Attributes:
        phonemes: Its phonemes.
        words: Its words: offsets in the text, and their phonemes.
        is_end: Whether the sentence ends with it.
    """

    phonemes: Phonemes
    words: Sequence[WordPhonemes]
    is_end: bool = True


class Phonemizer:
    """Reads English. Takes about 1 ms a sentence. Not thread-safe."""

    def __init__(self, g2p: G2P, known: Collection[str]) -> None:
        """`known`: the phonemes that the voice has."""
        self._g2p = g2p
        self._known = known
        self._names = {sign: f" {' '.join(self._read(name.split()))} " for sign, name in NAMES.items()}

    def sentences(
        self, text: str, pronounced: Sequence[PronouncedWord] = (), most: int = MAX_PHONEMES
    ) -> list[SpokenSentence]:
        """Returns the sentences of a text; all its words are in them.

        Args:
            text: The text.
            pronounced: Words of the text that have phonemes of their own.
            most: Most phonemes of a sentence; a longer one is in parts.
        """
        text, start = _plain_digits(text), 0
        sentences: list[SpokenSentence] = []
        silent: list[WordPhonemes] = []
        for end in (*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)):
            phonemes, words = self._sentence(text, start, end, pronounced)
            start = end
            if any(map(is_audible, phonemes)):
                sentences.append(SpokenSentence(phonemes, [*silent, *words]))
                silent = []
            else:
                silent += [replace(word, begin=0, end=0) for word in words]
        if sentences and silent:
            last, end = sentences[-1], len(sentences[-1].phonemes)
            words = [*last.words, *(replace(word, begin=end, end=end) for word in silent)]
            sentences[-1] = SpokenSentence(last.phonemes, words)
        return [part for sentence in sentences for part in _parts(sentence, most)]

    def _sentence(
        self, text: str, start: int, end: int, pronounced: Sequence[PronouncedWord]
    ) -> tuple[str, list[WordPhonemes]]:
        spans = [(start + token.start(), start + token.end()) for token in re.finditer(r"\S+", text[start:end])]
        chunks = [self._with_links(text, *span, pronounced) for span in spans]
        read = iter(self._read([_DASH_ALONE.sub("—", chunk) for chunk in chunks if chunk]))
        phonemes, words = "", []
        for (text_start, text_end), chunk in zip(spans, chunks, strict=True):
            signs = next(read) if chunk else ""
            phonemes += " " if phonemes and signs else ""
            begin = len(phonemes) + len(signs) - len(signs.lstrip(_PUNCTUATION))
            phonemes += signs
            last = max(begin, len(phonemes) - len(signs) + len(signs.rstrip(_PUNCTUATION)))
            if pronounceable(text[text_start:text_end]):
                words.append(WordPhonemes(text_start, text_end, 0, begin, last, guessed=False))
        return phonemes, words

    def _with_links(self, text: str, start: int, end: int, pronounced: Sequence[PronouncedWord]) -> str:
        """Returns a part of the text with hibari's sign for phonemes: "[word](/phonemes/)".

        It is at each pronounced word, and at the signs of `NAMES`.
        """
        parts, done = [], start
        for word in pronounced:
            if start <= word.text_start < end:
                signs = voice_signs(word.phonemes)
                parts.append(self._named(text[done : word.text_start]))
                parts.append(f"[{text[word.text_start : word.text_end].translate(_LEFT_OUT)}](/{signs}/)")
                done = word.text_end
        return "".join((*parts, self._named(text[done:end])))

    def _named(self, text: str) -> str:
        text = text.translate(_LEFT_OUT)
        if text.isascii() and _ASCII_SIGNS.isdisjoint(text):
            return text
        names = ((sign, self._names.get(sign.lower())) for sign in text)
        return "".join(f"[{sign}](/{name}/)" if name else sign for sign, name in names)

    def _read(self, words: Sequence[str]) -> list[str]:
        """Returns the phonemes of each word of a sentence, with its punctuation."""
        line, dots = _FINAL_DOT.subn(" .", " ".join(words))
        read, signs = [], ""
        for token in self._g2p.phonemize_tokens(self._g2p.tokenize(line)):
            signs += "".join(sign for sign in token.phonemes or "" if sign in self._known)
            if token.whitespace:
                read.append(signs.strip())
                signs = ""
        if dots:
            return [*read[:-1], read[-1] + signs.strip()]
        return [*read, signs.strip()] if words else []


def _parts(sentence: SpokenSentence, most: int) -> Iterator[SpokenSentence]:
    """Yields a sentence in parts of at most `most` phonemes."""
    begin = 0
    words = list(sentence.words)
    for phonemes in bounded(sentence.phonemes, most):
        end = begin + len(phonemes)
        is_end = end == len(sentence.phonemes)
        here = [word for word in words if is_end or word.begin < end]
        words = words[len(here) :]
        moved = [replace(word, begin=word.begin - begin, end=min(word.end, end) - begin) for word in here]
        yield SpokenSentence(phonemes, moved, is_end)
        begin = end


def _plain_digits(text: str) -> str:
    """Returns the text with "2" for "²" and the like, which hibari takes for digits and cannot read."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(sign)) if sign.isdigit() else sign for sign in text)
