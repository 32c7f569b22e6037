"""Items with recordings and images, created and retrieved by the unmodified openai SDK over a real connection."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from support.servers.session_server import (
    ScriptedEngineLoader,
    SessionServer,
    real_engines,
    session_server,
    settings_for,
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


def test_refused_image_keeps_its_text_and_recordings_are_heard(tmp_path: Path) -> None:
    sound = base64.b64encode(np.full(24_000, 8000, "<i2").tobytes()).decode()

    async def main() -> None:
        loader = ScriptedEngineLoader(settings_for(tmp_path), {}, transcripts=("count to three",))
        async with (
            session_server(loader) as server,
            client_of(server) as client,
            client.realtime.connect(model="repartee") as connection,
        ):
            await create(connection, TEXT, {"type": "input_image", "image_url": data_url(png())})
            error = (await until(connection, "error"))[-1].error
            assert (error.code, error.param) == ("not_supported", "item.content[1].type")
            await create(connection, {"type": "input_audio", "audio": sound}, id="heard")
            await connection.response.create()
            events = await until(connection, "response.done")
            kinds = [event.type for event in events]
            heard = kinds.index("conversation.item.input_audio_transcription.completed")
            assert events[heard].transcript == "count to three"
            assert heard < kinds.index("response.created")
            asked = loader.models[0].asked[0]
            assert [one.content for one in asked if one.role == "user"] == [TEXT["text"], "count to three"]
            reply = events[-1].response.output[0].id
            for item, kind, length_s in (("heard", "input_audio", 1.0), (reply, "output_audio", 0.1)):
                await connection.conversation.item.retrieve(item_id=item)
                (part,) = (await until(connection, "conversation.item.retrieved"))[-1].item.content
                assert part.type == kind
                assert len(base64.b64decode(part.audio)) >= 48_000 * length_s
            await connection.conversation.item.delete(item_id=reply)
            await until(connection, "conversation.item.deleted")
            await connection.conversation.item.retrieve(item_id=reply)
            assert (await until(connection, "error"))[-1].error.code == "item_retrieve_invalid_item_id"

    asyncio.run(main())
