"""Remembers the reply that is generated or played, so that a client that reconnects gets it again."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from assistant.events import ChunkSpoken, MarkupWritten, ReplySent, ReplyStarted, SessionEvent, WordsTimed
from assistant.history.spoken_transcript import TimedWord


@dataclass(slots=True)
class ReplyInProgress:
    """The events of one reply so far.

    Attributes:
        started: Its first event; None while no reply is in progress.
        sent: Its `ReplySent`, once it is complete and only plays.
    """

    started: ReplyStarted | None = None
    sent: ReplySent | None = None
    _text: str = ""
    _markup: list[str] = field(default_factory=list)
    _word_times: list[TimedWord] = field(default_factory=list)

    def begin(self, started: ReplyStarted) -> None:
        """Starts the next reply."""
        self.started, self.sent, self._text, self._markup, self._word_times = started, None, "", [], []

    def add(self, event: SessionEvent) -> SessionEvent:
        """Adds an event of the reply. Returns it as the client gets it: the pieces of the words add up to the text."""
        match event:
            case ChunkSpoken() if self.started is not None:
                joint = " " if self._text and self.started.spoken else ""
                self._text += joint + event.text
                return replace(event, text=joint + event.text)
            case WordsTimed():
                self._word_times += event.words
            case MarkupWritten():
                self._markup.append(event.text)
            case ReplySent():
                self.sent = event
        return event

    def again(self) -> Iterator[SessionEvent]:
        """Yields its events so far, except its audio and its end."""
        if self.started is None:
            return
        yield self.started
        if self._text:
            yield ChunkSpoken(self.started.reply, self._text)
        if self._markup:
            yield MarkupWritten(self.started.reply, "".join(self._markup))
        if self._word_times:
            yield WordsTimed(self.started.reply, tuple(self._word_times))
