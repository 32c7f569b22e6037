"""Tests of clients against scripted services, and of their parsers: the events of an answer, or its failure."""

import asyncio
import gc
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from support.services.aws_server import SECRET
from support.services.llm_server import HELLO, Script, Server, ask, serving

from llm.chat import ChatEvent, ChatModel, Finished
from llm.errors import LlmError
from llm.text_pieces import MoreText
from llm.token_deadlines import StreamParser

KEY = "sk-very-secret-key"
ASKED = HELLO[-1].content

M = TypeVar("M", bound=ChatModel)


def base(server: Server) -> str:
    """Returns the server's address without the route of an OpenAI-compatible service."""
    return server.url.removesuffix("/v1")


def check_nothing_private(error: LlmError) -> None:
    """Checks that neither a key nor the question is in any text that may be logged."""
    everything = "".join(traceback.format_exception(error)) + repr(error) + error.spoken
    assert not [private for private in (KEY, SECRET, ASKED) if private in everything]
    assert error.endpoint == "near"
    assert "'near'" in str(error)
    assert not [word for word in ("http", "grpc") if word in error.spoken]


@dataclass(frozen=True)
class Client(Generic[M]):
    """A kind of client.

    Attributes:
        make: Gets the server and two deadlines; names the client "near", and uses the key KEY.
        serve: Runs a server of scripts.
    """

    make: Callable[[Server, float, float], M]
    serve: Callable[..., AbstractAsyncContextManager[Server]] = serving

    def run(
        self,
        test: Callable[[Server, M], Awaitable[None]],
        *scripts: Script,
        first_token_timeout_s: float = 5.0,
        token_gap_timeout_s: float = 5.0,
    ) -> None:
        """Runs the test with a server of these scripts, and a client that is closed afterwards."""

        async def main() -> None:
            async with self.serve(*scripts) as server:
                model = self.make(server, first_token_timeout_s, token_gap_timeout_s)
                try:
                    await test(server, model)
                finally:
                    await model.aclose()
                    await model.aclose()  # once more is harmless
            # Unfinished httpx objects are finalized here, inside the loop, where a warning fails the test.
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
        check_nothing_private(fault)
        return events, fault


@dataclass(frozen=True)
class StreamReading:
    """Reads bodies with parsers that `make` makes, for the endpoint "near"."""

    make: Callable[[], StreamParser]

    def outcome(self, *pieces: bytes) -> tuple[list[ChatEvent | MoreText], LlmError | None]:
        """Returns the events of a body that arrives in pieces, and the error after them."""
        stream = self.make()
        said: list[ChatEvent | MoreText] = []
        try:
            for piece in pieces:
                for event in stream.feed(piece):
                    said.append(event)  # noqa: PERF402 - extend() would lose what came before the error
            if not (said and isinstance(said[-1], Finished)):
                said.extend(stream.end())
        except LlmError as error:
            return said, error
        return said, None

    def read(self, *pieces: bytes) -> list[ChatEvent | MoreText]:
        """Returns the events of a body without an error."""
        said, error = self.outcome(*pieces)
        assert error is None
        return said

    def failure(self, *pieces: bytes) -> LlmError:
        """Returns the error of a body."""
        _, error = self.outcome(*pieces)
        assert error is not None
        assert "'near'" in str(error)
        return error

    def check_boundaries(self, body: bytes, cuts: Sequence[int]) -> None:
        """Checks that it does not matter where a body is cut into packets."""
        edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
        whole = self._comparable(body)
        assert self._comparable(*(body[start:stop] for start, stop in pairwise(edges))) == whole
        assert self._comparable(*(bytes([byte]) for byte in body)) == whole

    def _comparable(self, *pieces: bytes) -> tuple[list[ChatEvent | MoreText], str]:
        said, error = self.outcome(*pieces)
        return said, repr(error)
