"""Service `local`: a model on this machine, in a child process that this client starts, warms, watches and stops."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress

from llm.chat import PLAIN, ChatEvent, ChatModel, ChatOptions, Message
from llm.errors import LlmError, LlmUnreachable
from llm.local.process import LocalServerError, ServerAddress, ServerProcess, ServerSettings
from llm.local.repetition import until_repetition

WARM_TIMEOUT_S = 20.0
"""Longest time to read the instructions into the cache. A conversation may begin before it is over."""

SPOKEN_DOWN = "The language model on this machine is not running right now."

ClientFactory = Callable[[ServerAddress], ChatModel]
"""Makes the client of a started server."""


class LocalChat:
    """A ChatModel that runs on this machine.

    Attributes:
        name: The endpoint's name in the configuration.
    """

    def __init__(
        self, name: str, model: str, settings: ServerSettings, client_of: ClientFactory, *, instructions: str = ""
    ) -> None:
        """Initializes the client; `load` starts the process.

        Args:
            name: The endpoint's name in the configuration.
            model: The model's name, for messages.
            settings: Settings of the server.
            client_of: Makes the OpenAI client for a started server.
            instructions: System message of the conversations. Its tokens are computed before the first question.
        """
        self.name = name
        self._model = model
        self._client_of = client_of
        self._instructions = instructions
        self._client: ChatModel | None = None
        self._process = ServerProcess(name, settings, self._on_started)
        self._starting: asyncio.Task[None] | None = None
        self._prefilling: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def detail(self) -> str:
        """Model, and how it runs."""
        settings = self._process.settings
        threads = "1 thread" if settings.threads == 1 else f"{settings.threads} threads"
        return f"{self._model} on this machine, {threads}"

    @property
    def pid(self) -> int | None:
        """Process id of the server; None if it does not run."""
        return self._process.pid

    async def load(self) -> None:
        """Starts the server and computes the instructions, at the first call. Later calls open connections.

        Raises LlmUnreachable if the server cannot be started; the text has the remedy.
        """
        if self._starting is None:
            # A task, because the caller may stop waiting, and another may wait for the same start.
            self._starting = asyncio.get_running_loop().create_task(self._start(), name=f"start {self.name}")
        await asyncio.shield(self._starting)
        if self._client is not None:
            await self._client.load()

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message: see `ChatModel.stream`."""
        return self._stream(messages, options)

    async def prefill(self, messages: Sequence[Message]) -> None:
        """Computes the beginning of the next question in advance. The question itself stops it. Never fails."""
        if self._client is None or (self._prefilling is not None and not self._prefilling.done()):
            return
        self._prefilling = self._keep(self._compute(messages), "prefill")
        await asyncio.wait({self._prefilling})

    async def aclose(self) -> None:
        """Stops the server. Idempotent; bounded in time."""
        pending = [task for task in (*self._tasks, self._starting) if task is not None and not task.done()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await self._process.aclose()

    async def _start(self) -> None:
        try:
            await self._process.start()
        except LocalServerError as error:
            raise LlmUnreachable(
                self.name, f"llm endpoint {self.name!r}: {error}", spoken=SPOKEN_DOWN, retryable=True
            ) from error
        await self._warm()

    async def _stream(self, messages: Sequence[Message], options: ChatOptions) -> AsyncGenerator[ChatEvent]:
        client = self._client
        if self._prefilling is not None:
            self._prefilling.cancel()
        if client is None:
            raise self._not_running()
        async with aclosing(until_repetition(client.stream(messages, options))) as events:
            try:
                async for event in events:
                    yield event
            except LlmUnreachable as error:  # it has just ended, and its end is not reported yet
                raise self._not_running() from error

    def _not_running(self) -> LlmUnreachable:
        what = f"llm endpoint {self.name!r}: its server is not running: wait for its restart, see the log"
        return LlmUnreachable(self.name, what, spoken=SPOKEN_DOWN, retryable=True)

    def _on_started(self, address: ServerAddress | None) -> None:
        """Makes the client of a new process; drops that of an ended one."""
        before, self._client = self._client, None if address is None else self._client_of(address)
        if before is not None:
            self._keep(before.aclose(), "close")
        if address is not None and self._starting is not None and self._starting.done():
            self._keep(self._warm(), "warm")  # after a crash

    async def _warm(self) -> None:
        """Computes the instructions, so that the first question does not wait for them. Never fails."""
        if self._instructions:
            await self._compute((Message("system", self._instructions),))

    async def _compute(self, messages: Sequence[Message]) -> None:
        """Asks for one token after the messages and any words of the user, which leaves the messages in the cache."""
        if self._client is None:
            return
        asked = (*messages, Message("user", "Hello."))
        with suppress(LlmError, TimeoutError):
            async with asyncio.timeout(WARM_TIMEOUT_S):
                async with aclosing(self._client.stream(asked, ChatOptions(max_tokens=1))) as events:
                    async for _ in events:
                        pass

    def _keep(self, work: Coroutine[None, None, None], name: str) -> "asyncio.Task[None]":
        # Not in a TaskGroup: a process starts and ends outside of any request.
        task = asyncio.get_running_loop().create_task(work, name=f"{name} {self.name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
