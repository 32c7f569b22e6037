"""The skills as a language model: alone, or in front of a real one.

Streaming an answer does nothing but speak: a reply is prepared before it is certain that the turn is over. What an
answer is to do besides is asked for by whoever commits the turn: `effect_of` the same messages.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime

from assistant.skills import Running, SkillAnswer, SkillContext, SkillEffect
from assistant.skills.skills import Skills, no_model_answer
from llm.chat import PLAIN, AnsweringEndpoint, ChatEvent, ChatModel, ChatOptions, Finished, Message, Token


def _none_running() -> Running:
    return Running()


class Asking:
    """Asks the skills about the last words of a conversation, once for the same messages.

    Args:
        skills: Shared between conversations.
        now: The local time with its zone, asked once per answer.
        language: Of the conversation, as a BCP 47 tag.
        running: The timers and alarms that are set, asked once per answer.
        rng: Where coins and dice get their luck.
        alone: Whether nobody else could do what is missing here, so that this is said.
    """

    def __init__(
        self,
        skills: Skills,
        now: Callable[[], datetime],
        language: str,
        running: Callable[[], Running],
        rng: random.Random,
        *,
        alone: bool,
    ) -> None:
        self._skills = skills
        self._now = now
        self._language = language
        self._running = running
        self._rng = rng
        self._alone = alone
        self._latest: tuple[Sequence[Message], SkillAnswer | None] | None = None

    async def load(self) -> None:
        """Build the sentence tables of the conversation's language."""
        await asyncio.to_thread(self._skills.load, self._language)

    def answer(self, messages: Sequence[Message]) -> SkillAnswer | None:
        """The skills' answer; the very same one for the very same object, so that what is done is what was said."""
        if self._latest is not None and self._latest[0] is messages:
            return self._latest[1]
        # What a client's function returned is for the model that called it.
        said = messages[-1].content if messages and messages[-1].role == "user" else None
        answer = None if said is None else self._skills.answer(said, self._context(messages))
        if answer is not None and answer.missing and not self._alone:
            answer = None  # a model may have a tool for it
        self._latest = (messages, answer)
        return answer

    def text(self, messages: Sequence[Message]) -> str:
        """The skills' answer, or the sentence that there is no model."""
        answer = self.answer(messages)
        return answer.text if answer else no_model_answer(_last(messages, "user") or "", self._language)

    def effect_of(self, messages: Sequence[Message]) -> SkillEffect | None:
        """What the answer to `messages` is to do."""
        answer = self.answer(messages)
        return None if answer is None else answer.effect

    def _context(self, messages: Sequence[Message]) -> SkillContext:
        return SkillContext(self._now(), _last(messages, "assistant"), self._language, self._running(), self._rng)


class SkillsChat:
    """A ChatModel for a machine without one: answers what the skills can, and says so otherwise.

    Args:
        skills: Shared between conversations.
        now: The local time with its zone, asked once per answer.
        language: Of the conversation, as a BCP 47 tag.
        running: The timers and alarms that are set, asked once per answer.
        rng: Where coins and dice get their luck.
    """

    name = "skills"

    def __init__(
        self,
        skills: Skills,
        now: Callable[[], datetime],
        language: str = "en",
        *,
        running: Callable[[], Running] = _none_running,
        rng: random.Random | None = None,
    ) -> None:
        self._asking = Asking(skills, now, language, running, rng or random.SystemRandom(), alone=True)

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return "built-in skills, no language model"

    async def load(self) -> None:
        """Build the sentence tables."""
        await self._asking.load()

    def effect_of(self, messages: Sequence[Message]) -> SkillEffect | None:
        """What is to be done once the turn that asked `messages` is committed; None for most."""
        return self._asking.effect_of(messages)

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """The skill's answer, or the sentence that there is no model."""
        for event in _spoken_events(self._asking.text(messages)):
            yield event

    async def aclose(self) -> None:
        """Nothing to close."""


class SkillsFirst:
    """A ChatModel that asks the skills before it asks the model behind it.

    Args:
        skills: Shared between conversations.
        model: Answers what no skill understands, and what the skills could only refuse: it may have tools.
        now: The local time with its zone, asked once per answer.
        language: Of the conversation, as a BCP 47 tag.
        running: The timers and alarms that are set, asked once per answer.
        rng: Where coins and dice get their luck.
    """

    name = "skills"

    def __init__(
        self,
        skills: Skills,
        model: ChatModel,
        now: Callable[[], datetime],
        language: str = "en",
        *,
        running: Callable[[], Running] = _none_running,
        rng: random.Random | None = None,
    ) -> None:
        self._asking = Asking(skills, now, language, running, rng or random.SystemRandom(), alone=False)
        self._model = model

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return f"built-in skills, then {self._model.name}: {self._model.detail}"

    async def load(self) -> None:
        """Build the sentence tables and get the model ready."""
        await self._asking.load()
        await self._model.load()

    def effect_of(self, messages: Sequence[Message]) -> SkillEffect | None:
        """What is to be done once the turn that asked `messages` is committed; None for most, and for the model."""
        return self._asking.effect_of(messages)

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Who answers, then the skill's answer or the model's events as they come. Raises LlmError."""
        answer = self._asking.answer(messages)
        if answer is not None:
            yield AnsweringEndpoint(self.name)
            for spoken in _spoken_events(answer.text):
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
        """Close the model behind."""
        await self._model.aclose()


def _last(messages: Sequence[Message], role: str) -> str | None:
    return next((message.content for message in reversed(messages) if message.role == role), None)


def _spoken_events(text: str) -> tuple[ChatEvent, ...]:
    """All at once, with the blank line that says it is whole: then it is cut at sentences, not at its first comma."""
    return (Token(f"{text}\n\n"), Finished("stop"))
