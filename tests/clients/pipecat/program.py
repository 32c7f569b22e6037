"""Pipecat's OpenAIRealtimeLLMService, in a pipeline, as a client program (see reporting.py)."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from loguru import logger
from pipecat.adapters.schemas.function_schema import FunctionSchema
from pipecat.adapters.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    Frame,
    FunctionCallResultFrame,
    InputAudioRawFrame,
    InputImageRawFrame,
    InterruptionFrame,
    LLMContextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.openai.realtime.events import (
    AudioConfiguration,
    AudioInput,
    InputAudioTranscription,
    SemanticTurnDetection,
    SessionProperties,
)
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner
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


class Recorder(FrameProcessor):
    """Records the frames that pass."""

    def __init__(self, frames: list[Frame]) -> None:
        super().__init__()
        self.frames = frames

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        self.frames.append(frame)
        await self.push_frame(frame, direction)


class Talk:
    """A running pipeline: context aggregators around the service, and recorders on both sides of it."""

    def __init__(
        self, settings: Settings, properties: SessionProperties, messages: list[Any], tools: Any, url: str
    ) -> None:
        self.frames: list[Frame] = []
        self.items: list[Any] = []
        self.context = LLMContext(messages, **({"tools": tools} if tools else {}))
        self.service = OpenAIRealtimeLLMService(
            api_key="none",
            base_url=f"{url or settings.websocket_url}/realtime",
            settings=OpenAIRealtimeLLMService.Settings(session_properties=properties),
        )
        pair = LLMContextAggregatorPair(self.context)
        stages = [pair.user(), Recorder(self.frames), self.service, Recorder(self.frames), pair.assistant()]
        params = PipelineParams(audio_in_sample_rate=RATE_HZ, audio_out_sample_rate=RATE_HZ)
        self.worker = PipelineWorker(Pipeline(stages), params=params, cancel_on_idle_timeout=False, enable_rtvi=False)
        self.started = asyncio.Event()

        @self.worker.event_handler("on_pipeline_started")
        async def _started(_worker: Any, _frame: Any) -> None:
            self.started.set()

    def of(self, kind: type[Frame]) -> list[Any]:
        return [frame for frame in self.frames if isinstance(frame, kind)]

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Waits until a condition holds. Returns its value; raises at an error."""
        return await until(holds, self._failure)

    def _failure(self) -> Exception | None:
        if not (errors := self.of(ErrorFrame)):
            return None
        found = re.search(r"code='(\w+)'.*param='([^']*)'", errors[0].error)
        return RefusedError(f"{found[1]}: {found[2]}") if found else AssertionError(errors[0].error)

    def said(self, role: str) -> str:
        """Returns the last message of a role in the context."""
        texts = [message.get("content") for message in self.context.get_messages() if message.get("role") == role]
        return texts[-1] if texts and isinstance(texts[-1], str) else ""

    async def speak(self, speech: bytes) -> None:
        await say(speech, lambda part: self.worker.queue_frame(InputAudioRawFrame(part, RATE_HZ, 1)))

    async def respond(self) -> None:
        """Hands the context to the service, which then requests a response."""
        await self.worker.queue_frame(LLMContextFrame(self.context))


