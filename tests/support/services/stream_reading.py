"""Feeds the parsers of streamed answers, without a network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from llm.chat import ChatEvent, Finished
from llm.errors import LlmError
from llm.text_pieces import MoreText
from llm.token_deadlines import StreamParser


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
