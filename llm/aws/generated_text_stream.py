"""LMI 0.25's answer: no lines, one JSON object whose only string is written token by token. No I/O.

    {"generated_text": "Mount Ever  est.\\nIt is  "}            or, asked for details,  ", "details": {...}}

The same bytes are what servers say that do not stream at all, some of them in a list of one.
"""

import codecs
import json
import re
from collections.abc import Iterator, Sequence

from llm.answer_state import AnswerState, Said
from llm.http_errors import complaint_of_body, refused_in_stream
from llm.json_text import JsonText
from llm.openai_stream import DONE_REASON, count_of
from llm.reasoning_filter import ReasoningHabit

HEAD = re.compile(rb'\s*(\[\s*)?\{\s*"generated_text"\s*:\s*"')

MAX_HEAD_BYTES = 64 << 10
"""Before the text; an error that comes in its place is kept so far."""

MAX_TAIL_CHARS = 1 << 20
"""After the text: details repeat the prompt, and may list every token."""


class GeneratedTextStream:
    """The meaning of one response body."""

    def __init__(self, endpoint: str, *, private: Sequence[str] = (), habit: ReasoningHabit | None = None) -> None:
        """`private`: texts that no error may quote; `habit`: of the model, where something is known of it."""
        self._endpoint = endpoint
        self._private = private
        self._answer = AnswerState(endpoint, habit)
        self._head = b""
        self._in_head = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = JsonText()

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._text.closed

    def feed(self, data: bytes) -> Iterator[Said]:
        """What `data` (cut anywhere) says, in order; nothing after Finished. Raises LlmError."""
        if self._answer.over:
            return
        if self._in_head:
            self._head += data
            found = HEAD.match(self._head)
            if found is None:
                if len(self._head) > MAX_HEAD_BYTES:
                    raise self._not_this()
                return
            self._in_head = False
            data = self._head[found.end() :]
        yield from self._answer.say(self._text.feed(self._decoder.decode(data)))
        if self._text.closed:
            yield from self._tail(self._text.rest.strip())

    def end(self) -> Iterator[Said]:
        """The body is over, or no more than its details are missing. Raises LlmError where it was cut short."""
        if self._in_head:
            raise self._not_this()
        if self._text.closed and not self._answer.reason:
            self._answer.stop(DONE_REASON)
        yield from self._answer.finish()

    def _tail(self, rest: str) -> Iterator[Said]:
        if not rest.endswith(("}", "]")) and len(rest) <= MAX_TAIL_CHARS:
            return
        try:
            whole: object = json.loads('{"generated_text": ""' + rest.removesuffix("]"))
        except (ValueError, RecursionError):
            if len(rest) <= MAX_TAIL_CHARS:
                return
            whole = None
        details = whole.get("details") if isinstance(whole, dict) else None
        details = details if isinstance(details, dict) else {}
        self._answer.completion_tokens = count_of(details.get("generated_tokens"))
        self._answer.stop(str(details.get("finish_reason") or DONE_REASON))
        yield from self._answer.finish()

    def _not_this(self) -> Exception:
        complaint = complaint_of_body(self._head)
        if complaint.message or complaint.kind:
            return refused_in_stream(self._endpoint, complaint, self._private)
        return self._answer.broken('does not begin with {"generated_text": as LMI 0.25 does: check its payload')
