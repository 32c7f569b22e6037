"""What SageMaker's InvokeEndpointWithResponseStream says: frames around the container's own bytes. No I/O.

A frame's payload is cut anywhere: in a line, in a character. The container's format is read as if there were no frames.
"""

from collections.abc import Iterator, Sequence

from llm.aws.errors import AwsRefusals, fault_of_frame
from llm.aws.frames import EventStreamReader
from llm.chat import ChatEvent
from llm.token_deadlines import StreamParser


class SageMakerStream:
    """The meaning of one response body."""

    def __init__(
        self, endpoint: str, inner: StreamParser, refusals: AwsRefusals, *, private: Sequence[str] = ()
    ) -> None:
        """`inner` reads the container's bytes; `private`: texts that no error may quote."""
        self._inner = inner
        self._frames = EventStreamReader(endpoint)
        self._refusals = refusals
        self._private = private

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._inner.finishing

    def feed(self, data: bytes) -> Iterator[ChatEvent]:
        """What `data` (cut anywhere) says, in order. Raises LlmError."""
        for frame in self._frames.feed(data):
            if frame.kind == "event":
                if frame.name == "PayloadPart":
                    yield from self._inner.feed(frame.payload)
            elif self.finishing:
                yield from self._inner.end()  # the text is whole, only its counts are lost
            else:
                raise self._refusals.error_of(fault_of_frame(frame), self._private)

    def end(self) -> Iterator[ChatEvent]:
        """The body is over. Raises LlmError where it was cut short."""
        if not self.finishing:
            self._frames.end()
        yield from self._inner.end()
