"""The last reply that was stopped before its end, for commands of a client that has not heard of it yet."""

from dataclasses import dataclass

from assistant.turns.events import ReplyId
from web.wire.commands import CancelResponse, ClearOutput, Command


@dataclass(slots=True)
class StoppedReply:
    """The last reply, stopped before its end. A client that has not heard of that yet sends commands to stop it.

    Attributes:
        harmless: Commands that are still to be expected, and are no errors.
        latest: No other reply has begun since: a command that names no response means this one.
    """

    reply: ReplyId
    harmless: set[type[Command]]
    latest: bool = True

    def expects(self, command: CancelResponse | ClearOutput, reply: ReplyId | None) -> bool:
        """Whether this command comes too late; asked once for each kind of command."""
        expected = type(command) in self.harmless and (reply == self.reply or (reply is None and self.latest))
        if expected:
            self.harmless.discard(type(command))
        return expected
