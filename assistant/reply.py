"""One reply: from messages to the last sample, as one cancellable task.

Two hands work at once: one takes tokens and cuts them into units, the other turns units into sound. The first
sound is made as soon as it can be, and held at the gate until the turn is committed.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import assert_never

from assistant.latency import Span
from assistant.model_timing import ModelTiming
from assistant.script import Script
from assistant.sentences import Sentences, Unit
from assistant.trace import TurnTrace
from assistant.turn_events import ReplyId
from audio.errors import TtsError
from audio.level import OnsetFinder
from audio.speaker import Speaker
from audio.tts import Chunk, Voice
from audio.units import REPLY_RATE_HZ, ReplySamples
from llm.chat import Answering, ChatEvent, Finished, Queued, Sent, Token
from llm.errors import LlmError

UNITS_AHEAD = 8
"""Units waiting to be spoken before the token stream is held back: some 20 s of speech."""

BROKE_OFF = "Sorry, my answer breaks off there."
NOTHING_CAME = "My language model gave an empty answer."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a reply ended, short of being cancelled.

    Attributes:
        error: What went wrong, for the screen and the trace; None if nothing did.
        voice_failed: The synthesizer needs to be loaded again.
    """

    error: str | None = None
    voice_failed: bool = False


@dataclass(slots=True)
class Reply:
    """One attempt at a reply. `run` is its task; the gate is opened by whoever commits the turn."""

    id: ReplyId
    voice: Voice
    speaker: Speaker
    sentences: Sentences
    trace: TurnTrace
    voice_timeout_s: float
    on_unit: Callable[[ReplyId, str], None]
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    script: Script = field(default_factory=Script)
    played: ReplySamples = field(default=ReplySamples(0))
    playout_start_s: float | None = None
    _onset: OnsetFinder = field(default_factory=lambda: OnsetFinder(REPLY_RATE_HZ))
    _audible_from: int | None = None
    _blocks: list[tuple[int, float]] = field(default_factory=list)  # (first sample, when it left), until the onset
    _error: str | None = None

    async def run(self, source: AsyncGenerator[ChatEvent]) -> Outcome:
        """Answer with what `source` says. Never raises, but for being cancelled."""
        units: asyncio.Queue[Unit | None] = asyncio.Queue(UNITS_AHEAD)
        try:
            async with asyncio.TaskGroup() as hands:
                hands.create_task(self._write(source, units), name=f"tokens {self.id}")
                hands.create_task(self._speak(units), name=f"sound {self.id}")
        except* TtsError as errors:
            outcome = Outcome(f"{errors.exceptions[0]}", voice_failed=True)
        except* Exception as errors:  # noqa: BLE001
            # A defect of ours must not take the conversation down: it is named in the trace and on the screen.
            outcome = Outcome(f"internal error in the reply: {type(errors.exceptions[0]).__name__}")
        else:
            outcome = Outcome(self._error)
        return outcome

    # ---- tokens to units ----

    async def _write(self, source: AsyncGenerator[ChatEvent], units: asyncio.Queue[Unit | None]) -> None:
        loop = asyncio.get_running_loop()
        timing = ModelTiming(self.trace, self.id.attempt, since_s=loop.time())
        written = 0
        try:
            async with aclosing(source):
                async for event in source:
                    for unit in self._units_of(event, loop.time(), timing):
                        timing.unit(loop.time())
                        written += 1
                        await units.put(unit)
            for unit in self.sentences.finish():
                timing.unit(loop.time())
                written += 1
                await units.put(unit)
            if not written:
                self._error = "the model's answer was empty"
                await units.put(Unit(text=NOTHING_CAME, index=0, ends_sentence=True))
        except LlmError as error:
            self._error = str(error)
            timing.gave_up(loop.time())
            spoken = f"{BROKE_OFF} {error.spoken}" if written else error.spoken
            await units.put(Unit(text=spoken, index=written, ends_sentence=True))
        await units.put(None)

    def _units_of(self, event: ChatEvent, now_s: float, timing: ModelTiming) -> tuple[Unit, ...]:
        match event:
            case Answering():
                self.trace.answered_by = event.by
            case Queued():
                timing.queued(now_s)
            case Sent():
                timing.sent(now_s, event.round_trip_s)
            case Token():
                timing.token(now_s)
                return self.sentences.feed(event.text)
            case Finished():
                self.trace.event("model_finished", now_s, f"attempt {self.id.attempt}: {event.reason}")
            case _:
                assert_never(event)
        return ()

    # ---- units to sound ----

    async def _speak(self, units: asyncio.Queue[Unit | None]) -> None:
        loop = asyncio.get_running_loop()
        number = 0
        while (unit := await units.get()) is not None:
            number += 1
            began_s = loop.time()
            self.script.begin_unit(unit.text)
            announced = False
            async with aclosing(self.voice.speak(unit.text)) as chunks:
                while (chunk := await self._next_chunk(chunks)) is not None:
                    if not announced:
                        announced = True
                        self._trace_voice(number, began_s, loop.time())
                        await self.gate.wait()
                        self.on_unit(self.id, unit.text)
                    self._take(chunk)
                    if not await self.speaker.play(self.id, chunk.pcm):
                        return

    async def _next_chunk(self, chunks: AsyncGenerator[Chunk]) -> Chunk | None:
        try:
            async with asyncio.timeout(self.voice_timeout_s):
                return await anext(chunks, None)
        except TimeoutError as error:
            name = self.voice.name
            raise TtsError(f"the voice {name} gave no sound for {self.voice_timeout_s:g} s") from error

    def _take(self, chunk: Chunk) -> None:
        self.script.add(chunk.pcm.size, chunk.marks)
        if self._audible_from is None:
            self._audible_from = self._onset.feed(chunk.pcm)

    def _trace_voice(self, number: int, began_s: float, now_s: float) -> None:
        name, after = ("tts", ("first_sentence",)) if number == 1 else (f"tts {number}", ())
        self.trace.span(self.id.attempt, Span(name, "tts", began_s, now_s, after))

    # ---- what the speaker reports ----

    def was_played(self, played: ReplySamples, leaves_at_s: float, *, finished: bool) -> None:
        """A device block with sound of this reply leaves the speaker at `leaves_at_s`; `played` counts its end."""
        first = int(self.played)
        self.played = played
        if self.playout_start_s is not None:
            return
        self._blocks.append((first, leaves_at_s))
        if finished and self._audible_from is None:
            self._audible_from = self._onset.finish()
        if self._audible_from is None or played <= self._audible_from:
            return
        start, left_s = next(block for block in reversed(self._blocks) if block[0] <= self._audible_from)
        self._blocks.clear()
        audible_s = left_s + (self._audible_from - start) / REPLY_RATE_HZ
        self.playout_start_s = self.trace.playout_start_s = audible_s
        ready = [self.trace.end_of(self.id.attempt, name) for name in ("tts", "commit")]
        began_s = max((end_s for end_s in ready if end_s is not None), default=audible_s)
        self.trace.span(self.id.attempt, Span("playout", "playout", began_s, audible_s, ("tts", "commit")))

    @property
    def audible(self) -> bool:
        """Whether any of it was heard."""
        return self.playout_start_s is not None

    @property
    def words_heard(self) -> int:
        """Whole words that were heard so far."""
        return self.script.words_heard(self.played)


async def recite(text: str, by: str) -> AsyncGenerator[ChatEvent]:
    """A reply whose words are known: a greeting, an apology."""
    yield Answering(by)
    yield Token(text)
    yield Finished("stop")
