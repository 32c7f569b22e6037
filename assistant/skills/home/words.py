"""The words of a language for homes, and its way to fold them for comparison."""

import re
from itertools import pairwise
from typing import cast

from num2words import num2words

from assistant.home import Kind
from assistant.home.likeness import folded
from assistant.home.query import HomeWords, Words
from assistant.skills.languages.language import Language, read_skill
from assistant.skills.languages.numerals import find_numbers
from assistant.skills.languages.words import Wording, plain_words

_INITIALS = re.compile(r"\b(?:([A-Za-z])[./] ?([A-Za-z])|(a|t) (c|v))\b(?!['’])\.?")  # "A/C", "T.V.", "a c"
_AIR_CONDITIONER = re.compile(r"\bair[- ]?condition(?:er|ing)\b", re.IGNORECASE)
_NUMBER_SIGN = re.compile(r"\bn\.?\s?[°º]|№", re.IGNORECASE)
_ORDINALS = {
    "en": re.compile(r"\b(\d{1,2}) ?(?:st|nd|rd|th)\b", re.IGNORECASE),
    "de": re.compile(r"\b(\d{1,2})\.(?= ?[^\W\d])"),
    "fr": re.compile(r"\b(\d{1,2})(?:ers?|res?|ères?|nde?|i?[eè]mes?|es?)\b", re.IGNORECASE),
    "es": re.compile(r"\b(\d{1,2})\.?[ºª]"),
}
"""Written ordinals. They are compared as numbers: "2nd" is "second" is "two"."""
_FOURTH = re.compile(r"\bcuarto(?= (?:piso|dormitorio)\b)", re.IGNORECASE)
"""Spanish "fourth"; elsewhere the word means a room."""
_LEADING_ZEROS = re.compile(r"\b0\d+\b")
_BETWEEN_NUMBERS = re.compile(r"(?<=\d) ?[x×] ?(?=\d)")
_VULGAR = str.maketrans({"½": " 1 2 ", "¼": " 1 4 ", "¾": " 3 4 ", "⅓": " 1 3 ", "⅔": " 2 3 "})
_BLANKS = str.maketrans(dict.fromkeys("&+#/'’-‐‑–—_|~•", " "))
_SAME_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_UMLAUT = re.compile(r"(?<=[aou])e")
"""The second letter of "ue", as "ü" is written without dots."""
_NUMBER_WORDS = frozenset("number no nr nummer numero num".split())
_TIMES = frozenset("by times mal fois par sur por".split())
"""Words for the "x" between two numbers: "two by four"."""
_HALF = frozenset("half halb demi medio".split())
_ONE = frozenset(("1", "a", "one", "ein", "un"))
_UNITS = {
    "w": "watt", "watts": "watt", "kw": "kilowatt", "v": "volt", "volts": "volt", "voltios": "volt", "vatios": "watt",
    "hz": "hertz", "mhz": "megahertz", "ghz": "gigahertz", "gigahercios": "gigahertz", "cm": "centimeter",
    "centimeters": "centimeter", "centimetres": "centimeter", "centimetros": "centimeter", "zentimeter": "centimeter",
    "mm": "millimeter", "millimeters": "millimeter", "millimetres": "millimeter", "milimetros": "millimeter",
    "l": "liter", "liters": "liter", "litres": "liter", "litros": "liter",
    "kg": "kilogram", "kilograms": "kilogram", "kilogrammes": "kilogram", "kilogramm": "kilogram",
    "kilogramos": "kilogram",
}  # fmt: skip
"""Units that names write short behind a number."""
_SHORT = {
    "mister": "mr", "missus": "mrs", "doctor": "dr", "doktor": "dr", "docteur": "dr", "saint": "st", "sankt": "st",
    "sainte": "ste", "street": "st", "strasse": "str", "avenue": "ave",
    "professor": "prof", "herr": "hr", "frau": "fr", "senor": "sr", "senora": "sra", "madame": "mme", "monsieur": "m",
    "climatiseur": "clim", "climatisation": "clim",
}  # fmt: skip
"""Words that names also write short, with short forms of more than one meaning."""
_MORE_ORDINALS = {
    "de": {"siebente": 7, "siebenten": 7, "siebenter": 7, "siebentes": 7},
    "fr": {"premiere": 1, "premieres": 1, "premiers": 1, "second": 2, "seconde": 2, "unieme": 1},
    "es": {"primer": 1, "tercer": 3},
}
_ROMAN = re.compile(r"(?=[ivx]{2})(x{0,3})(ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10}


_SIGNS_IN_NAMES = re.compile(r"(?<=[^\W\d])[/](?=[^\W\d])|(?<=[^\W\d])[-‐‑](?=\d)")


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
        frozenset(folder.all(data["all"])),
        tuple(sorted((folder(run) for run in data["here"]), key=len, reverse=True)),
        frozenset(folder.all(data["everywhere"])),
        frozenset(folder.all(data["both"])),
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
        self._ordinals = _ordinal_words(language.code)
        written = read_skill("assistant.skills.home", language.code)["words"].get("written", {})
        self._written = {folded(short): tuple(map(folded, long.split())) for short, long in written.items()}

    def __call__(self, text: str) -> Words:
        """Returns the words of `text`."""
        text = _AIR_CONDITIONER.sub("ac", _INITIALS.sub(r"\1\2\3\4", _NUMBER_SIGN.sub(" ", text)))
        text = _ORDINALS[self._code].sub(r"\1 ", text.translate(_VULGAR))
        text = _FOURTH.sub("4", _BETWEEN_NUMBERS.sub(" ", text.translate(_BLANKS)))
        text = _LEADING_ZEROS.sub(lambda match: " ".join(match[0]), text)
        numbered = find_numbers(plain_words(text, self._wording), self._numerals)
        words: list[str] = []
        for word in numbered.words:
            if (index := numbered.index_of(word)) is not None:
                words.append(str(numbered.numbers[index]))
            elif any(map(str.isalnum, word)):
                self._take(self._letters(word), words)
        return tuple(
            word
            for index, word in enumerate(words)
            if not (index + 1 < len(words) and words[index + 1].isdecimal() and self._is_number_word(words, index))
        )

    def _letters(self, word: str) -> str:
        """Returns a word with the letters that are compared."""
        plain = folded(word.translate(_SAME_LETTERS))
        return _UMLAUT.sub("", plain) if self._code == "de" else plain

    def _take(self, word: str, words: list[str]) -> None:
        """Adds a word in the form that is compared: ordinals, halves, Roman numerals, units and short forms."""
        before = words[-1] if words else ""
        ordinal = self._ordinals.get(word)
        if ordinal is not None and before.isdecimal() and int(before) in range(20, 100, 10) and ordinal < 10:
            words[-1] = str(int(before) + ordinal)  # "twenty first"
        elif ordinal is not None:
            words.append(str(ordinal))
        elif word in _HALF and before in _ONE:
            words[-1:] = ["1", "2"]
        elif (roman := _ROMAN.fullmatch(word)) is not None:
            words.append(str(_roman_value(roman[0])))
        elif before.isdecimal() and word in _UNITS:
            words.append(_UNITS[word])
        elif before.isdecimal() and word in _TIMES:
            words.append(word)
        else:
            words.extend(self._written.get(word, (_SHORT.get(word, word),)))

    @staticmethod
    def _is_number_word(words: list[str], index: int) -> bool:
        """Returns whether the word only introduces the number behind it: "TV number 2", "2 by 4"."""
        is_between = index > 0 and words[index - 1].isdecimal() and words[index] in _TIMES
        return is_between or words[index] in _NUMBER_WORDS

    def without_signs(self, text: str) -> str:
        """Returns a sentence without signs of names that elsewhere mean a calculation: "TV/Radio", "Zone-4", "3ª"."""
        return _ORDINALS[self._code].sub(r"\1 ", _SIGNS_IN_NAMES.sub(" ", _NUMBER_SIGN.sub(" ", text)))

    def parts(self, words: str, text: str) -> list[str]:
        """Returns `words` divided where `text` has a comma between them."""
        own = set(self(words))
        between = [part for part in map(self, text.split(",")) if own & set(part)]  # without "uh"
        commas = {
            (before, right[0])
            for left, right in pairwise(between)
            for before in left[-2:]  # "the lamp, the fan"; "the lamp off, the fan"
        }
        parts, last = [""], ""
        for word in words.split():
            plain = self(word)
            begins = bool(last and plain) and (last, plain[0]) in commas
            parts = [*parts, word] if begins else [*parts[:-1], f"{parts[-1]} {word}".strip()]
            last = plain[-1] if plain else last
        return parts

    def all(self, texts: list[str]) -> tuple[str, ...]:
        """Returns the words of all texts."""
        return tuple(word for text in texts for word in self(text))


def _ordinal_words(code: str) -> dict[str, int]:
    """Returns the ordinals of a language up to twenty, folded, in all genders and cases."""
    ordinals: dict[str, int] = {}
    for value in range(1, 21):
        word = folded(str(num2words(value, lang=code, to="ordinal")))
        stem = word[:-1] if code in {"de", "es"} or word.endswith("e") else word
        endings = {"de": ("e", "er", "es", "en", "em"), "es": ("o", "a", ""), "fr": ("", "e", "es")}.get(code, ("",))
        ordinals |= {stem + ending: value for ending in endings} | {word: value}
    ordinals |= _MORE_ORDINALS.get(code, {})
    return {word: value for word, value in ordinals.items() if word != "cuarto"}


def _roman_value(numeral: str) -> int:
    """Returns the value of a Roman numeral: 4 for "iv"."""
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    return sum(
        -value if index + 1 < len(values) and value < values[index + 1] else value for index, value in enumerate(values)
    )
