"""Kinds of skills: replies by intent, or a class that matches texts by itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assistant.home import HomePort
from assistant.skills.answers import Reply, Said, SkillAnswer, SkillContext
from assistant.skills.dialog.requests import spoken_answer
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch
from declarations.skill import Skill

if TYPE_CHECKING:
    from assistant.home.connection import HomeConnection
    from assistant.weather.service import WeatherService

IntentReply = Callable[[TemplateMatch, Language], Reply | None]
"""Returns the reply to a sentence; None if its words are only partly understood."""

Replies = Mapping[str, Mapping[str, IntentReply]]
"""Replies by the name of the skill in traces, and by intent."""


@dataclass(frozen=True, slots=True)
class SkillRequest:
    """The settings and services for which a skill is made.

    Attributes:
        settings: The skill's section of the configuration.
        environ: Environment variables.
        home: The home, if the skill needs it.
        weather: The weather service, if the skill needs it.
    """

    settings: object
    environ: Mapping[str, str]
    home: "HomeConnection | None" = None
    weather: "WeatherService | None" = None


@dataclass(frozen=True, slots=True)
class Match:
    """The skill that understood the words, and its reply to a context.

    Attributes:
        skill: Name of the skill.
        reply: Returns the answer; None if it has failed.
        missing: Whether the answer only says that no skill can do this.
        open_ended: Whether the sentence ends with free words, so that it may go on: "remind me at five to call".
        at_home: Whether only a user of the home may ask this.
        template_match: The template that matched, to refer to; None for none.
        before_llm: Whether it answers before a language model.
        takes_all: Whether its free words may take in another request.
    """

    skill: str
    reply: Callable[[SkillContext], Said | None]
    missing: bool = False
    open_ended: bool = False
    at_home: bool = False
    template_match: TemplateMatch | None = None
    before_llm: bool = True
    takes_all: bool = False

    def answer(self, context: SkillContext) -> SkillAnswer | None:
        """Returns the answer in a context."""
        reply = self.reply(context)
        if reply is None:
            return None
        return spoken_answer(reply, self.skill, self.template_match, missing=self.missing, before_llm=self.before_llm)


def fixed_reply(text: str) -> Reply:
    """Returns a reply that is always the same."""
    return lambda _context: text


LEFT_TO_MODEL = Match("", fixed_reply(""))
"""Result of `SentenceSkill.recognize` for words that are the skill's, but that it cannot answer."""


def without_match(tell: Callable[[Language, SkillContext], str]) -> IntentReply:
    """Returns the reply of an intent whose sentences have no values."""
    return lambda _found, language: lambda context: tell(language, context)


class SentenceSkill:
    """A skill that answers the sentences in its files."""

    is_asked_last = False
    """Whether `find` is asked only for what is in no template: its sentences are free words."""

    def __init__(self, declaration: Skill, replies: Replies) -> None:
        """An intent with a fixed answer needs no reply."""
        self.declaration = declaration
        self.replies = {intent: (name, reply) for name, own in replies.items() for intent, reply in own.items()}

    def load(self, code: str) -> None:
        """Reads what it needs in a language besides its sentences, which blocks."""

    def recognize(self, text: str, sentences: SentenceTemplates, language: Language) -> Match | None:
        """Returns the reply to words that no template describes. It is asked before the templates are matched."""
        return None

    def find(self, text: str, code: str) -> TemplateMatch | None:
        """Returns the request that all of `text` is, if the skill knows it by other means than templates."""
        return None

    def find_follow_ups(self, text: str, code: str) -> Iterable[TemplateMatch]:
        """Returns the ways in which `text` may refer to what the skill did last, by other means than templates."""
        return ()

    def accepts(self, match: TemplateMatch, text: str) -> bool:
        """Returns whether a template that matches is meant by the text."""
        return True

    async def aclose(self) -> None:
        """Ends its connections, if it has any."""


@runtime_checkable
class MatchingSkill(Protocol):
    """A skill with tables of its own: it uses a service, or is of another package."""

    def load(self, code: str) -> None:
        """Builds the tables of a language, which blocks. Raises OSError if the sentence files are missing."""
        ...

    def match(self, text: str, code: str, room: str = "") -> Match | None:
        """Returns the reply if the skill understands all of `text`.

        Args:
            text: What somebody says.
            code: A language that was loaded.
            room: Name of the room in which it is said; "" if that is not known.
        """
        ...

    def follow_up(self, text: str, context: SkillContext, code: str) -> Match | None:
        """Returns the reply if `text` answers the question of the skill, or refers to what it was asked last.

        Both are in `context.memory`.
        """
        ...

    def ability(self, code: str) -> str:
        """Returns what the skill says that it can do, as a part of a sentence; "" for nothing."""
        ...

    @property
    def home(self) -> HomePort | None:
        """The home that it uses; None for another service."""
        ...

    @property
    def version(self) -> object:
        """Changes when the same words may be understood differently."""
        ...

    def refresh(self) -> None:
        """Reads again what may have changed, in the background. Called when the user begins to speak."""
        ...

    async def aclose(self) -> None:
        """Ends the connections."""
        ...
