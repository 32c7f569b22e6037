"""A ChatModel that adds what the user said in earlier conversations to a request."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from assistant.memory.facts import ConversationFacts, UserFacts, same_words
from assistant.memory.notes import MAX_PER_TURN, Notes, chosen
from llm.cache import CacheStoreError, Embedder, Vector
from llm.chat import PLAIN, ChatEvent, ChatModel, ChatOptions, Message

log = logging.getLogger(__name__)

MEANING_TIMEOUT_S = 0.004
"""Longest wait for the embedding of typed text, which has no interim words. Spoken words are never waited for: their
embedding is that of the interim words. Without it the facts that share words are found."""

MIN_INTERIM_SHARE = 0.6
"""Share of a question's characters that interim words must have for their embedding to stand for the question."""

MAX_SEARCHES = 8
"""Questions whose facts are kept: a speculative reply and the final one ask the same."""

MEMORY_THREAD = ThreadPoolExecutor(1, "memory")
EMBEDDING_THREAD = ThreadPoolExecutor(1, "memory embedding")


@dataclass(slots=True)
class Recall:
    """Finds the facts that a question is about. Shared by all conversations; use it on the event loop.

    Attributes:
        embedder: Embeds questions and facts; None: only shared words are compared.
        thread: Builds indexes.
        embedding_thread: Runs the embedder.
        misses: Searches that went without the embedding of the question, or without the index.
    """

    embedder: Embedder | None = None
    thread: Executor = MEMORY_THREAD
    embedding_thread: Executor = EMBEDDING_THREAD
    misses: int = 0
    _interim: "tuple[str, asyncio.Future[Vector]] | None" = None  # words of the turn that goes on
    _vectors: dict[str, "asyncio.Future[Vector]"] = field(default_factory=dict)  # by question, the newest last

    async def find(self, question: str, facts: UserFacts) -> tuple[str, ...]:
        """Returns the keys of the facts that a question is about, the best first. Never fails, and is soon done."""
        if facts.index.is_busy:
            self._miss("its index is being built")
            return ()
        # On the event loop: 1 ms. Two changes of the thread would take longer on a busy machine.
        facts.index.update({fact.key: fact.text for fact in facts.facts})
        words = facts.index.by_words(question, MAX_PER_TURN)
        vector = self._interim_vector(question)
        if vector is not None:
            return tuple(dict.fromkeys((*words, *facts.index.by_meaning(vector, MAX_PER_TURN))))
        if self.embedder is None or not facts.index.has_vectors:
            return words
        embedding = self._embedding(question)  # also when it is too late for this attempt: the next one has it
        if self._interim:
            self._miss("the embedding of spoken words is late")
            return words
        with suppress(TimeoutError, CacheStoreError):
            async with asyncio.timeout(MEANING_TIMEOUT_S):
                vector = await asyncio.shield(embedding)
                return tuple(dict.fromkeys((*words, *facts.index.by_meaning(vector, MAX_PER_TURN))))
        self._miss("the embedding of typed words is late")
        return words

    def _miss(self, why: str) -> None:
        self.misses += 1
        log.info("memory: %s; request %d of this process with a search by words only, or none", why, self.misses)

    def prepare(self, interim: str) -> None:
        """Embeds interim words of a question, one at a time. Returns at once."""
        if self.embedder is not None and (self._interim is None or self._interim[1].done()):
            self._interim = interim, self._embedding(interim)

    def turn_ended(self) -> None:
        """Forgets the interim words: the next question has others."""
        self._interim = None

    def _interim_vector(self, question: str) -> Vector | None:
        """Returns the embedding of the question, or of interim words that are most of it, if it is there."""
        words = same_words(question)
        for text, embedding in reversed(self._vectors.items()):
            known = same_words(text)
            if words.startswith(known) and len(known) >= MIN_INTERIM_SHARE * len(words) and _succeeded(embedding):
                return embedding.result()
        return None

    def embed_missing(self, facts: UserFacts) -> None:
        """Embeds facts that have no embedding yet. Blocks: call it in `embedding_thread`. Raises CacheStoreError."""
        if self.embedder is not None:
            for key, text in facts.index.without_vector():
                facts.index.add_vector(key, text, self.embedder.embed(text))

    def _embedding(self, question: str) -> "asyncio.Future[Vector]":
        """Returns the embedding of a question, which may be under way."""
        assert self.embedder is not None
        known = self._vectors.get(question)
        if known is None or (known.done() and not _succeeded(known)):
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
        self._notes.begin(facts)
        if messages and messages[-1].role == "user" and not self._notes.has_note(messages):
            found, is_complete = await self._search(messages[-1].content, own.user)
            keys = chosen(found, facts, self._notes.known(messages))
            self._notes.add(messages, keys, is_final=is_complete)
        noted = self._notes.applied(messages, facts)
        return messages if len(noted) == len(messages) else noted

    def noted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Returns the messages with the notes so far, for a model that computes them in advance."""
        own = self._facts()
        if own is None or not own.user.enabled:
            return messages
        facts = {fact.key: fact for fact in own.user.facts}
        self._notes.begin(facts)
        return self._notes.applied(messages, facts)

    async def aclose(self) -> None:
        """Closes the model."""
        await self.model.aclose()

    async def _search(self, question: str, facts: UserFacts) -> tuple[tuple[str, ...], bool]:
        """Returns the facts, and whether they are all: what was found without the embedding is not kept."""
        key = question, facts.version
        if key in self._searches:
            return self._searches[key], True
        misses = self._recall.misses
        found = await self._recall.find(question, facts)
        if self._recall.misses > misses:
            return found, False
        self._searches[key] = found
        while len(self._searches) > MAX_SEARCHES:
            del self._searches[next(iter(self._searches))]
        return found, True


def _succeeded(embedding: "asyncio.Future[Vector]") -> bool:
    return embedding.done() and not embedding.cancelled() and embedding.exception() is None


def prefilling(
    chat: RecallingChat, prefill: Callable[[Sequence[Message]], Awaitable[None]]
) -> Callable[[Sequence[Message]], Awaitable[None]]:
    """Returns a `prefill` whose messages have the notes of the conversation."""

    async def with_notes(messages: Sequence[Message]) -> None:
        await prefill(chat.noted(messages))

    return with_notes
