"""Declares the skill lists: lists and notes of the user."""

from collections.abc import Iterable

from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.lists.replies import LIST_REPLIES, NOTE_REPLIES
from assistant.skills.lists.sentences import list_words
from declarations.skill import Skill


class ListsSkill(SentenceSkill):
    """Finds items, which are free words, by patterns."""

    def load(self, code: str) -> None:
        """Reads the patterns."""
        list_words(code)

    def find(self, text: str, code: str) -> TemplateMatch | None:
        """See `SentenceSkill`."""
        return list_words(code).find(text)

    def find_follow_ups(self, text: str, code: str) -> Iterable[TemplateMatch]:
        """See `SentenceSkill`."""
        return list_words(code).find_follow_ups(text)


SKILL: Skill = Skill(
    name="lists",
    make=lambda _request: ListsSkill(SKILL, {"lists": LIST_REPLIES, "notes": NOTE_REPLIES}),
    about="lists and notes",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=60,
)
