"""The chat model of a conversation that begins with a reading.

The first reply is made of the summaries. Later questions go to the conversation's own model, with the text of the
documents before the first words of the history.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from assistant.documents.prompts import context, with_context
from assistant.documents.reading import Reading
from assistant.documents.wording import request, wording_of
from assistant.skills.answers import SkillEffect
from llm.chat import PLAIN, AnsweringEndpoint, ChatEvent, ChatModel, ChatOptions, Message

EffectOf = Callable[[Sequence[Message]], SkillEffect | None]
"""Returns what the answer to these messages does besides being spoken."""


class ReadingChat:
    """A ChatModel. Not thread-safe.

    Attributes:
        name: See `ChatModel`.
        request: The words of the user that ask for the reading.
        reading: The reading.
    """

    name = "documents"

    def __init__(self, reading: Reading, parts_model: ChatModel, model: ChatModel, context_chars: int) -> None:
        """Initializes the model.

        Args:
            reading: What is read first.
            parts_model: Asked for the summaries.
            model: Answers everything else: the skills and the language model of the conversation.
            context_chars: How much of the documents' text later questions can refer to, in characters.
        """
        self.reading = reading
        self.request = request(reading.names, wording_of(reading.language))
        self._parts_model = parts_model
        self._model = model
        self._context = context(reading.selection.asked, context_chars)
        self._latest: tuple[Sequence[Message], tuple[Message, ...]] = ((), ())

    @property
    def detail(self) -> str:
        """See `ChatModel`."""
        return self._model.detail

    async def load(self) -> None:
        """Loads the model of the conversation."""
        await self._model.load()

    async def aclose(self) -> None:
        """Closes the model of the conversation."""
        await self._model.aclose()

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields the reading, or the answer to a question about it. Raises LlmError."""
        heard = self._heard(messages)
        if heard is not None:
            yield AnsweringEndpoint(self._parts_model.name)
            events = self.reading.reply(self._parts_model, heard)
        else:
            events = self._model.stream(self._extended(messages), options)
        async with aclosing(events):
            async for event in events:
                yield event

    def effect_of(self, messages: Sequence[Message], effect_of: EffectOf) -> SkillEffect | None:
        """Returns what a skill does for these messages, given the skills' own function. A reading does nothing."""
        return None if self._heard(messages) is not None else effect_of(self._extended(messages))

    def _heard(self, messages: Sequence[Message]) -> str | None:
        """Returns what was heard of the reading if these messages ask for it, "" for nothing yet; else None."""
        asked = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
        if asked < 0 or messages[asked].content != self.request:
            return None
        return " ".join(message.content for message in messages[asked + 1 :] if message.role == "assistant")

    def _extended(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Returns the messages with the documents' text. The same object gives the same object, as skills expect."""
        if self._latest[0] is not messages:
            self._latest = messages, with_context(messages, self._context)
        return self._latest[1]
