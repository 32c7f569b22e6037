"""A language model whose answers claim no timer, alarm or reminder that it has not set."""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from assistant.skills.answers import Running
from assistant.tools.timers.agreement import agrees
from assistant.tools.timers.claims import claims_timer, is_about_timers, may_claim
from assistant.tools.timers.timer_tools import FUNCTIONS
from llm.chat import (
    PLAIN,
    ChatEvent,
    ChatModel,
    ChatOptions,
    Finished,
    FunctionCall,
    Message,
    Token,
    spoken_language,
)

CHECKED_SENTENCES = 3
"""Sentences at the beginning of an answer that are checked. A claim comes first, or after "Sure!"."""

MAX_HELD_CHARS = 400
"""A longer sentence is no claim and is not held."""

NOTE = (
    "You cannot set, change or cancel timers, alarms or reminders: nothing you say does it. If the user asks for one, "
    "say that you cannot."
)
"""Added before a question about timers if the request offers no function."""

_OWN = frozenset(function.name for function in FUNCTIONS)
_SETS = re.compile(r"alarm|timer|remind|calendar|event|schedul|appointment|wecke|erinner|termin", re.IGNORECASE)
"""Names and arguments of other functions that may set an alarm."""

_END = re.compile(r"(?<=[.!?\n])(?=\s|$)|\n")


class CheckedChat:
    """Implements `ChatModel` with another one.

    An answer is passed on at once, except a sentence that begins as a claim does: it waits for its end. A claim that
    agrees with what is set is passed on. After a call of a function in the same reply nothing is checked, because the
    model then tells the result; a timer tool must have said that it was done.
    """

    def __init__(
        self,
        model: ChatModel,
        not_set: Callable[[str], str],
        language: str,
        running: Callable[[], Running] = Running,
        *,
        follows: bool = True,
    ) -> None:
        """Checks the answers of another model.

        Args:
            model: The model.
            not_set: Returns the sentence that replaces an answer with a false claim, in the language of a BCP 47 tag.
            language: That of the conversation, for words of the user without one.
            running: Returns what is set.
            follows: Whether the conversation follows the language of the user; see `SkillInputs`.
        """
        self.model = model
        self.name = model.name
        self._not_set = not_set
        self._language = language
        self._running = running
        self._follows = follows

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
        if _may_have_set(messages):
            async with aclosing(self.model.stream(messages, options)) as events:
                async for event in events:
                    yield event
            return
        about = is_about_timers(_last_words(messages))
        may_call = bool(options.functions) and options.choice != "none"
        asked = messages
        if about and not options.functions and messages[-1].role == "user":
            asked = (*messages[:-1], Message("system", NOTE), messages[-1])
        language = spoken_language(messages if self._follows else (), self._language)
        check = _Check(about, self._not_set(language), lambda sentence: agrees(sentence, self._running()))
        async with aclosing(self._checked(self.model.stream(asked, options), check, may_call)) as events:
            async for event in events:
                yield event

    async def _checked(
        self, events: AsyncGenerator[ChatEvent], check: "_Check", may_call: bool
    ) -> AsyncGenerator[ChatEvent]:
        """Yields the events without a false claim and what follows it. It replaces the claim if no call follows."""
        called = False
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Token):
                    text = "" if check.claims else check.passed(event.text)
                    if text:
                        yield event if text == event.text else Token(text, probability=event.probability)
                    if check.claims and not may_call:
                        break
                    continue
                if isinstance(event, FunctionCall | Finished) and (held := check.rest()):
                    yield Token(held)
                if isinstance(event, FunctionCall):
                    called = True  # the result is told in the next answer
                if isinstance(event, Finished) and check.claims and not called:
                    yield Token(check.not_set)
                yield event
                if isinstance(event, Finished):
                    return
        if check.claims and not called:
            yield Token(check.not_set)
            yield Finished("stop")


def _last_words(messages: Sequence[Message]) -> str:
    return next((message.content for message in reversed(messages) if message.role == "user"), "")


def _may_have_set(messages: Sequence[Message]) -> bool:
    """Returns whether a function may have set what the model claims.

    That is a timer tool that has said so, or another function: any one after the user's last words, and before them one
    that is about alarms.
    """
    results = {message.call_id: message.content for message in messages if message.role == "tool"}
    is_now = True
    for message in reversed(messages):
        is_now = is_now and message.role != "user"
        for call in message.calls:
            if call.name in _OWN:
                if is_now and results.get(call.call_id, "").startswith("done"):
                    return True
            elif is_now or _SETS.search(f"{call.name} {call.arguments}"):
                return True
    return False


class _Check:
    """Holds the pieces of a sentence that may be a claim.

    Attributes:
        claims: Whether a sentence was a claim. It is not passed on, nor is anything after it.
        not_set: The sentence that replaces it.
    """

    def __init__(self, about_timers: bool, not_set: str, agrees: Callable[[str], bool]) -> None:
        self.claims = False
        self.not_set = not_set
        self._about = about_timers
        self._agrees = agrees
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
        claims = len(sentence) <= MAX_HELD_CHARS and claims_timer(sentence, about_timers=self._about)
        return claims and not self._agrees(sentence)

    def _may_be_passed(self) -> bool:
        if self._sentence:
            return True  # its beginning was no claim
        if not self._held.strip():
            return False
        if len(self._held) > MAX_HELD_CHARS:
            return True
        return not may_claim(self._held, about_timers=self._about)
