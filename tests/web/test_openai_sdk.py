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
from llm_server import DONE, HEAD, LAST_CHUNK, Script, answer, chunk, event, serving
from openai import AsyncOpenAI, NotFoundError
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from served import (
    WHAT_TIME,
    Pace,
    ScriptedEngineLoader,
    Served,
    eventually,
    in_real_time,
    real_engines,
    recording,
    served,
    settings_for,
)

from audio import g711
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


def called(name: str, arguments: str) -> Script:
    """Returns a script of a model that calls a function."""
    call = {"index": 0, "id": "call_7", "type": "function", "function": {"name": name, "arguments": arguments}}
    return (HEAD, chunk(event(tool_calls=[call]) + event(finish="tool_calls") + DONE), LAST_CHUNK)


@dataclass
class Person:
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

    def says(self, pcm: Pcm) -> None:
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

    def told(self, kind: str) -> list[Any]:
        return [one for one in self.events if one.type == kind]

    async def until(self, kind: str, count: int = 1, within_s: float = 30.0) -> Any:
        async with asyncio.timeout(within_s):
            while len(found := self.told(kind)) < count:
                self._came.clear()
                await self._came.wait()
        return found[count - 1]

    async def types(self, text: str) -> None:
        content: list[Any] = [{"type": "input_text", "text": text}]
        await self.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})

    @property
    def sound_bytes(self) -> int:
        return sum(len(base64.b64decode(one.delta)) for one in self.told("response.output_audio.delta"))


@asynccontextmanager
async def talking(server: Served, pace: Pace) -> AsyncGenerator[Person]:
    async with (
        AsyncOpenAI(base_url=server.openai, api_key="none") as client,
        client.realtime.connect(model="repartee") as connection,
        asyncio.TaskGroup() as tasks,
    ):
        person = Person(connection, pace)
        work = [tasks.create_task(person.listen()), tasks.create_task(person.speak())]
        await person.until("session.created")
        yield person
        for task in work:
            task.cancel()


def test_spoken_conversation_can_be_interrupted(tmp_path: Path) -> None:
    async def main(pace: Pace, folder: Path) -> None:
        async with serving(answer(STORY)) as llm, served(real_engines(folder, llm.url)) as server:
            async with talking(server, pace) as person:
                # A recorded question.
                person.says(recording(WHAT_TIME))
                first = (await person.until("response.done")).response
                assert first.status == "completed"
                heard = person.told("conversation.item.input_audio_transcription.completed")[0]
                assert heard.transcript.lower() == "what time is it"
                said = person.told("response.output_audio_transcript.done")[0].transcript
                assert said.startswith(("It's", "It is"))
                assert person.sound_bytes > REPLY_RATE_HZ  # at least half a second
                started, stopped = (
                    person.told(f"input_audio_buffer.speech_{what}")[0] for what in ("started", "stopped")
                )
                assert stopped.audio_end_ms - started.audio_start_ms == pytest.approx(1580 - 745, abs=250)
                await person.until("response.output_audio.done")

                # A long answer, interrupted by the question.
                await person.types("tell me the long story")
                await person.connection.response.create()
                await person.until("response.output_audio.delta", len(person.told("response.output_audio.delta")) + 8)
                person.says(recording(WHAT_TIME))
                second = (await person.until("response.done", 2)).response
                assert second.status == "cancelled"
                assert second.status_details.reason == "turn_detected"
                cut = await person.until("conversation.item.truncated")
                assert cut.item_id == second.output[0].id
                assert 500 < cut.audio_end_ms < 8000
                kinds = [one.type for one in person.events]
                assert kinds.count("input_audio_buffer.speech_started") == 2
                third = (await person.until("response.done", 3)).response
                assert third.status == "completed"
                assert person.told("response.output_audio_transcript.done")[2].transcript[:3] == said[:3]
                assert person.told("error") == []
            await eventually(lambda: server.session_limits.current == 0)
            outcomes = [record["outcome"] for record in server.records()]
            assert outcomes[:2] == ["answered", "interrupted"]
            spoken = server.records()[0]
            assert spoken["response_latency_ms"] == pytest.approx(
                sum(stage["ms"] for stage in spoken["stages"].values()), abs=20
            )

    in_real_time(tmp_path, main)


