"""Loads the model of a server that loads on demand and aborts the load when the client disconnects (Ollama, LM Studio).

A turn cannot wait for such a load. Its request would time out and abort the load, and so would the next one. A short
request therefore stays open in its place until it is answered.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

from llm.chat import ChatEvent, RequestSent, SlotAcquired
from llm.errors import LlmBroken, LlmError, LlmTooSlow
from llm.token_deadlines import IncomingStream, StreamParser

log = logging.getLogger(__name__)

UNLOADED_AFTER_S = 60.0
"""Time since the last answer after which the model may be unloaded.

Ollama's default is five minutes; it is configurable."""

MIN_LOAD_S = 1.0
"""A request that was cancelled sooner does not indicate a load."""

WAKE_TIMEOUT_S = 120.0
"""Deadline for the load: 40 GB from a slow disk."""

CLOSE_TIMEOUT_S = 2.0


class ModelWakeup:
    """Loads the model of one endpoint; at most one load request at a time."""

    def __init__(self, endpoint: str, ask: Callable[[], tuple[IncomingStream, StreamParser]]) -> None:
        """Initializes without I/O. `ask`: sends a short request whose answer is discarded. `endpoint`: for the log."""
        self._endpoint = endpoint
        self._ask = ask
        self._last_warning = ""
        self._answered_at_s: float | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def watch(self, events: AsyncGenerator[ChatEvent]) -> AsyncGenerator[ChatEvent]:
        """Passes on the events of an answer. Starts a load if the request is given up before any content."""
        asked_at_s = self._now_s()
        sent, abandoned = False, True
        try:
            async with aclosing(events):
                async for event in events:
                    sent = sent or isinstance(event, RequestSent)
                    if not isinstance(event, SlotAcquired | RequestSent):
                        self._answered_at_s = self._now_s()
                    yield event
            abandoned = False
        except LlmError as error:
            abandoned = False
            if sent and isinstance(error, LlmTooSlow):
                self._wake(asked_at_s)
            raise
        finally:
            if abandoned and sent and self._now_s() - asked_at_s >= MIN_LOAD_S:
                self._wake(asked_at_s)

    async def aclose(self) -> None:
        """Cancels the load request. Idempotent; bounded in time."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)

    def _wake(self, asked_at_s: float) -> None:
        awake = self._answered_at_s is not None and asked_at_s - self._answered_at_s < UNLOADED_AFTER_S
        if not (awake or self._closed or (self._task is not None and not self._task.done())):
            # Not in a TaskGroup: the task outlives the request, and no group lives as long as the client.
            self._task = asyncio.get_running_loop().create_task(self._load(), name="wake a model")

    async def _load(self) -> None:
        began_s = self._now_s()
        try:
            async with asyncio.timeout(WAKE_TIMEOUT_S):
                await self._short_answer()
        except TimeoutError:
            self._warn_once(f"did not load its model within {WAKE_TIMEOUT_S:g} s")
        except LlmError as error:
            self._warn_once(f"could not load its model: {error}")
        else:
            self._last_warning = ""
            if (took_s := self._now_s() - began_s) >= MIN_LOAD_S:
                log.warning("llm endpoint %r needed %.1f s more to load its model", self._endpoint, took_s)

    async def _short_answer(self) -> None:
        incoming, parser = self._ask()
        async with aclosing(incoming):
            async for item in incoming:
                if isinstance(item, bytes):
                    with suppress(LlmBroken):  # a single token may be invisible
                        for _ in parser.feed(item):
                            pass
                    self._answered_at_s = self._now_s()

    def _warn_once(self, what: str) -> None:
        """Logs a warning, unless it was the last one logged."""
        if what != self._last_warning:
            log.warning("llm endpoint %r %s", self._endpoint, what)
        self._last_warning = what

    @staticmethod
    def _now_s() -> float:
        return asyncio.get_running_loop().time()
