"""Asks the parts of documents in parallel and yields their answers in order.

A part that fails is asked once more: a router then prefers an endpoint that works. If the endpoints fail again and
again, the remaining parts are not asked.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from assistant.documents import Part
from assistant.documents.ordered_answers import AnswerEvent, OrderedAnswers
from assistant.documents.prompts import PART_OPTIONS, part_messages
from assistant.text.failure_sentences import failure_sentence
from llm.chat import AnsweringEndpoint, ChatModel, EndpointTried, Finished, PartAnswered, Token
from llm.errors import SPOKEN_EMPTY, LlmError

MAX_REQUESTS = 2
"""Requests for one part: the first, and one more if it fails."""

MAX_FAILURES = 3
"""Failed parts without any success after which no more are asked: no endpoint can be reached."""

INTERNAL_ERROR = "An internal error happened."


@dataclass(slots=True)
class Answers:
    """The answers to the parts so far. They are kept, so that an interrupted reading continues.

    Attributes:
        parts: The parts, in order.
        texts: The complete answer to each part that succeeded, by its index.
    """

    parts: Sequence[Part]
    texts: dict[int, str] = field(default_factory=dict)


FanOutEvent = AnswerEvent | PartAnswered | Finished


async def ask(answers: Answers, model: ChatModel, language: str, max_parallel: int) -> AsyncGenerator[FanOutEvent]:
    """Asks every part that has no answer yet, at most `max_parallel` at once, and yields all answers in order.

    A part's PartAnswered comes as soon as it has ended, whatever its order. The last event is Finished, with the sums
    of the tokens. Closing the generator cancels all requests.
    """
    closed = False
    # GeneratorExit must not leave through the task group, which would wrap it in an exception group.
    async with asyncio.TaskGroup() as group:
        fan_out = _FanOut(answers, model, language)
        workers = [
            group.create_task(fan_out.work(), name=f"parts {number}")
            for number in range(min(max_parallel, len(fan_out.waiting)))
        ]
        try:
            async with aclosing(fan_out.events()) as events:
                async for event in events:
                    yield event
        except GeneratorExit:
            closed = True
        finally:
            for worker in workers:
                worker.cancel()
            if workers:
                await asyncio.wait(workers)
    if not closed:
        yield fan_out.finished()


class _FanOut:
    """The requests of one reading.

    Attributes:
        waiting: Indices of the parts that were not asked yet, in order.
    """

    def __init__(self, answers: Answers, model: ChatModel, language: str) -> None:
        self.waiting = deque(index for index in range(len(answers.parts)) if index not in answers.texts)
        self._answers = answers
        self._model = model
        self._language = language
        self._ordered = OrderedAnswers(len(answers.parts))
        self._ended: deque[PartAnswered] = deque()
        self._tokens: list[Finished] = []
        self._changed = asyncio.Event()
        self._failures = 0
        for index, text in answers.texts.items():
            self._ordered.add_text(index, text)
            self._ordered.end(index)

    async def events(self) -> AsyncGenerator[FanOutEvent]:
        """Yields what is known, in order, until everything is."""
        while True:
            self._changed.clear()
            while self._ended:
                yield self._ended.popleft()
            for event in self._ordered.take():
                yield event
            if self._ordered.complete and not self._ended:
                return
            if not self._changed.is_set():
                await self._changed.wait()

    def finished(self) -> Finished:
        """Returns the sums of the tokens; None where an endpoint did not count."""
        prompt = [token.prompt_tokens for token in self._tokens]
        completion = [token.completion_tokens for token in self._tokens]
        return Finished("stop", _sum(prompt), _sum(completion))

    async def work(self) -> None:
        """Asks one part after another."""
        while self.waiting:
            index = self.waiting.popleft()
            failure = await self._ask(index)
            self._ordered.end(index, failure)
            text = self._ordered.text_of(index)
            if text is not None:
                self._answers.texts[index] = text
            else:
                self._failures += 1
                if self._failures >= MAX_FAILURES and not self._answers.texts:
                    self._give_up(failure or SPOKEN_EMPTY)
            self._changed.set()

    def _give_up(self, failure: str) -> None:
        while self.waiting:
            self._ordered.end(self.waiting.popleft(), failure)

    async def _ask(self, position: int) -> str | None:
        """Asks one part, at most `MAX_REQUESTS` times. Returns why it failed, as one spoken sentence, or None."""
        loop = asyncio.get_running_loop()
        asked_s, request, failure = loop.time(), _Request(self._model.name), None
        for number in range(1, MAX_REQUESTS + 1):
            failure = await self._request(position, request)
            if failure is None or number == MAX_REQUESTS or not self._ordered.restart(position):
                break
        self._ended.append(
            PartAnswered(
                position + 1, request.by, asked_s, request.first_token_s, loop.time(), number, request.chars,
                failed=failure is not None,
            )
        )  # fmt: skip
        return failure

    async def _request(self, position: int, request: "_Request") -> str | None:
        loop = asyncio.get_running_loop()
        request.chars = 0
        messages = part_messages(self._answers.parts[position], self._language)
        try:
            async with aclosing(self._model.stream(messages, PART_OPTIONS)) as events:
                async for event in events:
                    match event:
                        case Token():
                            request.first_token_s = request.first_token_s or loop.time()
                            request.chars += len(event.text)
                            self._ordered.add_text(position, event.text)
                            self._changed.set()
                        case AnsweringEndpoint():
                            request.by = event.by
                        case EndpointTried() if request.by == self._model.name:
                            request.by = event.endpoint  # until one answers
                        case Finished():
                            self._tokens.append(event)
                        case _:
                            pass  # a part is asked without functions, so that calls are ignored
        except LlmError as error:
            return failure_sentence(error.spoken, self._language)
        except Exception:  # noqa: BLE001 - a client's programming error fails this part, not the reading
            return failure_sentence(INTERNAL_ERROR, self._language)
        return failure_sentence(SPOKEN_EMPTY, self._language) if self._ordered.is_blank(position) else None


@dataclass(slots=True)
class _Request:
    by: str
    first_token_s: float | None = None
    chars: int = 0


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
