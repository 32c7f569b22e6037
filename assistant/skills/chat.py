"""The skills as a language model: alone, or in front of a real one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime

from assistant.skills import Answer, SkillContext
from assistant.skills.skills import Skills, no_model_answer
from llm.chat import Answering, ChatEvent, ChatModel, Finished, Message, Token


class SkillsChat:
    """A ChatModel for a machine without one: answers what the skills can, and says so otherwise.

    Args:
        skills: Shared between conversations.
        now: The local time with its zone, asked once per answer.
        language: Of the conversation, as a BCP 47 tag.
    """

    name = "skills"

    def __init__(self, skills: Skills, now: Callable[[], datetime], language: str = "en") -> None:
        self._skills = skills
        self._now = now
        self._language = language

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return "built-in skills, no language model"

    async def load(self) -> None:
        """Build the sentence tables."""
        await asyncio.to_thread(self._skills.load)

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[ChatEvent]:
        """The skill's answer, or the sentence that there is no model."""
        answer = _answer(self._skills, messages, self._now(), self._language)
        text = answer.text if answer else no_model_answer(_last(messages, "user") or "")
        for event in _spoken_events(text):
            yield event

    async def aclose(self) -> None:
        """Nothing to close."""


class SkillsFirst:
    """A ChatModel that asks the skills before it asks the model behind it.

    Args:
        skills: Shared between conversations.
        model: Answers what no skill understands.
        now: The local time with its zone, asked once per answer.
        language: Of the conversation, as a BCP 47 tag.
    """

    name = "skills"

    def __init__(self, skills: Skills, model: ChatModel, now: Callable[[], datetime], language: str = "en") -> None:
        self._skills = skills
        self._model = model
        self._now = now
        self._language = language

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return f"built-in skills, then {self._model.name}: {self._model.detail}"

    async def load(self) -> None:
        """Build the sentence tables and get the model ready."""
        await asyncio.to_thread(self._skills.load)
        await self._model.load()

    def route(self, messages: Sequence[Message]) -> str:
        """Who will answer: "skills" or the model's name. For the trace; `stream` matches no second time."""
        answer = _answer(self._skills, messages, self._now(), self._language)
        return self._model.name if answer is None else self.name

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[ChatEvent]:
        """Who answers, then the skill's answer or the model's events as they come. Raises LlmError."""
        answer = _answer(self._skills, messages, self._now(), self._language)
        if answer is not None:
            yield Answering(self.name)
            for spoken in _spoken_events(answer.text):
                yield spoken
            return
        named = False
        async with aclosing(self._model.stream(messages)) as events:
            async for event in events:
                if not named and not isinstance(event, Answering):
                    yield Answering(self._model.name)
                named = True
                yield event

    async def aclose(self) -> None:
        """Close the model behind."""
        await self._model.aclose()


def _answer(skills: Skills, messages: Sequence[Message], now: datetime, language: str) -> Answer | None:
    said = _last(messages, "user")
    if said is None:
        return None
    return skills.answer(said, SkillContext(now, _last(messages, "assistant"), language))


def _last(messages: Sequence[Message], role: str) -> str | None:
    return next((message.content for message in reversed(messages) if message.role == role), None)


def _spoken_events(text: str) -> tuple[ChatEvent, ...]:
    """All at once, with the blank line that says it is whole: then it is cut at sentences, not at its first comma."""
    return (Token(f"{text}\n\n"), Finished("stop"))
