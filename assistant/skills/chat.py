"""The skills as a ChatModel: alone, or in front of a language model.

Streaming an answer has no side effects, because a reply is prepared before the end of the turn is certain. The code
that commits the turn asks for the effect with `effect_of` and the same messages.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import TypedDict, Unpack

from assistant.memory.facts import Fact
from assistant.skills.answers import REFUSED, Running, SkillAnswer, SkillContext, SkillEffect, joined_effect
from assistant.skills.dialog.memory import Memory, Remember
from assistant.skills.dialog.refusals import hint_of
from assistant.skills.kinds import MatchingSkill
from assistant.skills.languages.language import base_language, load_language
from assistant.skills.lists.items import ListItem
from assistant.skills.skills import Skills
from llm.chat import (
    PLAIN,
    AnsweringEndpoint,
    ChatEvent,
    ChatModel,
    ChatOptions,
    Finished,
    Message,
    Token,
    spoken_language,
)
from llm.errors import LlmBroken


def _always() -> bool:
    return True


def _no_room() -> str:
    return ""


def _no_memory() -> None:
    return None


def _no_home() -> None:
    return None


class SkillInputs(TypedDict, total=False):
    """Inputs of the skills from a conversation, besides its words.

    Attributes:
        running: Returns the timers and alarms that are set. Called once per answer.
        rng: Random number generator for coins and dice.
        at_home: Returns whether the user may use the home. Called once per answer.
        memory: Returns what the conversation remembers of its last turns. Called once per answer.
        lists: Returns the items of the user's lists and notes. Called once per answer.
        facts: Returns what is remembered of the user; None without a memory. Called once per answer.
        room: Returns the name of the room in which the user speaks. Called once per answer.
        own_home: Returns the skill of the conversation's own home; None: it has none. Called once per answer.
        follows: Whether the conversation follows the language of the user; else it has one, whatever was spoken before.
    """

    running: Callable[[], Running]
    rng: random.Random
    at_home: Callable[[], bool]
    memory: Callable[[], Memory]
    lists: Callable[[], tuple[ListItem, ...]]
    facts: Callable[[], tuple[Fact, ...] | None]
    room: Callable[[], str]
    own_home: Callable[[], MatchingSkill | None]
    follows: bool


class SkillQuery:
    """Answers the last user message of a conversation with the skills, once for the same messages.

    Args:
        skills: Shared between conversations.
        now: Returns the local time with its time zone. Called once per answer.
        language: BCP 47 tag of the conversation.
        alone: Whether no tool of a language model can do what is missing here, so that the skills answer it.
        refuses: Whether there is no language model, so that the skills answer what they do not understand.
        inputs: See `SkillInputs`.
    """

    def __init__(
        self,
        skills: Skills,
        now: Callable[[], datetime],
        language: str,
        *,
        alone: bool,
        refuses: bool = False,
        **inputs: Unpack[SkillInputs],
    ) -> None:
        self.language = language
        self._skills = skills
        self._now = now
        self._alone = alone
        self._refuses = refuses
        self._running = inputs.get("running", Running)
        self._rng = inputs.get("rng") or random.SystemRandom()
        self._at_home = inputs.get("at_home", _always)
        self._memory = inputs.get("memory", Memory)
        self._lists = inputs.get("lists", tuple)
        self._facts = inputs.get("facts", _no_memory)
        self._room = inputs.get("room", _no_room)
        self._own_home = inputs.get("own_home", _no_home)
        self._follows = inputs.get("follows", True)
        self._with_own_home: tuple[MatchingSkill, Skills] | None = None
        self._latest: tuple[Sequence[Message], SkillAnswer | None] | None = None

    async def load(self) -> None:
        """Builds the sentence tables of the conversation's language."""
        await asyncio.to_thread(self._skills.load, self.language)

    def answer(self, messages: Sequence[Message]) -> SkillAnswer | None:
        """Returns the skills' answer; None if there is none.

        The same messages object gives the same answer object, so that the effect matches what was said.
        """
        if self._latest is not None and self._latest[0] is messages:
            return self._latest[1]
        # The result of a client's function is for the model that called it, and no skill sees images.
        by_user = bool(messages) and messages[-1].role == "user" and not messages[-1].images
        request = messages[-1].content if by_user else None
        context = self._context(messages)
        answer = None if request is None else self._own_skills().answer(request, context)
        if answer is not None and answer.missing and not self._alone:
            answer = None  # the model may have a tool for it
        if answer is not None and not answer.before_llm and not self._refuses:
            answer = None  # the skill leaves the request to the model
        if answer is None and self._refuses:
            answer = self._skills.refusal(request or _last_content(messages, "user") or "", context)
        self._latest = (messages, answer)
        return answer

    @property
    def has_services(self) -> bool:
        """Whether a skill uses a service, so that `warm` is of use."""
        return self._skills.has_services

    def refresh(self) -> None:
        """Has the services of the skills read again what may have changed, because the user begins to speak."""
        self._skills.refresh()

    def effect_of(self, messages: Sequence[Message]) -> SkillEffect | None:
        """Returns the effect to apply when the turn with `messages` is committed; None for most turns."""
        answer = self.answer(messages)
        if answer is None:
            return None
        language = base_language(self._language_of(messages)) or "en"
        remembered = Remember(
            answer.question, answer.question_text, answer.text, answer.subjects, answer.refuses, language=language
        )
        return joined_effect(answer.effect, remembered)

    def _own_skills(self) -> Skills:
        """Returns the skills, with the conversation's own home if it has one."""
        home = self._own_home()
        if home is None:
            return self._skills
        if self._with_own_home is None or self._with_own_home[0] is not home:
            self._with_own_home = home, self._skills.with_home(home)
        return self._with_own_home[1]

    def _language_of(self, messages: Sequence[Message]) -> str:
        """Returns the language of the last words of the user; the conversation's one if it is not known."""
        return spoken_language(messages if self._follows else (), self.language)

    def _context(self, messages: Sequence[Message]) -> SkillContext:
        last_reply = _last_content(messages, "assistant")
        running, at_home = self._running(), self._at_home()
        return SkillContext(
            self._now(),
            last_reply,
            self._language_of(messages),
            running,
            self._rng,
            at_home,
            self._memory(),
            self._lists(),
            self._facts(),
            self._room(),
        )


