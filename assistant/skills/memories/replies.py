"""Replies to requests to remember, to forget and to tell. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.memory.fact_index import content_words, word_beginning
from assistant.memory.facts import MAX_FACT_CHARS, AddFact, Fact, RemoveFacts, same_words
from assistant.memory.unkeepable import reason_not_to_keep
from assistant.skills.answers import Asking, Reply, SkillAnswer, SkillContext, SkillEffect
from assistant.skills.dialog.memory import Confirm, FactsNamed, MissingSlot
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.lists.splitting import ITEM_BREAK

_SKILL = "memory"

MAX_TOLD = 4
"""Facts that are told at once, the newest; few people follow more."""

MAX_CHOICES = 3
"""Facts among which the user is asked to choose."""


def remember(match: TemplateMatch, language: Language) -> Reply:
    """Keeps a fact in the user's words, or says why it is not kept."""
    text = (match.values.get("fact") or match.values.get("note", "")).strip(" .,;:!?")

    def reply(context: SkillContext) -> SkillAnswer:
        if (reason := reason_not_to_keep(text)) is not None:
            return _answer(language.say(f"memory_no_{reason}"))
        if context.facts is None:
            return _off(language)
        if len(text) > MAX_FACT_CHARS:
            return _answer(language.say("memory_too_long"))
        effect = AddFact(text, context.now.isoformat(timespec="seconds"))
        return _answer(language.say("memory_kept"), (text,), effect)

    return reply


def ask_for_fact(match: TemplateMatch, language: Language) -> Reply:
    """Asks for the words to remember."""

    def reply(context: SkillContext) -> SkillAnswer | Asking:
        if context.facts is None:
            return _off(language)
        return Asking(language.say("memory_what"), MissingSlot(replace(match, intent="memory_add"), "note"))

    return reply


def tell_facts(_match: TemplateMatch, language: Language) -> Reply:
    """Tells the newest facts."""

    def reply(context: SkillContext) -> SkillAnswer:
        if context.facts is None:
            return _off(language)
        if not context.facts:
            return _answer(language.say("memory_none"))
        count = language.phrases.count(len(context.facts))
        told = context.facts[: -MAX_TOLD - 1 : -1]
        parts = [language.say("memory_told", of=len(context.facts), count=count), *(_said(f, language) for f in told)]
        if more := len(context.facts) - len(told):
            parts.append(language.say("memory_more", of=more, count=language.phrases.count(more)))
        return _answer(" ".join(parts), tuple(fact.text for fact in told) if len(told) == 1 else ())

    return reply


def tell_facts_about(match: TemplateMatch, language: Language) -> Reply:
    """Tells what the user has said about something. A language model answers this better, if there is one."""
    about = match.values["items"]

    def reply(context: SkillContext) -> SkillAnswer:
        if context.facts is None:
            return replace(_off(language), before_llm=False)
        facts = facts_about(context.facts, about)[-MAX_TOLD:]
        text = " ".join(_said(fact, language) for fact in facts) or language.say("memory_none_about")
        return replace(_answer(text, tuple(fact.text for fact in facts)), before_llm=False)

    return reply


def forget(match: TemplateMatch, language: Language) -> Reply:
    """Forgets what the user has said about something, and names it; asks if it is not clear what is meant.

    Where nothing is remembered of it, a language model answers, if there is one.
    """
    texts = match.values["items"].split(ITEM_BREAK)

    def reply(context: SkillContext) -> SkillAnswer | Asking:
        if context.facts is None:
            return replace(_off(language), before_llm=False)
        found = [facts_about(context.facts, text) for text in texts]
        facts = tuple(dict.fromkeys(fact for some in found for fact in some))
        if not facts:
            return replace(_answer(language.say("memory_none_about")), before_llm=False)
        if len(facts) > len(texts):
            return _which(match, facts[-MAX_CHOICES:], language)
        if not all(_has_all_words(fact.text, text) for text, some in zip(texts, found, strict=True) for fact in some):
            sure = replace(match, values={"items": ITEM_BREAK.join(fact.text for fact in facts)})
            return Asking(language.say("memory_meant", items=_named(facts, language)), Confirm(sure))
        text = language.say("memory_forgotten", items=_named(facts, language))
        return _answer(text, effect=RemoveFacts(tuple(fact.key for fact in facts)))

    return reply


def _which(match: TemplateMatch, choices: Sequence[Fact], language: Language) -> Asking:
    told = f" {language.piece('memory_or')} ".join((", ".join(fact.text for fact in choices[:-1]), choices[-1].text))
    options = ITEM_BREAK.join(fact.text for fact in choices)
    request = replace(match, values={**match.values, "options": options})
    return Asking(language.say("memory_which", items=told), MissingSlot(request, "items"))


def forget_all(match: TemplateMatch, language: Language) -> Reply:
    """Forgets everything, after a confirmation."""

    def reply(context: SkillContext) -> SkillAnswer | Asking:
        if context.facts is None:
            return _off(language)
        if not context.facts:
            return _answer(language.say("memory_none"), effect=RemoveFacts(()))
        if "sure" not in match.values:
            count = language.phrases.count(len(context.facts))
            sure = replace(match, values={**match.values, "sure": "yes"})
            return Asking(language.say("memory_sure", of=len(context.facts), count=count), Confirm(sure))
        return _answer(language.say("memory_cleared"), effect=RemoveFacts(tuple(fact.key for fact in context.facts)))

    return reply


def facts_about(facts: Sequence[Fact], text: str) -> tuple[Fact, ...]:
    """Returns the fact with exactly these words; else those that share the most of its words, at least half."""
    words = same_words(text)
    if exact := tuple(fact for fact in facts if same_words(fact.text) == words):
        return exact
    about = [word_beginning(word) for word in content_words(text)]
    shared = {fact: _shared(about, fact.text) for fact in facts}
    most = max(shared.values(), default=0)
    return tuple(fact for fact in facts if shared[fact] == most) if 0 < len(about) <= 2 * most else ()


def _has_all_words(fact: str, text: str) -> bool:
    """Returns whether a fact has all words of a text that tell what it is about."""
    about = [word_beginning(word) for word in content_words(text)]
    return same_words(fact) == same_words(text) or _shared(about, fact) == len(about)


def _named(facts: Sequence[Fact], language: Language) -> str:
    return language.phrases.join([fact.text for fact in facts])


def _shared(beginnings: Sequence[str], text: str) -> int:
    words = [word_beginning(word, whole=True) for word in same_words(text).split()]
    return sum(any(word.startswith(beginning) for word in words) for beginning in beginnings)


def _said(fact: Fact, language: Language) -> str:
    day = fact.day
    if day is None:
        return language.say("memory_said_once", fact=fact.text)
    return language.say("memory_said", date=language.phrases.on_date(day.date()), fact=fact.text)


def _off(language: Language) -> SkillAnswer:
    return replace(_answer(language.say("memory_off")), hint=language.say("memory_hint"))


def _answer(text: str, texts: tuple[str, ...] = (), effect: SkillEffect | None = None) -> SkillAnswer:
    return SkillAnswer(text, _SKILL, effect, subjects=(FactsNamed(texts),) if texts else ())


REPLIES = {
    "memory_add": remember,
    "memory_open": ask_for_fact,
    "memory_tell": tell_facts,
    "memory_find": tell_facts_about,
    "memory_forget": forget,
    "memory_clear": forget_all,
}
