"""A language model whose answers claim no timer, alarm or reminder that it has not set."""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from assistant.tools.timers.claims import claims_timer, is_about_timers, may_claim
from assistant.tools.timers.timer_tools import CHANGING
from llm.chat import PLAIN, ChatEvent, ChatModel, ChatOptions, Finished, FunctionCall, Message, Token

CHECKED_SENTENCES = 3
"""Sentences at the beginning of an answer that are checked. A claim comes first, or after "Sure!"."""

MAX_HELD_CHARS = 400
"""A longer sentence is no claim and is not held."""

NOTE = (
    "You cannot set, change or cancel timers, alarms or reminders: nothing you say does it. If the user asks for one, "
    "say that you cannot."
)
"""Added before a question about timers if there is no tool for them."""

_END = re.compile(r"(?<=[.!?\n])(?=\s|$)|\n")


class CheckedChat:
    """Implements `ChatModel` with another one.

    An answer is passed on at once, except a sentence that begins as a claim does: it waits for its end. After a call of
    a timer tool in the same reply nothing is checked, because the model then tells the result.
    """

    def __init__(self, model: ChatModel, not_set: Callable[[str], str], language: str) -> None:
        """Checks the answers of another model.

        Args:
            model: The model.
            not_set: Returns the sentence that replaces an answer with a false claim, in the language of a BCP 47 tag.
            language: That of the conversation, for words of the user without one.
        """
        self.model = model
        self.name = model.name
        self._not_set = not_set
        self._language = language

    @property
    def detail(self) -> str:
        """See `ChatModel`."""
        return self.model.detail

    async def load(self) -> None:
        """See `ChatModel`."""
        await self.model.load()

    async def aclose(self) -> None:
        """See `ChatModel`."""
        await self.model.aclose()

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """See `ChatModel`. Raises LlmError."""
        if _has_called(messages):
            async with aclosing(self.model.stream(messages, options)) as events:
                async for event in events:
                    yield event
            return
        about = is_about_timers(_last_words(messages))
        has_tool = any(function.name in CHANGING for function in options.functions)
        asked = messages
        if about and not has_tool and messages[-1].role == "user":
            asked = (*messages[:-1], Message("system", NOTE), messages[-1])
        language = next((message.language for message in reversed(messages) if message.language), self._language)
        check = _Check(about, self._not_set(language))
        async with aclosing(self._checked(self.model.stream(asked, options), check, has_tool)) as events:
            async for event in events:
                yield event

    async def _checked(
        self, events: AsyncGenerator[ChatEvent], check: "_Check", has_tool: bool
    ) -> AsyncGenerator[ChatEvent]:
        """Yields the events without a false claim and what follows it. With a tool, a call may still come."""
        called = False
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Token):
                    text = "" if check.claims else check.passed(event.text)
                    if text:
                        yield event if text == event.text else Token(text, probability=event.probability)
                    if check.claims and not has_tool:
                        break
                    continue
                if isinstance(event, FunctionCall) and event.name in CHANGING:
                    called = True  # the result is told in the next answer
                if isinstance(event, Finished):
                    held = check.rest()
                    if check.claims and not called:
                        held = check.not_set
                    if held:
                        yield Token(held)
                    yield event
                    return
                yield event
        if check.claims and not called:
            yield Token(check.not_set)
            yield Finished("stop")


def _last_words(messages: Sequence[Message]) -> str:
    return next((message.content for message in reversed(messages) if message.role == "user"), "")


def _has_called(messages: Sequence[Message]) -> bool:
    """Returns whether a tool for timers was called after the user's last words."""
    for message in reversed(messages):
        if message.role == "user":
            return False
        if any(call.name in CHANGING for call in message.calls):
            return True
    return False


class _Check:
    """Holds the pieces of a sentence that may be a claim.

    Attributes:
        claims: Whether a sentence was a claim. It is not passed on, nor is anything after it.
        not_set: The sentence that replaces it.
    """

    def __init__(self, about_timers: bool, not_set: str) -> None:
        self.claims = False
        self.not_set = not_set
        self._about = about_timers
        self._held = ""
        self._sentence = ""  # what of the sentence was passed on already, because its beginning was no claim
        self._checked = 0

    def passed(self, text: str) -> str:
        """Returns what may be said now."""
        if self._checked >= CHECKED_SENTENCES:
            return text
        self._held += text
        passed = ""
        while (end := _END.search(self._held)) is not None and self._checked < CHECKED_SENTENCES:
            sentence, self._held = self._held[: end.end()], self._held[end.end() :]
            if not self._sentence and self._is_claim(sentence):
                self.claims, self._held = True, ""
                return passed
            self._sentence = ""
            self._checked += bool(sentence.strip())
            passed += sentence
        if self._checked >= CHECKED_SENTENCES or self._may_be_passed():
            passed, self._held, self._sentence = passed + self._held, "", self._sentence + self._held
        return passed

    def rest(self) -> str:
        """Returns what is still held at the end of the answer, unless it is a claim."""
        held, self._held = self._held, ""
        if not self.claims and not self._sentence and held.strip() and self._is_claim(held):
            self.claims = True
        return "" if self.claims else held

    def _is_claim(self, sentence: str) -> bool:
        return len(sentence) <= MAX_HELD_CHARS and claims_timer(sentence, about_timers=self._about)

    def _may_be_passed(self) -> bool:
        if self._sentence:
            return True  # its beginning was no claim
        if not self._held.strip():
            return False
        if len(self._held) > MAX_HELD_CHARS:
            return True
        return not self._about and not may_claim(self._held)
