"""Declares the skill spelling: spelling of words."""

from assistant.skills.kinds import Match, SentenceSkill, fixed_reply
from assistant.skills.languages.language import LANGUAGES, Language
from assistant.skills.languages.sentences import SentenceTemplates
from assistant.skills.spelling.replies import Spelling, read_spelling, spelling_of
from declarations.skill import Skill


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
