"""Items with recordings and images, created and retrieved by the unmodified openai SDK over a real connection."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from support.servers.session_server import (
    SessionServer,
    real_engines,
    session_server,
)
from support.services.llm_server import answer, serving
from support.texts.image_files import data_url, jpeg, png

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TEXT = {"type": "input_text", "text": "Please describe the picture in two words."}


async def until(connection: AsyncRealtimeConnection, kind: str) -> list[Any]:
    """Receives until an event of this type. Returns all of them."""
    events: list[Any] = []
    async with asyncio.timeout(30):
        while not events or events[-1].type != kind:
            events.append(await connection.recv())
    return events


async def create(connection: AsyncRealtimeConnection, *content: Any, **item: Any) -> None:
    message: Any = {"type": "message", "role": "user", "content": list(content), **item}
    await connection.conversation.item.create(item=message)


def client_of(server: SessionServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.openai, api_key="none")


def test_image_reaches_the_service(tmp_path: Path) -> None:
    large = png(more=1_500_000)  # an event of 2 MB
    images = 'llm.endpoints=[{name = "near", kind = "openai", url = "URL", model = "m", images = true}]'

    async def main() -> None:
        async with serving(answer("A red lamp.")) as llm:
            loader = real_engines(tmp_path, llm.url, images.replace("URL", llm.url))
            async with (
                session_server(loader) as server,
                client_of(server) as client,
                client.realtime.connect(model="repartee") as connection,
            ):
                for file in (large, jpeg()):
                    await create(connection, TEXT, {"type": "input_image", "image_url": data_url(file)})
                await connection.response.create(response={"output_modalities": ["text"]})
                events = await until(connection, "response.done")
                assert not [event for event in events if event.type == "error"]
                assert events[-1].response.output[0].content[0].text == "A red lamp."
            (sent,) = json.loads(llm.posts[-1].body)["messages"][-1:]
            assert [part["type"] for part in sent["content"]] == ["image_url", "image_url", "text"]
            assert sent["content"][0]["image_url"] == {"url": data_url(large), "detail": "auto"}

    asyncio.run(main())
    records = "".join(file.read_text() for file in tmp_path.glob("*.jsonl"))
    assert base64.b64encode(large).decode()[:60] not in records
