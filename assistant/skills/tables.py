"""Matches texts with the sentences of skills: in a table that skills share, or in one of a single skill."""

import logging
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hassil.expression import Expression, Group, ListReference, RuleReference
from hassil.intents import Intents

from assistant.skills.answers import SkillAnswer, SkillContext
from assistant.skills.dialog.answers import Utterance, answer_to_question
from assistant.skills.dialog.memory import OpenQuestion, Subject
from assistant.skills.dialog.references import refer
from assistant.skills.dialog.requests import spoken_answer
from assistant.skills.dialog.several import joint_pattern
from assistant.skills.dialog.words import DialogWords, dialog_words
from assistant.skills.kinds import LEFT_TO_MODEL, IntentReply, Match, SentenceSkill, fixed_reply
from assistant.skills.languages.language import DIALOG, Language, ability_of, language_with, read_skill, shared_files
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SentenceTables:
    """The sentences of skills in one language.

    Attributes:
        language: The language.
        sentences: Their templates, and those of dialogs.
        skills: The skills, in order.
        by_intent: The skill of each intent.
        replies: The name in traces and the reply of each intent that has one.
        words: The words around requests.
        joint: Matches what stands between two requests.
    """

    language: Language
    sentences: SentenceTemplates
    skills: tuple[SentenceSkill, ...]
    by_intent: Mapping[str, SentenceSkill]
    replies: Mapping[str, tuple[str, IntentReply]]
    words: DialogWords
    joint: re.Pattern[str]

    def match(self, text: str) -> Match | None:
        """Returns the reply if a skill understands all of `text`."""
        for skill in self.skills:
            match = skill.recognize(text, self.sentences, self.language)
            if match is not None:
                return None if match is LEFT_TO_MODEL else match
        template_match = self.find(text)
        if template_match is None:
            return None
        skill = self.by_intent[template_match.intent]
        if not skill.accepts(template_match, text):
            return None
        before_llm = skill.declaration.before_llm
        if template_match.answer is not None:
            name = template_match.intent if skill.declaration.shares_sentences else skill.declaration.name
            return Match(
                name,
                fixed_reply(template_match.answer),
                template_match.missing,
                template_match.open_ended,
                before_llm=before_llm,
            )
        name, bind = self.replies[template_match.intent]
        reply = bind(template_match, self.language)
        if reply is None:
            return None
        return Match(
            name,
            reply,
            open_ended=template_match.open_ended,
            template_match=template_match,
            before_llm=before_llm,
            takes_all=skill.is_asked_last,
        )

    def find(self, text: str) -> TemplateMatch | None:
        """See `Requests`."""
        return (
            self._found_by_skill(text, last=False) or self.sentences.find(text) or self._found_by_skill(text, last=True)
        )

    def _found_by_skill(self, text: str, *, last: bool) -> TemplateMatch | None:
        asked = (skill for skill in self.skills if skill.is_asked_last == last)
        return next((match for skill in asked if (match := skill.find(text, self.language.code)) is not None), None)

    def reply_to(self, match: TemplateMatch, context: SkillContext) -> SkillAnswer | None:
        """See `Requests`."""
        if match.intent not in self.by_intent:  # of a skill that shares no sentences
            return None
        name, bind = self.replies[match.intent]
        reply = bind(match, self.language)
        return None if reply is None else spoken_answer(reply(context), name, match)

    def utterance(self, text: str) -> Utterance:
        """Returns what the user says after a question, or after a request."""
        matches = tuple(self.sentences.find_dialog(text))
        in_list = tuple(match for skill in self.skills for match in skill.find_follow_ups(text, self.language.code))
        if in_list and self.find(text) is not None:
            in_list = ()  # a request of its own: "take a note"
        by_position = tuple(match for match in in_list if "nth" in match.values)  # "the last one" means a list, too
        return Utterance(text, self.sentences.dialog_words(text), (*by_position, *(matches or in_list)))

    def answer_in_dialog(
        self, text: str, context: SkillContext, question: OpenQuestion | None, subjects: Sequence[Subject]
    ) -> SkillAnswer | None:
        """Returns the answer to words that answer the open question, or refer to a last subject; None otherwise."""
        utterance = self.utterance(text)
        answer = None if question is None else answer_to_question(question, utterance, context, self)
        if answer is None and subjects:
            answer = refer(subjects, utterance.matches, context, self)
        return answer


def sentence_tables(
    language: Language,
    files: Sequence[tuple[SentenceSkill, Mapping[str, Any]]],
    rules: Sequence[Mapping[str, Any]] = (),
    prefix: str = "",
) -> SentenceTables:
    """Builds the tables of skills, each with the content of its file in this language. It blocks.

    Args:
        language: The language.
        files: The skills and their files.
        rules: Rules and lists of others that the sentences, and those of dialogs, may use.
        prefix: Beginning of the intents in the files, which the skills' replies lack.
    """
    own = (file for _skill, file in files)
    sentences = SentenceTemplates(language, [*rules, *own, read_skill(DIALOG, language.code)])
    replies = {prefix + intent: (skill, reply) for skill, _file in files for intent, reply in skill.replies.items()}
    by_intent = {intent: skill for skill, file in files for intent in file.get("intents", {})}
    by_intent |= {intent: skill for intent, (skill, _reply) in replies.items()}
    words = dialog_words(language.code)
    skills = tuple(skill for skill, _file in files)
    by_name = {intent: reply for intent, (_skill, reply) in replies.items()}
    return SentenceTables(language, sentences, skills, by_intent, by_name, words, joint_pattern(words.joints))


