"""Language models that answer the parts of documents, in virtual time."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from assistant.documents import Document, Part
from assistant.documents.budget import ReadingLimits, select
from assistant.documents.reading import Reading
from assistant.documents.splitting import split
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Message, Token
from llm.errors import LlmError, LlmUnreachable

PART_CHARS = 40


def unreachable(endpoint: str = "near") -> LlmError:
    return LlmUnreachable(endpoint, "refused", spoken="I cannot reach my language model.", retryable=True)


@dataclass(slots=True)
class PartModel:
    """Answers the part that contains "word N" with "Sum N.", and every other question with "Yes.".

    Attributes:
        delay_s: Time to the first token, by the part's number and how often it was asked before.
        fails: The error of a part, likewise; None for none.
        breaks: Whether an error comes after the first token.
        asked: Times and numbers of the requests for parts.
        questions: Messages of the other requests.
        running: Requests that run now.
        most_running: Most requests that ran at once.
    """

    delay_s: Callable[[int, int], float] = lambda _number, _before: 0.1
    fails: Callable[[int, int], LlmError | None] = lambda _number, _before: None
    breaks: bool = False
    name: str = "near"
    detail: str = ""
    asked: list[tuple[float, int]] = field(default_factory=list)
    questions: list[tuple[Message, ...]] = field(default_factory=list)
    options: list[ChatOptions] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    cancelled: int = 0

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        found = re.search(r"word (\d+)", messages[-1].content)
        self.options.append(options)
        if found is None:
            self.questions.append(tuple(messages))
            yield Token("Yes.")
            yield Finished("stop")
            return
        number = int(found[1])
        before = [asked for _, asked in self.asked].count(number)
        self.asked.append((asyncio.get_running_loop().time(), number))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        finished = False
        try:
            await asyncio.sleep(self.delay_s(number, before))
            error = self.fails(number, before)
            if error is not None and not self.breaks:
                raise error
            yield Token("Sum")
            await asyncio.sleep(0.02)
            if error is not None:
                raise error
            yield Token(f" {number}.")
            yield Finished("stop", prompt_tokens=100, completion_tokens=5)
            finished = True
        finally:
            self.running -= 1
            self.cancelled += not finished


def text_of(parts: int, first: int = 1) -> str:
    """Returns a text that is split into this number of parts."""
    return "\n\n".join(f"This is word {number} of the text." for number in range(first, first + parts))


def reading_of(*counts: int, max_parallel: int = 4, max_parts: int = 100, language: str = "en") -> Reading:
    """Returns a reading of documents "a.txt", "b.txt" ... with these numbers of parts; words count through all."""
    documents, first = [], 1
    for number, count in enumerate(counts):
        documents.append(Document(f"{'abcdefg'[number]}.txt", text_of(count, first)))
        first += count
    parts: tuple[Part, ...] = split(documents, PART_CHARS)
    assert len(parts) == sum(counts)
    return Reading(
        [document.name for document in documents], select(parts, ReadingLimits(max_parts)), language, max_parallel
    )
