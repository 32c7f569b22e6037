"""A client's session in virtual time: real protocol and session, scripted engines."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from support.clocks.virtual_time import run_virtual
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import Answer, SequenceModel, SequenceRecognizer, engines_of
from support.protocol.wire_client import Client, Event

from assistant.config.turn_settings import ProfileName
from assistant.history.history import History
from assistant.pipeline.engines import Engines, SessionSettings
from assistant.pipeline.recorder import Recorder
from assistant.pipeline.session import Session
from assistant.trace.record import TurnRecord
from assistant.turns.events import ReplyId
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.units import REPLY_RATE_HZ, Pcm
from llm.chat import FunctionCall
from web.client_audio.audio_throttle import AudioPacer
from web.client_audio.client_microphone import ClientMicrophone
from web.client_audio.client_speaker import ClientSpeaker
from web.limits.session_limits import AudioThrottle, recording_throttle
from web.session.realtime_session import RealtimeSession
from web.wire.values.session_config import Extensions, SessionConfig

CONFIG = SessionConfig(instructions="Be brief.", voice="scripted voice", extensions=Extensions(events=True))
LAMP = FunctionCall("call_1", "set_lamp", '{"on": true}')
LAMP_TOOL = {"type": "function", "name": "set_lamp", "description": "", "parameters": {"type": "object"}}
TRANSCRIBED = "conversation.item.input_audio_transcription.completed"
LONG = "one two three four five six seven eight nine ten eleven twelve and so on and on until nobody listens any more"


async def _never(_wait_s: float) -> bool:
    raise AssertionError("nothing is too much at once here")


async def _sleep(wait_s: float) -> bool:
    await asyncio.sleep(wait_s)
    return True


@dataclass
class SessionHarness:
    """A client and its conversation."""

    answers: Sequence[Answer | tuple[Answer, ...]] = ("It is ten o'clock. Anything else?",)
    transcripts: Sequence[str] = ("what time is it",)
    base: TurnSettings = field(default_factory=TurnSettings)
    profile: ProfileName = "auto"
    engines: Callable[[Engines], Engines] = lambda engines: engines
    records: list[TurnRecord] = field(default_factory=list)
    log: list[tuple[int, Event]] = field(default_factory=list)  # with ms since the start
    client: Client = field(default_factory=lambda: Client(CONFIG))
    start_s: float = 0.0

    def __post_init__(self) -> None:
        self.model = SequenceModel(self.answers)
        self.recognizer = SequenceRecognizer(self.transcripts)
        self.voice = ScriptedVoice()
        microphone, speaker = ClientMicrophone(REPLY_RATE_HZ), ClientSpeaker(ahead_ms=1000)
        self.talk = RealtimeSession(
            self.client.wire, microphone, speaker, self.base, self.profile, voice="scripted voice"
        )
        recorder = Recorder(
            conversation_id="talk",
            started_at="2026-01-01T00:00:00+00:00",
            salt=b"salt",
            engines={},
            fallbacks=[],
            keep_words=True,
            speech_end_bias_ms=0.0,
            counters=dict,
            write=self.records.append,
            on_event=self.talk.on_event,
        )
        self.talk.session = self.session = Session(
            microphone,
            speaker,
            self.engines(engines_of(self.recognizer, self.model, self.voice)),
            TurnTaking(self.base),
            History("Be brief.", 20),
            recorder,
            SessionSettings(),
            self.talk.on_event,
            sound_output=self.talk,
        )
        self.talk.configure(CONFIG)
        self.talk.changed = self._fetch
        self._came = asyncio.Event()
        self.pace = AudioPacer(
            AudioThrottle(REPLY_RATE_HZ), _sleep, recording_throttle=recording_throttle(REPLY_RATE_HZ)
        )
        self.unpaced = AudioPacer(AudioThrottle(REPLY_RATE_HZ, burst_s=1e6), _never)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Self]:
        """Runs the session while the block runs; then the client leaves, and the session ends."""
        self.start_s = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as tasks:
            session = tasks.create_task(self.talk.run())
            await asyncio.sleep(0)
            yield self
            self.session.announce_end()
            self.talk.microphone.end()
            await session

    @property
    def now_ms(self) -> int:
        return round((asyncio.get_running_loop().time() - self.start_s) * 1000)

    def _fetch(self) -> None:
        self.log += [(self.now_ms, event) for event in self.client.fetch()]
        self._came.set()

    # ---- client actions ----

    async def send(self, kind: str, **fields: Any) -> None:
        """Sends a client message."""
        self.client.commands.clear()
        await self.talk.receive(json.dumps({"type": kind, **fields}), self.unpaced)

    async def send_paced(self, kind: str, **fields: Any) -> None:
        """Sends a client message at the pace of a connection."""
        await self.pace.wait()
        await self.talk.receive(json.dumps({"type": kind, **fields}), self.pace)

    async def update(self, **session: Any) -> None:
        await self.send("session.update", session={"type": "realtime", **session})

    async def sound(self, ms: int, *, loud: bool) -> None:
        """Sends sound or silence in real time."""
        audio = base64.b64encode(np.full(480, 8000 * loud, np.int16).tobytes()).decode()
        for _ in range(ms // 20):
            await asyncio.sleep(0.02)
            await self.send("input_audio_buffer.append", audio=audio)

    async def pause(self, ms: int) -> None:
        """Sends nothing for this long."""
        await asyncio.sleep(ms / 1000)

    async def stream_blocks(self, blocks: Sequence[tuple[float, Pcm]], encode: Callable[[Pcm], bytes]) -> None:
        """Sends blocks of sound, each after this many seconds from now."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for at_s, pcm in blocks:
            await asyncio.sleep(max(0.0, began_s + at_s - loop.time()))
            await self.send("input_audio_buffer.append", audio=base64.b64encode(encode(pcm)).decode())

    async def speak(self, ms: int = 600, until: str = "", count: int = 1) -> None:
        """Speaks and pauses, and waits until this many events of a type have arrived, if one is named."""
        await self.sound(ms, loud=True)
        await self.sound(800, loud=False)
        if until:
            await self.until(until, count)

    def resume(self, reply_id: ReplyId | None = None, received_ms: float | None = None) -> None:
        """Resumes on another connection, whose log begins anew."""
        self.log = []
        self.client.comes_back()
        self.talk.resume(None, reply_id, received_ms)
        self.talk.changed = self._fetch
        self._fetch()

    async def type_text(self, text: str, **item: Any) -> None:
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}], **item}
        await self.send("conversation.item.create", item=message)

    async def ask(self, text: str, until: str = "response.done", count: int = 1) -> None:
        """Types a text, requests a response, and waits until this many events of a type have arrived."""
        await self.type_text(text)
        await self.send("response.create")
        await self.until(until, count)

    # ---- received events ----

    def events(self, kind: str) -> list[Event]:
        """Returns the events of one type so far."""
        return [event for _, event in self.log if event["type"] == kind]

    def at_ms(self, kind: str) -> list[int]:
        return [at_ms for at_ms, event in self.log if event["type"] == kind]

    @property
    def kinds(self) -> list[str]:
        """Returns the types in order, without extensions and repetitions."""
        kinds = [event["type"] for _, event in self.log if not event["type"].startswith("repartee.")]
        return [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]

    @property
    def errors(self) -> list[str]:
        return [event["error"]["code"] for event in self.events("error")]

    @property
    def done(self) -> list[Event]:
        return [event["response"] for event in self.events("response.done")]

    def sound_ms(self) -> float:
        """Returns the length of the replies' received audio, as pcm."""
        return sum(len(base64.b64decode(event["delta"])) for event in self.events("response.output_audio.delta")) / 48

    async def until(self, kind: str, count: int = 1) -> None:
        """Waits until this many events of a type have arrived."""
        async with asyncio.timeout(60):
            while len(self.events(kind)) < count:
                self._came.clear()
                await self._came.wait()

    async def until_idle(self) -> None:
        async with asyncio.timeout(60):
            while not self.session.idle:
                self._came.clear()
                await self._came.wait()


def run_scene(
    scene: Callable[[SessionHarness], Coroutine[None, None, None]], harness: SessionHarness | None = None
) -> SessionHarness:
    """Runs a scene; then the client leaves."""
    harness = harness or SessionHarness()

    async def main() -> None:
        async with harness.running():
            await scene(harness)

    run_virtual(main())
    return harness
