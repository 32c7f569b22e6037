"""Recovers from a prompt that is too long for its endpoint: drops the oldest turns, and asks again at once.

The limit is learned from the refusal, so that later requests fit from the start. Turns are dropped in large steps:
between two steps the prompt only grows at its end, and the service's prompt cache stays valid.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from llm.chat import ChatEvent, Message, RequestSent, SlotAcquired, texts_of
from llm.errors import LlmContextOverflow

log = logging.getLogger(__name__)

BYTES_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4

MAX_ATTEMPTS = 5
"""Requests for one answer. Each allows at most 70 % of the prompt before it."""

KEPT_SHARE = 0.7
"""Share of the limit that is kept when turns are dropped."""

MIN_TEXT_TOKENS = 64
"""Texts of the newest turn are not cut to fewer tokens."""

CUT_MARK = " … (cut: too long for the model)"

Ask = Callable[[Sequence[Message]], AsyncGenerator[ChatEvent]]


@dataclass(slots=True)
class ContextLimit:
    """The longest prompt that an endpoint takes, as far as it is known.

    Attributes:
        endpoint: The endpoint's name in the configuration.
        tokens: In estimated tokens, as `estimated_tokens` counts them; None: no prompt was refused.
    """

    endpoint: str
    tokens: int | None = None

    async def ask(self, ask: Ask, messages: Sequence[Message]) -> AsyncGenerator[ChatEvent]:
        """Yields the answer to the messages, without the oldest turns if the endpoint takes no longer prompt.

        Raises LlmError, LlmContextOverflow included if the newest turn alone is too long.
        """
        for attempt in range(1, MAX_ATTEMPTS + 1):
            fitting = messages if self.tokens is None else fitted(messages, self.tokens)
            answered = False
            async with aclosing(ask(fitting)) as events:
                try:
                    async for event in events:
                        answered = answered or not isinstance(event, SlotAcquired | RequestSent)
                        yield event
                except LlmContextOverflow as error:
                    if answered or attempt == MAX_ATTEMPTS or not self._learn(error, fitting):
                        raise
                else:
                    return

    def _learn(self, error: LlmContextOverflow, asked: Sequence[Message]) -> bool:
        """Lowers the limit after a refusal. Returns whether a shorter prompt is possible."""
        estimated = estimated_tokens(asked)
        share = KEPT_SHARE
        if error.limit_tokens and error.prompt_tokens and error.prompt_tokens > error.limit_tokens:
            share = min(share, 0.95 * error.limit_tokens / error.prompt_tokens)
        self.tokens = max(1, int(estimated * share))
        log.warning(
            "llm endpoint %r: the prompt is too long for its context, so older turns are left out from now on",
            self.endpoint,
        )
        return estimated_tokens(fitted(asked, self.tokens)) < estimated


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Returns an estimate of the messages' token count."""
    images = sum(image.tokens for message in messages for image in message.images)
    text = sum(len(text.encode("utf-8", "replace")) for text in texts_of(messages))
    return images + text // BYTES_PER_TOKEN + TOKENS_PER_MESSAGE * len(messages)


def fitted(messages: Sequence[Message], max_tokens: int) -> Sequence[Message]:
    """Returns the messages without the oldest turns, as many as necessary; the newest turn stays, with shorter results.

    The same turns are dropped again when more messages follow, until the limit is reached again.
    """
    if estimated_tokens(messages) <= max_tokens:
        return messages
    begin = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    system, rest = list(messages[:begin]), list(messages[begin:])
    room = max(0, max_tokens - estimated_tokens(system))
    starts = [index for index, message in enumerate(rest) if message.role == "user"] or [0]
    first = 0
    for end in [*starts[1:], len(rest)]:
        if estimated_tokens(rest[first:end]) > room:
            kept = [
                start
                for start in starts
                if first < start < end and estimated_tokens(rest[start:end]) <= room * KEPT_SHARE
            ]
            first = kept[0] if kept else max((start for start in starts if start < end), default=0)
    return [*system, *_shortened(rest[first:], room)]


def _shortened(messages: list[Message], room: int) -> list[Message]:
    """Returns the messages with their longest texts cut until they fit: results of tools first, the user's never."""
    for roles in (("tool",), ("assistant", "tool")):
        over = estimated_tokens(messages) - room
        sizes = sorted(
            (
                (len(message.content.encode("utf-8", "replace")) // BYTES_PER_TOKEN, index)
                for index, message in enumerate(messages)
                if message.role in roles
            ),
            reverse=True,
        )
        for size, position in sizes:
            if over <= 0:
                return messages
            left = max(MIN_TEXT_TOKENS, size - over - len(CUT_MARK))
            if left < size:
                share = left / size
                content = messages[position].content
                messages[position] = replace(
                    messages[position], content=content[: int(len(content) * share)] + CUT_MARK
                )
                over -= size - left
    return messages
