"""The words of a language for homes, and its way to fold them for comparison."""

import re
from typing import cast

from num2words import num2words

from assistant.home import Kind
from assistant.home.names import HomeWords, Words, folded
from assistant.skills.languages.language import Language, read_skill
from assistant.skills.languages.numerals import find_numbers
from assistant.skills.languages.words import Wording, plain_words

_INITIALS = re.compile(r"\b(?:([A-Za-z])[./] ?([A-Za-z])|(a|t) (c|v))\b(?!['’])\.?")  # "A/C", "T.V.", "a c"
_AIR_CONDITIONER = re.compile(r"\bair[- ]?condition(?:er|ing)\b", re.IGNORECASE)
_ORDINALS = {
    "en": re.compile(r"\b(\d{1,2}) ?(?:st|nd|rd|th)\b", re.IGNORECASE),
    "de": re.compile(r"\b(\d{1,2})\.(?= [^\W\d])"),
    "fr": re.compile(r"\b(\d{1,2})(?:ers?|re|ère|e|ème)\b", re.IGNORECASE),
    "es": re.compile(r"\b(\d{1,2})\.?[ºª]"),
}
_NUMBER_WORDS = frozenset("number no nr nummer numero num".split())
_SHORT = {
    "mister": "mr", "missus": "mrs", "doctor": "dr", "doktor": "dr", "docteur": "dr", "saint": "st", "sankt": "st",
    "street": "st", "strasse": "str", "avenue": "ave", "professor": "prof", "herr": "hr", "frau": "fr", "senor": "sr",
    "senora": "sra", "madame": "mme", "climatiseur": "clim", "climatisation": "clim",
    "ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9",
}  # fmt: skip
"""Words that names also write short, and Roman numerals."""


def home_words(language: Language, wording: Wording) -> HomeWords:
    """Reads the words of a language. Raises OSError or yaml.YAMLError if the installation is broken."""
    data = read_skill("assistant.skills.home", language.code)["words"]
    folder = WordFolder(language, wording)
    kinds = {word: cast("Kind", kind) for kind, names in data["kinds"].items() for word in folder.all(names)}
    return HomeWords(
        kinds,
        tuple(frozenset(folder.all(words)) for words in data["sorts"]),
        frozenset(folder.all(data["plural"])),
        frozenset(folder.all(data["every"])),
        frozenset(folder.all(data["everywhere"])),
        frozenset(folder(data["small"])),
        frozenset(folder(data["pronouns"])),
        tuple(tuple(folder(name) for name in group) for group in data["floors"]),
        bool(data["compounds"]),
    )


class WordFolder:
    """Returns the words of a text for comparison: without case, accents and punctuation, numbers as digits."""

    def __init__(self, language: Language, wording: Wording) -> None:
        """`wording`: the equivalent wordings of the language."""
        self._numerals = language.numerals
        self._code = language.code
        self._wording = wording

    def __call__(self, text: str) -> Words:
        """Returns the words of `text`."""
        text = _AIR_CONDITIONER.sub("ac", _INITIALS.sub(r"\1\2\3\4", text))
        text = _ORDINALS[self._code].sub(
            lambda match: str(num2words(int(match[1]), lang=self._code, to="ordinal")), text
        )
        text = re.sub("[&+#]", " ", text)
        plain = plain_words(text.replace("'", " ").replace("’", " ").replace("-", " ").replace("_", " "), self._wording)
        numbered = find_numbers(plain, self._numerals)
        words = [
            str(numbered.numbers[int(word)]) if word.isdecimal() else folded(word)
            for word in numbered.words
            if any(map(str.isalnum, word))
        ]
        return tuple(
            _SHORT.get(word, word)
            for word, following in zip(words, (*words[1:], ""), strict=False)
            if not (word in _NUMBER_WORDS and following.isdecimal())  # "TV number 2"
        )

    def all(self, texts: list[str]) -> tuple[str, ...]:
        """Returns the words of all texts."""
        return tuple(word for text in texts for word in self(text))