def test_text_only_function_call_and_mistakes_work(tmp_path: Path) -> None:
    async def main(pace: Pace, folder: Path) -> None:
        scripts = (answer("A short one."), called("set_lamp", '{"on": true}'), answer("The lamp is on."))
        async with (
            serving(*scripts) as llm,
            served(real_engines(folder, llm.url, "skills.before_llm=false")) as server,
            talking(server, pace) as person,
        ):
            await person.connection.session.update(
                session={"type": "realtime", "output_modalities": ["text"], "instructions": "Be brief."}
            )
            await person.until("session.updated")
            await person.types("tell me a story")
            await person.connection.response.create()
            await person.until("response.done")
            assert person.told("response.output_text.done")[0].text == "A short one."
            assert person.sound_bytes == 0

            # An invalid event in between.
            mistake: Any = {"type": "no.such.event", "event_id": "mine"}
            await person.connection.send(mistake)
            refused = await person.until("error")
            assert refused.error.event_id == "mine"

            # A function whose output continues the reply.
            tools: Any = [LAMP]
            await person.connection.session.update(
                session={"type": "realtime", "output_modalities": ["audio"], "tools": tools}
            )
            await person.types("light please")
            await person.connection.response.create()
            call = await person.until("response.function_call_arguments.done")
            assert (call.name, call.arguments) == ("set_lamp", '{"on": true}')
            done = await person.until("response.done", 2)
            assert [item.type for item in done.response.output] == ["function_call"]
            await person.connection.conversation.item.create(
                item={"type": "function_call_output", "call_id": call.call_id, "output": "done"}
            )
            await person.connection.response.create()
            assert (await person.until("response.done", 3)).response.status == "completed"
            assert person.told("response.output_audio_transcript.done")[0].transcript == "The lamp is on."
            assert person.sound_bytes > REPLY_RATE_HZ
            assert len(person.told("error")) == 1
            assert b'"role":"tool"' in llm.posts[2].body.replace(b'": "', b'":"')

    in_real_time(tmp_path, main)


def test_telephone_format_and_fixed_silence_work(tmp_path: Path) -> None:
    async def main(pace: Pace, folder: Path) -> None:
        async with served(real_engines(folder)) as server, talking(server, pace) as person:
            audio: Any = {
                "input": {
                    "format": {"type": "audio/pcmu"},
                    "turn_detection": {"type": "server_vad", "silence_duration_ms": 300},
                },
                "output": {"format": {"type": "audio/pcmu"}, "speed": 1.2},
            }
            person.ulaw = True
            session: Any = {"type": "realtime", "audio": audio, "repartee": {"events": True}}
            await person.connection.session.update(session=session)
            updated = await person.until("session.updated")
            assert updated.session.audio.input.format.type == "audio/pcmu"
            person.says(recording(WHAT_TIME))
            done = await person.until("response.done")
            assert done.response.status == "completed"
            trace = (await person.until("repartee.trace")).trace
            # pocketsphinx is not trained for 8 kHz: it recognizes the clip as "what are emitted" in any format.
            heard = person.told("conversation.item.input_audio_transcription.completed")[0]
            assert heard.transcript.startswith("what")
            assert 0.5 < person.sound_bytes / 8000 < 8
            assert trace["stages"]["endpoint_wait"]["ms"] == pytest.approx(300, abs=150)

    in_real_time(tmp_path, main)


