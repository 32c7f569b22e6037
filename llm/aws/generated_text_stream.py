"""Parses LMI 0.25's answer: one JSON object whose only string arrives token by token. No I/O.

    {"generated_text": "Mount Ever  est.\\nIt is  "}            or, with details requested,  ", "details": {...}}

Servers that do not stream send the same bytes, some of them in a list of one element.
"""

import codecs
import json
import re
from collections.abc import Iterator, Sequence

from llm.answer_state import AnswerEvent, AnswerState
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.answer_values import DONE_REASON, count_of
from llm.chat import Function
from llm.http_errors import error_report_of_body, refused_in_stream

_SPECIAL = re.compile(r'["\\]')

_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_HEX = re.compile(r"[0-9a-fA-F]{4}")


HEAD = re.compile(rb'\s*(\[\s*)?\{\s*"generated_text"\s*:\s*"')

MAX_HEAD_BYTES = 64 << 10
"""Maximum size before the text; also of an error in its place."""

MAX_TAIL_CHARS = 1 << 20
"""Maximum length after the text: details repeat the prompt, and may list every token."""


class GeneratedTextStream:
    """Parses one response body."""

    def __init__(
        self,
        endpoint: str,
        *,
        private: Sequence[str] = (),
        habit: ReasoningHabit | None = None,
        functions: Sequence[Function] = (),
    ) -> None:
        """Initializes the parser; arguments as for `OpenAIStream`."""
        self._endpoint = endpoint
        self._private = private
        self._answer = AnswerState(endpoint, habit, functions)
        self._head = b""
        self._in_head = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = JsonText()

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._text.closed

    def feed(self, data: bytes) -> Iterator[AnswerEvent]:
        """Yields the events in `data`, which may end anywhere; none after Finished. Raises LlmError."""
        if self._answer.finished:
            return
        if self._in_head:
            self._head += data
            match = HEAD.match(self._head)
            if match is None:
                if len(self._head) > MAX_HEAD_BYTES:
                    raise self._wrong_format()
                return
            self._in_head = False
            data = self._head[match.end() :]
        yield from self._answer.add_text(self._text.feed(self._decoder.decode(data)))
        if self._text.closed:
            yield from self._tail(self._text.rest.strip())

    def end(self) -> Iterator[AnswerEvent]:
        """Ends the body; only details may be missing. Raises LlmError if the answer is incomplete."""
        if self._in_head:
            raise self._wrong_format()
        if self._text.closed and not self._answer.reason:
            self._answer.set_reason(DONE_REASON)
        yield from self._answer.finish()

    def _tail(self, rest: str) -> Iterator[AnswerEvent]:
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
        self._answer.set_reason(str(details.get("finish_reason") or DONE_REASON))
        yield from self._answer.finish()

    def _wrong_format(self) -> Exception:
        report = error_report_of_body(self._head)
        if report.message or report.kind:
            return refused_in_stream(self._endpoint, report, self._private)
        return self._answer.error('does not begin with {"generated_text": as LMI 0.25 does: check its payload')


class JsonText:
    """Decodes a JSON string that arrives in pieces: the text after the opening quote. No I/O.

    Attributes:
        closed: Whether the closing quote arrived.
        rest: The text after the closing quote.
    """

    def __init__(self) -> None:
        self.closed = False
        self.rest = ""
        self._cut = ""

    def feed(self, piece: str) -> str:
        """Returns the decoded text of `piece`, which may end anywhere. Surrogate halves are returned unjoined."""
        if self.closed:
            self.rest += piece
            return ""
        piece, self._cut = self._cut + piece, ""
        text: list[str] = []
        position = 0
        while match := _SPECIAL.search(piece, position):
            text.append(piece[position : match.start()])
            position = match.end()
            if match[0] == '"':
                self.closed = True
                self.rest = piece[position:]
                return "".join(text)
            size = self._escape_chars(piece, position)
            if size is None:
                self._cut = piece[match.start() :]
                return "".join(text)
            text.append(self._escaped(piece[position : position + size]))
            position += size
        return "".join(text) + piece[position:]

    @staticmethod
    def _escape_chars(piece: str, position: int) -> int | None:
        """Returns the length of the escape that continues at `position`; None if it is incomplete."""
        kind = piece[position : position + 1]
        size = 5 if kind == "u" else 1
        return size if len(piece) >= position + size else None

    @staticmethod
    def _escaped(escape: str) -> str:
        if escape[0] == "u":
            return chr(int(escape[1:], 16)) if _HEX.fullmatch(escape[1:]) else "\ufffd"
        # Some servers insert text without escaping it (a path, LaTeX): the backslash is then literal.
        return _SIMPLE.get(escape, f"\\{escape}")
