"""A ChatModel that gives stored answers, and asks the language model for all others.

Streaming has no lasting effect, because a reply is prepared before the end of the turn is certain. An answer is stored
when `heard` reports that it was heard to its end.
"""

import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import blake2b

from llm.cache import CacheEntry
from llm.cache.answer_cache import AnswerCache, Lookup
from llm.cache.eligibility import answer_exclusion, exclusion
from llm.chat import (
    PLAIN,
    AnsweringEndpoint,
    CacheLookup,
    ChatEvent,
    ChatModel,
    ChatOptions,
    FallbackAnswers,
    Finished,
    FunctionCall,
    Message,
    Token,
)

VERSION = 1
"""Changes when stored answers become invalid, for example because the rules of what may be stored have changed."""


NAME = "cache"
"""Named in the trace as what answered."""

_PIECE = re.compile(r"\s*\S+")

MAX_UNHEARD = 16
"""Answers of one conversation that may be heard later. Attempts that were dropped are never heard."""


@dataclass(frozen=True, slots=True)
class _Unheard:
    """An answer that was streamed: a new one, or a stored `entry`."""

    messages: Sequence[Message]
    scope: str
    text: str = ""
    by: str = ""
    entry: CacheEntry | None = None


class CachedChat:
    """The chat model of one conversation, with the shared cache before the shared language model.

    Args:
        model: The language model.
        cache: Looks up and stores answers.
        answered_by: Names the endpoints with their models and settings.
    """

    def __init__(self, model: ChatModel, cache: AnswerCache, answered_by: str) -> None:
        self.model = model
        self.name = model.name
        self._cache = cache
        self._answered_by = answered_by
        self._unheard: deque[_Unheard] = deque(maxlen=MAX_UNHEARD)

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return self.model.detail

    async def load(self) -> None:
        """Loads the model."""
        await self.model.load()

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields how the lookup ended, then the stored answer or the model's events. Raises LlmError."""
        if not messages or messages[-1].role != "user":
            lookup, scope = Lookup("excluded", "result of a tool"), ""
        else:
            scope = scope_of(messages, options, language=self._cache.language, answered_by=self._answered_by)
            why = self._exclusion(messages, options)
            lookup = Lookup("excluded", why) if why else await self._cache.look_up(scope, messages[-1].content)
        yield CacheLookup(lookup.outcome, lookup.detail)
        if lookup.entry is not None:
            self._unheard.append(_Unheard(messages, scope, entry=lookup.entry))
            yield AnsweringEndpoint(NAME)
            # In pieces, as from the model: so the text chunks are cut as early, and in the same places.
            for piece in _PIECE.findall(lookup.entry.answer.strip()):
                yield Token(piece)
            yield Finished("stop")
            return
        async with aclosing(self._asked(messages, options, scope, may_store=lookup.outcome != "excluded")) as events:
            async for event in events:
                yield event

    def heard(self, messages: Sequence[Message]) -> None:
        """Stores the answer to these messages, the same object as was streamed: it was heard to its end."""
        for answer in self._unheard:
            if answer.messages is messages:
                self._unheard.remove(answer)
                if answer.entry is not None:
                    self._cache.used(answer.entry)
                else:
                    self._cache.remember(answer.scope, messages[-1].content, answer.text, answer.by)
                return

    async def aclose(self) -> None:
        """Closes the model."""
        await self.model.aclose()

    def _exclusion(self, messages: Sequence[Message], options: ChatOptions) -> str:
        """Returns why the request is not looked up; "" if it is."""
        if options.choice not in {"auto", "none"}:
            return "tool required"
        if any(message.images for message in messages):
            return "image"
        spoken = messages[-1].language.partition("-")[0]
        if messages[-1].speaker or spoken not in {"", self._cache.language.partition("-")[0]}:
            return "several speakers" if messages[-1].speaker else "another language"
        if any(message.role == "tool" or message.calls for message in messages):
            return "conversation has context"
        before = [message for message in messages[:-1] if message.role != "system"]
        if before and before[-1].role == "user":
            return "conversation has context"  # the reply answers the earlier message, too
        earlier = [message.content for message in before if message.role == "user"]
        return exclusion(messages[-1].content, earlier, self._cache.lexicon, is_first=not before)

    async def _asked(
        self, messages: Sequence[Message], options: ChatOptions, scope: str, *, may_store: bool
    ) -> AsyncGenerator[ChatEvent]:
        """Yields the model's events, and keeps a complete answer until it is heard."""
        text, by = "", self.model.name
        async with aclosing(self.model.stream(messages, options)) as events:
            async for event in events:
                match event:
                    case AnsweringEndpoint():
                        by = event.by
                    case Token():
                        text += event.text
                    case FunctionCall() | FallbackAnswers():
                        may_store = False
                    case Finished() if may_store and not answer_exclusion(text, event.reason):
                        self._unheard.append(_Unheard(messages, scope, text, by))
                yield event


def scope_of(messages: Sequence[Message], options: ChatOptions, *, language: str, answered_by: str) -> str:
    """Returns a hash of the instructions, a greeting, the language, the language models and the tools.

    An answer is valid only within one scope: what it depends on besides the request.

    `answered_by`: names the endpoints with their models and settings.
    """
    begins = next((number for number, message in enumerate(messages) if message.role == "user"), len(messages))
    instructions = [
        message.content for number, message in enumerate(messages) if message.role == "system" or number < begins
    ]
    functions = [(function.name, function.description, function.parameters) for function in options.functions]
    parts = [VERSION, language, answered_by, instructions, functions, options.choice, options.max_tokens]
    return blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()
