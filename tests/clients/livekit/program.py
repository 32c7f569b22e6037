"""LiveKit's AgentSession with its RealtimeModel, without a room, as a client program (see reporting.py)."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from livekit import rtc
from livekit.agents import Agent, AgentSession, function_tool, llm
from livekit.agents.voice import io
from livekit.plugins.openai import realtime
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
    Settings,
    feature,
    run_features,
    say,
    until,
)


class Microphone(io.AudioInput):
    """Gives the agent the frames of a queue."""

    def __init__(self) -> None:
        super().__init__(label="microphone")
        self.frames: asyncio.Queue[rtc.AudioFrame] = asyncio.Queue()

    async def __anext__(self) -> rtc.AudioFrame:
        return await self.frames.get()

    async def push(self, part: bytes) -> None:
        self.frames.put_nowait(rtc.AudioFrame(part, RATE_HZ, 1, len(part) // 2))


class Loudspeaker(io.AudioOutput):
    """Plays in real time, silently."""

    def __init__(self) -> None:
        super().__init__(label="loudspeaker", capabilities=io.AudioOutputCapabilities(pause=False), sample_rate=RATE_HZ)
        self._began_s: float | None = None
        self._length_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def played_s(self) -> float:
        return 0.0 if self._began_s is None else min(self._length_s, time.monotonic() - self._began_s)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        if self._began_s is None:
            self._began_s = time.monotonic()
            self.on_playback_started(created_at=time.time())
        self._length_s += frame.duration

    def flush(self) -> None:
        super().flush()
        if self._began_s is not None:
            self._timer = asyncio.get_running_loop().call_later(self._length_s - self.played_s, self._finish)

    def clear_buffer(self) -> None:
        if self._began_s is not None:
            self._finish(interrupted=True)

    def _finish(self, *, interrupted: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
        position, self._began_s, self._length_s, self._timer = self.played_s, None, 0.0, None
        self.on_playback_finished(playback_position=position, interrupted=interrupted)


class Talk:
    """An agent's session."""

    def __init__(self, session: AgentSession[None]) -> None:
        self.session = session
        self.microphone, self.loudspeaker = Microphone(), Loudspeaker()
        self.failed: Exception | None = None
        session.input.audio, session.output.audio = self.microphone, self.loudspeaker
        session.on("error", self._error)

    def _error(self, event: Any) -> None:
        self.failed = AssertionError(str(event.error))

    async def until(self, holds: Callable[[], Any]) -> Any:
        return await until(holds, lambda: self.failed)

    def said(self, role: str) -> list[llm.ChatMessage]:
        return [item for item in self.session.history.items if item.type == "message" and item.role == role]

    def last(self, role: str) -> str:
        return (self.said(role)[-1].text_content or "") if self.said(role) else ""

    async def speak(self, speech: bytes) -> None:
        await say(speech, self.microphone.push)

    async def tell_story(self) -> None:
        """Requests the long story, and waits until some of it has been played."""
        self.session.generate_reply(user_input=STORY_REQUEST)
        await self.until(lambda: self.loudspeaker.played_s > 1.0)


@asynccontextmanager
async def talking(
    settings: Settings, agent: Agent | None = None, *, url: str = "", turns: str = "realtime_llm", **options: Any
) -> AsyncIterator[Talk]:
    async with aiohttp.ClientSession() as http:
        model = realtime.RealtimeModel(
            base_url=url or settings.url, api_key="none", model="gpt-realtime", http_session=http, **options
        )
        # Without an echo there is no echo canceller that needs time at the beginning of a reply.
        async with AgentSession(
            llm=model, turn_handling={"turn_detection": turns}, aec_warmup_duration=None
        ) as session:
            talk = Talk(session)
            await session.start(agent or Agent(instructions="Be brief."))
            yield talk


