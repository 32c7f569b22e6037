"""A summary in place of old turns: what it covers, how it is asked for, how it appears in the prompt. No I/O.

It is made before the history is full, so that nothing is dropped unread. Between two summaries the prompt only grows at
its end, so that a service can reuse its prefix cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assistant.history.items import Item, ItemId, SystemMessage
from assistant.history.prompt_limits import HistoryLimits, first_kept
from llm.chat import Message

SUMMARIZE_FROM = 0.6
"""Share of a limit of the history from which a summary is made. Half of it is kept word for word."""

MAX_SUMMARY_TOKENS = 200

MAX_CHARS_PER_MESSAGE = 1000
"""Characters of one message that a summary is made from; outputs of tools may be long."""

_REQUEST = (
    "Summarize this part of a conversation between a user and a voice assistant, so that the assistant can go on "
    "without it. Keep names, numbers, wishes, decisions and open questions. Write at most 100 words, in the language "
    "of the conversation, and nothing but the summary."
)
_SHOWN = "Summary of the earlier conversation: "
_NAMES = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System"}


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of old turns.

    Attributes:
        text: The summary.
        covers: The items that it stands for, those of the summary before it included.
    """

    text: str
    covers: frozenset[ItemId]

    @property
    def message(self) -> Message:
        """The message in the prompt, after the instructions."""
        return Message("system", _SHOWN + self.text)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A request for a summary.

    Attributes:
        items: The items, as they are now.
        messages: The request to the language model.
        covers: The items that the summary will stand for.
    """

    items: tuple[Item, ...]
    messages: tuple[Message, ...]
    covers: frozenset[ItemId]


def items_to_summarize(in_prompt: Sequence[Item], limits: HistoryLimits) -> tuple[Item, ...]:
    """Returns the oldest items of the prompt if it is nearly full; whole turns, without system messages."""
    near = HistoryLimits(max(1, int(limits.turns * SUMMARIZE_FROM)), int(limits.tokens * SUMMARIZE_FROM), limits.kept)
    seen = [item for item in in_prompt if not isinstance(item, SystemMessage)]
    return tuple(seen[: first_kept(seen, near)])


def summary_request(
    items: tuple[Item, ...], messages: Sequence[Message], before: Summary | None
) -> SummaryRequest | None:
    """Returns the request for a summary of items, whose messages are `messages`; None without words."""
    lines = [] if before is None else [f"Summary of what came before: {before.text}"]
    lines += [
        f"{_NAMES[message.role]}: {message.named_content[:MAX_CHARS_PER_MESSAGE]}"
        for message in messages
        if message.content.strip()
    ]
    if not messages or not lines:
        return None
    covers = frozenset(item.id for item in items) | (before.covers if before is not None else frozenset())
    return SummaryRequest(items, (Message("system", _REQUEST), Message("user", "\n".join(lines))), covers)
