"""Recognizes late commands of a client about a reply that was stopped already."""

from dataclasses import dataclass

from assistant.turns.events import ReplyId
from web.wire.incoming.commands import CancelResponse, ClearOutput, Command


@dataclass(slots=True)
class StoppedReply:
    """The last reply that was stopped before its end. A client that does not know this yet may send late commands.

    Attributes:
        reply: The reply.
        harmless: Kinds of commands that may still arrive and are not errors.
        latest: Whether it is still the latest reply. If so, a command without a response id is for this reply.
    """

    reply: ReplyId
    harmless: set[type[Command]]
    latest: bool = True

    def expects(self, command: CancelResponse | ClearOutput, reply: ReplyId | None) -> bool:
        """Returns whether this command is only late and not an error. True at most once for each kind of command."""
        expected = type(command) in self.harmless and (reply == self.reply or (reply is None and self.latest))
        if expected:
            self.harmless.discard(type(command))
        return expected
