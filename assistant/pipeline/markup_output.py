"""Reports the text of a reply as the language model wrote it, with its Markdown, to a screen that shows it.

The reply's words are spoken in short form: code, tables and addresses are left out. A screen that shows them needs
the text as written. Nothing is reported before the first words of the reply are: the reply may never be committed.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from assistant.events import ChunkSpoken, MarkupWritten, SessionEvent
from assistant.history.written_reply import WrittenReply
from assistant.tools.rounds import ReplyEvent, ToolsCalled
from assistant.turns.events import ReplyId
from llm.chat import Token

BATCH_CHARS = 40
"""Characters that are reported at once. Each token on its own would be several times the messages."""

MAX_CHARS = 200_000
"""Longest text of one reply that is reported; what follows is only spoken."""


@dataclass(slots=True)
class MarkupOutput:
    """Reports the text of one reply.

    Attributes:
        reply_id: Turn and attempt.
        on_event: Receives the reply's events and, before the first words and after them, the text.
        written: Keeps the text for the history.
    """

    reply_id: ReplyId
    on_event: Callable[[SessionEvent], None]
    written: WrittenReply
    _pending: str = ""
    _chars: int = 0  # added so far
    _started: bool = False  # the first words were reported

    def add_text(self, text: str) -> None:
        """Adds a piece of the text."""
        text = text[: MAX_CHARS - self._chars]
        self._chars += len(text)
        self._pending += text
        if self._started and (len(self._pending) >= BATCH_CHARS or "\n" in self._pending):
            self._report()

    def add_paragraph(self, text: str) -> None:
        """Adds a paragraph that is not part of the model's text, such as an apology."""
        self.add_text(f"\n\n{text}\n\n" if self._chars else f"{text}\n\n")
        self.written.add_paragraph(text)

    def forward(self, event: SessionEvent) -> None:
        """Passes an event of the reply on. With its words comes the text so far."""
        self.on_event(event)
        if isinstance(event, ChunkSpoken):
            self._started = True
            self._report()

    async def reading(self, source: AsyncGenerator[ReplyEvent]) -> AsyncGenerator[ReplyEvent]:
        """Passes the events of a reply's source on, and takes the text from them."""
        async with aclosing(source):
            async for event in source:
                match event:
                    case Token(text):
                        self.add_text(text)
                        self.written.add_text(text)
                    case ToolsCalled():
                        self.add_text("\n\n" if self._chars else "")
                        self.written.end_answer()
                yield event
        if self._started:
            self._report()

    def _report(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, ""
            self.on_event(MarkupWritten(self.reply_id, pending))
