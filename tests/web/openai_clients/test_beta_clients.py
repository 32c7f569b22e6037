"""Clients of the protocol's beta: their fields and events are understood, and they get the beta's events."""

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from support.protocol.wire_client import REPLY, SERVICE, Client
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    session_server,
    settings_for,
)
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from assistant.events import ChunkSpoken, ReplyStarted
from assistant.history.items import AssistantMessage, ItemId, UserMessage
from web.wire.incoming.commands import CreateItem, CreateResponse, RetrieveItem, UpdateSession
from web.wire.realtime import Realtime
from web.wire.values.session_config import AudioFormat, ServerVad, SessionConfig

BETA = {"OpenAI-Beta": "realtime=v1"}
SESSION = {
    "modalities": ["text"],
    "voice": "alloy",
    "input_audio_format": "g711_ulaw",
    "output_audio_format": "g711_alaw",
    "input_audio_transcription": {"model": "whisper-1"},
    "input_audio_noise_reduction": None,
    "turn_detection": {"type": "server_vad", "silence_duration_ms": 400},
    "temperature": 0.8,
    "max_response_output_tokens": 300,
    "speed": 1.1,
    "instructions": "Be brief.",
}


def serve(folder: Path) -> AbstractAsyncContextManager[SessionServer]:
    """Runs a server with scripted engines."""
    return session_server(ScriptedEngineLoader(settings_for(folder), {}))


async def posted(server: SessionServer, path: str, body: dict[str, Any]) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{server.port}") as client:
        return await client.post(path, json=body, timeout=20)


def beta_wire() -> Realtime:
    return Realtime(SessionConfig(voice="amy", beta=True), SERVICE, session_id="s1")


def sent(wire: Realtime) -> list[dict[str, Any]]:
    return [json.loads(text) for text in wire.to_send()]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def test_fields_of_the_beta_take_effect_without_an_error() -> None:
    client = Client()
    assert client.send({"type": "session.update", "session": SESSION}) == []
    (command,) = client.commands
    assert isinstance(command, UpdateSession)
    config = command.config
    assert (config.modality, config.max_output_tokens, config.speed) == ("text", 300, 1.1)
    assert (config.input_format, config.output_format) == (AudioFormat.ULAW, AudioFormat.ALAW)
    assert isinstance(config.turn_detection, ServerVad)
    assert config.turn_detection.silence_duration_ms == 400


def test_response_with_fields_of_the_beta_is_made() -> None:
    client = Client()
    options = {"modalities": ["text", "audio"], "voice": "amy", "output_audio_format": "pcm16", "temperature": 0.7}
    assert client.send({"type": "response.create", "response": options}) == []
    (command,) = client.commands
    assert isinstance(command, CreateResponse)
    assert (command.options.modality, command.options.output_format) == ("audio", AudioFormat.PCM)


def test_transcription_update_of_the_beta_begins_a_transcription_session() -> None:
    client = Client()
    session = {"input_audio_format": "pcm16", "input_audio_transcription": {"model": "whisper-1"}}
    assert client.send({"type": "transcription_session.update", "session": session}) == []
    assert client.wire.config.kind == "transcription"


def test_text_part_of_the_beta_is_a_message_of_the_assistant() -> None:
    client = Client()
    item = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Noon."}]}
    assert client.send({"type": "conversation.item.create", "item": item}) == []
    (command,) = client.commands
    assert isinstance(command, CreateItem)
    assert command.item == AssistantMessage(ItemId(""), "Noon.")


