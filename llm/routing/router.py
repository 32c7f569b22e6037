"""Presents several endpoints as one model: selects, hedges and replaces endpoints until the first token.

`HedgedRequest` decides which endpoint is asked when, from the measurements of all conversations (`Routing`). This
module runs the requests: each is a task in its stream's group, and all write to one queue.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from llm.chat import (
    PLAIN,
    ChatEvent,
    ChatModel,
    ChatOptions,
    EndpointTried,
    Message,
    OtherSizeAnswers,
    Size,
    texts_of,
)
from llm.routing.endpoint_selection import Routing
from llm.routing.hedged_request import AskEndpoint, CloseRequest, Effect, Fail, HedgedRequest, PassOn
from llm.routing.sized_answer import SizedAnswer, SizedRequest, SizeRules

log = logging.getLogger(__name__)

MAX_QUEUED = 32
"""Events of an answer that are queued for the consumer before its endpoint has to wait."""

MAX_WARM = 3
"""Endpoints whose connections stay open: the next one, its hedge, and one that may take over."""

BYTES_PER_TOKEN = 4
"""Rough estimate; sufficient because both sides of the budget are counted alike."""

_QueueItem = tuple[int, ChatEvent | Exception | None]
"""Number of the endpoint, and its event, its error, or None at the end of its answer."""


class Router:
    """A ChatModel over several endpoints, shared by all conversations of a process.

    Attributes:
        name: Name in the trace until an endpoint is chosen.
        models: The client of each endpoint.
        routing: The endpoints, in the order of the models.
        sizes: How small and large models share the questions; None if no endpoint has a size.
    """

    name = "endpoints"

    def __init__(
        self,
        models: Sequence[ChatModel],
        routing: Routing,
        *,
        first_token_timeout_s: float,
        sizes: SizeRules | None = None,
    ) -> None:
        """Initializes the router.

        Args:
            models: One model for each of `routing.endpoints`; closed with the router.
            routing: The endpoints and their measurements.
            first_token_timeout_s: Deadline for all endpoints of a question together.
            sizes: How small and large models share the questions; used if any endpoint has a size.

        Raises:
            ValueError: The numbers of models and endpoints differ.
        """
        if len(models) != len(routing.endpoints):
            raise ValueError(f"{len(models)} models for {len(routing.endpoints)} endpoints: each needs one of its own")
        self.routing = routing
        self.models = tuple(models)
        self._first_token_timeout_s = first_token_timeout_s
        self.sizes = (sizes or SizeRules()) if routing.sized else None
        self._replaced: set[Size] = set()  # sizes in whose place the other one answers

    @property
    def detail(self) -> str:
        """The policy and the endpoints."""
        sizes = [f" ({endpoint.size})" if endpoint.size else "" for endpoint in self.routing.endpoints]
        names = ", ".join(endpoint.name + size for endpoint, size in zip(self.routing.endpoints, sizes, strict=True))
        return f"{len(self.models)} endpoints, {self.routing.policy}: {names}"

    async def load(self) -> None:
        """Opens connections to the endpoints that may be asked next. Call it again when speech starts."""
        next_few = self.routing.next_few(asyncio.get_running_loop().time(), MAX_WARM)
        async with asyncio.TaskGroup() as group:
            for number in next_few:
                group.create_task(self.models[number].load(), name=f"warm {self.models[number].name}")

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`."""
        deadline_s = asyncio.get_running_loop().time() + self._first_token_timeout_s
        images = any(message.images for message in messages)
        images = images and any(endpoint.images for endpoint in self.routing.endpoints)
        question = SizedRequest(messages, options, deadline_s, prompt_tokens(messages), images=images)
        if self.sizes is None or question.images:
            return self._ask(question)
        return SizedAnswer(self._ask, self.routing, self.sizes, question).stream()

    async def _ask(self, request: SizedRequest) -> AsyncGenerator[ChatEvent]:
        """Asks endpoints, those of the wanted size first, until one answers."""
        loop = asyncio.get_running_loop()
        hedged = HedgedRequest(
            self.routing,
            request.prompt_tokens,
            request.deadline_s,
            request.size,
            request.why,
            only=request.only,
            images=request.images,
        )
        closed, failure = False, None
        # GeneratorExit and errors must not leave through the task group, which would wrap them in an exception group.
        async with asyncio.TaskGroup() as group:
            requests = _Requests(self.models, request.messages, request.options, group)
            try:
                effects: list[Effect] | None = hedged.begin(loop.time())
                while failure is None and effects is not None:
                    for effect in effects:
                        if isinstance(effect, PassOn):
                            self._log_size(request.size, effect.event)
                            yield effect.event
                        elif isinstance(effect, Fail):
                            failure = effect.error
                        else:
                            requests.perform(effect)
                    effects = None if failure is not None else await _next(requests, hedged, loop)
            except GeneratorExit:
                closed = True
            finally:
                hedged.close(loop.time())
                await requests.close()
        if failure is not None and not closed:
            raise failure

    def _log_size(self, size: Size | None, event: ChatEvent) -> None:
        """Logs that a size cannot answer, and that it answers again; each once."""
        if isinstance(event, OtherSizeAnswers) and event.requested_size not in self._replaced:
            self._replaced.add(event.requested_size)
            log.warning("no %s llm endpoint can answer, so %r does", event.requested_size, event.by)
            return
        if size not in self._replaced or not isinstance(event, EndpointTried) or event.outcome != "answered":
            return
        if any(endpoint.name == event.endpoint and endpoint.size == size for endpoint in self.routing.endpoints):
            self._replaced.discard(size)
            log.warning("a %s llm endpoint answers again: %r", size, event.endpoint)

    async def aclose(self) -> None:
        """Closes the connections of all models. Idempotent; bounded in time, as each model is."""
        async with asyncio.TaskGroup() as group:
            for model in self.models:
                group.create_task(model.aclose(), name=f"close {model.name}")


