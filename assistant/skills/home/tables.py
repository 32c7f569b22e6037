"""The tables of the home skill in one language: its sentences, the words for homes, and the index of their names."""

import re
from dataclasses import dataclass
from functools import lru_cache

from assistant.home import HomeState
from assistant.home.groups import GroupWords, group_words
from assistant.home.names import HomeIndex
from assistant.home.query import HomeWords
from assistant.skills.dialog.several import joint_pattern
from assistant.skills.dialog.words import dialog_words
from assistant.skills.home.cancelled import CancelledWords
from assistant.skills.home.faults import PACKAGE
from assistant.skills.home.times import TimePhrases
from assistant.skills.home.words import WordFolder, home_words
from assistant.skills.languages.language import LANGUAGES, Language, language_with, read_skill
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch


@dataclass(slots=True)
class HomeTables:
    """Tables of one language, and the index of one home's names in it.

    Attributes:
        language: Gives the sentences.
        sentences: The requests.
        words: Words for homes.
        groups: Words between names.
        fold: Returns the words of a text for comparison.
        times: Finds times.
        joint: Matches what stands between two requests.
        cancelled: Finds what a command that is cancelled would do.
        index: The names of a home; None: there was no request yet.
        latest: The last sentence and its matches: the same is matched several times in a row.
    """

    language: Language
    sentences: SentenceTemplates
    words: HomeWords
    groups: GroupWords
    fold: WordFolder
    times: TimePhrases
    joint: re.Pattern[str]
    cancelled: CancelledWords
    index: HomeIndex | None = None
    latest: tuple[str, tuple[TemplateMatch, ...]] = ("", ())

    def matches(self, text: str) -> tuple[TemplateMatch, ...]:
        """Returns the requests that `text` may be."""
        latest = self.latest  # read once, because another thread may replace it
        if latest[0] != text:
            self.latest = latest = text, tuple(self.sentences.find_all(self.fold.without_signs(text)))
        return latest[1]

    def may_order(self, text: str) -> bool:
        """Returns whether a part of `text` may be a request: it has a word with which requests begin."""
        words = (word.strip(".,?!;:¿¡") for word in text.lower().split())
        ordering = self.groups.verbs | self.groups.switching
        return not ordering.isdisjoint(words) or bool(self.matches(text))

    def index_of(self, state: HomeState) -> HomeIndex:
        """Returns the index of these names. It is built once, until a name changes."""
        index = self.index
        if index is None or index.state.names_key != state.names_key:
            self.index = index = HomeIndex(state, self.words, self.fold)
        return index

    def place_of(self, state: HomeState, room: str) -> str:
        """Returns the area or floor that a room is, by its name or an alias; "" for none."""
        return self.index_of(state).room(room) if room else ""


@lru_cache(maxsize=len(LANGUAGES))
def home_tables(code: str) -> HomeTables:
    """Returns the tables of a language without the names of a home. Homes share them. It blocks at the first time."""
    language, data = language_with(PACKAGE, code), read_skill(PACKAGE, code)
    sentences = SentenceTemplates(language, [data])
    fold = WordFolder(language, sentences.wording)
    times = TimePhrases(language)
    words = home_words(language, sentences.wording)
    groups = group_words(data["words"], sentences.first_words - words.small - words.every - words.plural)
    joint = joint_pattern(dialog_words(code).joints)
    tables = HomeTables(
        language, sentences, words, groups, fold, times, joint, CancelledWords(data["words"]["cancelled"])
    )
    for text in sentences.wording.warm_up:
        list(sentences.find_all(text))
        list(times.split(text))
    return tables
