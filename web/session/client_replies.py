"""The replies of a session as its client knows them.

A client that reconnects gets the current reply again. A command about a reply that was stopped is only late, and no
error, if the client could not know of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from assistant.events import (
    ChunkSpoken,
    MarkupWritten,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    TurnFinished,
    WordsTimed,
)
from assistant.history.cut_to_heard import TimedWord
from assistant.turns.events import ReplyId
from web.wire.incoming.commands import CancelResponse, ClearOutput, Command


@dataclass(slots=True)
class ClientReply:
    """Holds what the client got of a reply that is generated or played.

    Attributes:
        started: Its first event.
        sent: Its `ReplySent`, once it is complete and only plays.
    """

    started: ReplyStarted
    sent: ReplySent | None = None
    _text: str = ""
    _markup: str = ""
    _word_times: tuple[TimedWord, ...] = ()

    def add_event(self, event: SessionEvent) -> SessionEvent:
        """Adds an event of the reply. Returns it as the client gets it: the pieces of the words add up to the text."""
        match event:
            case ChunkSpoken():
                event = replace(event, text=(" " if self._text and self.started.spoken else "") + event.text)
                self._text += event.text
            case WordsTimed():
                self._word_times += event.words
            case MarkupWritten():
                self._markup += event.text
            case ReplySent():
                self.sent = event
        return event

    def again(self) -> Iterator[SessionEvent]:
        """Yields its events so far, except its audio and its end."""
        reply_id = self.started.reply_id
        yield self.started
        if self._text:
            yield ChunkSpoken(reply_id, self._text)
        if self._markup:
            yield MarkupWritten(reply_id, self._markup)
        if self._word_times:
            yield WordsTimed(reply_id, self._word_times)


@dataclass(slots=True)
class ClientReplies:
    """The replies that are generated or played, in order, and the last one that was stopped."""

    _open: dict[ReplyId, ClientReply] = field(default_factory=dict)
    _stopped: ReplyId | None = None
    _late_commands: set[type[Command]] = field(default_factory=set)  # kinds that may still arrive about `_stopped`
    _begun_since_stop: bool = False  # another reply; a command that names none does not mean `_stopped`

    @property
    def current(self) -> ClientReply | None:
        """The last reply that is generated or played."""
        return next(reversed(self._open.values()), None)

    def find(self, reply_id: ReplyId) -> ClientReply | None:
        """Returns a reply that is generated or played."""
        return self._open.get(reply_id)

    @property
    def generated(self) -> ReplyId | None:
        """The reply that is being generated."""
        current = self.current
        return current.started.reply_id if current is not None and current.sent is None else None

    def on_event(self, event: SessionEvent) -> SessionEvent:
        """Follows an event of the session. Returns it as the client gets it."""
        match event:
            case ReplyStarted(reply_id):
                self._open[reply_id] = ClientReply(event)
                self._begun_since_stop = reply_id != self._stopped
            case ReplyStopped(reply_id):
                self._open.pop(reply_id, None)
                self._stopped, self._late_commands, self._begun_since_stop = (
                    reply_id,
                    {CancelResponse, ClearOutput},
                    False,
                )
            case TurnFinished(record):
                self._open = {
                    reply_id: client_reply
                    for reply_id, client_reply in self._open.items()
                    if reply_id.turn != record.turn
                }
            case ChunkSpoken(reply_id) | WordsTimed(reply_id) | MarkupWritten(reply_id) | ReplySent(reply_id):
                return self._open[reply_id].add_event(event) if reply_id in self._open else event
        return event

    def late_for(self, command: CancelResponse | ClearOutput, reply_id: ReplyId | None) -> ReplyId | None:
        """Returns the stopped reply that the command is about, if it is only late. At most once for each kind.

        `reply_id`: the reply that the command names; None: the last one.
        """
        named = self._stopped if reply_id is None and not self._begun_since_stop else reply_id
        if named is None or named != self._stopped or type(command) not in self._late_commands:
            return None
        self.stopped_by(command)
        return named

    def stopped_by(self, command: CancelResponse | ClearOutput) -> None:
        """Records that the client's own command has stopped the reply: a second one of its kind is an error."""
        self._late_commands.discard(type(command))
