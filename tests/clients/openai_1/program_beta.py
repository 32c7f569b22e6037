"""The beta interface of the openai SDK 1.109 as a client program (see reporting.py)."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openai import AsyncOpenAI
from openai_talk import Talk, text_of
from reporting import (
    ANSWER,
    GREETING,
    LAMP,
    LAMP_ANSWER,
    LAMP_REQUEST,
    QUESTION,
    STORY_REQUEST,
    Settings,
    feature,
    run_features,
)


@asynccontextmanager
async def talking(settings: Settings, key: str = "none") -> AsyncIterator[Talk]:
    async with (
        AsyncOpenAI(base_url=settings.url, websocket_base_url=settings.websocket_url, api_key=key) as client,
        client.beta.realtime.connect(model="repartee") as connection,
    ):
        talk = Talk(connection)
        await talk.until("session.created")
        yield talk


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write("What time is it?")
        done = await talk.answer()
        assert (done.status, text_of(done)) == ("completed", ANSWER)


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings) as talk, talk.speaking(settings.speech):
        done = (await talk.until("response.done")).response
        assert (done.status, text_of(done)) == ("completed", ANSWER)
        heard = talk.of("conversation.item.input_audio_transcription.completed")[0]
        assert heard.transcript.lower() == QUESTION


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("function call")
async def function_call(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.connection.session.update(session={"tools": [LAMP]})
        await talk.until("session.updated")
        await talk.write(LAMP_REQUEST)
        call = (await talk.answer()).output[0]
        assert (call.type, call.name, call.arguments) == ("function_call", "set_lamp", '{"on": true}')
        await talk.send_output(call.call_id, "done")
        assert text_of(await talk.answer(2)) == LAMP_ANSWER


@feature("interruption")
async def interruption(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write(STORY_REQUEST)
        await talk.connection.response.create()
        await talk.until("response.audio.delta", 5)
        async with talk.speaking(settings.speech):
            done = (await talk.until("response.done")).response
            assert (await talk.until("conversation.item.truncated")).item_id == done.output[0].id


@feature("truncation by the client")
async def truncation(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write(STORY_REQUEST)
        await talk.connection.response.create()
        sound = await talk.until("response.audio.delta", 12)
        await talk.connection.conversation.item.truncate(item_id=sound.item_id, content_index=0, audio_end_ms=400)
        assert (await talk.until("conversation.item.truncated")).audio_end_ms == 400
        await talk.connection.response.cancel()
        assert (await talk.until("response.done")).response.status == "cancelled"


@feature("retrieval")
async def retrieval(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write("What time is it?", id="mine")
        await talk.connection.conversation.item.retrieve(item_id="mine")
        assert (await talk.until("conversation.item.retrieved")).item.content[0].text == "What time is it?"


@feature("greeting")
async def greeting(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.connection.session.update(session={"instructions": "Greet the user first."})
        await talk.until("session.updated")
        assert text_of(await talk.answer()) == GREETING


@feature("client secret")
async def client_secret(settings: Settings) -> None:
    async with AsyncOpenAI(base_url=settings.url, api_key="none", max_retries=0) as client:
        created = await client.beta.realtime.sessions.create(instructions="Be brief.")
    async with talking(settings, created.client_secret.value) as talk:
        assert talk.of("session.created")[0].session.instructions == "Be brief."


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    """Uses the field names of the beta protocol."""
    async with talking(settings) as talk:
        await talk.connection.session.update(
            session={"instructions": "Be brief.", "modalities": ["text"], "turn_detection": {"type": "server_vad"}}
        )
        session = (await talk.until("session.updated")).session
        assert session.instructions == "Be brief."
        await talk.write("What time is it?")
        await talk.answer()  # reads errors too


@feature("TLS")
async def tls(settings: Settings) -> None:
    trusted = ssl.create_default_context(cafile=settings.certificate)
    async with (
        AsyncOpenAI(base_url=settings.tls_url, api_key="none") as client,
        client.beta.realtime.connect(model="repartee", websocket_connection_options={"ssl": trusted}) as connection,
    ):
        talk = Talk(connection)
        await talk.write("What time is it?")
        assert text_of(await talk.answer()) == ANSWER


if __name__ == "__main__":
    run_features()
