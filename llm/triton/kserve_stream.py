"""What the responses of a streamed inference mean. No I/O: messages in, tokens and the end out, or an error.

Triton marks the last response (`triton_final_response`, asked for in the request). A service that never says whether a
response is the last one ends its answer by ending the call with OK, which a lost connection cannot do; one that says
"not the last" and then ends has broken off.
"""

import codecs
from collections.abc import Iterator, Sequence

from llm.chat import Finished, Token
from llm.errors import LlmBroken
from llm.openai_stream import DONE_REASON, MAX_ANSWER_CHARS, SPOKEN_EMPTY, SPOKEN_TORN
from llm.thoughts import Habit, Thoughts
from llm.triton.grpc_failure import failed_in_stream
from llm.triton.kserve_messages import KserveFormatError, Response, response_of

TEXT_OUTPUT = "text_output"
FINISH_REASON_OUTPUT = "finish_reason"
INPUT_TOKENS_OUTPUT = "num_input_tokens"
OUTPUT_TOKENS_OUTPUT = "num_output_tokens"

_NOT_FINISHED = frozenset({"", "None"})
"""What the vLLM backend gives as finish_reason while it goes on: Python's None, spelled."""


class KserveStream:
    """The meaning of one call's responses.

    Attributes:
        begun: Text came.
        finishing: The service gave its finish_reason; only the mark of the end can follow.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        where: str,
        model: str,
        request_id: str,
        private: Sequence[str] = (),
        habit: Habit | None = None,
    ) -> None:
        """`private`: texts that no error may quote; `habit`: of the model, where something is known of it."""
        self.begun = False
        self.finishing = False
        self._endpoint = endpoint
        self._where = where
        self._model = model
        self._request_id = request_id
        self._private = private
        # A tokenizer's pieces may cut a character, and a backend may send them as they are.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._chars_left = MAX_ANSWER_CHARS
        self._reason = ""
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None
        self._thoughts = Thoughts(habit or Habit())
        self._marks = False
        self._over = False

    def feed(self, data: bytes) -> Iterator[Token | Finished]:
        """What one whole response says, in order; nothing after Finished. To be iterated to its end.

        Raises LlmError, after everything that was said before the fault.
        """
        if self._over:
            return
        response = self._read(data)
        yield from self._tokens(b"".join(response.texts.get(TEXT_OUTPUT, ())[:1]))
        self._count(response)
        self._marks = self._marks or response.final is not None
        if response.final:
            yield from self._finish()

    def end(self) -> Iterator[Token | Finished]:
        """The call ended with OK, or enough of it was waited for. Raises LlmBroken where the mark is missing."""
        if self._over:
            return
        if self._marks and not self.finishing:
            raise self._broken("ended its answer without the mark of a last response: see the server's log")
        yield from self._finish()

    def _read(self, data: bytes) -> Response:
        try:
            response = response_of(data)
        except KserveFormatError as error:
            raise self._broken(f"sent {error}: check that its url leads to a Triton server") from error
        if response.error:
            raise failed_in_stream(
                self._endpoint, response.error, where=self._where, model=self._model, private=self._private
            )
        if response.request_id not in {"", self._request_id}:
            raise self._broken("answered another request than ours: check what lies between here and the server")
        return response

    def _tokens(self, data: bytes, *, last: bool = False) -> Iterator[Token]:
        if text := self._decoder.decode(data, last):
            self._chars_left -= len(text)
            if self._chars_left < 0:
                raise self._broken(f"went on past {MAX_ANSWER_CHARS} characters: set max_tokens")
            yield from self._heard(self._thoughts.heard(text))

    def _heard(self, text: str) -> Iterator[Token]:
        if text:
            self.begun = True
            yield Token(text)

    def _count(self, response: Response) -> None:
        if prompt_tokens := response.counts.get(INPUT_TOKENS_OUTPUT):
            self._prompt_tokens = prompt_tokens[0]
        if more := response.counts.get(OUTPUT_TOKENS_OUTPUT):
            self._completion_tokens = (self._completion_tokens or 0) + more[0]
        reason = b"".join(response.texts.get(FINISH_REASON_OUTPUT, ())[:1]).decode("utf-8", "replace")[:40]
        if reason not in _NOT_FINISHED:
            self._reason = reason
            if reason in {"abort", "error"}:
                raise self._broken(f"gave up its answer (finish_reason {reason}): see the server's log")
            self.finishing = True

    def _finish(self) -> Iterator[Token | Finished]:
        yield from self._tokens(b"", last=True)
        yield from self._heard(self._thoughts.rest(cut=self._reason == "length"))
        if not self.begun:
            remedy = "raise max_tokens" if self._reason == "length" else "see the server's log"
            raise self._broken(f"ended without a word: {remedy}", SPOKEN_EMPTY)
        self._over = True
        yield Finished(self._reason or DONE_REASON, self._prompt_tokens, self._completion_tokens)

    def _broken(self, what: str, spoken: str | None = None) -> LlmBroken:
        spoken = spoken or (SPOKEN_TORN if self.begun else SPOKEN_EMPTY)
        return LlmBroken(self._endpoint, f"llm endpoint {self._endpoint!r} {what}", spoken=spoken, retryable=True)
