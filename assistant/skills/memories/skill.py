"""Declares the skill memories: what the user asks to remember across conversations."""

from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.memories.replies import REPLIES
from assistant.skills.memories.sentences import memory_words
from declarations.skill import Skill


class MemoriesSkill(SentenceSkill):
    """Finds facts, which are free words, by patterns; only in what no other skill understands."""

    is_asked_last = True

    def load(self, code: str) -> None:
        """Reads the patterns."""
        memory_words(code)

    def find(self, text: str, code: str) -> TemplateMatch | None:
        """See `SentenceSkill`."""
        return memory_words(code).find(text)


SKILL: Skill = Skill(
    name="memories",
    make=lambda _request: MemoriesSkill(SKILL, {"memory": REPLIES}),
    about="what you ask to remember across conversations",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=65,
)
