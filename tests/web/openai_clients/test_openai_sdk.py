"""The unmodified openai SDK as a client of the server."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from support.servers.session_server import (
    WHAT_TIME,
    Pace,
    SessionServer,
    encoded,
    eventually,
    in_real_time,
    real_engines,
    recording,
    session_server,
)
from support.services.llm_server import answer, serving

from audio.units import REPLY_RATE_HZ, Pcm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]  # in real time, with one retry

STORY = " ".join(["Once upon a time there was a very long story that nobody has ever heard to its end."] * 4)


@dataclass
class SdkUser:
    """A user of the SDK: sends speech or silence in real time and records the events.

    Attributes:
        events: All events of the SDK.
    """

    connection: AsyncRealtimeConnection
    pace: Pace
    events: list[Any] = field(default_factory=list)
    _to_say: list[Pcm] = field(default_factory=list)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, pcm: Pcm) -> None:
        """Speaks from now on, in real time."""
        self._to_say += [pcm[at : at + 480] for at in range(0, len(pcm) - 479, 480)]

    async def speak(self) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            pcm = self._to_say.pop(0) if self._to_say else np.zeros(480, np.int16)
            await self.connection.input_audio_buffer.append(audio=encoded(pcm))
            due_s += 0.02
            await self.pace.until(due_s)

    async def listen(self) -> None:
        async for one in self.connection:
            self.events.append(one)
            self._came.set()

    def events_of(self, kind: str) -> list[Any]:
        return [one for one in self.events if one.type == kind]

    async def until(self, kind: str, count: int = 1, within_s: float = 30.0) -> Any:
        async with asyncio.timeout(within_s):
            while len(found := self.events_of(kind)) < count:
                self._came.clear()
                await self._came.wait()
        return found[count - 1]

    async def types(self, text: str) -> None:
        content: list[Any] = [{"type": "input_text", "text": text}]
        await self.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})

    @property
    def sound_bytes(self) -> int:
        return sum(len(base64.b64decode(one.delta)) for one in self.events_of("response.output_audio.delta"))


@asynccontextmanager
async def talking(server: SessionServer, pace: Pace) -> AsyncGenerator[SdkUser]:
    async with (
        AsyncOpenAI(base_url=server.openai, api_key="none") as client,
        client.realtime.connect(model="repartee") as connection,
        asyncio.TaskGroup() as tasks,
    ):
        user = SdkUser(connection, pace)
        work = [tasks.create_task(user.listen()), tasks.create_task(user.speak())]
        await user.until("session.created")
        yield user
        for task in work:
            task.cancel()


def test_spoken_conversation_can_be_interrupted(tmp_path: Path) -> None:
    async def main(pace: Pace, folder: Path) -> None:
        async with serving(answer(STORY)) as llm, session_server(real_engines(folder, llm.url)) as server:
            async with talking(server, pace) as user:
                # A recorded question.
                user.say(recording(WHAT_TIME))
                first = (await user.until("response.done")).response
                assert first.status == "completed"
                heard = user.events_of("conversation.item.input_audio_transcription.completed")[0]
                assert heard.transcript.lower() == "what time is it"
                said = user.events_of("response.output_audio_transcript.done")[0].transcript
                assert said.startswith(("It's", "It is"))
                assert user.sound_bytes > REPLY_RATE_HZ  # at least half a second
                started, stopped = (
                    user.events_of(f"input_audio_buffer.speech_{what}")[0] for what in ("started", "stopped")
                )
                assert stopped.audio_end_ms - started.audio_start_ms == pytest.approx(1580 - 745, abs=250)
                await user.until("response.output_audio.done")
                await asyncio.sleep(user.sound_bytes / (2 * REPLY_RATE_HZ))  # the client plays it

                # A long answer, interrupted by the question.
                await user.types("tell me the long story")
                await user.connection.response.create()
                await user.until("response.output_audio.delta", len(user.events_of("response.output_audio.delta")) + 8)
                second = (await user.until("response.done", 2)).response
                await asyncio.sleep(1)  # it was made ahead of real time; the client plays it
                user.say(recording(WHAT_TIME))
                cut = await user.until("conversation.item.truncated")
                assert cut.item_id == second.output[0].id
                assert 500 < cut.audio_end_ms < 8000
                kinds = [one.type for one in user.events]
                assert kinds.count("input_audio_buffer.speech_started") == 2
                third = (await user.until("response.done", 3)).response
                assert third.status == "completed"
                assert user.events_of("response.output_audio_transcript.done")[2].transcript[:3] == said[:3]
                assert user.events_of("error") == []
            await eventually(lambda: server.limits.current == 0)
            outcomes = [record["outcome"] for record in server.records()]
            assert outcomes[:2] == ["answered", "interrupted"]
            spoken = server.records()[0]
            assert spoken["response_latency_ms"] == pytest.approx(
                sum(stage["ms"] for stage in spoken["stages"].values()), abs=20
            )

    in_real_time(tmp_path, main)
