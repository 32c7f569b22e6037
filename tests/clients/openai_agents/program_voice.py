"""The VoicePipeline of openai-agents as a client program (see reporting.py).

It uses the server as recognizer and as voice. The answers are made in the program.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from agents.voice import (
    AudioInput,
    OpenAIVoiceModelProvider,
    StreamedAudioInput,
    STTModelSettings,
    TTSModelSettings,
    VoicePipeline,
    VoicePipelineConfig,
    VoiceWorkflowBase,
)
from reporting import ANSWER, GREETING, QUESTION, Settings, feature, run_features, say, until


class Workflow(VoiceWorkflowBase):
    """Answers each turn with the same words."""

    def __init__(self, greeting: str) -> None:
        self.greeting = greeting
        self.heard: list[str] = []

    async def on_start(self) -> AsyncIterator[str]:
        if self.greeting:
            yield self.greeting

    async def run(self, transcription: str) -> AsyncIterator[str]:
        self.heard.append(transcription.lower())
        yield ANSWER


@dataclass
class Outcome:
    """The samples of the answers, and how many answers there were."""

    samples: int = 0
    turns: int = 0

    async def read(self, result: Any) -> None:
        async for event in result.stream():
            if event.type == "voice_stream_event_audio":
                self.samples += len(event.data)
            elif event.type == "voice_stream_event_error":
                raise event.error
            elif event.event == "turn_ended":
                self.turns += 1


def pipeline_for(settings: Settings, workflow: Workflow, **options: Any) -> VoicePipeline:
    provider = OpenAIVoiceModelProvider(api_key="none", base_url=settings.url)
    config = VoicePipelineConfig(model_provider=provider, tracing_disabled=True, **options)
    return VoicePipeline(workflow=workflow, config=config)


async def talk(settings: Settings, turns: int, greeting: str = "", **options: Any) -> tuple[Workflow, Outcome]:
    """Says the question until there have been so many turns, then ends the stream."""
    workflow, microphone, outcome = Workflow(greeting), StreamedAudioInput(), Outcome()
    result = await pipeline_for(settings, workflow, **options).run(microphone)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(outcome.read(result))
        speaking = tasks.create_task(
            say(settings.speech, lambda part: microphone.add_audio(np.frombuffer(part, np.int16)))
        )
        await until(lambda: outcome.turns == turns or reading.done())
        speaking.cancel()
        await microphone.add_audio(None)
        await reading
    return workflow, outcome


@feature("speech")
async def speech(settings: Settings) -> None:
    workflow, outcome = await talk(settings, 1)
    assert workflow.heard == [QUESTION]
    assert outcome.samples > 6000


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    workflow, outcome = await talk(
        settings,
        1,
        stt_settings=STTModelSettings(
            prompt="A question about the time.",
            language="en",
            keywords=["time"],
            temperature=0.2,
            turn_detection={"type": "server_vad", "silence_duration_ms": 400},
        ),
        tts_settings=TTSModelSettings(voice="ash", speed=1.2, instructions="Speak slowly."),
    )
    assert workflow.heard == [QUESTION]
    assert outcome.samples > 6000


@feature("turns by the client")
async def turns_by_client(settings: Settings) -> None:
    """The recording is one turn."""
    workflow, outcome = Workflow(""), Outcome()
    recording = AudioInput(buffer=np.frombuffer(settings.speech, np.int16))
    await outcome.read(await pipeline_for(settings, workflow).run(recording))
    assert workflow.heard == [QUESTION]
    assert outcome.samples > 6000


@feature("greeting")
async def greeting(settings: Settings) -> None:
    workflow, outcome = await talk(settings, 2, GREETING)
    assert workflow.heard == [QUESTION]
    assert outcome.turns == 2


@feature("TLS")
async def tls(settings: Settings) -> None:
    workflow, _outcome = await talk(settings.with_tls, 1)
    assert workflow.heard == [QUESTION]


if __name__ == "__main__":
    run_features()