@feature("text")
async def text(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.session.generate_reply(user_input="What time is it?")
        assert talk.last("assistant") == ANSWER


@feature("speech")
async def speech(settings: Settings) -> None:
    async with talking(settings) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await talk.until(lambda: talk.loudspeaker.played_s > 0.25)
        await talk.until(lambda: talk.last("user").lower() == QUESTION and talk.last("assistant") == ANSWER)
        assert len(talk.said("user")) == 1
        speaking.cancel()


@feature("stalled network")
async def stalled_network(settings: Settings) -> None:
    await speech(settings.stalled)


class Butler(Agent):
    """An agent with a lamp, which can hand over to another."""

    @function_tool
    async def set_lamp(self, on: bool) -> str:
        """Switches the lamp."""
        return "done" if on else "off"

    @function_tool
    async def transfer_to_accountant(self) -> Agent:
        """Hands over."""
        return Accountant(instructions="Answer questions about bills.")


class Accountant(Agent):
    """Answers as soon as it takes over."""

    async def on_enter(self) -> None:
        self.session.generate_reply()


@feature("function call")
async def function_call(settings: Settings) -> None:
    async with talking(settings, Butler(instructions="Be brief.")) as talk:
        await talk.session.generate_reply(user_input=LAMP_REQUEST)
        await talk.until(lambda: talk.last("assistant") == LAMP_ANSWER)


@feature("handoff")
async def handoff(settings: Settings) -> None:
    async with talking(settings, Butler(instructions="Be brief.")) as talk:
        talk.session.generate_reply(user_input="What about my bill?")
        await talk.until(lambda: talk.last("assistant"))
        assert isinstance(talk.session.current_agent, Accountant)


@feature("interruption")
async def interruption(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.tell_story()
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await talk.until(lambda: talk.last("assistant") == ANSWER)
        assert [message.interrupted for message in talk.said("assistant")] == [True, False]
        speaking.cancel()


@feature("truncation by the client")
async def truncation(settings: Settings) -> None:
    async with talking(settings) as talk:
        await talk.tell_story()
        await talk.session.interrupt()
        await talk.until(lambda: talk.said("assistant") and talk.said("assistant")[0].interrupted)
        await talk.session.generate_reply(user_input="What time is it?")
        assert talk.last("assistant") == ANSWER


@feature("session settings")
async def session_settings(settings: Settings) -> None:
    options = {
        "voice": "ash",
        "speed": 1.2,
        "turn_detection": SemanticVad(type="semantic_vad", eagerness="high"),
        "input_audio_noise_reduction": "near_field",
        "tool_choice": "auto",
    }
    async with talking(settings, **options) as talk:
        await talk.session.generate_reply(user_input="What time is it?")
        assert talk.last("assistant") == ANSWER


@feature("image")
async def image(settings: Settings) -> None:
    class Camera(io.VideoInput):
        """Shows one frame."""

        async def __anext__(self) -> rtc.VideoFrame:
            if shown.is_set():
                await asyncio.Event().wait()
            shown.set()
            return rtc.VideoFrame(16, 16, rtc.VideoBufferType.RGBA, bytes([255, 0, 0, 255]) * 256)

    shown = asyncio.Event()
    async with talking(settings) as talk:
        talk.session.input.video = Camera(label="camera")
        await shown.wait()
        await asyncio.sleep(0.1)
        await talk.session.generate_reply()
        assert talk.last("assistant") == IMAGE_ANSWER


@feature("turns by the client")
async def turns_by_client(settings: Settings) -> None:
    async with talking(settings, turns="manual", turn_detection=None) as talk:
        speaking = asyncio.create_task(talk.speak(settings.speech))
        await asyncio.sleep(2.2)
        speaking.cancel()
        talk.session.commit_user_turn()
        await talk.until(lambda: talk.last("user").lower() == QUESTION and talk.last("assistant") == ANSWER)


@feature("greeting")
async def greeting(settings: Settings) -> None:
    class Host(Agent):
        async def on_enter(self) -> None:
            self.session.generate_reply(instructions="Greet the user.")

    async with talking(settings, Host(instructions="Be brief.")) as talk:
        await talk.until(lambda: talk.last("assistant") == GREETING)


@feature("TLS")
async def tls(settings: Settings) -> None:
    async with talking(settings, url=settings.tls_url) as talk:
        await talk.session.generate_reply(user_input="What time is it?")
        assert talk.last("assistant") == ANSWER


if __name__ == "__main__":
    run_features()
