"""Parses SageMaker's InvokeEndpointWithResponseStream: messages around the container's own bytes. No I/O.

A payload may end anywhere, even inside a line or a character. The container's format is parsed over all payloads.
"""

from collections.abc import Iterator, Sequence

from llm.aws.errors import AwsRefusals, fault_of_frame
from llm.aws.frames import EventStreamReader
from llm.chat import ChatEvent
from llm.text_pieces import MoreText
from llm.token_deadlines import StreamParser


class SageMakerStream:
    """Parses one response body."""

    def __init__(
        self, endpoint: str, inner: StreamParser, refusals: AwsRefusals, *, private: Sequence[str] = ()
    ) -> None:
        """Initializes the parser. `inner` parses the container's bytes; `private`: texts that errors must not quote."""
        self._inner = inner
        self._frames = EventStreamReader(endpoint)
        self._refusals = refusals
        self._private = private

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._inner.finishing

    def feed(self, data: bytes) -> Iterator[ChatEvent | MoreText]:
        """Yields the events in `data`, which may end anywhere. Raises LlmError."""
        for frame in self._frames.feed(data):
            if frame.kind == "event":
                if frame.name == "PayloadPart":
                    yield from self._inner.feed(frame.payload)
            elif self.finishing:
                yield from self._inner.end()  # the text is complete; only the token counts are lost
            else:
                raise self._refusals.error_of(fault_of_frame(frame), self._private)

    def end(self) -> Iterator[ChatEvent | MoreText]:
        """Ends the body. Raises LlmError if the answer is incomplete."""
        if not self.finishing:
            self._frames.end()
        yield from self._inner.end()
