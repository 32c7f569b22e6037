"""Runs out-of-band responses: answers that a client requests outside of the conversation, beside the replies.

    begin ─▶ LLM ─▶ text, or text chunks ─▶ voice ─▶ audio ─▶ end

They are not in the history and no part of turn taking: speech does not interrupt them, and the position of their
playback is not tracked. Replies come first: a chunk is synthesized only while no reply waits for its first sound, and
one at a time for all conversations with the same voice.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial

from assistant.events import ChunkSpoken, FunctionCalled, ReplySent, ReplyStopped
from assistant.history.items import FunctionCallItem, ItemId
from assistant.pipeline.engines import Engines, ReplyOptions, SessionSettings
from assistant.pipeline.session_context import SessionContext
from assistant.text.chunker import Chunker
from assistant.tools.rounds import ReplyEvent, without_made_up
from assistant.turns.events import ReplyId
from audio.errors import AudioError, TtsError
from audio.level import amplified
from audio.time_limit import engine_time_limit
from audio.units import Pcm, s_of_reply_samples
from llm.chat import Finished, FunctionCall, Message, Token
from llm.errors import LlmError, LlmFiltered

OUT_OF_BAND_TURN = 0
"""Turn in the id of an out-of-band response, which belongs to no turn. Turns count from 1."""

MAX_ANSWERS = 8
"""Answers of one conversation at a time."""

ANSWER_TIMEOUT_S = 300.0
"""Time limit for a whole answer. It is longer than the limits on the LLM's tokens and on each audio chunk."""

MAX_QUEUED_CHUNKS = 256
"""Text chunks that may wait for synthesis before the token stream is paused, as for replies."""

AHEAD_S = 10.0
"""Longest lead of the audio over real time at the next chunk."""

GIVE_WAY_S = 3.0
"""Longest wait before each chunk for a reply that has made no sound yet."""

WAIT_STEP_S = 0.02
RELOAD_TIMEOUT_S = 30.0

OutOfBandEvent = ChunkSpoken | FunctionCalled | ReplySent | ReplyStopped


@dataclass(frozen=True, slots=True)
class OutOfBandListener:
    """Receives what the responses say.

    Attributes:
        on_event: Receives text, calls, and the end: `ReplySent`, or `ReplyStopped` if it was cancelled.
        on_audio: Receives the audio of a spoken answer, before the text of its chunk.
        reserve_item: Returns an id for a function call.
    """

    on_event: Callable[[OutOfBandEvent], None]
    on_audio: Callable[[ReplyId, Pcm], None]
    reserve_item: Callable[[], ItemId]


@dataclass(slots=True)
class OutOfBandAnswers:
    """Runs the out-of-band responses of one conversation. Not thread-safe: call it on the event loop.

    Attributes:
        context: What it shares with the rest of the session.
        reply_awaits_sound: Whether a reply has made no sound yet, which goes first.
    """

    context: SessionContext
    reply_awaits_sound: Callable[[], bool]
    _tasks: asyncio.TaskGroup = field(init=False)
    _running: "dict[ReplyId, tuple[_Answer, asyncio.Task[None]]]" = field(default_factory=dict)
    _reloading: "asyncio.Task[None] | None" = None
    _count: int = 0

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Starts. `tasks` owns the answers."""
        self._tasks = tasks

    @property
    def active(self) -> tuple[ReplyId, ...]:
        """The answers in progress."""
        return tuple(self._running)

    @property
    def full(self) -> bool:
        """Whether there are `MAX_ANSWERS`, so that no other can begin."""
        return len(self._running) >= MAX_ANSWERS

    def begin(self, messages: Sequence[Message], options: ReplyOptions, listener: OutOfBandListener) -> ReplyId:
        """Begins an answer to these messages and returns its id. Its events come later."""
        assert not self.full
        self._count += 1
        reply_id = ReplyId(OUT_OF_BAND_TURN, self._count)
        engines, settings = self.context.engines, self.context.settings
        answer = _Answer(reply_id, engines, settings, options, listener, self.reply_awaits_sound)
        task = self._tasks.create_task(self._run(answer, messages), name=f"out-of-band answer {self._count}")
        self._running[reply_id] = answer, task
        return reply_id

    def cancel(self, reply_id: ReplyId) -> bool:
        """Cancels an answer. Returns False if it is not in progress."""
        if reply_id not in self._running:
            return False
        answer, task = self._running.pop(reply_id)
        task.cancel()
        answer.listener.on_event(ReplyStopped(reply_id, answer.text, 0.0, "client", *answer.tokens))
        return True

    def stop(self) -> None:
        """Cancels all answers without events, because there is nobody to receive them."""
        for _, task in self._running.values():
            task.cancel()
        self._running.clear()

    def close(self) -> None:
        """Stops all work, because the conversation is over."""
        self.stop()
        if self._reloading is not None:
            self._reloading.cancel()

    async def _run(self, answer: "_Answer", messages: Sequence[Message]) -> None:
        """Runs an answer to its end. Raises nothing but CancelledError."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await answer.run(messages)
        except TimeoutError:
            answer.error = f"the answer took longer than {ANSWER_TIMEOUT_S:g} s and was stopped"
        if self._running.pop(answer.reply_id, None) is None:
            return  # it was cancelled
        answer.end()
        if answer.voice_failed and (self._reloading is None or self._reloading.done()):
            self._reloading = self._tasks.create_task(self._reload_voice(), name="reload the voice")

    async def _reload_voice(self) -> None:
        with suppress(AudioError, TimeoutError):  # if it still fails, the next reply reports it
            async with asyncio.timeout(RELOAD_TIMEOUT_S):
                await self.context.engines.voice.load()


