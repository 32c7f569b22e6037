"""The realtime session of openai-agents as a client program (see reporting.py)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from agents import GuardrailFunctionOutput, OutputGuardrail, function_tool
from agents.realtime import OpenAIRealtimeWebSocketModel, RealtimeAgent, RealtimeRunner, realtime_handoff
from agents.realtime.model_inputs import RealtimeModelSendRawMessage
from reporting import (
    ANSWER,
    GREETING,
    IMAGE_ANSWER,
    LAMP_ANSWER,
    LAMP_REQUEST,
    PIXEL,
    QUESTION,
    SILENCE,
    STORY_REQUEST,
    RefusedError,
    Settings,
    feature,
    run_features,
    say,
)


class Talk:
    """A session and its events."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.events: list[Any] = []
        self.failed: Exception | None = None
        self._came = asyncio.Event()

    async def listen(self) -> None:
        async for event in self.session:
            self.events.append(event)
            if event.type == "error":
                error = event.error
                code = getattr(error, "code", None)
                param = getattr(error, "param", None)
                self.failed = RefusedError(f"{code}: {param}") if code else AssertionError(str(error))
            self._came.set()

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def raw(self, kind: str) -> list[Any]:
        """Returns the server's own events of a type."""
        data = [event.data.data for event in self.of("raw_model_event") if event.data.type == "raw_server_event"]
        return [event for event in data if event["type"] == kind]

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Waits until a condition holds. Returns its value; raises at an error."""
        while not (value := holds()):
            if self.failed is not None:
                raise self.failed
            self._came.clear()
            await self._came.wait()
        if self.failed is not None:
            raise self.failed
        return value

    def said(self, role: str) -> str:
        """Returns the last message of a role in the history."""
        history = self.of("history_updated")[-1].history if self.of("history_updated") else []
        parts = [part for item in history if item.type == "message" and item.role == role for part in item.content]
        return (getattr(parts[-1], "transcript", None) or getattr(parts[-1], "text", None) or "") if parts else ""

    async def speak(self, speech: bytes) -> None:
        await say(speech, self.session.send_audio)


@asynccontextmanager
async def talking(
    settings: Settings, agent: RealtimeAgent, *, url: str = "", guardrails: list[Any] | None = None, **options: Any
) -> AsyncIterator[Talk]:
    config: Any = {"tracing_disabled": True, "output_guardrails": guardrails or []}
    runner = RealtimeRunner(agent, model=OpenAIRealtimeWebSocketModel(), config=config)
    where = url or f"{settings.websocket_url}/realtime?model=repartee"
    model_config: Any = {"api_key": "none", "url": where, "initial_model_settings": options}
    async with await runner.run(model_config=model_config) as session, asyncio.TaskGroup() as tasks:
        talk = Talk(session)
        task = tasks.create_task(talk.listen())
        yield talk
        task.cancel()


def butler(**options: Any) -> RealtimeAgent:
    return RealtimeAgent(name="butler", instructions="Be brief.", **options)


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings, butler()) as talk:
        await talk.session.send_message("What time is it?")
        await talk.until(lambda: talk.of("audio_end"))
        await talk.until(lambda: talk.said("assistant") == ANSWER)


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings, butler()) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await talk.until(lambda: talk.of("audio_end"))
        await talk.until(lambda: talk.said("user").lower() == QUESTION and talk.said("assistant") == ANSWER)
        speaking.cancel()


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


@feature("function call")
async def function_call(settings: Settings) -> None:
    @function_tool
    def set_lamp(on: bool) -> str:
        """Switches the lamp."""
        return "done"

    async with talking(settings, butler(tools=[set_lamp])) as talk:
        await talk.session.send_message(LAMP_REQUEST)
        (ended,) = await talk.until(lambda: talk.of("tool_end"))
        assert (ended.tool.name, ended.output) == ("set_lamp", "done")
        await talk.until(lambda: talk.said("assistant") == LAMP_ANSWER)


@feature("interruption")
async def interruption(settings: Settings) -> None:
    async with talking(settings, butler()) as talk:
        await talk.session.send_message(STORY_REQUEST)
        await talk.until(lambda: len(talk.of("audio")) > 4)
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await talk.until(lambda: talk.of("audio_interrupted"))
        await talk.until(lambda: talk.raw("conversation.item.truncated"))
        await talk.until(lambda: talk.said("assistant") == ANSWER)
        speaking.cancel()


@feature("truncation by the client")
async def truncation(settings: Settings) -> None:
    async with talking(settings, butler()) as talk:
        await talk.session.send_message(STORY_REQUEST)
        await talk.until(lambda: len(talk.of("audio")) > 4)
        await talk.session.interrupt()
        await talk.until(lambda: talk.of("audio_interrupted"))
        await talk.until(lambda: talk.raw("response.done"))


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    options = {
        "model_name": "gpt-realtime-2",
        "voice": "ash",
        "speed": 1.2,
        "input_audio_format": "g711_ulaw",
        "output_audio_format": "g711_ulaw",
        "turn_detection": {"type": "semantic_vad", "eagerness": "high", "interrupt_response": True},
        "input_audio_transcription": {"model": "gpt-4o-mini-transcribe"},
        "input_audio_noise_reduction": {"type": "near_field"},
        "tool_choice": "auto",
    }
    async with talking(settings, butler(), **options) as talk:
        (updated, *_) = await talk.until(lambda: talk.raw("session.updated"))
        assert updated["session"]["audio"]["input"]["format"]["type"] == "audio/pcmu"
        assert updated["session"]["audio"]["output"]["speed"] == 1.2
        assert updated["session"]["instructions"] == "Be brief."


@feature("image")
async def image(settings: Settings) -> None:
    async with talking(settings, butler()) as talk:
        content = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": PIXEL}]
        await talk.session.send_message({"type": "message", "role": "user", "content": content})
        await talk.until(lambda: talk.said("assistant") == IMAGE_ANSWER)


@feature("turns by the client")
async def turns_by_client(settings: Settings) -> None:
    async with talking(settings, butler(), turn_detection=None) as talk:
        await talk.until(lambda: talk.raw("session.updated"))
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await asyncio.sleep(2.2)
        speaking.cancel()
        await talk.session.send_audio(SILENCE, commit=True)
        await talk.session.model.send_event(_raw("response.create"))
        await talk.until(lambda: talk.said("assistant") == ANSWER)


@feature("greeting")
async def greeting(settings: Settings) -> None:
    agent = RealtimeAgent(name="host", instructions="Greet the user first.")
    async with talking(settings, agent) as talk:
        await talk.session.model.send_event(_raw("response.create"))
        await talk.until(lambda: talk.said("assistant") == GREETING)


@feature("handoff")
async def handoff(settings: Settings) -> None:
    accountant = RealtimeAgent(name="accountant", instructions="Answer questions about bills.")
    async with talking(settings, butler(handoffs=[realtime_handoff(accountant)])) as talk:
        await talk.session.send_message("What about my bill?")
        (handed,) = await talk.until(lambda: talk.of("handoff"))
        assert (handed.from_agent.name, handed.to_agent.name) == ("butler", "accountant")
        await talk.until(lambda: len(talk.of("audio_end")) >= 1 and talk.said("assistant"))


@feature("guardrail")
async def guardrail(settings: Settings) -> None:
    async def no_passwords(_context: Any, _agent: Any, output: str) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info={}, tripwire_triggered="swordfish" in output)

    guard = OutputGuardrail(guardrail_function=no_passwords, name="no passwords")
    async with talking(settings, butler(), guardrails=[guard]) as talk:
        await talk.session.send_message("What is the password?")
        await talk.until(lambda: talk.of("guardrail_tripped"))
        await talk.until(lambda: talk.of("audio_interrupted"))
        await talk.until(lambda: len(talk.raw("response.done")) >= 2)  # the reply to the guardrail's own message


@feature("TLS")
async def tls(settings: Settings) -> None:
    url = f"{settings.tls_url.replace('https', 'wss')}/realtime?model=repartee"
    async with talking(settings, butler(), url=url) as talk:
        await talk.session.send_message("What time is it?")
        await talk.until(lambda: talk.said("assistant") == ANSWER)


def _raw(kind: str) -> Any:
    return RealtimeModelSendRawMessage(message={"type": kind})


if __name__ == "__main__":
    run_features()
