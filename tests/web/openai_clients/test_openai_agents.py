"""The unmodified realtime session of openai-agents as a client of the server."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents import function_tool
from agents.realtime import OpenAIRealtimeWebSocketModel, RealtimeAgent, RealtimeRunner, RealtimeSession
from support.servers.session_server import (
    WHAT_TIME,
    Pace,
    eventually,
    in_real_time,
    real_engines,
    recording,
    session_server,
)
from support.services.llm_server import answer, calling, serving

from audio.units import REPLY_RATE_HZ, Pcm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]  # in real time, with one retry

PIECE = 480


class Listener:
    """Records the events of a session."""

    def __init__(self, session: RealtimeSession) -> None:
        self.session = session
        self.events: list[Any] = []
        self._came = asyncio.Event()

    async def run(self) -> None:
        async for one in self.session:
            self.events.append(one)
            self._came.set()

    def events_of(self, kind: str) -> list[Any]:
        return [one for one in self.events if one.type == kind]

    async def until(self, kind: str, count: int = 1) -> Any:
        async with asyncio.timeout(30):
            while len(found := self.events_of(kind)) < count:
                self._came.clear()
                await self._came.wait()
        return found[count - 1]

    @property
    def sound_ms(self) -> float:
        return sum(len(one.audio.data) for one in self.events_of("audio")) / 48

    def texts(self, role: str) -> list[str]:
        """Returns the texts of a role in the session's history."""
        history = self.events_of("history_updated")[-1].history if self.events_of("history_updated") else []
        messages = [item for item in history if item.type == "message" and item.role == role]
        parts = [part for message in messages for part in message.content]
        return [getattr(part, "transcript", None) or getattr(part, "text", None) or "" for part in parts]


async def speak(session: RealtimeSession, pcm: Pcm, pace: Pace) -> None:
    """Sends audio at the given pace, then silence."""
    loop = asyncio.get_running_loop()
    due_s = loop.time()
    whole = np.concatenate((pcm, np.zeros(REPLY_RATE_HZ * 60, np.int16))).astype("<i2")
    for at in range(0, len(whole), PIECE):
        await session.send_audio(whole[at : at + PIECE].tobytes())
        due_s += PIECE / REPLY_RATE_HZ
        await pace.until(due_s)


def test_spoken_turn_and_tool_call_work(tmp_path: Path) -> None:
    lamps: list[bool] = []

    @function_tool
    def set_lamp(on: bool) -> str:
        """Switches the lamp."""
        lamps.append(on)
        return "done"

    async def main(pace: Pace, folder: Path) -> None:
        lamps.clear()
        scripts = (calling("set_lamp", '{"on": true}'), answer("The lamp is on."))
        async with serving(*scripts) as llm, session_server(real_engines(folder, llm.url)) as server:
            agent = RealtimeAgent(name="butler", instructions="Be brief.", tools=[set_lamp])
            runner = RealtimeRunner(agent, model=OpenAIRealtimeWebSocketModel(), config={"tracing_disabled": True})
            async with (
                await runner.run(model_config={"api_key": "none", "url": server.url()}) as session,
                asyncio.TaskGroup() as tasks,
            ):
                listener = Listener(session)
                work = [
                    tasks.create_task(listener.run()),
                    tasks.create_task(speak(session, recording(WHAT_TIME), pace)),
                ]
                # A recorded question, which the skills answer.
                await listener.until("audio_end")
                assert listener.sound_ms > 500
                await eventually(lambda: "what time is it" in [text.lower() for text in listener.texts("user")])
                await eventually(lambda: any(text.startswith("It") for text in listener.texts("assistant")))

                # A tool of the client, which the model calls.
                await session.send_message("I want it brighter in my castle")
                ended = await listener.until("tool_end")
                assert (ended.tool.name, ended.output, lamps) == ("set_lamp", "done", [True])
                await listener.until("audio_end", 2)
                await eventually(lambda: "The lamp is on." in listener.texts("assistant"))
                # The SDK reports every unknown event and continues.
                unknown = [str(one.error) for one in listener.events_of("error")]
                assert unknown == []
                for task in work:
                    task.cancel()
            await eventually(lambda: server.limits.current == 0)
            assert len(llm.posts) == 2
            assert b"set_lamp" in llm.posts[0].body

    in_real_time(tmp_path, main)