def unknown_names(expressions: Iterable[Expression], intents: Intents) -> list[str]:
    """Returns the rules and lists that templates name, but that do not exist. Parses the templates."""
    unknown: list[str] = []
    waiting, seen = list(expressions), set[str]()
    while waiting:
        match waiting.pop():
            case Group(items=items):
                waiting += items
            case ListReference(list_name=name) if name not in intents.slot_lists:
                unknown.append(f"{{{name}}}")
            case RuleReference(rule_name=name) if name not in intents.expansion_rules:
                unknown.append(f"<{name}>")
            case RuleReference(rule_name=name) if name not in seen:
                seen.add(name)
                waiting.append(intents.expansion_rules[name].expression)
    return unknown


class SeparateSentences:
    """Implements `MatchingSkill` for a skill of another package. If the skill fails, it is not asked any more.

    Its intents are named after the skill, so that they are not mistaken for those of others.
    """

    home = None

    def __init__(self, skill: SentenceSkill) -> None:
        self._skill = skill
        self._declaration = skill.declaration
        self._prefix = f"{self._declaration.name}."
        self._needs_home = "home" in skill.declaration.needs
        self._tables: dict[str, SentenceTables] = {}
        self._has_failed = False

    def load(self, code: str) -> None:
        """See `MatchingSkill`."""
        if code in self._declaration.languages and code not in self._tables and not self._has_failed:
            try:
                self.build(code)
            except Exception as error:  # noqa: BLE001 - a foreign package may raise anything; the others must work
                self._fail(error)

    def build(self, code: str) -> None:
        """Builds the tables of a language. Raises whatever is wrong with them."""
        self._skill.load(code)
        file = read_skill(self._declaration.package, code)
        named = {**file, "intents": {self._prefix + intent: data for intent, data in file["intents"].items()}}
        rules = [{**shared, "intents": {}} for shared in shared_files(code)]
        tables = sentence_tables(
            language_with(self._declaration.package, code), [(self._skill, named)], rules, self._prefix
        )
        intents = tables.sentences.intents
        for name, intent in intents.intents.items():
            for block in intent.data:
                if unknown := unknown_names([sentence.expression for sentence in block.sentences], intents):
                    raise ValueError(f"{name} names {', '.join(unknown)} in {code}.yaml, which is not there")
                if name not in tables.replies and "answer" not in (block.metadata or {}):
                    raise ValueError(f"{name} has neither a reply nor an answer in {code}.yaml")
        self._tables[code] = tables

    def match(self, text: str, code: str, room: str = "") -> Match | None:
        """See `MatchingSkill`."""
        tables = self._tables.get(code)
        match = None if tables is None else self._tried(lambda: tables.match(text))
        if match is None:
            return None
        reply = match.reply
        return replace(match, reply=lambda context: self._tried(lambda: reply(context)), at_home=self._needs_home)

    def follow_up(self, text: str, context: SkillContext, code: str) -> Match | None:
        """See `MatchingSkill`."""
        if self._needs_home and not context.at_home:
            return None
        tables = self._tables.get(code)
        question = context.memory.heard_question(context.last_reply, code)
        earlier_match = getattr(question, "match", None)
        if tables is None or question is None or earlier_match is None or earlier_match.intent not in tables.by_intent:
            return None
        answer = self._tried(lambda: tables.answer_in_dialog(text, context, question, ()))
        return None if answer is None else Match(answer.skill, lambda _context: answer, at_home=self._needs_home)

    def ability(self, code: str) -> str:
        """See `MatchingSkill`."""
        return ability_of(self._declaration.package, code) if code in self._tables else ""

    @property
    def version(self) -> object:
        """See `MatchingSkill`."""
        return self._has_failed

    def refresh(self) -> None:
        """See `MatchingSkill`."""

    async def aclose(self) -> None:
        """See `MatchingSkill`."""
        await self._skill.aclose()

    def _tried(self, call: Callable[[], T]) -> T | None:
        """Returns the result of a call; None if it fails."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - as in `load`
            self._fail(error)
            return None

    def _fail(self, error: Exception) -> None:
        """Stops asking the skill. The error's text may hold what a user said, so it is not logged."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        log.warning(
            "the skill %s is not asked any more: %s in %s, line %s",
            *(self._declaration.name, type(error).__name__, where.filename, where.lineno),
        )
        self._tables.clear()
        self._has_failed = True