class SkillsChat(SkillQuery):
    """A ChatModel without a language model: skills answer, or a sentence says that there is no model."""

    name = "skills"

    def __init__(
        self, skills: Skills, now: Callable[[], datetime], language: str = "en", **inputs: Unpack[SkillInputs]
    ) -> None:
        super().__init__(skills, now, language, alone=True, refuses=True, **inputs)

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return "built-in skills, no language model"

    async def warm(self) -> None:
        """Prepares for a question that may follow."""
        self.refresh()

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields the skill's answer, or the sentence that there is no language model. Raises LlmBroken."""
        answer = self.answer(messages)
        if answer is not None:
            for event in _spoken_events(await looked_up(answer), self._language_of(messages)):
                yield event

    async def aclose(self) -> None:
        """Does nothing; there is nothing to close."""


class SkillsFirst(SkillQuery):
    """A ChatModel that tries the skills before the language model.

    Args:
        skills: Shared between conversations.
        model: Answers what no skill understands or can do. It may have tools.
        now: Returns the local time with its time zone. Called once per answer.
        language: BCP 47 tag of the conversation.
        model_has_tools: Whether the model may have a tool for what the skills know but cannot do, such as playing
            music. Without tools, a small model would claim that it is done.
        prefill: Computes messages in advance, for a model that runs on this machine; None: nothing is computed.
        inputs: See `SkillInputs`.
    """

    name = "skills"

    def __init__(
        self,
        skills: Skills,
        model: ChatModel,
        now: Callable[[], datetime],
        language: str = "en",
        *,
        model_has_tools: bool = True,
        prefill: Callable[[Sequence[Message]], Awaitable[None]] | None = None,
        **inputs: Unpack[SkillInputs],
    ) -> None:
        super().__init__(skills, now, language, alone=not model_has_tools, **inputs)
        self._model = model
        self._prefill = prefill
        self._unseen: tuple[Message, ...] = ()  # a conversation whose last turn a skill answered

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return f"built-in skills, then {self._model.name}: {self._model.detail}"

    async def load(self) -> None:
        """Builds the sentence tables and loads the model."""
        await super().load()
        await self._model.load()

    async def warm(self) -> None:
        """Prepares the model for a question that may follow: its connections, and the turns that it has not seen."""
        self.refresh()
        await self._model.load()
        unseen, self._unseen = self._unseen, ()
        if unseen and self._prefill is not None:
            await self._prefill(unseen)

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields who answers, then the skill's answer or the model's events. Raises LlmError."""
        answer = self.answer(messages)
        if answer is not None and not (answer.missing and options.functions):
            yield AnsweringEndpoint(self.name)
            answer = await looked_up(answer)
            self._unseen = (*messages, Message("assistant", answer.text))
            for spoken in _spoken_events(answer, self._language_of(messages)):
                yield spoken
            return
        named = False
        async with aclosing(self._model.stream(messages, options)) as events:
            async for event in events:
                if not named and not isinstance(event, AnsweringEndpoint):
                    yield AnsweringEndpoint(self._model.name)
                named = True
                yield event

    async def aclose(self) -> None:
        """Closes the model."""
        await self._model.aclose()


async def looked_up(answer: SkillAnswer) -> SkillAnswer:
    """Asks the service of an answer, if it has one. Raises LlmBroken if the answer says that a service failed."""
    if answer.lookup is not None:
        answer = await answer.lookup()
    if answer.failed:
        what = f"the {answer.skill} skill could not do what was asked: run `repartee doctor`"
        raise LlmBroken(answer.skill, what, spoken=answer.text, retryable=False)
    return answer


def _last_content(messages: Sequence[Message], role: str) -> str | None:
    return next((message.content for message in reversed(messages) if message.role == role), None)


def _spoken_events(answer: SkillAnswer, language: str) -> tuple[ChatEvent, ...]:
    """Returns the whole answer at once.

    The blank line marks the end of the sentence, so that the chunker does not cut the answer at its first comma.
    """
    hint = hint_of(answer, load_language(base_language(language) or "en"))
    return (Token(f"{answer.text}\n\n"), Finished(REFUSED if answer.missing else "stop", hint=hint))
