"""Produces one reply: from LLM messages to the last audio sample, as one task that can be cancelled.

Two subtasks run concurrently. One reads tokens and cuts them into text chunks; the other synthesizes the chunks. The
first audio is made as early as possible and held at the gate until the turn is committed.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from assistant.events import ChunkSpoken, SessionEvent, WordsTimed
from assistant.history.spoken_transcript import SpokenTranscript, Stretch
from assistant.pipeline.llm_metrics import LlmMetrics
from assistant.pipeline.playout_timing import PlayoutTiming
from assistant.pipeline.turn_trace import TurnTrace
from assistant.text.chunker import Chunker, TextChunk
from assistant.text.normalization.alignment import align
from assistant.tools.rounds import ReplyEvent, ToolsCalled, ToolsReturned
from assistant.trace.latency import LOOK, Span
from assistant.turns.events import ReplyId
from audio.errors import TtsError
from audio.level import amplified
from audio.speaker import Speaker
from audio.time_limit import time_limit
from audio.tts import Chunk, Voice
from audio.units import REPLY_RATE_HZ, ReplySamples
from llm.chat import (
    AnsweringEndpoint,
    CallInProgress,
    ChatEvent,
    EndpointTried,
    Finished,
    FunctionCall,
    RequestSent,
    SlotAcquired,
    Token,
)
from llm.errors import LlmError, LlmFiltered

UNITS_AHEAD = 256
"""Text chunks that may wait for synthesis before the token stream is paused: about ten minutes of speech.

Pausing it earlier would save nothing, because the server has already generated the text. And the rest of a reply can be
resumed after a false interruption only if its text is complete.
"""

MOMENT = -1
"""Index of a chunk that announces a wait ("One moment."). It is heard, but is not part of the reply."""

LOOKED_S = 0.2
"""Longest time that the first audio is held while the user may be resuming.

