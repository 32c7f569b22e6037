"""Out-of-band responses and custom input with the unmodified openai SDK, asynchronous and synchronous."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from support.servers.session_server import eventually, real_engines, session_server
from support.services.llm_server import DONE, HEAD, LAST_CHUNK, answer, chunk, event, serving, usage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def said(text: str) -> Any:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


async def test_classification_beside_the_conversation(tmp_path: Path) -> None:
    """The example of OpenAI's guide: responses with a topic in their metadata, and a reference to an item."""
    limited = (HEAD, chunk(event("Sup") + event(finish="length") + usage(12, 3) + DONE), LAST_CHUNK)
    async with (
        serving(limited, answer("Yes."), answer("It is late.")) as llm,
        session_server(real_engines(tmp_path, llm.url)) as server,
        AsyncOpenAI(base_url=server.openai, api_key="none") as client,
        client.realtime.connect(model="repartee") as connection,
    ):
        events: list[Any] = []

        async def until(kind: str, count: int = 1) -> Any:
            async with asyncio.timeout(30):
                while len(found := [one for one in events if one.type == kind]) < count:
                    events.append(await connection.recv())
            return found[count - 1]

        question: Any = {**said("what time is it"), "id": "question"}
        await connection.conversation.item.create(item=question)
        await until("conversation.item.done")
        outside: Any = {
            "conversation": "none",
            "metadata": {"topic": "classification"},
            "output_modalities": ["text"],
            "instructions": "Classify.",
            "max_output_tokens": 3,
        }
        await connection.response.create(response=outside)
        first = (await until("response.done")).response
        assert first.conversation_id is None
        assert first.metadata == {"topic": "classification"}
        assert (first.status, first.status_details.reason) == ("incomplete", "max_output_tokens")
        assert (first.usage.input_tokens, first.usage.output_tokens) == (12, 3)
        # A skill knows the question; out of the conversation the language model is asked.
        request = json.loads(llm.posts[0].body)
        assert request["messages"] == [
            {"role": "system", "content": "Classify."},
            {"role": "user", "content": "what time is it"},
        ]
        assert request["max_tokens"] == 3

        spoken: Any = {
            "conversation": "none",
            "output_modalities": ["audio"],
            "input": [{"type": "item_reference", "id": "question"}, said("Is it late?")],
        }
        await connection.response.create(response=spoken)
        second = (await until("response.done", 2)).response
        assert second.status == "completed"
        assert second.output[0].content[0].transcript == "Yes."
        audio = b"".join(base64.b64decode(one.delta) for one in events if one.type == "response.output_audio.delta")
        assert len(audio) > 4800
        assert [message["content"] for message in json.loads(llm.posts[1].body)["messages"][1:]] == [
            "what time is it\n\nIs it late?"
        ]
        assert [one.type for one in events].count("conversation.item.added") == 1

        wrong: Any = {"conversation": "none", "input": [{"type": "item_reference", "id": "gone"}]}
        await connection.response.create(response=wrong)
        assert (await until("error")).error.param == "response.input[0].id"
        assert server.value("repartee_out_of_band_responses_total", status="incomplete") == 1
        assert server.value("repartee_out_of_band_responses_total", status="completed") == 1
        assert server.value("repartee_out_of_band_tokens_total", kind="prompt") >= 12
        await eventually(lambda: server.limits.current == 1)
