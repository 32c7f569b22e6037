"""The bidirectional agent of strands-agents as a client program (see reporting.py).

The package has no option for the server's address, so each model sets the package's own constant before it connects.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from reporting import (
    ANSWER,
    IMAGE_ANSWER,
    LAMP_ANSWER,
    LAMP_REQUEST,
    PIXEL,
    QUESTION,
    STORY_REQUEST,
    Settings,
    feature,
    run_features,
    say,
    until,
)
from strands import tool
from strands.bidi import BidiAgent
from strands.bidi.models.openai import realtime
from strands.bidi.types.events import (
    BidiAudioDeltaEvent,
    BidiBargeInEvent,
    BidiTextBlockEvent,
    BidiTranscriptBlockEvent,
)
from strands.bidi.types.media import AudioDelta
from strands.types.content import TextBlock
from strands.types.media import ImageBlock


class Model(realtime.OpenAIRealtimeModel):
    """The package's model, for a server at an address."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(model_id="gpt-realtime", api_key="none", **options)
        self.url = url

    async def start(self, *arguments: Any, **options: Any) -> None:
        realtime.OPENAI_REALTIME_URL = self.url  # read before anything else runs
        await super().start(*arguments, **options)


class Talk:
    """An agent that is connected, and its events."""

    def __init__(self, agent: BidiAgent) -> None:
        self.agent = agent
        self.events: list[Any] = []

    async def listen(self) -> None:
        async for event in self.agent.receive():
            self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def said(self, role: str) -> list[str]:
        return [event.transcript for event in self.of(BidiTranscriptBlockEvent) if event.role == role]

    async def speak(self, speech: bytes) -> None:
        await say(speech, lambda part: self.agent.send(AudioDelta(format="pcm", source={"bytes": part})))


@asynccontextmanager
async def talking(
    settings: Settings, *, url: str = "", tools: list[Any] | None = None, **options: Any
) -> AsyncIterator[Talk]:
    model = Model(f"{url or settings.websocket_url}/realtime", transcription_model_id="gpt-live-transcribe", **options)
    async with BidiAgent(model, tools=tools, system_prompt="Be brief.") as agent, asyncio.TaskGroup() as tasks:
        talk = Talk(agent)
        listening = tasks.create_task(talk.listen())
        yield talk
        listening.cancel()


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings, params={"output_modalities": ["text"]}) as talk:
        await talk.agent.send("What time is it?")
        (block,) = await until(lambda: talk.of(BidiTextBlockEvent))
        assert block.text == ANSWER


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        (answer,) = await until(lambda: talk.said("assistant"))
        (question,) = await until(lambda: talk.said("user"))
        assert (question.lower(), answer) == (QUESTION, ANSWER)
        assert sum(len(base64.b64decode(event.audio)) for event in talk.of(BidiAudioDeltaEvent)) > 12_000
        speaking.cancel()


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("function call")
async def function_call(settings: Settings) -> None:
    @tool
    def set_lamp(on: bool) -> str:
        """Switches the lamp."""
        return "done" if on else "off"

    async with talking(settings, tools=[set_lamp]) as talk:
        await talk.agent.send(LAMP_REQUEST)
        await until(lambda: LAMP_ANSWER in talk.said("assistant"))


@feature("interruption")
async def interruption(settings: Settings) -> None:
    """The package stops its playback only if speech cancels the response, so the response must last as it plays."""
    async with talking(settings, params={"repartee": {"events": True}}) as talk:
        await talk.agent.send(STORY_REQUEST)
        await until(lambda: len(talk.of(BidiAudioDeltaEvent)) > 4)
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await until(lambda: talk.of(BidiBargeInEvent))
        await until(lambda: talk.said("assistant")[-1:] == [ANSWER])
        speaking.cancel()


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    params = {
        "max_output_tokens": 200,
        "tool_choice": "auto",
        "audio": {
            "input": {
                "turn_detection": {"type": "server_vad", "silence_duration_ms": 400},
                "noise_reduction": {"type": "near_field"},
            },
            "output": {"speed": 1.2},
        },
    }
    async with talking(settings, voice="ash", params=params) as talk:
        await talk.agent.send("What time is it?")
        await until(lambda: talk.said("assistant") == [ANSWER])


@feature("image")
async def image(settings: Settings) -> None:
    async with talking(settings) as talk:
        pixel = base64.b64decode(PIXEL.partition(",")[2])
        await talk.agent.send([TextBlock("What is it?"), ImageBlock(format="png", source={"bytes": pixel})])
        await until(lambda: talk.said("assistant") == [IMAGE_ANSWER])


@feature("TLS")
async def tls(settings: Settings) -> None:
    async with talking(settings, url=settings.tls_url.replace("https", "wss")) as talk:
        await talk.agent.send("What time is it?")
        await until(lambda: talk.said("assistant") == [ANSWER])


if __name__ == "__main__":
    run_features()
