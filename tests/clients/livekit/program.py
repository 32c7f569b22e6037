"""LiveKit's RealtimeModel as a client program (see reporting.py)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from livekit import rtc
from livekit.agents import llm
from livekit.plugins.openai import realtime
from openai.types.realtime import AudioTranscription
from openai.types.realtime.realtime_audio_input_turn_detection import SemanticVad
from reporting import (
    ANSWER,
    GREETING,
    IMAGE_ANSWER,
    LAMP_ANSWER,
    LAMP_REQUEST,
    QUESTION,
    RATE_HZ,
    STORY_REQUEST,
    RefusedError,
    Settings,
    feature,
    run_features,
    say,
    until,
)


class Generation:
    """A response, as LiveKit gives it out."""

    def __init__(self, event: llm.GenerationCreatedEvent) -> None:
        self.event = event
        self.text = ""
        self.message_id = ""
        self.samples = 0
        self.calls: list[llm.FunctionCall] = []
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async def calls() -> None:
            async for call in self.event.function_stream:
                self.calls.append(call)

        async with asyncio.TaskGroup() as group:
            group.create_task(calls())
            async for message in self.event.message_stream:
                self.message_id = message.message_id
                group.create_task(self._text(message))
                group.create_task(self._sound(message))

    async def _text(self, message: llm.MessageGeneration) -> None:
        async for part in message.text_stream:
            self.text += part

    async def _sound(self, message: llm.MessageGeneration) -> None:
        async for frame in message.audio_stream:
            self.samples += frame.samples_per_channel


class Talk:
    """A session and its events."""

    def __init__(self, session: realtime.RealtimeSession) -> None:
        self.session = session
        self.events: list[dict[str, Any]] = []
        self.generations: list[Generation] = []
        self.failed: Exception | None = None
        session.on("openai_server_event_received", self._received)
        session.on("generation_created", lambda event: self.generations.append(Generation(event)))
        session.on("error", self._error)

    def _received(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        # A refused item is only logged by LiveKit.
        if event["type"] == "error" and event["error"]["code"] != "response_cancel_not_active":
            self.failed = RefusedError(f"{event['error']['code']}: {event['error']['param']}")

    def _error(self, error: Any) -> None:
        self.failed = self.failed or AssertionError(str(error))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Waits until a condition holds. Returns its value; raises at an error."""
        return await until(holds, lambda: self.failed)

    async def write(self, text: str) -> None:
        context = self.session.chat_ctx
        context.add_message(role="user", content=text)
        await self.session.update_chat_ctx(context)

    async def answer(self, **options: Any) -> Generation:
        """Requests a reply. Returns it when it is complete."""
        before = len(self.generations)
        created = self.session.generate_reply(**options)
        await self.until(created.done)
        generation: Generation = (await self.until(lambda: self.generations[before:]))[0]
        await self.until(generation.task.done)
        return generation

    async def speak(self, speech: bytes) -> None:
        async def push(part: bytes) -> None:
            self.session.push_audio(rtc.AudioFrame(part, RATE_HZ, 1, len(part) // 2))

        await say(speech, push)


@asynccontextmanager
async def talking(
    settings: Settings, *, url: str = "", instructions: str = "Be brief.", **options: Any
) -> AsyncIterator[Talk]:
    async with aiohttp.ClientSession() as http:
        model = realtime.RealtimeModel(
            base_url=url or settings.url, api_key="none", model="gpt-realtime", http_session=http, **options
        )
        talk = Talk(model.session())
        try:
            await talk.session.update_instructions(instructions)
            yield talk
        finally:
            await talk.session.aclose()
            await model.aclose()


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings, modalities=["text"]) as talk:
        await talk.write("What time is it?")
        assert (await talk.answer()).text == ANSWER


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        (generation,) = await talk.until(lambda: talk.generations)
        await talk.until(generation.task.done)
        assert generation.text == ANSWER
        assert generation.samples > 6000
        speaking.cancel()
        heard = talk.of("conversation.item.input_audio_transcription.completed")[0]
        assert heard["transcript"].lower() == QUESTION


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("function call")
async def function_call(settings: Settings) -> None:
    @llm.function_tool
    async def set_lamp(on: bool) -> str:
        """Switches the lamp."""
        return "done"

    async with talking(settings) as talk:
        await talk.session.update_tools([set_lamp])
        await talk.write(LAMP_REQUEST)
        (call,) = (await talk.answer()).calls
        assert (call.name, call.arguments) == ("set_lamp", '{"on": true}')
        context = talk.session.chat_ctx
        output = llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output="done", is_error=False)
        context.items.append(output)
        await talk.session.update_chat_ctx(context)
        assert (await talk.answer()).text == LAMP_ANSWER


