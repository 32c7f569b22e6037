"""Names of signs that hibari would leave out, and the user's phonemes in the signs that the voice knows. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

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
