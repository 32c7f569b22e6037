"""Scripted engines with faults for simulations in virtual time: an LLM endpoint, a voice, tools and a loudspeaker.

The endpoint's faults are bytes on the wire, or errors of its connection: the real parser and the real deadlines turn
them into what a reply sees.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_tools import ScriptedTools
from support.services.llm_server import DONE, event

from assistant.tools import ToolError
from audio.errors import EngineLoadError, TtsError
from audio.sound_id import SoundId
from audio.speaker import WavSpeaker
from audio.tts import Chunk
from audio.units import Pcm, ReplySamples
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message, RequestSent, SlotAcquired
from llm.errors import SPOKEN_BROKEN_OFF, LlmBroken, LlmRefused, LlmUnreachable
from llm.openai.stream import OpenAIStream
from llm.token_deadlines import IncomingStream, TokenDeadlines, with_deadlines

EndpointFault = Literal[
    "refuses the connection",
    "429",
    "500",
    "no first token",
    "slow tokens",
    "stalls between tokens",
    "cuts the stream",
    "closes without end mark",
    "error in the stream",
    "empty answer",
    "no event stream",
    "endless answer",
    "defect",
    "out of memory",
]

ENDPOINT_FAULTS: tuple[EndpointFault, ...] = get_args(EndpointFault)

FIRST_TOKEN_TIMEOUT_S = 3.0
TOKEN_GAP_TIMEOUT_S = 2.0
SLOW_TOKEN_S = 1.5
MAX_ENDLESS_WORDS = 2000
"""Longest answer: the limit on tokens of a service, beyond which an endless answer is broken off."""

TOOL_ARGUMENTS = '{"place": "here"}'


@dataclass(slots=True)
class FaultyEndpoint:
    """An OpenAI-compatible endpoint that answers each request in unique words, unless `fault` is set.

    Attributes:
        fault: The current fault.
        calls_tools: Returns whether this request calls a tool first.
        met: Receives the fault of each request that had one.
        asked: Number of requests.
        open: Number of requests that were not closed.
    """

    name: str
    calls_tools: Callable[[], bool] = lambda: False
    met: Callable[[str], object] = lambda _fault: None
    fault: EndpointFault | None = None
    detail: str = ""
    asked: int = 0
    open: int = 0

    async def load(self) -> None:
        """Does nothing: there is no connection to open."""

    async def aclose(self) -> None:
        """Does nothing."""

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        deadlines = TokenDeadlines(self.name, "loopback", FIRST_TOKEN_TIMEOUT_S, TOKEN_GAP_TIMEOUT_S)
        called = messages[-1].role != "tool" and bool(options.functions) and self.calls_tools()
        return with_deadlines(lambda: (self._incoming(called=called), OpenAIStream(self.name)), deadlines)

    async def _incoming(self, *, called: bool) -> IncomingStream:
        self.asked += 1
        self.open += 1
        try:
            async for item in self._answer(self.asked, called=called):
                yield item
        finally:
            self.open -= 1

    async def _answer(self, number: int, *, called: bool) -> IncomingStream:
        fault = self.fault
        if fault is not None:
            self.met(fault)
        yield SlotAcquired()
        if fault == "refuses the connection":
            raise LlmUnreachable(self.name, "refuses connections", spoken="I cannot reach my model.", retryable=True)
        yield RequestSent(0.01)
        await asyncio.sleep(0.1)
        if fault in {"429", "500"}:
            raise LlmRefused(self.name, f"answered HTTP {fault}", spoken="My model has a problem.", retryable=True)
        if fault == "no first token":
            await asyncio.sleep(3600)
        if fault == "empty answer":
            yield event(finish="stop") + DONE
            return
        if fault == "no event stream":
            yield b"<!doctype html><title>Sign in</title>\n"
            return
        if called:
            call = {"index": 0, "id": "call_0", "function": {"name": "home_weather", "arguments": TOOL_ARGUMENTS}}
            yield event(tool_calls=[call], finish="tool_calls") + DONE
            return
        async for piece in self._words(number, fault):
            yield piece
        yield event(finish="stop") + DONE

    async def _words(self, number: int, fault: EndpointFault | None) -> AsyncGenerator[bytes]:
        words = [f"answer{number}x{word}" for word in range(6)]
        words[2] += "."
        words[5] += "."
        for at, word in enumerate(words):
            if at:
                await asyncio.sleep(SLOW_TOKEN_S if fault == "slow tokens" else 0.02)
            if at == 2 + number % 3:
                await self._break(fault)
                if fault == "closes without end mark":
                    return
                if fault == "error in the stream":
                    yield b'data: {"error": {"message": "out of order", "type": "server_error"}}\n\n'
            yield event(word if at == 0 else f" {word}")
        for at in range(MAX_ENDLESS_WORDS if fault == "endless answer" else 0):
            await asyncio.sleep(0.02)
            yield event(f" more{number}x{at}")

    async def _break(self, fault: EndpointFault | None) -> None:
        if fault == "stalls between tokens":
            await asyncio.sleep(3600)
        if fault == "cuts the stream":
            raise LlmBroken(self.name, "closed the connection", spoken=SPOKEN_BROKEN_OFF, retryable=True)
        if fault == "defect":
            raise RuntimeError("said0x0 answer1x0")  # a defect whose text happens to hold words
        if fault == "out of memory":
            raise MemoryError


VoiceFault = Literal["crashes", "hangs", "is slow", "says nothing", "defect", "out of memory"]
VOICE_FAULTS: tuple[VoiceFault, ...] = get_args(VoiceFault)


@dataclass(slots=True)
class FaultyVoice(ScriptedVoice):
    """A voice with a fault from its second audio chunk on, or from the first.

    Attributes:
        fault: The current fault.
        met: Receives the fault of each chunk of text that had one.
        failing_loads: Number of reloads that fail.
    """

    fault: VoiceFault | None = None
    met: Callable[[str], object] = lambda _fault: None
    failing_loads: int = 0
    open: int = 0

    async def load(self) -> None:
        self.loads += 1
        await asyncio.sleep(0.3)
        if self.failing_loads:
            self.failing_loads -= 1
            raise EngineLoadError("its voice file has gone")

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        fault, number = self.fault, len(self.speeds)
        if fault is not None:
            self.met(fault)
        self.open += 1
        try:
            if fault == "says nothing":
                return
            if number % 2:
                await self._break(fault)
            async for chunk in ScriptedVoice.speak(self, text, speed, ahead_s):
                if fault == "is slow":
                    await asyncio.sleep(0.25)
                yield chunk
                await self._break(fault)
        finally:
            self.open -= 1

    async def _break(self, fault: VoiceFault | None) -> None:
        match fault:
            case "crashes":
                raise TtsError("the voice has died")
            case "hangs":
                await asyncio.sleep(3600)
            case "defect":
                raise RuntimeError("answer1x0 said0x0")
            case "out of memory":
                raise MemoryError


ToolFault = Literal["fails", "hangs", "answers too much", "defect", "out of memory"]
TOOL_FAULTS: tuple[ToolFault, ...] = get_args(ToolFault)


@dataclass(slots=True)
class FaultyTools(ScriptedTools):
    """Tools with a fault.

    Attributes:
        fault: The current fault.
        met: Receives the fault of each call that had one.
    """

    fault: ToolFault | None = None
    met: Callable[[str], object] = lambda _fault: None

    async def call(self, name: str, arguments: str) -> str:
        if self.fault is not None:
            self.met(self.fault)
        match self.fault:
            case "fails":
                raise ToolError("the tool server home is not there at the moment; say so")
            case "hangs":
                await asyncio.sleep(3600)
            case "answers too much":
                return "sunny " * 100_000
            case "defect":
                raise RuntimeError("said0x0")
            case "out of memory":
                raise MemoryError
        return await ScriptedTools.call(self, name, arguments)


@dataclass
class CardStalls:
    """Makes sound cards that stall.

    Attributes:
        spans: Spans of loop time, in s, in which the card takes no audio.
        queues_replies: Whether the card belongs to a client, which plays requested replies one after another.
    """

    spans: list[tuple[float, float]] = field(default_factory=list)

    queues_replies: bool = False

    def __call__(self, write: Callable[[float, Pcm], None]) -> "StallingSpeaker":
        """Returns a speaker on this card."""
        return QueueingSpeaker(write, self) if self.queues_replies else StallingSpeaker(write, self)


class StallingSpeaker(WavSpeaker):
    """A simulated sound card that takes no audio for some time, and then goes on where it was."""

    def __init__(self, write: Callable[[float, Pcm], None], stalls: CardStalls) -> None:
        """Creates the card."""
        super().__init__(write)
        self._stalls = stalls

    def _play_block(self, position_s: float) -> None:
        now_s = asyncio.get_running_loop().time()
        if not any(since_s <= now_s < until_s for since_s, until_s in self._stalls.spans):
            super()._play_block(position_s)


class QueueingSpeaker(StallingSpeaker):
    """A simulated client: a reply that is opened while another one still plays is played after it."""

    def __init__(self, write: Callable[[float, Pcm], None], stalls: CardStalls) -> None:
        """Creates the client's card."""
        super().__init__(write, stalls)
        self._queue: list[SoundId] = []  # the reply that plays, and those after it
        self._moved = asyncio.Event()

    def open(self, sound_id: SoundId) -> None:
        self._queue.append(sound_id)
        if len(self._queue) == 1:
            super().open(sound_id)

    async def play_chunk(self, sound_id: SoundId, pcm: Pcm) -> bool:
        while sound_id in self._queue[1:]:
            self._moved.clear()
            await self._moved.wait()
        return await super().play_chunk(sound_id, pcm)

    def close(self, sound_id: SoundId) -> ReplySamples:
        waits, plays = sound_id in self._queue[1:], self._queue[:1] == [sound_id]
        if sound_id in self._queue:
            self._queue.remove(sound_id)
        self._moved.set()
        if waits:
            return ReplySamples(0)
        taken = super().close(sound_id)
        if plays and self._queue:
            super().open(self._queue[0])
        return taken
