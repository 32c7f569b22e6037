"""Tests a client against a scripted service: the events of an answer, or its failure, which leaks no secret."""

import asyncio
import gc
import traceback
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

from support.services.llm_server import HELLO, Script, Server, ask, serving

from llm.chat import ChatEvent, ChatModel
from llm.errors import LlmError

KEY = "sk-very-secret-key"
ASKED = HELLO[-1].content

M = TypeVar("M", bound=ChatModel)


def base(server: Server) -> str:
    """Returns the server's address without the route of an OpenAI-compatible service."""
    return server.url.removesuffix("/v1")


@dataclass(frozen=True)
class Client(Generic[M]):
    """A kind of client. `make` gets the server and two deadlines; it names the client "near" and uses the key KEY."""

    make: Callable[[Server, float, float], M]

    def run(
        self,
        test: Callable[[Server, M], Awaitable[None]],
        *scripts: Script,
        first_token_timeout_s: float = 5.0,
        token_gap_timeout_s: float = 5.0,
    ) -> None:
        """Runs the test with a server of these scripts, and a client that is closed afterwards."""

        async def main() -> None:
            async with serving(*scripts) as server:
                model = self.make(server, first_token_timeout_s, token_gap_timeout_s)
                await test(server, model)
                await model.aclose()
            gc.collect()
            await asyncio.sleep(0)

        asyncio.run(main())

    def events_of(self, *scripts: Script) -> list[ChatEvent]:
        """Returns the events of one answer."""
        events: list[ChatEvent] = []

        async def test(_: Server, model: M) -> None:
            events.extend(await ask(model))

        self.run(test, *scripts)
        return events

    def failing(
        self, *scripts: Script, first_token_timeout_s: float = 5.0, token_gap_timeout_s: float = 5.0
    ) -> tuple[list[ChatEvent], LlmError]:
        """Returns the events before the failure, and the failure."""
        events: list[ChatEvent] = []
        errors: list[LlmError] = []

        async def test(_: Server, model: M) -> None:
            try:
                async with aclosing(model.stream(HELLO)) as stream:
                    async for said in stream:
                        events.append(said)  # noqa: PERF401 - what came before the failure is kept
            except LlmError as fault:
                errors.append(fault)

        limits = {"first_token_timeout_s": first_token_timeout_s, "token_gap_timeout_s": token_gap_timeout_s}
        self.run(test, *scripts, **limits)
        (fault,) = errors
        everything = "".join(traceback.format_exception(fault)) + fault.spoken
        assert KEY not in everything
        assert ASKED not in everything
        assert "'near'" in str(fault)
        return events, fault