@feature("interruption")
async def interruption(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write(STORY_REQUEST)
        talk.session.generate_reply()
        (generation,) = await talk.until(lambda: talk.generations)
        await talk.until(lambda: generation.samples > RATE_HZ)
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await talk.until(lambda: talk.of("input_audio_buffer.speech_started"))
        talk.session.interrupt()
        talk.session.truncate(message_id=generation.message_id, modalities=["audio"], audio_end_ms=500)
        await talk.until(lambda: len(talk.generations) > 1 and talk.generations[1].task.done())
        assert talk.generations[1].text == ANSWER
        speaking.cancel()


@feature("truncation by the client")
async def truncation(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.write(STORY_REQUEST)
        talk.session.generate_reply()
        (generation,) = await talk.until(lambda: talk.generations)
        await talk.until(lambda: generation.samples > RATE_HZ)
        talk.session.interrupt()
        talk.session.truncate(message_id=generation.message_id, modalities=["audio"], audio_end_ms=500)
        cuts = await talk.until(lambda: talk.of("conversation.item.truncated"))
        assert cuts[-1]["audio_end_ms"] <= 500
        await talk.until(generation.task.done)


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    options = {
        "voice": "ash",
        "speed": 1.2,
        "turn_detection": SemanticVad(type="semantic_vad", eagerness="high", interrupt_response=True),
        "input_audio_transcription": AudioTranscription(model="gpt-4o-mini-transcribe"),
        "input_audio_noise_reduction": "near_field",
        "tool_choice": "auto",
    }
    async with talking(settings, **options) as talk:
        (updated, *_) = await talk.until(lambda: talk.of("session.updated"))
        assert updated["session"]["audio"]["output"]["speed"] == 1.2
        assert updated["session"]["audio"]["input"]["turn_detection"]["eagerness"] == "high"
        talk.session.update_options(tool_choice="none")
        await talk.until(lambda: talk.of("session.updated")[-1]["session"]["tool_choice"] == "none")


@feature("image")
async def image(settings: Settings) -> None:
    async with talking(settings) as talk:
        frame = rtc.VideoFrame(16, 16, rtc.VideoBufferType.RGBA, bytes([255, 0, 0, 255]) * 256)
        talk.session.push_video(frame)
        assert (await talk.answer()).text == IMAGE_ANSWER


@feature("turns by the client")
async def turns_by_client(settings: Settings) -> None:
    async with talking(settings, turn_detection=None) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await asyncio.sleep(2.2)
        speaking.cancel()
        talk.session.commit_audio()
        assert (await talk.answer()).text == ANSWER


@feature("greeting")
async def greeting(settings: Settings) -> None:
    async with talking(settings) as talk:
        assert (await talk.answer(instructions="Greet the user.")).text == GREETING


@feature("TLS")
async def tls(settings: Settings) -> None:
    async with talking(settings, url=settings.tls_url) as talk:
        await talk.write("What time is it?")
        assert (await talk.answer()).text == ANSWER


if __name__ == "__main__":
    run_features()
