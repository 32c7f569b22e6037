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
    ScriptedEngineLoader,
    SessionServer,
    eventually,
    in_real_time,
    real_engines,
    recording,
    session_server,
    settings_for,
)
from support.services.llm_server import answer, serving

from audio.formats import g711
from audio.resample import StreamResampler
from audio.units import REPLY_RATE_HZ, Pcm
from llm.chat import NO_LIMIT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]  # in real time, with one retry

STORY = " ".join(["Once upon a time there was a very long story that nobody has ever heard to its end."] * 4)
LAMP = {
    "type": "function",
    "name": "set_lamp",
    "description": "Switches the lamp.",
    "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
}


@dataclass
class SdkUser:
    """A user of the SDK: sends speech or silence in real time and records the events.

    Attributes:
        events: All events of the SDK.
    """

    connection: AsyncRealtimeConnection
    pace: Pace
    events: list[Any] = field(default_factory=list)
    ulaw: bool = False
    _to_say: list[Pcm] = field(default_factory=list)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, pcm: Pcm) -> None:
        """Speaks from now on, in real time."""
        self._to_say += [pcm[at : at + 480] for at in range(0, len(pcm) - 479, 480)]

    async def speak(self) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        narrow = StreamResampler(REPLY_RATE_HZ, 8000)
        while True:
            pcm = self._to_say.pop(0) if self._to_say else np.zeros(480, np.int16)
            sound = g711.encode_ulaw(narrow.push(pcm)) if self.ulaw else pcm.astype("<i2").tobytes()
            await self.connection.input_audio_buffer.append(audio=base64.b64encode(sound).decode())
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


def test_assistant_speaks_first_and_settings_are_checked_singly(tmp_path: Path) -> None:
    async def main(pace: Pace, folder: Path) -> None:
        engine_loader = ScriptedEngineLoader(settings_for(folder), {}, answers=("Hello, how may I help?",))
        async with session_server(engine_loader) as server, talking(server, pace) as user:
            assert user.events_of("session.created")[0].session.max_output_tokens == "inf"
            detection: Any = {"type": "server_vad", "idle_timeout_ms": 600, "silence_duration_ms": 50000}
            audio: Any = {"input": {"turn_detection": detection, "transcription": {"model": "m", "language": "de"}}}
            tools: Any = [{"type": "mcp", "server_label": "x", "server_url": "http://x"}, LAMP]
            await user.connection.session.update(
                session={"type": "realtime", "instructions": "Greet the user first.", "audio": audio, "tools": tools,
                         "output_modalities": ["text"]},
                event_id="mine",
            )  # fmt: skip
            session = (await user.until("session.updated")).session
            assert {one.error.param for one in user.events_of("error")} == {
                "session.audio.input.transcription.language",
                "session.tools[0].server_url",
                "session.audio.input.turn_detection.idle_timeout_ms",
                "session.audio.input.turn_detection.silence_duration_ms",
            }
            assert {one.error.event_id for one in user.events_of("error")} == {"mine"}
            assert session.instructions == "Greet the user first."
            assert [tool.name for tool in session.tools] == ["set_lamp"]
            assert session.audio.input.turn_detection.type == "server_vad"

            # Without user speech the model is still asked, without a token limit.
            await user.connection.response.create()
            done = (await user.until("response.done")).response
            assert done.output[0].content[0].text == "Hello, how may I help?"
            assert done.usage.input_token_details.cached_tokens_details.text_tokens is not None
            (model,) = engine_loader.models
            assert [message.content for message in model.asked[0]] == ["Greet the user first."]
            assert model.options[0].max_tokens == NO_LIMIT

            # A request directly after it does not wait, and a cancelled response has its usage, too.
            await user.connection.response.create(response={"output_modalities": ["audio"]})
            created = await user.until("response.created", 2)
            await user.connection.response.cancel(response_id=created.response.id)
            assert (await user.until("response.done", 2)).response.usage.total_tokens >= 0
            await user.connection.response.cancel()
            error = (await user.until("error", 5)).error
            assert error.code == "response_cancel_not_active"
            assert error.message.startswith("Cancellation failed")

    in_real_time(tmp_path, main)
