"""Ends an answer at its first stop sequence, which may be split over several tokens. No I/O.

Some services send the stop sequence that ended an answer; others do not support stop sequences. A model that misses its
end continues with the user's next question. It must not be spoken.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from llm.chat import ChatEvent, Finished, Token
from llm.empty_answer import from_first_visible
from llm.errors import SPOKEN_EMPTY, LlmBroken, LlmError
from llm.text_pieces import MoreText
from llm.token_deadlines import StreamParser

STOPPED_REASON = "stop_sequence"
"""Finish reason; the word is TGI's."""


class StopSequenceFilter:
    """Passes text through up to the first stop sequence.

    Attributes:
        stopped: Whether a stop sequence arrived. No text passes any more.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Compiles the stop sequences; empty ones are ignored."""
        self.stopped = False
        self._held = ""
        self._stops = tuple(filter(None, stops))
        self._stop = re.compile("|".join(map(re.escape, self._stops))) if self._stops else None

    def feed(self, text: str) -> str:
        """Returns the text that can be passed on now, held text included."""
        if self.stopped or self._stop is None:
            return "" if self.stopped else text
        text, self._held = self._held + text, ""
        if match := self._stop.search(text):
            self.stopped = True
            return text[: match.start()]
        held_chars = self._beginning_of_a_stop(text)
        self._held = text[len(text) - held_chars :]
        return text[: len(text) - held_chars]

    def rest(self) -> str:
        """Returns, at the end, the held text that did not become a stop sequence."""
        held, self._held = self._held, ""
        return held

    def _beginning_of_a_stop(self, text: str) -> int:
        """Returns how many of the last characters may be the beginning of a stop sequence."""
        longest = max(map(len, self._stops)) - 1
        return next(
            (size for size in range(min(longest, len(text)), 0, -1) if self._may_become(text[len(text) - size :])), 0
        )

    def _may_become(self, end: str) -> bool:
        return any(stop.startswith(end) for stop in self._stops)


class StopSequenceParser:
    """A stream parser whose text ends at the first stop sequence."""

    def __init__(self, endpoint: str, parser: StreamParser, stops: Sequence[str], *, read_on: bool = True) -> None:
        """Wraps `parser`. `read_on`: after a stop sequence, read on for the token counts; if False, finish at once."""
        self._read_on = read_on
        self._endpoint = endpoint
        self._parser = parser
        self._filter = StopSequenceFilter(stops)
        self._has_text = False
        self._leading_blanks = ""  # blanks before the first text, held because a stop sequence may follow
        self._over = False

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._filter.stopped or self._parser.finishing

    def feed(self, data: bytes) -> Iterator[ChatEvent | MoreText]:
        """Yields the events in `data`, which may end anywhere; none after Finished. Raises LlmError."""
        yield from self._through(self._parser.feed(data))

    def end(self) -> Iterator[ChatEvent | MoreText]:
        """Ends the body, or gives up waiting for its rest. Raises LlmError if it broke off before a stop sequence."""
        yield from self._through(self._parser.end())

    def _through(self, events: Iterable[ChatEvent | MoreText]) -> Iterator[ChatEvent | MoreText]:
        if self._over:
            return
        try:
            for event in events:
                yield from self._event(event)
                if self._over:
                    return
        except LlmError:
            if not self._filter.stopped:
                raise
            # The text is complete; only the token counts are lost.
            yield from self._event(Finished(STOPPED_REASON))

    def _event(self, event: ChatEvent | MoreText) -> Iterator[ChatEvent | MoreText]:
        if isinstance(event, Token):
            yield from self._token(self._filter.feed(event.text), event.probability)
            if not self._filter.stopped or self._read_on:
                return
            event = Finished(STOPPED_REASON)
        if isinstance(event, Finished):
            self._over = True
            yield from self._token(self._filter.rest())
            if self._filter.stopped and not self._has_text:
                text = f"llm endpoint {self._endpoint!r} began its answer with a stop sequence: check its template"
                raise LlmBroken(self._endpoint, text, spoken=SPOKEN_EMPTY, retryable=True)
        yield event

    def _token(self, text: str, probability: float | None = None) -> Iterator[Token]:
        text = self._leading_blanks + text
        self._has_text = self._has_text or bool(from_first_visible(text))
        self._leading_blanks = "" if self._has_text else text
        if text and self._has_text:
            yield Token(text, probability=probability)