def test_assistant_speaks_first_and_settings_are_checked_singly(tmp_path: Path) -> None:
    async def main(pace: Pace, folder: Path) -> None:
        loader = ScriptedEngineLoader(settings_for(folder), {}, answers=("Hello, how may I help?",))
        async with served(loader) as server, talking(server, pace) as person:
            assert person.told("session.created")[0].session.max_output_tokens == "inf"
            detection: Any = {"type": "server_vad", "idle_timeout_ms": 6000, "silence_duration_ms": 5000}
            audio: Any = {"input": {"turn_detection": detection, "transcription": {"model": "m", "language": "de"}}}
            tools: Any = [{"type": "mcp", "server_label": "x", "server_url": "http://x"}, LAMP]
            await person.connection.session.update(
                session={"type": "realtime", "instructions": "Greet the user first.", "audio": audio, "tools": tools,
                         "output_modalities": ["text"]},
                event_id="mine",
            )  # fmt: skip
            session = (await person.until("session.updated")).session
            assert {one.error.param for one in person.told("error")} == {
                "session.audio.input.transcription.language",
                "session.tools[0].type",
                "session.audio.input.turn_detection.idle_timeout_ms",
                "session.audio.input.turn_detection.silence_duration_ms",
            }
            assert {one.error.event_id for one in person.told("error")} == {"mine"}
            assert session.instructions == "Greet the user first."
            assert [tool.name for tool in session.tools] == ["set_lamp"]
            assert session.audio.input.turn_detection.type == "server_vad"

            # Without user speech the model is still asked, without a token limit.
            await person.connection.response.create()
            done = (await person.until("response.done")).response
            assert done.output[0].content[0].text == "Hello, how may I help?"
            assert done.usage.input_token_details.cached_tokens_details.text_tokens is not None
            (model,) = loader.models
            assert [message.content for message in model.asked[0]] == ["Greet the user first."]
            assert model.options[0].max_tokens == NO_LIMIT

            # A request directly after it does not wait, and a cancelled response has its usage, too.
            await person.connection.response.create(response={"output_modalities": ["audio"]})
            created = await person.until("response.created", 2)
            await person.connection.response.cancel(response_id=created.response.id)
            assert (await person.until("response.done", 2)).response.usage.total_tokens >= 0
            await person.connection.response.cancel()
            error = (await person.until("error", 5)).error
            assert error.code == "response_cancel_not_active"
            assert error.message.startswith("Cancellation failed")

    in_real_time(tmp_path, main)


def test_commit_of_tone_in_manual_mode_has_empty_transcript(tmp_path: Path) -> None:
    async def main(pace: Pace, folder: Path) -> None:
        loader = ScriptedEngineLoader(settings_for(folder), {}, says=("",))
        async with served(loader) as server, talking(server, pace) as person:
            audio: Any = {"input": {"turn_detection": None}}
            await person.connection.session.update(session={"type": "realtime", "audio": audio})
            await person.until("session.updated")
            tone = np.sin(np.arange(24_000) * (2 * np.pi * 440 / 24_000)) * 6000
            person.says(tone.astype(np.int16))
            await asyncio.sleep(1.2)
            await person.connection.input_audio_buffer.commit()
            committed = await person.until("input_audio_buffer.committed")
            completed = await person.until("conversation.item.input_audio_transcription.completed")
            assert completed.item_id == committed.item_id
            assert person.told("error") == []
            await person.connection.conversation.item.retrieve(item_id="nope")
            assert (await person.until("error")).error.code == "item_retrieve_invalid_item_id"

    in_real_time(tmp_path, main)


def test_other_api_paths_answer_with_api_errors(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            served(ScriptedEngineLoader(settings_for(tmp_path), {})) as server,
            AsyncOpenAI(base_url=server.openai, api_key="none", max_retries=0) as client,
        ):
            asked: list[Any] = [
                client.models.list(),
                client.realtime.client_secrets.create(),
                client.audio.speech.create(model="m", voice="v", input="hello"),
            ]
            for call in asked:
                with pytest.raises(NotFoundError) as refused:
                    await call
                assert refused.value.code == "unknown_url"
                assert refused.value.type == "invalid_request_error"
            for query in ({"intent": "transcription"}, {"call_id": "call_1"}):
                async with client.realtime.connect(model="repartee", extra_query=query) as connection:
                    event = await connection.recv()
                    assert event.type == "error"
                    assert event.error.code == "not_supported"

    asyncio.run(main())


def test_unpaced_minute_of_audio_keeps_the_connection_open(tmp_path: Path) -> None:
    async def main() -> None:
        options: Any = {"ping_interval": 1.0, "ping_timeout": 4.0}  # sooner than the default of 40 s
        async with (
            served(real_engines(tmp_path)) as server,
            AsyncOpenAI(base_url=server.openai, api_key="none") as client,
            client.realtime.connect(model="repartee", websocket_connection_options=options) as connection,
        ):
            second = base64.b64encode(np.zeros(REPLY_RATE_HZ, np.int16).tobytes()).decode()
            for _ in range(60):
                await connection.input_audio_buffer.append(audio=second)
            await connection.session.update(session={"type": "realtime", "instructions": "Be brief."})
            async with asyncio.timeout(20):
                async for one in connection:
                    assert one.type != "error"
                    if one.type == "session.updated":
                        break
            await asyncio.sleep(8)
            await connection.input_audio_buffer.clear()
            async with asyncio.timeout(20):
                while (await connection.recv()).type != "input_audio_buffer.cleared":
                    pass

    asyncio.run(main())
