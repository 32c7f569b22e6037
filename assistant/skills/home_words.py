"""The words of a language for homes, and its way to fold them for comparison."""

from typing import cast

from assistant.home import Kind
from assistant.home.names import HomeWords, Words, folded
from assistant.skills.language import Language, read_yaml
from assistant.skills.numerals import find_numbers
from assistant.skills.words import Wording, plain_words


def home_words(language: Language, wording: Wording) -> HomeWords:
    """Reads the words of a language. Raises OSError or yaml.YAMLError if the installation is broken."""
    data = read_yaml(language.code, "home_words")
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
        self._wording = wording

    def __call__(self, text: str) -> Words:
        """Returns the words of `text`."""
        plain = plain_words(text.replace("'", " ").replace("’", " ").replace("-", " ").replace("_", " "), self._wording)
        numbered = find_numbers(plain, self._numerals)
        words = (
            str(numbered.numbers[int(word)]) if word.isdecimal() else folded(word)
            for word in numbered.words
            if any(map(str.isalnum, word))
        )
        return tuple(words)

    def all(self, texts: list[str]) -> tuple[str, ...]:
        """Returns the words of all texts."""
        return tuple(word for text in texts for word in self(text))