While frames arrive, turn taking decides sooner.
"""

BROKE_OFF = "Sorry, my answer breaks off there."
NOTHING_CAME = "My language model gave an empty answer."
NOBODY_HEARD = "there was no loudspeaker: nobody heard the reply"


def _clear() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(slots=True)
class Reply:
    """One attempt at a reply. `run` is its task. Whoever commits the turn opens the gate.

    Attributes:
        id: Turn and attempt.
        voice: Synthesizes the text.
        voice_works: Set while the voice works. No audio is requested before.
        speaker: Plays the audio.
        trace: Trace of the turn.
        voice_timeout_s: Longest wait for the next audio chunk.
        show: Receives an event when a chunk's first audio goes to the speaker, and the times of its words.
        say: Converts written to spoken text.
        answered_by: Name of the LLM endpoint or skill that answers.
        spoken: Whether the reply is synthesized; else its text is shown as it arrives.
        speed: Returns the speech rate, 1 being the voice's own; called for every chunk.
        gain_db: Gain of the reply's audio; known at the commit.
        error: What went wrong, for the screen and the trace; None if nothing did.
        filtered: Whether a content filter stopped the answer in the middle, which is then the `error`.
        voice_failed: Whether the voice has to be reloaded.
        unspoken: Text that could not be synthesized.
        calls: Calls of the client's functions by the LLM.
        finished: How the LLM's answer ended; None before.
        gate: Set at the commit. No audio is played before.
        clear: Cleared while the user may be resuming. The first audio then waits, at most `LOOKED_S`.
        spoken_transcript: The synthesized text, with the position of each word in the audio.
        played: How many samples have left the speaker.
    """

    id: ReplyId
    voice: Voice
    voice_works: asyncio.Event
    speaker: Speaker
    trace: TurnTrace
    voice_timeout_s: float
    show: Callable[[SessionEvent], None]
    say: Callable[[str], str]
    answered_by: str
    spoken: bool = True
    speed: Callable[[], float] = lambda: 1.0
    gain_db: float = 0.0
    error: str | None = None
    filtered: bool = False
    voice_failed: bool = False
    unspoken: list[str] = field(default_factory=list)
    calls: list[FunctionCall] = field(default_factory=list)
    finished: Finished | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    clear: asyncio.Event = field(default_factory=_clear)
    spoken_transcript: SpokenTranscript = field(default_factory=SpokenTranscript)
    played: ReplySamples = field(default=ReplySamples(0))
    _sentences: Chunker = field(default_factory=Chunker)
    _units: "asyncio.Queue[TextChunk | None]" = field(default_factory=lambda: asyncio.Queue(UNITS_AHEAD))
    _hands: "list[asyncio.Task[None]]" = field(default_factory=list)
    _books: LlmMetrics | None = None
    _put_in: list[TextChunk] = field(default_factory=list)
    _moment_from: ReplySamples | None = None  # position of the wait announcement in the audio
    _began_s: float | None = None  # when synthesis of the first chunk began
    _start: PlayoutTiming = field(init=False)

    def __post_init__(self) -> None:
        self._start = PlayoutTiming(self.trace, self.id.attempt)

    async def run(self, source: AsyncGenerator[ReplyEvent]) -> None:
        """Answers with the events of `source`. Raises nothing but CancelledError; errors are stored in `error`."""
        async with asyncio.TaskGroup() as hands:
            self._hands = [
                hands.create_task(self._guard(partial(self._write, source)), name=f"tokens {self.id}"),
                hands.create_task(self._guard(self._speak if self.spoken else self._tell), name=f"words {self.id}"),
            ]
        while not self._units.empty():
            unit = self._units.get_nowait()
            self.unspoken += [unit.text] if unit is not None else []
        if self.unspoken and self.error is None:
            self.error = f"the voice {self.voice.name} could make no sound of some of the answer"

    async def _guard(self, work: Callable[[], Awaitable[None]]) -> None:
        """Runs a subtask. If it fails, both subtasks end.

        Neither may raise: a task group whose child raises forgets that it was cancelled.
        """
        try:
            await work()
        except TtsError as error:
            self.error, self.voice_failed = str(error), True
        except Exception as error:  # noqa: BLE001
            # A bug must not end the conversation: it is reported in the trace and on the screen.
            self.error = f"internal error in the reply: {type(error).__name__}"
        else:
            return
        for hand in self._hands:
            if hand is not asyncio.current_task():
                hand.cancel()

    def abandon(self, now_s: float) -> None:
        """Records that the reply was abandoned. The time waited so far stays in the trace."""
        if self._books is not None:
            self._books.gave_up(now_s)

    # ---- tokens to text chunks ----

    @property
    def written(self) -> str:
        """Its text so far, as `spoken_transcript` will contain it once all of it is synthesized."""
        return (" " if self.spoken else "").join(unit.text for unit in self._put_in)

    @property
    def rest(self) -> str | None:
        """Unheard text, from the beginning of the interrupted sentence; None if the answer is incomplete."""
        if self.finished is None:
            return None
        written, heard = self.written, len(self.spoken_transcript.text_heard(self.played))
        sentence = end = 0
        for unit in self._put_in:
            end += len(unit.text) + 1  # and the space after it
            if any(map(str.isalnum, written[heard:end])):
                return written[sentence:]
            if unit.ends_sentence:
                sentence = end
        return ""

    def ask_for_a_moment(self, text: str) -> None:
        """Announces a wait, unless something was said or announced before."""
        if self.spoken and not self._put_in and self._moment_from is None and self._units.empty():
            self._moment_from = self.spoken_transcript.samples
            self._units.put_nowait(TextChunk(text, MOMENT, ends_sentence=True))
            self.trace.event("moment", asyncio.get_running_loop().time(), f"attempt {self.id.attempt}")

    async def _write(self, source: AsyncGenerator[ReplyEvent]) -> None:
        loop = asyncio.get_running_loop()
        self._books = books = LlmMetrics(self.trace, self.id.attempt, self.answered_by, loop.time())
        begun = False
        try:
            async with aclosing(source):
                async for event in source:
                    books.came(event, loop.time())
                    begun = begun or isinstance(event, Token)
                    for unit in self._units_of(event):
                        await self._put(unit)
            for unit in self._sentences.finish():
                await self._put(unit)
            if not self._put_in and not self.calls:
                self.error = self._why_nothing_came(begun)
                await self._say(NOTHING_CAME)
        except LlmError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from error  # it failed while it was being cancelled
            self.error = str(error)
            self.filtered = isinstance(error, LlmFiltered) and begun
            books.ended(loop.time())
            await self._break_off()
            await self._say(f"{BROKE_OFF} {error.spoken}" if self._put_in else error.spoken)
        await self._units.put(None)

    def _why_nothing_came(self, begun: bool) -> str:
        """Returns the cause of an empty answer and a remedy. `begun`: there was text, but none that can be spoken."""
        if begun:
            what = "answered with nothing that can be spoken, only signs such as emoji or markup: "
            remedy = "ask for words in assistant.instructions, or choose another model"
        else:
            ending = f"finish reason {self.finished.reason}" if self.finished is not None else "no finish reason"
            what = f"ended its answer without any text and without a call that was offered ({ending}): "
            remedy = "check its server's chat template and tool-call parser, or choose another model"
        return f"llm endpoint {self.answered_by!r} {what}{remedy}"

    async def _break_off(self) -> None:
        """Ends a broken answer with a whole sentence, unless the next sentence is already being synthesized."""
        if not self.spoken:
            return
        torn = self._sentences.finish()
        whole = max((at for at, unit in enumerate(torn, 1) if _ends_sentence(unit.text)), default=0)
        for unit in torn[:whole]:
            await self._put(unit)
        if whole:
            return
        waiting: list[TextChunk | None] = []
        while not self._units.empty():
            waiting.append(self._units.get_nowait())
        while waiting and waiting[-1] is not None and not waiting[-1].ends_sentence:
            waiting.pop()
            self._put_in.pop()
        for kept in waiting:
            self._units.put_nowait(kept)

    async def _say(self, text: str) -> None:
        await self._put(TextChunk(text=text, index=len(self._put_in), ends_sentence=True))

    async def _put(self, unit: TextChunk) -> None:
        if self._books is not None:
            self._books.unit(asyncio.get_running_loop().time())
        self._put_in.append(unit)
        await self._units.put(unit)

    def _units_of(self, event: ReplyEvent) -> tuple[TextChunk, ...]:
        match event:
            case AnsweringEndpoint():
                self.answered_by = event.by
            case Token():
                if self.spoken:
                    return self._sentences.feed(event.text)
                return (TextChunk(text=event.text, index=len(self._put_in), ends_sentence=False),)
            case FunctionCall():
                self.calls.append(event)
            case Finished():
                self.finished = event
            case ToolsCalled():
                said, self._sentences = self._sentences.finish() if self.spoken else (), Chunker()
                return said
            case EndpointTried() | SlotAcquired() | RequestSent() | CallInProgress() | ToolsReturned():
                pass  # metrics only
            case _:
                assert_never(event)
        return ()

    # ---- text chunks to the screen ----

    async def _tell(self) -> None:
        """Shows each piece of text of a reply that is not spoken. The text counts as heard."""
        while (unit := await self._units.get()) is not None:
            await self.gate.wait()
            self.spoken_transcript.write(unit.text)
            self.show(ChunkSpoken(self.id, unit.text))

    # ---- text chunks to audio ----

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        while (unit := await self._units.get()) is not None:
            if self._began_s is None and unit.index != MOMENT:
                self._began_s = loop.time()
            try:
                await (self._fill(unit) if unit.index == MOMENT else self._speak_unit(unit))
            except TtsError:
                self.unspoken.append(unit.text)
                raise

    async def _fill(self, unit: TextChunk) -> None:
        """Plays a wait announcement. It counts as silence for the reply's onset and does not enter the history."""
        async with aclosing(self.voice.speak(self.say(unit.text), self.speed())) as chunks:
            while (chunk := await self._next_chunk(chunks)) is not None:
                self.spoken_transcript.add(chunk.pcm.size, ())
                self._start.filled(chunk.pcm.size)
                if not await self.speaker.play(self.id, amplified(chunk.pcm, self.gain_db)):
                    return

    async def _speak_unit(self, unit: TextChunk) -> None:
        sounded = False
        said = self.say(unit.text)
        async with aclosing(self.voice.speak(said, self.speed())) as chunks:
            while (chunk := await self._counted_chunk(chunks)) is not None:
                if not sounded:
                    self._first_sound()
                    self.spoken_transcript.begin_unit(unit.text, align(unit.text, said).written)
                    await self.gate.wait()
                    if not self.clear.is_set() and self.spoken_transcript.samples == 0:
                        await self._look()
                words = self.spoken_transcript.add(chunk.pcm.size, chunk.marks)
                pcm = amplified(chunk.pcm, self.gain_db)
                self._start.made(pcm)
                if not await self.speaker.play(self.id, pcm):
                    return
                # After the audio, so that the display cannot delay it.
                if not sounded:
                    sounded = True
                    self.show(ChunkSpoken(self.id, unit.text))
                if words:
                    self.show(WordsTimed(self.id, words))
        if not sounded:
            self.unspoken.append(unit.text)

    async def _counted_chunk(self, chunks: AsyncGenerator[Chunk]) -> Chunk | None:
        """Returns the next audio chunk and records its length and synthesis time."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        chunk = await self._next_chunk(chunks)
        if self._books is not None:
            self._books.voiced(loop.time() - began_s, 0 if chunk is None else chunk.pcm.size)
        return chunk

    async def _next_chunk(self, chunks: AsyncGenerator[Chunk]) -> Chunk | None:
        try:
            async with time_limit(self.voice_timeout_s):
                await self.voice_works.wait()
                return await anext(chunks, None)
        except TimeoutError as error:
            name = self.voice.name
            raise TtsError(f"the voice {name} gave no sound for {self.voice_timeout_s:g} s") from error

    async def _look(self) -> None:
        """Holds the first audio while the user may be resuming."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOKED_S):
                await self.clear.wait()
        self.trace.span(self.id.attempt, Span(LOOK, "endpoint_wait", began_s, loop.time(), ("tts", "commit")))

    def _first_sound(self) -> None:
        if not self.spoken_transcript.text and self._began_s is not None:
            now_s = asyncio.get_running_loop().time()
            self.trace.span(self.id.attempt, Span("tts", "tts", self._began_s, now_s, ("first_sentence",)))

    # ---- playout reports of the speaker ----

    def was_played(self, played: ReplySamples, leaves_at_s: float, *, finished: bool) -> None:
        """Records that a device block of this reply leaves the speaker at `leaves_at_s`. `played`: end of the block, in
        samples.

        Infinity means that it never leaves, because there is no loudspeaker. Later blocks may still be heard.
        """
        first, self.played = self.played, played
        self._start.was_played(first, played, leaves_at_s, finished=finished)
        if finished and self.unheard and not self.audible:
            self.error = self.error or NOBODY_HEARD

    @property
    def unheard(self) -> Sequence[Stretch]:
        """Stretches of its audio that no loudspeaker played, in order."""
        return self._start.unheard

    @property
    def unheard_ms(self) -> float:
        """Length of the audio that no loudspeaker played."""
        return sum(until - since for since, until in self.unheard) * 1000 / REPLY_RATE_HZ

    @property
    def unheard_end(self) -> int | None:
        """First sample of an unheard stretch at the end; None if the last played sample was heard."""
        return self.unheard[-1][0] if self.unheard and self.unheard[-1][1] == self.played else None

    def was_measured(self, audible_s: float, device_s: float) -> None:
        """Records the playout that the client has measured; see `PlayoutTiming.was_measured`."""
        if self._moment_from is None:  # else the client measured the wait announcement
            self._start.was_measured(audible_s, device_s)

    @property
    def answered(self) -> bool:
        """Whether the reply had an effect: audible audio, function calls, or text where it is not spoken."""
        return self.audible or bool(self.calls) or (not self.spoken and bool(self.spoken_transcript.text))

    @property
    def audible(self) -> bool:
        """Whether any of it was heard."""
        return self._start.at_s is not None

    @property
    def sounding(self) -> bool:
        """Whether anything was heard, including a wait announcement."""
        return self.audible or (self._moment_from is not None and self.played > self._moment_from)

    @property
    def words_heard(self) -> int:
        """Number of whole words that were heard so far."""
        return self.spoken_transcript.words_heard(self.played)


def _ends_sentence(text: str) -> bool:
    """Returns whether a broken answer may end with this text. A number before a full stop may have had decimals."""
    bare = text.rstrip("\"'’”»)）」』")
    return bare.endswith((*"!?。！？…",)) or (bare.endswith(".") and not bare[:-1][-1:].isdigit())


async def recite(text: str, by: str) -> AsyncGenerator[ChatEvent]:
    """Yields a reply whose text is known, such as a greeting or an apology."""
    yield AnsweringEndpoint(by)
    yield Token(text)
    yield Finished("stop")
