"""A ChatModel that adds what the user said in earlier conversations to a request."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from assistant.memory.facts import ConversationFacts, UserFacts
from assistant.memory.notes import MAX_PER_TURN, Notes, chosen
from llm.cache import CacheStoreError, Embedder, Vector
from llm.chat import PLAIN, ChatEvent, ChatModel, ChatOptions, Message

log = logging.getLogger(__name__)

WORDS_TIMEOUT_S = 0.1
"""Longest wait for the search by words, which takes 1 ms; then the request goes without new facts."""

MEANING_TIMEOUT_S = 0.004
"""Longest wait for the embedding of a question. It is computed while the search by words runs, and kept: the next
attempt at the same words has it. Without it the facts that share words are found."""

MAX_SEARCHES = 8
"""Questions whose facts are kept: a speculative reply and the final one ask the same."""

MEMORY_THREAD = ThreadPoolExecutor(1, "memory")
EMBEDDING_THREAD = ThreadPoolExecutor(1, "memory embedding")


@dataclass(slots=True)
class Recall:
    """Finds the facts that a question is about. Shared by all conversations; use it on the event loop.

    Attributes:
        embedder: Embeds questions and facts; None: only shared words are compared.
        thread: Runs the search by words.
        embedding_thread: Runs the embedder.
    """

    embedder: Embedder | None = None
    thread: Executor = MEMORY_THREAD
    embedding_thread: Executor = EMBEDDING_THREAD
    _vectors: dict[str, "asyncio.Future[Vector]"] = field(default_factory=dict)  # by question, the newest last

    async def find(self, question: str, facts: UserFacts) -> tuple[str, ...]:
        """Returns the keys of the facts that a question is about, the best first. Never fails, and is soon done."""
        embedding = self._embedding(question)
        texts = {fact.key: fact.text for fact in facts.facts}

        def by_words() -> tuple[str, ...]:
            facts.index.update(texts)
            return facts.index.by_words(question, MAX_PER_TURN)

        try:
            async with asyncio.timeout(WORDS_TIMEOUT_S):
                words = await asyncio.wrap_future(self.thread.submit(by_words))
        except TimeoutError:
            log.info("memory: the search by words was late; the request goes without it")
            return ()
        if embedding is None:
            return words
        with suppress(TimeoutError, CacheStoreError):
            async with asyncio.timeout(MEANING_TIMEOUT_S):
                vector = await asyncio.shield(embedding)
                return tuple(dict.fromkeys((*words, *facts.index.by_meaning(vector, MAX_PER_TURN))))
        return words

    def embed_missing(self, facts: UserFacts) -> None:
        """Embeds facts that have no embedding yet. Blocks: call it in `embedding_thread`. Raises CacheStoreError."""
        if self.embedder is not None:
            for key, text in facts.index.without_vector():
                facts.index.add_vector(key, text, self.embedder.embed(text))

    def _embedding(self, question: str) -> "asyncio.Future[Vector] | None":
        """Returns the embedding of a question, which may be under way."""
        if self.embedder is None:
            return None
        known = self._vectors.get(question)
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            known = self._vectors[question] = asyncio.wrap_future(
                self.embedding_thread.submit(self.embedder.embed, question)
            )
            known.add_done_callback(lambda done: None if done.cancelled() else done.exception())
            while len(self._vectors) > MAX_SEARCHES:
                del self._vectors[next(iter(self._vectors))]
        return known


class RecallingChat:
    """Adds notes to the requests of one conversation, and asks the model.

    Args:
        model: Answers requests without notes; it may be an answer cache.
        uncached: Answers requests with notes: their answers are personal, and are not kept.
        facts: Returns the facts of this conversation; None while it has no memory.
        recall: Finds facts.
        on_request: Called before each request.
    """

    def __init__(
        self,
        model: ChatModel,
        uncached: ChatModel,
        facts: Callable[[], ConversationFacts | None],
        recall: Recall,
        on_request: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = model.name
        self.model = model
        self._uncached = uncached
        self._facts = facts
        self._recall = recall
        self._on_request = on_request
        self._notes = Notes()
        self._searches: dict[tuple[str, int], tuple[str, ...]] = {}

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return self.model.detail

    async def load(self) -> None:
        """Loads the model."""
        await self.model.load()

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields the model's events. Raises LlmError."""
        self._on_request()
        with_notes = await self.with_notes(messages)
        model = self.model if with_notes is messages else self._uncached
        async with aclosing(model.stream(with_notes, options)) as events:
            async for event in events:
                yield event

    async def with_notes(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Returns the messages with what the user said earlier; the same object if there is nothing."""
        own = self._facts()
        facts = {} if own is None or not own.user.enabled else {fact.key: fact for fact in own.user.facts}
        if own is None or not facts:
            return messages
        if messages and messages[-1].role == "user" and not self._notes.has_note(messages):
            question = messages[-1].content
            found = await self._search(question, own.user)
            is_first = self._notes.is_first(messages)
            self._notes.add(messages, chosen(found, facts, self._notes.known(messages), is_first=is_first))
        noted = self._notes.applied(messages, facts)
        return messages if len(noted) == len(messages) else noted

    def noted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Returns the messages with the notes so far, for a model that computes them in advance."""
        own = self._facts()
        if own is None or not own.user.enabled:
            return messages
        return self._notes.applied(messages, {fact.key: fact for fact in own.user.facts})

    async def aclose(self) -> None:
        """Closes the model."""
        await self.model.aclose()

    async def _search(self, question: str, facts: UserFacts) -> tuple[str, ...]:
        key = question, facts.version
        if key not in self._searches:
            self._searches[key] = await self._recall.find(question, facts)
            while len(self._searches) > MAX_SEARCHES:
                del self._searches[next(iter(self._searches))]
        return self._searches[key]


def prefilling(
    chat: RecallingChat, prefill: Callable[[Sequence[Message]], Awaitable[None]]
) -> Callable[[Sequence[Message]], Awaitable[None]]:
    """Returns a `prefill` whose messages have the notes of the conversation."""

    async def with_notes(messages: Sequence[Message]) -> None:
        await prefill(chat.noted(messages))

    return with_notes