@asynccontextmanager
async def talking(
    settings: Settings, *said: str, tools: Any = None, url: str = "", instructions: str = "Be brief.", **properties: Any
) -> AsyncIterator[Talk]:
    transcription = AudioInput(transcription=InputAudioTranscription(), turn_detection=SemanticTurnDetection())
    properties.setdefault("audio", AudioConfiguration(input=transcription))
    messages = [{"role": "user", "content": text} for text in said]
    talk = Talk(settings, SessionProperties(instructions=instructions, **properties), messages, tools, url)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(talk.worker)
    running = asyncio.create_task(runner.run())
    try:
        await talk.started.wait()
        yield talk
        await talk.worker.queue_frame(EndFrame())
        await running
    finally:
        await talk.worker.cancel()
        running.cancel()


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings, "What time is it?") as talk:
        await talk.respond()
        await talk.until(lambda: talk.of(TTSStoppedFrame))
        await talk.until(lambda: talk.said("assistant") == ANSWER)


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await talk.until(lambda: talk.of(TTSStoppedFrame))
        (heard,) = talk.of(TranscriptionFrame)
        assert heard.text.lower() == QUESTION
        assert sum(len(frame.audio) for frame in talk.of(TTSAudioRawFrame)) > 12_000
        await talk.until(lambda: talk.said("assistant") == ANSWER)
        speaking.cancel()


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("function call")
async def function_call(settings: Settings) -> None:
    async def set_lamp(params: Any) -> None:
        await params.result_callback({"lamp": "done"})

    properties = {"on": {"type": "boolean"}}
    schema = FunctionSchema("set_lamp", "Switches the lamp.", properties, ["on"], handler=set_lamp)
    async with talking(settings, LAMP_REQUEST, tools=ToolsSchema(standard_tools=[schema])) as talk:
        await talk.respond()
        await talk.until(lambda: talk.of(FunctionCallResultFrame))
        await talk.until(lambda: talk.said("assistant") == LAMP_ANSWER)


@feature("interruption")
async def interruption(settings: Settings) -> None:
    """The service truncates the item that plays as soon as it is told of the user's speech."""
    async with talking(settings, STORY_REQUEST) as talk:
        await talk.respond()
        await talk.until(lambda: len(talk.of(TTSAudioRawFrame)) > 5)
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await talk.until(lambda: talk.of(InterruptionFrame))
        await talk.until(lambda: talk.said("assistant") == ANSWER)
        speaking.cancel()


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    audio = AudioConfiguration(
        input=AudioInput(
            transcription=InputAudioTranscription(), turn_detection=SemanticTurnDetection(eagerness="high")
        )
    )
    properties = {"audio": audio, "max_output_tokens": 200, "tool_choice": "auto"}
    async with talking(settings, "What time is it?", **properties) as talk:
        await talk.respond()
        await talk.until(lambda: talk.said("assistant") == ANSWER)


@feature("image")
async def image(settings: Settings) -> None:
    async with talking(settings) as talk:
        frame = InputImageRawFrame(image=bytes([255, 0, 0]) * 256, size=(16, 16), format="RGB")
        await talk.until(lambda: talk.service._api_session_ready)
        await talk.worker.queue_frame(frame)
        await asyncio.sleep(0.3)
        await talk.respond()
        await talk.until(lambda: talk.said("assistant") == IMAGE_ANSWER)


@feature("retrieval")
async def retrieval(settings: Settings) -> None:
    async with talking(settings, "What time is it?") as talk:
        ids: list[str] = []

        @talk.service.event_handler("on_conversation_item_created")
        async def _created(_service: Any, item_id: str, _item: Any) -> None:
            ids.append(item_id)

        await talk.respond()
        await talk.until(lambda: talk.said("assistant") == ANSWER)
        item = await talk.service.retrieve_conversation_item(ids[0])
        assert item.content[0].text == "What time is it?"


@feature("turns by the client")
async def turns_by_client(settings: Settings) -> None:
    audio = AudioConfiguration(input=AudioInput(transcription=InputAudioTranscription(), turn_detection=False))
    async with talking(settings, audio=audio) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await asyncio.sleep(2.2)
        speaking.cancel()
        await talk.worker.queue_frame(UserStoppedSpeakingFrame())
        await talk.until(lambda: talk.of(TTSStoppedFrame))
        assert talk.of(TranscriptionFrame)[0].text.lower() == QUESTION


@feature("greeting")
async def greeting(settings: Settings) -> None:
    async with talking(settings, instructions="Greet the user first.") as talk:
        await talk.respond()
        await talk.until(lambda: talk.said("assistant") == GREETING)


@feature("TLS")
async def tls(settings: Settings) -> None:
    async with talking(settings, "What time is it?", url=settings.tls_url.replace("https", "wss")) as talk:
        await talk.respond()
        await talk.until(lambda: talk.said("assistant") == ANSWER)


if __name__ == "__main__":
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    run_features()
