"""The realtime session of pydantic-ai as a client program (see reporting.py)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent, BinaryImage
from pydantic_ai.messages import (
    FunctionToolResultEvent,
    RealtimeInputSpeechStartEvent,
    RealtimeSessionErrorEvent,
    SpeechPart,
    TextPart,
)
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.realtime import RealtimeSession
from pydantic_ai.realtime.openai import OpenAIRealtimeModel
from reporting import (
    ANSWER,
    GREETING,
    IMAGE_ANSWER,
    LAMP_ANSWER,
    LAMP_REQUEST,
    PIXEL,
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


class Talk:
    """A session, its events, and its sound, which is played in real time."""

    def __init__(self, session: RealtimeSession) -> None:
        self.session = session
        self.events: list[Any] = []
        self.played_bytes = 0

    async def listen(self) -> None:
        async for event in self.session:
            self.events.append(event)

    async def play(self) -> None:
        async for part in self.session.stream_audio():
            await asyncio.sleep(len(part) / (2 * RATE_HZ))
            self.played_bytes += len(part)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def _failure(self) -> Exception | None:
        errors = self.of(RealtimeSessionErrorEvent)
        return RefusedError(f"{errors[0].code}: {errors[0].message}") if errors else None

    async def until(self, holds: Callable[[], Any]) -> Any:
        return await until(holds, self._failure)

    def spoken(self, speaker: str) -> list[SpeechPart]:
        parts = [part for message in self.session.all_messages() for part in message.parts]
        return [part for part in parts if isinstance(part, SpeechPart) and part.speaker == speaker]

    def said(self, speaker: str) -> str:
        """Returns the last words of a speaker in the history."""
        return (self.spoken(speaker)[-1].transcript or "") if self.spoken(speaker) else ""


@asynccontextmanager
async def talking(
    settings: Settings,
    agent: Agent[None, str] | None = None,
    *,
    url: str = "",
    handle_barge_in: bool = False,
    **options: Any,
) -> AsyncIterator[Talk]:
    model = OpenAIRealtimeModel("gpt-realtime", provider=OpenAIProvider(base_url=url or settings.url, api_key="none"))
    realtime = (agent or Agent(instructions="Be brief.")).realtime(model, model_settings=options)
    async with realtime.session(handle_barge_in=handle_barge_in) as session:
        talk = Talk(session)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one) for one in (talk.listen(), talk.play())]
            yield talk
            for task in running:
                task.cancel()


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings, output_modality="text") as talk:
        await talk.session.send("What time is it?")
        await talk.session.wait_for_reply()
        (part,) = talk.session.all_messages()[-1].parts
        assert isinstance(part, TextPart)
        assert part.content == ANSWER


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings) as talk:
        speaking = asyncio.create_task(say(settings.speech, talk.session.send_audio))
        await talk.until(lambda: talk.said("user").lower() == QUESTION and talk.said("assistant") == ANSWER)
        await talk.until(lambda: talk.played_bytes > 12_000)
        assert len(talk.spoken("user")) == 1
        speaking.cancel()


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("function call")
async def function_call(settings: Settings) -> None:
    agent = Agent(instructions="Be brief.")

    @agent.tool_plain
    def set_lamp(on: bool) -> str:
        """Switches the lamp."""
        return "done" if on else "off"

    async with talking(settings, agent) as talk:
        await talk.session.send(LAMP_REQUEST)
        (result,) = await talk.until(lambda: talk.of(FunctionToolResultEvent))
        assert result.part.content == "done"
        await talk.until(lambda: talk.said("assistant") == LAMP_ANSWER)


@feature("interruption")
async def interruption(settings: Settings) -> None:
    """The session truncates the reply at its playback position as soon as it is told of the user's speech."""
    async with talking(settings, handle_barge_in=True) as talk:
        await talk.session.send(STORY_REQUEST)
        await talk.until(lambda: talk.played_bytes > RATE_HZ)
        speaking = asyncio.create_task(say(settings.speech, talk.session.send_audio))
        await talk.until(lambda: talk.of(RealtimeInputSpeechStartEvent))
        await talk.until(lambda: talk.said("assistant") == ANSWER)
        assert talk.spoken("assistant")[0].interrupted_at_ms
        speaking.cancel()


@feature("truncation by the client")
async def truncation(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.session.send(STORY_REQUEST)
        await talk.until(lambda: talk.played_bytes > RATE_HZ)
        assert await talk.session.interrupt(played_bytes=talk.played_bytes)
        await talk.until(lambda: talk.spoken("assistant"))
        assert 500 <= talk.spoken("assistant")[0].interrupted_at_ms <= 2000
        await talk.session.send("What time is it?")
        await talk.until(lambda: talk.said("assistant") == ANSWER)


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    options = {
        "openai_voice": "ash",
        "openai_output_speed": 1.2,
        "openai_input_noise_reduction": "near_field",
        "openai_turn_detection": {"type": "semantic_vad", "eagerness": "high"},
        "openai_truncation": {"type": "retention_ratio", "retention_ratio": 0.8},
        "input_transcription_model": "gpt-4o-mini-transcribe",
        "max_tokens": 200,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "thinking": "low",
    }
    async with talking(settings, **options) as talk:
        await talk.session.send("What time is it?")
        await talk.until(lambda: talk.said("assistant") == ANSWER)


@feature("image")
async def image(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.session.send(BinaryImage.from_data_uri(PIXEL), respond=True)
        await talk.until(lambda: talk.said("assistant") == IMAGE_ANSWER)


@feature("turns by the client")
async def turns_by_client(settings: Settings) -> None:
    async with talking(settings, turn_detection=False) as talk:
        speaking = asyncio.create_task(say(settings.speech, talk.session.send_audio))
        await asyncio.sleep(2.2)
        speaking.cancel()
        await talk.session.commit_audio()
        await talk.session.create_response()
        await talk.until(lambda: talk.said("user").lower() == QUESTION and talk.said("assistant") == ANSWER)


@feature("greeting")
async def greeting(settings: Settings) -> None:
    async with talking(settings, Agent(instructions="Greet the user first.")) as talk:
        await talk.session.create_response()
        await talk.until(lambda: talk.said("assistant") == GREETING)


@feature("TLS")
async def tls(settings: Settings) -> None:
    async with talking(settings, url=settings.tls_url) as talk:
        await talk.session.send("What time is it?")
        await talk.until(lambda: talk.said("assistant") == ANSWER)


if __name__ == "__main__":
    run_features()