def test_beta_client_gets_the_events_of_the_beta() -> None:
    wire = beta_wire()
    wire.begin([UserMessage(ItemId("item_u"), "what time is it", spoken=False)])
    created, item = sent(wire)
    session = created["session"]
    assert (session["modalities"], session["voice"]) == (["audio", "text"], "amy")
    assert (session["input_audio_format"], session["output_audio_format"]) == ("pcm16", "pcm16")
    assert not {"audio", "type", "output_modalities", "max_output_tokens"} & set(session)
    assert (item["type"], item["item"]["id"]) == ("conversation.item.created", "item_u")
    wire.on_event(ReplyStarted(REPLY, ItemId("item_a"), spoken=True))
    wire.on_event(ChunkSpoken(REPLY, "It is noon."))
    wire.sound(REPLY, np.zeros(2400, np.int16))
    wire.item_retrieved(RetrieveItem(None, ItemId("item_a")), AssistantMessage(ItemId("item_a"), "It is noon."))
    events = sent(wire)
    assert kinds(events) == [
        "response.created",
        "response.output_item.added",
        "conversation.item.created",
        "response.content_part.added",
        "response.audio_transcript.delta",
        "response.audio.delta",
        "conversation.item.retrieved",
    ]
    response = events[0]["response"]
    assert (response["modalities"], response["output_audio_format"]) == (["audio", "text"], "pcm16")
    assert events[-1]["item"]["content"] == [{"type": "audio", "transcript": "It is noon."}]


@pytest.mark.parametrize("how", ["header", "secret"])
async def test_beta_client_is_recognized_when_it_connects(how: str, tmp_path: Path) -> None:
    async with serve(tmp_path) as server:
        headers = {"header": BETA}
        if how == "secret":
            made = await posted(server, "/v1/realtime/sessions", SESSION)
            assert made.status_code == 200
            assert (made.json()["modalities"], made.json()["input_audio_format"]) == (["text"], "g711_ulaw")
            headers[how] = {"Authorization": f"Bearer {made.json()['client_secret']['value']}"}
        async with connected_client(server, headers[how]) as client:
            assert "modalities" in client.events_of("session.created")[0]["session"]
            content = [{"type": "input_text", "text": "What time is it?"}]
            await client.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
            await client.send("response.create", response={"modalities": ["text"], "temperature": 0.8})
            await client.until("response.text.done")
            done = await client.until("response.done")
            assert done["response"]["output"][0]["content"][0]["type"] == "text"
            assert not client.events_of("error")


async def test_browser_asks_for_the_beta_with_a_subprotocol(tmp_path: Path) -> None:
    async with serve(tmp_path) as server:
        protocols = [Subprotocol("realtime"), Subprotocol("openai-beta.realtime-v1")]
        async with connect(server.url(), subprotocols=protocols) as socket:
            assert "modalities" in json.loads(await socket.recv())["session"]


async def test_older_path_makes_secrets_of_transcription_sessions(tmp_path: Path) -> None:
    async with serve(tmp_path) as server:
        session = {"input_audio_format": "pcm16", "input_audio_transcription": {"model": "gpt-4o-transcribe"}}
        made = await posted(server, "/v1/realtime/transcription_sessions", session)
        assert made.status_code == 200
        assert made.json()["object"] == "realtime.transcription_session"
        key = {"Authorization": f"Bearer {made.json()['client_secret']['value']}"}
        async with connect(server.url(), additional_headers=key) as socket:
            client = RecordingClient(socket)
            await client.until("transcription_session.created")
            await client.send("transcription_session.update", session={"input_audio_format": "g711_ulaw"})
            updated = await client.until("transcription_session.updated")
            assert updated["session"]["input_audio_format"] == "g711_ulaw"


async def test_ids_differ_between_sessions(tmp_path: Path) -> None:
    async def ids_of(server: SessionServer) -> set[str]:
        async with connected_client(server) as client:
            content = [{"type": "input_text", "text": "What time is it?"}]
            await client.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
            await client.send("response.create", response={"output_modalities": ["text"]})
            done = await client.until("response.done")
            items = [event["item"]["id"] for event in client.events_of("conversation.item.added")]
            return {*items, done["response"]["id"], *(event["event_id"] for event in client.events)}

    async with serve(tmp_path) as server:
        assert not await ids_of(server) & await ids_of(server)
