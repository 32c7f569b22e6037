"""The asynchronous openai SDK, of 1.109 and newer, as a client program (see reporting.py)."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI
from openai_talk import Talk, text_of
from reporting import (
    ANSWER,
    GREETING,
    IMAGE_ANSWER,
    LAMP,
    LAMP_ANSWER,
    LAMP_REQUEST,
    MCP_REQUEST,
    PIXEL,
    QUESTION,
    STORY_REQUEST,
    MissingError,
    Settings,
    feature,
    run_features,
)


def client_for(settings: Settings, key: str = "none") -> AsyncOpenAI:
    return AsyncOpenAI(
        base_url=settings.url, websocket_base_url=settings.websocket_url, api_key=key, max_retries=0, timeout=20
    )


@asynccontextmanager
async def talking(settings: Settings, key: str = "none", **options: Any) -> AsyncIterator[Talk]:
    async with client_for(settings, key) as client, client.realtime.connect(model="repartee", **options) as connection:
        talk = Talk(connection)
        if "extra_query" not in options:
            await talk.until("session.created")
        yield talk


async def update(talk: Talk, **session: Any) -> Any:
    """Changes the session. Returns it as it is then."""
    seen = len(talk.of("session.updated"))
    await talk.connection.session.update(session={"type": "realtime", **session})
    return (await talk.until("session.updated", seen + 1)).session


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write("What time is it?")
        done = await talk.answer(output_modalities=["text"])
        assert (done.status, text_of(done)) == ("completed", ANSWER)
        assert talk.of("response.output_text.done")[0].text == ANSWER
        assert done.usage.total_tokens >= 0


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings) as talk, talk.speaking(settings.speech):
        done = (await talk.until("response.done")).response
        assert (done.status, text_of(done)) == ("completed", ANSWER)
        heard = talk.of("conversation.item.input_audio_transcription.completed")[0]
        assert heard.transcript.lower() == QUESTION
        sound = sum(len(base64.b64decode(event.delta)) for event in talk.of("response.output_audio.delta"))
        assert sound > 12_000


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("function call")
async def function_call(settings: Settings) -> None:
    async with talking(settings) as talk:
        await update(talk, tools=[LAMP], output_modalities=["text"])
        await talk.write(LAMP_REQUEST)
        done = await talk.answer()
        call = done.output[0]
        assert (call.type, call.name, call.arguments) == ("function_call", "set_lamp", '{"on": true}')
        await talk.send_output(call.call_id, "done")
        assert text_of(await talk.answer(2)) == LAMP_ANSWER


@feature("interruption")
async def interruption(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write(STORY_REQUEST)
        await talk.connection.response.create()
        await talk.until("response.output_audio.delta", 5)
        async with talk.speaking(settings.speech):
            done = (await talk.until("response.done")).response
            cut = await talk.until("conversation.item.truncated")
            assert cut.item_id == done.output[0].id
            assert text_of((await talk.until("response.done", 2)).response) == ANSWER


@feature("truncation by the client")
async def truncation(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write(STORY_REQUEST)
        await talk.connection.response.create()
        sound = await talk.until("response.output_audio.delta", 12)
        await talk.connection.conversation.item.truncate(item_id=sound.item_id, content_index=0, audio_end_ms=400)
        cut = await talk.until("conversation.item.truncated")
        assert (cut.item_id, cut.audio_end_ms) == (sound.item_id, 400)
        await talk.connection.response.cancel()
        assert (await talk.until("response.done")).response.status == "cancelled"


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    async with talking(settings) as talk:
        detection = {"type": "server_vad", "silence_duration_ms": 400, "prefix_padding_ms": 200}
        audio = {
            "input": {"format": {"type": "audio/pcmu"}, "turn_detection": detection},
            "output": {"format": {"type": "audio/pcma"}, "speed": 1.2},
        }
        session = await update(
            talk, instructions="Be brief.", audio=audio, tools=[LAMP], tool_choice="auto", max_output_tokens=200
        )
        assert session.instructions == "Be brief."
        assert session.audio.input.turn_detection.silence_duration_ms == 400
        assert session.audio.input.format.type == "audio/pcmu"
        assert session.audio.output.format.type == "audio/pcma"
        assert session.audio.output.speed == 1.2
        assert session.max_output_tokens == 200


@feature("response out of band")
async def out_of_band(settings: Settings) -> None:
    async with talking(settings) as talk:
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What time is it?"}]}
        done = await talk.answer(
            conversation="none", input=[message], output_modalities=["text"], metadata={"topic": "time"}
        )
        assert (done.conversation_id, done.metadata, text_of(done)) == (None, {"topic": "time"}, ANSWER)


@feature("image")
async def image(settings: Settings) -> None:
    async with talking(settings) as talk:
        content = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": PIXEL}]
        await talk.send_item(content)
        assert text_of(await talk.answer(output_modalities=["text"])) == IMAGE_ANSWER


@feature("sound in a message")
async def sound_in_message(settings: Settings) -> None:
    async with talking(settings) as talk:
        content = [{"type": "input_audio", "audio": base64.b64encode(settings.speech).decode()}]
        await talk.send_item(content)
        assert text_of(await talk.answer(output_modalities=["text"])) == ANSWER


@feature("retrieval")
async def retrieval(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write("What time is it?", id="mine")
        await talk.connection.conversation.item.retrieve(item_id="mine")
        item = (await talk.until("conversation.item.retrieved")).item
        assert item.content[0].text == "What time is it?"
        await talk.connection.conversation.item.delete(item_id="mine")
        assert (await talk.until("conversation.item.deleted")).item_id == "mine"


@feature("retrieval of sound")
async def retrieval_of_sound(settings: Settings) -> None:
    async with talking(settings) as talk, talk.speaking(settings.speech):
        spoken = await talk.until("input_audio_buffer.committed")
        await talk.until("response.done")
        await talk.connection.conversation.item.retrieve(item_id=spoken.item_id)
        part = (await talk.until("conversation.item.retrieved")).item.content[0]
        assert part.type == "input_audio"
        if not part.audio:
            raise MissingError("the item has no sound")
        assert len(base64.b64decode(part.audio)) > 24_000


@feature("turns by the client")
async def turns_by_client(settings: Settings) -> None:
    async with talking(settings) as talk:
        await update(talk, audio={"input": {"turn_detection": None}})
        async with talk.speaking(settings.speech):
            await asyncio.sleep(2.2)
        await talk.connection.input_audio_buffer.commit()
        await talk.until("input_audio_buffer.committed")
        assert text_of(await talk.answer()) == ANSWER
        heard = await talk.until("conversation.item.input_audio_transcription.completed")
        assert heard.transcript.lower() == QUESTION


@feature("greeting")
async def greeting(settings: Settings) -> None:
    async with talking(settings) as talk:
        await update(talk, instructions="Greet the user first.", output_modalities=["text"])
        assert text_of(await talk.answer()) == GREETING


@feature("transcription session")
async def transcription_session(settings: Settings) -> None:
    async with talking(settings, extra_query={"intent": "transcription"}) as talk:
        await talk.until("session.created")
        transcription = {"model": "gpt-4o-transcribe"}
        detection = {"type": "server_vad", "silence_duration_ms": 400}
        await talk.connection.session.update(
            session={
                "type": "transcription",
                "audio": {"input": {"transcription": transcription, "turn_detection": detection}},
            }
        )
        assert (await talk.until("session.updated")).session.type == "transcription"
        async with talk.speaking(settings.speech):
            heard = await talk.until("conversation.item.input_audio_transcription.completed")
        assert heard.transcript.lower() == QUESTION
        assert talk.of("response.created") == []


@feature("client secret")
async def client_secret(settings: Settings) -> None:
    async with client_for(settings) as client:
        secret = await client.realtime.client_secrets.create(
            session={"type": "realtime", "instructions": "Greet the user first.", "output_modalities": ["text"]}
        )
    assert secret.value.startswith("ek_")
    async with talking(settings, secret.value) as talk:
        assert talk.of("session.created")[0].session.instructions == "Greet the user first."
        assert text_of(await talk.answer()) == GREETING


@feature("idle timeout")
async def idle_timeout(settings: Settings) -> None:
    async with talking(settings) as talk:
        detection = {"type": "server_vad", "silence_duration_ms": 400, "idle_timeout_ms": 5000}
        await update(talk, audio={"input": {"turn_detection": detection}})
        async with talk.speaking(b""):
            await talk.write("What time is it?")
            await talk.answer()
            await talk.until("input_audio_buffer.timeout_triggered")
            assert (await talk.until("response.done", 2)).response.status == "completed"


@feature("MCP tool")
async def mcp_tool(settings: Settings) -> None:
    async with talking(settings) as talk:
        tool = {"type": "mcp", "server_label": "orders", "server_url": settings.mcp_url, "require_approval": "never"}
        await update(talk, tools=[tool], output_modalities=["text"])
        await talk.until("mcp_list_tools.completed")
        await talk.write(MCP_REQUEST)
        await talk.connection.response.create()
        await talk.until("response.mcp_call.completed")


@feature("TLS")
async def tls(settings: Settings) -> None:
    trusted = ssl.create_default_context(cafile=settings.certificate)
    async with (
        AsyncOpenAI(base_url=settings.tls_url, api_key="none") as client,
        client.realtime.connect(model="repartee", websocket_connection_options={"ssl": trusted}) as connection,
    ):
        talk = Talk(connection)
        await talk.write("What time is it?")
        assert text_of(await talk.answer(output_modalities=["text"])) == ANSWER


if __name__ == "__main__":
    run_features()
