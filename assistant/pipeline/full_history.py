"""The reply of a conversation that is longer than the model sees and may not be truncated."""

from collections.abc import AsyncGenerator

from llm.chat import ChatEvent
from llm.errors import LlmRefused

HISTORY_FULL = "the conversation is longer than the model sees, and its truncation is disabled"
"""Beginning of the error, by which clients of the Realtime protocol get its code."""

SPOKEN_TOO_LONG = "This conversation has become too long for me."


async def refused_reply(excess: str) -> AsyncGenerator[ChatEvent]:
    """Fails as a request does that the model refuses. `excess`: the length of the conversation, and its limit."""
    raise LlmRefused("history", f"{HISTORY_FULL}: {excess}", spoken=SPOKEN_TOO_LONG, retryable=False)
    yield  # an asynchronous generator, as every answer
