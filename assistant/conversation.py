"""What was said: the history that a language model gets to see.

The conversation alone owns the history. A user's words enter when their turn is committed and leave again only if
the reply is retracted before a word of it was heard; an assistant's words enter as far as they were heard.
"""

from collections import deque
from dataclasses import dataclass, field

from assistant.script import Script
from assistant.turn_events import ReplyId
from audio.units import ReplySamples
from llm.chat import Message


@dataclass(slots=True)
class _Exchange:
    """A user's turn and what was heard of its answer."""

    reply: ReplyId
    said: str  # "" where nobody spoke: a greeting
    heard: str = ""


@dataclass(slots=True)
class Conversation:
    """The history of one conversation.

    Attributes:
        instructions: The system message; "" for none.
        max_turns: Older turns are forgotten, so that prompts stay bounded.
    """

    instructions: str
    max_turns: int
    _exchanges: deque[_Exchange] = field(default_factory=deque)

    def messages(self, said: str) -> tuple[Message, ...]:
        """The messages that ask for an answer to `said`, which is not remembered by this."""
        messages = [Message("system", self.instructions)] if self.instructions else []
        for exchange in self._exchanges:
            if exchange.said:
                messages.append(Message("user", exchange.said))
            if exchange.heard:
                messages.append(Message("assistant", exchange.heard))
        return (*messages, Message("user", said))

    def commit(self, reply: ReplyId, said: str) -> None:
        """The turn is over and these were its words."""
        self._exchanges.append(_Exchange(reply, said))
        while len(self._exchanges) > self.max_turns:
            self._exchanges.popleft()

    def heard(self, reply: ReplyId, script: Script, audio_end: ReplySamples) -> str:
        """The reply's sound was played up to here: remember its whole words. Returns them."""
        words = script.text_heard(audio_end)
        for exchange in self._exchanges:
            if exchange.reply == reply:
                exchange.heard = words
        return words

    def retract(self, reply: ReplyId) -> None:
        """The turn goes on: its words will come again, joined with what follows."""
        self._exchanges = deque(exchange for exchange in self._exchanges if exchange.reply != reply)