@dataclass(slots=True)
class _Answer:
    """One answer.

    Attributes:
        reply_id: Its id.
        text: Its text so far: what was sent of it.
        error: What went wrong; None if nothing did.
        voice_failed: Whether the voice has to be loaded again.
    """

    reply_id: ReplyId
    engines: Engines
    settings: SessionSettings
    options: ReplyOptions
    listener: OutOfBandListener
    reply_awaits_sound: Callable[[], bool]
    text: str = ""
    error: str | None = None
    voice_failed: bool = False
    _filtered: bool = False
    _finished: Finished | None = None
    _calls: list[FunctionCall] = field(default_factory=list)
    _chunks: "asyncio.Queue[str | None]" = field(default_factory=lambda: asyncio.Queue(MAX_QUEUED_CHUNKS))
    _subtasks: "list[asyncio.Task[None]]" = field(default_factory=list)
    _made_s: float = 0.0

    async def run(self, messages: Sequence[Message]) -> None:
        """Asks the LLM and sends its answer. Raises nothing but CancelledError; errors are stored in `error`."""
        options = self.options.options
        model = self.engines.direct_model or self.engines.model
        source = without_made_up(model.stream(messages, options), options.functions)
        if not self.options.spoken:
            await self._guarded(partial(self._read, source))
            return
        async with asyncio.TaskGroup() as subtasks:
            self._subtasks = [
                subtasks.create_task(self._guarded(partial(self._read, source)), name=f"tokens {self.reply_id}"),
                subtasks.create_task(self._guarded(self._speak), name=f"words {self.reply_id}"),
            ]

    @property
    def tokens(self) -> tuple[int | None, int | None, int | None]:
        """Prompt, completion and cached tokens as the service counts them."""
        finished = self._finished
        if finished is None:
            return None, None, None
        return finished.prompt_tokens, finished.completion_tokens, finished.cached_tokens

    def end(self) -> None:
        """Sends the function calls and the end."""
        for call in self._calls if self.error is None else ():
            item = self.listener.reserve_item()
            self.listener.on_event(
                FunctionCalled(
                    self.reply_id, FunctionCallItem(item, call.call_id or f"call_{item}", call.name, call.arguments)
                )
            )
        reason = None if self._finished is None else self._finished.reason
        incomplete = "content_filter" if self._filtered else reason if reason in {"length", "content_filter"} else None
        error = None if self._filtered else self.error
        self.listener.on_event(ReplySent(self.reply_id, self.text, error, incomplete, *self.tokens))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Runs a part of the work. If it fails, all parts end.

        It never raises: a task group whose child raises forgets that it was cancelled.
        """
        try:
            await work()
        except LlmError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from error  # it failed while it was being cancelled
            self.error = str(error)
            self._filtered = isinstance(error, LlmFiltered) and bool(self.text)
        except TtsError as error:
            self.error, self.voice_failed = str(error), True
        except Exception as error:  # noqa: BLE001
            # A bug must not end the conversation: it is reported to the client.
            self.error = f"internal error in the answer: {type(error).__name__}"
        else:
            return
        for subtask in self._subtasks:
            if subtask is not asyncio.current_task():
                subtask.cancel()

    async def _read(self, source: AsyncGenerator[ReplyEvent]) -> None:
        """Reads the LLM's answer. Text is sent at once, or passed on in chunks to the voice."""
        chunker = Chunker()
        async with aclosing(source):
            async for event in source:
                match event:
                    case Token() if not self.options.spoken:
                        self._say(event.text)
                    case Token():
                        for chunk in chunker.feed(event.text):
                            await self._chunks.put(chunk.text)
                    case FunctionCall():
                        self._calls.append(event)
                    case Finished():
                        self._finished = event
                    case _:
                        pass  # metrics of turns
        if self.options.spoken:
            for chunk in chunker.finish():
                await self._chunks.put(chunk.text)
            await self._chunks.put(None)

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while (chunk := await self._chunks.get()) is not None:
            await asyncio.sleep(max(0.0, self._made_s - AHEAD_S - (loop.time() - began_s)))
            until_s = loop.time() + GIVE_WAY_S
            while True:
                while self._must_wait(until_s):  # noqa: ASYNC110 - turn taking has no event for it
                    await asyncio.sleep(WAIT_STEP_S)
                async with self.engines.background_voice:
                    if not self._must_wait(until_s):
                        await self._speak_chunk(chunk)
                        break

    def _must_wait(self, until_s: float) -> bool:
        """Returns whether a chunk waits for a reply that has made no sound yet."""
        return self.reply_awaits_sound() and asyncio.get_running_loop().time() < until_s

    async def _speak_chunk(self, chunk: str) -> None:
        effects = self.engines.skill_effects
        voice, is_audible = self.engines.voice, False
        spoken_text = self.engines.normalize_text(chunk)
        async with aclosing(voice.speak(spoken_text, self.options.speed * effects.speed)) as audio_chunks:
            while True:
                try:
                    async with engine_time_limit(voice, self.settings.voice_timeout_s):
                        audio_chunk = await anext(audio_chunks, None)
                except TimeoutError as error:
                    limit_s = self.settings.voice_timeout_s
                    raise TtsError(f"the voice {voice.name} produced no audio for {limit_s:g} s") from error
                if audio_chunk is None:
                    break
                self._made_s += s_of_reply_samples(audio_chunk.pcm.size)
                self.listener.on_audio(self.reply_id, amplified(audio_chunk.pcm, effects.gain_db))
                if not is_audible:
                    is_audible = True
                    self._say_chunk(chunk)
        if not is_audible:
            self._say_chunk(chunk)

    def _say_chunk(self, chunk: str) -> None:
        self._say(f" {chunk}" if self.text else chunk)

    def _say(self, text: str) -> None:
        self.text += text
        self.listener.on_event(ChunkSpoken(self.reply_id, text))