class _Requests:
    """The requests of one stream, by endpoint number."""

    def __init__(
        self, models: Sequence[ChatModel], messages: Sequence[Message], options: ChatOptions, group: asyncio.TaskGroup
    ) -> None:
        self.queue: asyncio.Queue[_QueueItem] = asyncio.Queue(MAX_QUEUED)
        self._models = models
        self._messages = messages
        self._options = options
        self._group = group
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def perform(self, effect: AskEndpoint | CloseRequest) -> None:
        """Sends or closes a request."""
        number = effect.number
        if isinstance(effect, AskEndpoint):
            name = f"ask {self._models[number].name}"
            self._tasks[number] = self._group.create_task(self._ask(number), name=name)
        else:
            self._tasks[number].cancel()

    async def close(self) -> None:
        """Closes all requests and waits for them: a cancelled task group would interrupt requests that are closing."""
        for task in self._tasks.values():
            if not task.cancelling():
                task.cancel()
        while not self.queue.empty():
            self.queue.get_nowait()  # the consumer has left; errors during closing still need room in the queue
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _ask(self, number: int) -> None:
        try:
            async with aclosing(self._models[number].stream(self._messages, self._options)) as events:
                async for event in events:
                    await self.queue.put((number, event))
        except Exception as error:  # noqa: BLE001
            # LlmError, or a client's programming error: it ends this request and is passed on to the consumer.
            await self.queue.put((number, error))
        else:
            await self.queue.put((number, None))


async def _next(requests: _Requests, hedged: HedgedRequest, loop: asyncio.AbstractEventLoop) -> list[Effect] | None:
    """Returns the actions for the next event; None: the answer has ended."""
    try:
        async with asyncio.timeout_at(hedged.wake_s):
            number, what = await requests.queue.get()
    except TimeoutError:
        return hedged.tick(loop.time())
    if isinstance(what, Exception):
        return hedged.failed(number, what, loop.time())
    if what is None:
        return hedged.ended(number, loop.time())
    return hedged.on_event(number, what, loop.time())


def prompt_tokens(messages: Sequence[Message]) -> int:
    """Returns an estimate of the messages' token count."""
    images = sum(image.tokens for message in messages for image in message.images)
    return 1 + images + sum(len(text.encode("utf-8", "replace")) for text in texts_of(messages)) // BYTES_PER_TOKEN
