"""A connection of the asynchronous openai SDK, as it is used by the client programs of its versions."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from reporting import RefusedError, say


class Talk:
    """A connection, and the events that came over it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.events: list[Any] = []

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    async def until(self, kind: str, count: int = 1) -> Any:
        """Receives until `count` events of a type have come. Returns the last of them; raises at an error."""
        while len(found := self.of(kind)) < count:
            event = await self.connection.recv()
            self.events.append(event)
            if event.type == "error":
                raise RefusedError(f"{event.error.code}: {event.error.param or event.error.message}")
        return found[count - 1]

    async def write(self, text: str, **item: Any) -> None:
        content = [{"type": "input_text", "text": text}]
        await self.send_item(content, **item)

    async def send_item(self, content: list[dict[str, Any]], **item: Any) -> None:
        """Adds a user message with this content."""
        message = {"type": "message", "role": "user", "content": content, **item}
        await self.connection.conversation.item.create(item=message)

    async def send_output(self, call_id: str, output: str) -> None:
        """Adds the output of a function."""
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        await self.connection.conversation.item.create(item=item)

    async def answer(self, count: int = 1, **response: Any) -> Any:
        """Requests a response. Returns it when it is done."""
        await self.connection.response.create(**({"response": response} if response else {}))
        return (await self.until("response.done", count)).response

    @asynccontextmanager
    async def speaking(self, speech: bytes) -> AsyncIterator[None]:
        """Says the speech, then silence, in real time while the block runs."""

        async def send(part: bytes) -> None:
            await self.connection.input_audio_buffer.append(audio=base64.b64encode(part).decode())

        task = asyncio.create_task(say(speech, send))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def text_of(response: Any) -> str:
    """Returns the words of a response."""
    part = response.output[-1].content[0]
    return part.transcript or part.text or ""
