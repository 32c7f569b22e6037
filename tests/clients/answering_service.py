"""A language-model service for the client programs: what it answers depends only on the request."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from support.services.llm_server import DONE, HEAD, LAST_CHUNK, Script, Server, answer, chunk, event

STORY = " ".join(["Once upon a time there was a very long story that nobody has ever heard to its end."] * 4)


class AnsweringServer(Server):
    """Answers by the last message of the conversation."""

    def _next_script(self) -> Script:
        request = json.loads(self.seen[-1].body)
        return script_for(request["messages"], [tool["function"]["name"] for tool in request.get("tools", [])])


def script_for(messages: list[dict[str, Any]], tools: list[str]) -> Script:
    """Returns the answer to a conversation, given the names of the tools."""
    last = messages[-1]
    if last["role"] == "tool":
        return words("The lamp is on." if "lamp" in json.dumps(messages[-2:]) else "Here is what I found.")
    content = last["content"]
    if not isinstance(content, str):
        if any(part["type"] == "image_url" for part in content):
            return words("I see a picture.")
        content = " ".join(part.get("text", "") for part in content)
    text = content.lower()
    for word, ending, arguments in (
        ("lamp", "set_lamp", '{"on": true}'),
        ("bill", "transfer_to_accountant", "{}"),
        ("weather", "weather", '{"place": "Oslo"}'),
    ):
        for name in tools if word in text else ():
            if name.endswith(ending):
                return calls(name, arguments)
    if any("greet" in message["content"].lower() for message in messages if message["role"] == "system"):
        return words("Welcome to the castle.")
    if "story" in text:
        return words(STORY)
    if "password" in text:
        return words(f"The password is swordfish. {STORY}")
    if "bill" in text:
        return words("Your bill is paid.")
    return words("It is noon.")


def words(text: str) -> Script:
    """Returns a script that says a text, word by word."""
    first, *others = text.split(" ")
    return answer(first, *(f" {word}" for word in others))


def calls(name: str, arguments: str) -> Script:
    """Returns a script that calls a function."""
    call = {"index": 0, "id": "call_7", "type": "function", "function": {"name": name, "arguments": arguments}}
    return (HEAD, chunk(event(tool_calls=[call]) + event(finish="tool_calls") + DONE), LAST_CHUNK)


@asynccontextmanager
async def answering_service() -> AsyncGenerator[str]:
    """Runs the service on a free port. Yields its base URL."""
    server = AnsweringServer([])
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    finally:
        listener.close()
        await server.hang_up()
