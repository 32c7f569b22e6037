"""Declares the skill spelling: spelling of words.

It uses patterns, not templates, because any word may be spelled and it must stay as recognized.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from assistant.skills.kinds import Match, SentenceSkill, fixed_reply
from assistant.skills.languages.language import LANGUAGES, Language, read_skill
from assistant.skills.languages.sentences import SentenceTemplates
from declarations.skill import Skill

_MAX_LETTERS = 45


@dataclass(frozen=True, slots=True)
class Spelling:
    """Patterns for requests to spell a word.

    Attributes:
        requests: Patterns of complete requests, each with the group `word`.
        not_spelled: Words that show that a sentence is about spelling, not a request to spell.
        pronouns: First words that refer to another word, which only a language model may know.
        letters: Maps a letter to its spoken form, if that differs from the capital letter.
    """

    requests: tuple[re.Pattern[str], ...]
    not_spelled: frozenset[str]
    pronouns: frozenset[str]
    letters: Mapping[str, str]


def read_spelling(package: str, code: str) -> Spelling:
    """Reads the patterns of a language. Raises OSError or yaml.YAMLError if the installation is broken."""
    data = read_skill(package, code)
    return Spelling(
        tuple(re.compile(request) for request in data["requests"]),
        frozenset(data["not_spelled"].split()),
        frozenset(data["pronouns"].split()),
        data.get("letters", {}),
    )


def spelling_of(words: tuple[str, ...], spelling: Spelling) -> str | None:
    """Returns the answer to a request to spell one or two words; None if `words` are no such request.

    Args:
        words: Recognized words in lower case, without polite phrases.
        spelling: Spelling patterns of the language.
    """
    text = " ".join(words)
    match = next((match for request in spelling.requests if (match := request.fullmatch(text))), None)
    if match is None:
        return None
    spelled = match["word"].split()
    bare = [word.replace("'", "") for word in spelled]
    if not 1 <= len(bare) <= 2 or sum(map(len, bare)) > _MAX_LETTERS:
        return None
    if not all(word.isalpha() for word in bare) or (spelling.not_spelled & set(spelled) and len(spelled) > 1):
        return None
    if spelled[0] in spelling.pronouns:  # refers to a word that only a language model may know
        return None
    # A comma between letters makes a voice pause. Capitals make it say the name of the letter.
    return ". ".join(", ".join(spelling.letters.get(letter, letter.upper()) for letter in word) for word in bare) + "."


class SpellingSkill(SentenceSkill):
    """Spells any words, which no template describes."""

    def __init__(self) -> None:
        super().__init__(SKILL, {})
        self._patterns: dict[str, Spelling] = {}

    def load(self, code: str) -> None:
        """Reads the patterns."""
        self._patterns[code] = read_spelling(SKILL.package, code)

    def recognize(self, text: str, sentences: SentenceTemplates, language: Language) -> Match | None:
        """See `SentenceSkill`: "how do you spell necessary"."""
        spelled = spelling_of(sentences.recognized_words(text), self._patterns[language.code])
        return None if spelled is None else Match("spelling", fixed_reply(spelled))


SKILL = Skill(
    name="spelling",
    make=lambda _request: SpellingSkill(),
    about="spelling of words",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=70,
)
