"""Parses the responses of a streamed inference: messages in, tokens and the end, or an error, out. No I/O.

Triton marks the last response (`triton_final_response`, requested by the client). A service without this mark ends its
answer by ending the call with OK, which a lost connection cannot do. A service that marks responses as not last and
then ends has broken off.
"""

import codecs
from collections.abc import Iterator, Sequence

from llm.answer_state import AnswerEvent, AnswerState
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.answer_values import DONE_REASON
from llm.empty_answer import CUT_SHORT
from llm.triton.generate_stream import NOT_FINISHED, TEXT_OUTPUT
from llm.triton.grpc_failure import failed_in_stream
from llm.triton.kserve_messages import KserveFormatError, KserveResponse, response_of

FINISH_REASON_OUTPUT = "finish_reason"
INPUT_TOKENS_OUTPUT = "num_input_tokens"
OUTPUT_TOKENS_OUTPUT = "num_output_tokens"


class KserveStream:
    """Parses the responses of one call."""

    def __init__(
        self,
        endpoint: str,
        *,
        where: str,
        model: str,
        request_id: str,
        private: Sequence[str] = (),
        habit: ReasoningHabit | None = None,
    ) -> None:
        """Initializes the parser. `private`: texts that errors must not quote. `habit`: see `ReasoningHabit`."""
        self._endpoint = endpoint
        self._where = where
        self._model = model
        self._request_id = request_id
        self._private = private
        self._answer = AnswerState(endpoint, habit)
        # A token may end inside a character, and a backend may send tokens unchanged.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._marks = False

    @property
    def finishing(self) -> bool:
        """Whether the service gave its finish_reason; only the end mark can follow."""
        return bool(self._answer.reason)

    def feed(self, data: bytes) -> Iterator[AnswerEvent]:
        """Yields the events in one whole response; none after Finished. Iterate it to its end.

        Raises LlmError, after all events before the fault.
        """
        if self._answer.finished:
            return
        response = self._read(data)
        yield from self._answer.add_text(self._decoder.decode(_first(response, TEXT_OUTPUT)))
        self._count(response)
        self._marks = self._marks or response.final is not None
        if response.final:
            yield from self._finish()

    def end(self) -> Iterator[AnswerEvent]:
        """Ends the call, or gives up waiting for its end. Raises LlmBroken if the end mark is missing."""
        if self._marks and not self.finishing:
            raise self._answer.error(f"ended its answer without marking the last response: {CUT_SHORT}")
        yield from self._finish()

    def _read(self, data: bytes) -> KserveResponse:
        try:
            response = response_of(data)
        except KserveFormatError as error:
            raise self._answer.error(f"sent {error}: check that its url leads to a Triton server") from error
        if response.error:
            raise failed_in_stream(
                self._endpoint, response.error, where=self._where, model=self._model, private=self._private
            )
        if response.request_id not in {"", self._request_id}:
            raise self._answer.error("answered another request: check any proxy in front of it")
        return response

    def _count(self, response: KserveResponse) -> None:
        if prompt_tokens := response.counts.get(INPUT_TOKENS_OUTPUT):
            self._answer.prompt_tokens = prompt_tokens[0]
        if more := response.counts.get(OUTPUT_TOKENS_OUTPUT):
            self._answer.completion_tokens = (self._answer.completion_tokens or 0) + more[0]
        reason = _first(response, FINISH_REASON_OUTPUT).decode("utf-8", "replace")
        if reason not in NOT_FINISHED:
            self._answer.set_reason(reason)

    def _finish(self) -> Iterator[AnswerEvent]:
        yield from self._answer.add_text(self._decoder.decode(b"", True))
        if not self._answer.reason:
            self._answer.set_reason(DONE_REASON)
        yield from self._answer.finish()


def _first(response: KserveResponse, output: str) -> bytes:
    """Returns the first element of an output, which belongs to the first answer."""
    return next(iter(response.texts.get(output, ())), b"")
