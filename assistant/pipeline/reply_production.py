"""Produces one reply: from LLM messages to the last audio sample, as one task that can be cancelled.

Two subtasks run concurrently. One reads tokens and cuts them into text chunks; the other synthesizes the chunks. The
first audio is made as early as possible and held at the gate until the turn is committed.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

import numpy as np

from assistant.events import ChunkSpoken, ReplySent, SessionEvent, WordsTimed
from assistant.history.cut_to_heard import SpokenTranscript, Stretch
from assistant.models.language_names import NAMES
from assistant.pipeline.broken_answer import empty_answer_error, ends_sentence
from assistant.pipeline.engine_recovery import reason_of
from assistant.pipeline.llm_metrics import LlmMetrics
from assistant.pipeline.playout_timing import PlayoutTiming
from assistant.pipeline.reply_life import ReplyState
from assistant.pipeline.turn_trace import TurnTrace
from assistant.pipeline.unasked.ringing import RingSound
from assistant.skills.answers import SkillEffect
from assistant.skills.home.pending_action import PendingAction
from assistant.text.chunker import Chunker, TextChunk
from assistant.text.failure_sentences import failure_sentence
from assistant.text.normalization.alignment import align
from assistant.tools.rounds import ApprovalNeeded, ReplyEvent, ResultsDelivered, ToolsCalled, ToolsReturned
from assistant.trace.latency import HOME_WAIT, RESUME_WAIT, Span
from assistant.turns.effects import CommitTurn
from assistant.turns.events import ReplyId
from audio.errors import TtsError
from audio.hang_detection import STEP_S
from audio.level import SoftStart, amplified
from audio.speaker import Speaker
from audio.time_limit import engine_time_limit
from audio.tones import failure_tone
from audio.tts import Chunk, Voice
from audio.tts.speakable import speakable, unspoken_notice
from audio.tts.word_bounds import bounded_words
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples
from llm.chat import (
    REPETITION,
    AnsweringEndpoint,
    CacheLookup,
    CallInProgress,
    EndpointTried,
    Escalated,
    FallbackAnswers,
    Finished,
    FunctionCall,
    Message,
    OtherSizeAnswers,
    PartAnswered,
    RequestSent,
    SizeChosen,
    SlotAcquired,
    Token,
)
from llm.errors import LlmError, LlmFiltered
from llm.text_pieces import pieces_of

MAX_QUEUED_CHUNKS = 256
"""Text chunks that may wait for synthesis before the token stream is paused: about ten minutes of speech.

Pausing it earlier would save nothing, because the server has already generated the text. And the rest of a reply can be
resumed after a false interruption only if its text is complete.
"""

UNSPEAKABLE = "I can't read these letters aloud. The answer is on the screen."

ANNOUNCEMENT = -1
"""Index of a chunk that announces a wait ("One moment."). It is heard, but is not part of the reply."""

_PHRASES_BETWEEN_SENTENCES = 6
"""Phrases of the tone after which a ring says its sentences again: 12 s."""

_PHRASES_BETWEEN_PAUSES, _RING_PAUSE_S = 3, 2.5
"""After so many phrases a ring pauses for so long. A microphone that is off while a sound plays hears "stop" then."""

_MAX_REPEATED_SENTENCES = 3
"""Limit on the sentences that a ring repeats at once: more are hard to follow by ear."""

_TONE_AHEAD_SAMPLES = REPLY_RATE_HZ
"""The next phrase is made when less than this is left to play, so that a client buffers little: one second."""

SHORTENED = "a very long word is not spoken to its end"

MAX_HOLD_S = 0.2
"""Longest time that the first audio is held while the user may be resuming. Turn taking usually decides sooner."""

ANSWER_BROKE_OFF = "Sorry, my answer breaks off there."
EMPTY_ANSWER = "My language model gave an empty answer."
NO_LOUDSPEAKER = "there was no loudspeaker: nobody heard the reply"


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(slots=True)
class ReplyProduction:
    """Makes one reply. `run` is its task. The commit of the turn opens its gate.

    Attributes:
        reply_id: Turn and attempt.
        voice: Synthesizes the text.
        voice_works: Set while the voice works. No audio is requested before.
        speaker: Plays the audio.
        trace: Trace of the turn.
        voice_timeout_s: Longest wait for the next audio chunk of a voice that does not watch itself.
        on_event: Receives an event when a chunk's first audio goes to the speaker, and the times of its words.
        normalize_text: Converts written to spoken text.
        answered_by: Name of the LLM endpoint or skill that answers.
        spoken: Whether the reply is synthesized; else its text is shown as it arrives.
        speed: Returns the speed, 1 being the voice's own; called for every chunk.
        gain_db: Gain of the reply's audio; known at the commit.
        fallback_notice: Spoken before the answer of a fallback; "" if it was said before.
        language: The conversation's language, for sentences about a failure.
        new_chunker: Returns what cuts the text into chunks.
        on_voice_wait: Called again and again while the reply waits for the voice, which is late and works.
        show_paragraph: Receives texts of the reply that do not come from its source.
        fallback: Name of the fallback that answers; "" for none.
        endpoint_answered: Whether an endpoint answers that is no fallback.
        cache_lookup: How the lookup in the answer cache ended; None without a cache.
        error: What went wrong, for the screen and the trace; None if nothing did.
        apology: Whether it is an apology in place of an answer. A reply begins as one if it begins with an `error`.
        filtered: Whether a content filter stopped the answer in the middle, which is then the `error`.
        voice_failed: Whether the voice has to be reloaded.
        unsynthesized: Text that could not be synthesized.
        unspoken_scripts: Scripts of letters that the voice cannot speak, in order.
        shortened: Whether the rest of a very long word is not spoken.
        calls: Calls of the client's functions by the LLM, and calls that the client has to approve.
        finished: How the LLM's answer ended; None before.
        ring: What the reply rings; None for any other reply. It rings until it is stopped.
        pending: What the reply says that is done in the home. Its first audio waits a moment for the confirmation.
        gate: Set at the commit. No audio is played before.
        released: Cleared while the user may be resuming. The first audio then waits, at most `MAX_HOLD_S`.
        spoken_transcript: The synthesized text, with the position of each word in the audio.
        played: How many samples have left the speaker.
        messages: The messages that it answers; none if its text is known.
        without_words: It only says that no words were recognized.
        state: Where the reply is in its life. `ReplyManager` changes it.
        commit: The commit with which it began to speak; None before.
        effect_of: Returns the effect of its answer, by the engines that give it; None while these are not known.
        is_answer: Whether it answers its messages, so that a skill may do something; known at the commit.
        error_reported: The `error` was shown.
        undo_effects: Undoes what a skill has done for it.
        has_effect: A tool or function was called for it, or a skill has changed something.
        task: Runs `run`.
    """

    reply_id: ReplyId
    voice: Voice
    voice_works: asyncio.Event
    speaker: Speaker
    trace: TurnTrace
    voice_timeout_s: float
    on_event: Callable[[SessionEvent], None]
    normalize_text: Callable[[str], str]
    answered_by: str
    spoken: bool = True
    speed: Callable[[], float] = lambda: 1.0
    gain_db: float = 0.0
    fallback_notice: str = ""
    language: str = "en"
    on_voice_wait: Callable[[], None] = lambda: None
    show_paragraph: Callable[[str], None] = lambda _text: None
    new_chunker: Callable[[], Chunker] = Chunker
    fallback: str = ""
    endpoint_answered: bool = False
    cache_lookup: CacheLookup | None = None
    error: str | None = None
    filtered: bool = False
    apology: bool = field(init=False)
    voice_failed: bool = False
    unsynthesized: list[str] = field(default_factory=list)
    unspoken_scripts: dict[str, None] = field(default_factory=dict)
    shortened: bool = False
    calls: list[FunctionCall | ApprovalNeeded] = field(default_factory=list)
    finished: Finished | None = None
    ring: RingSound | None = None
    pending: PendingAction | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=_set_event)
    spoken_transcript: SpokenTranscript = field(default_factory=SpokenTranscript)
    played: ReplySamples = field(default=ReplySamples(0))
    messages: tuple[Message, ...] = ()
    without_words: bool = False
    state: ReplyState = ReplyState.HELD
    commit: CommitTurn | None = None
    effect_of: Callable[[Sequence[Message]], SkillEffect | None] | None = None
    is_answer: bool = False
    error_reported: bool = False
    undo_effects: Callable[[], None] = lambda: None
    has_effect: bool = False
    task: "asyncio.Task[None] | None" = None
    _chunker: Chunker = field(init=False)
    _chunks: "asyncio.Queue[TextChunk | None]" = field(default_factory=lambda: asyncio.Queue(MAX_QUEUED_CHUNKS))
    _subtasks: "list[asyncio.Task[None]]" = field(default_factory=list)
    _metrics: LlmMetrics | None = None
    _text_chunks: list[TextChunk] = field(default_factory=list)
    _announcement_at: ReplySamples | None = None  # position of the wait announcement in the audio
    _synthesis_began_s: float | None = None  # when synthesis of the first chunk began
    _word_s: float = 0.0  # predicted sound of a word that the last chunk may have begun
    _soft_start: SoftStart = field(default_factory=lambda: SoftStart(REPLY_RATE_HZ))
    _playout: PlayoutTiming = field(init=False)
    _progress: asyncio.Event = field(default_factory=asyncio.Event)  # set when the speaker has played more

    def __post_init__(self) -> None:
        self._playout = PlayoutTiming(self.trace, self.reply_id.attempt)
        self.apology = self.error is not None

    async def run(self, source: AsyncGenerator[ReplyEvent]) -> None:
        """Answers with the events of `source`. Raises nothing but CancelledError; errors are stored in `error`."""
        async with asyncio.TaskGroup() as subtasks:
            self._subtasks = [
                subtasks.create_task(self._guard(partial(self._read_answer, source)), name=f"tokens {self.reply_id}"),
                subtasks.create_task(self._guard(self._sound_output()), name=f"words {self.reply_id}"),
            ]
        while not self._chunks.empty():
            chunk = self._chunks.get_nowait()
            self.unsynthesized += [chunk.text] if chunk is not None else []
        if self.unsynthesized and self.error is None:
            self.error = self.unspoken_notice or f"the voice {self.voice.name} could not speak a part of the answer"

    @property
    def unspoken_notice(self) -> str:
        """The line about letters that the voice cannot speak and words that are too long; "" if there were none."""
        language = NAMES.get(self.language.partition("-")[0], self.language)
        scripts = unspoken_notice(tuple(self.unspoken_scripts), language) if self.unspoken_scripts else ""
        return "; ".join(filter(None, (scripts, SHORTENED if self.shortened else "")))

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
        for subtask in self._subtasks:
            if subtask is not asyncio.current_task():
                subtask.cancel()

    def abandon(self, now_s: float) -> None:
        """Records that the reply was abandoned. The time waited so far stays in the trace."""
        if self._metrics is not None:
            self._metrics.abandoned(now_s)

    # ---- tokens to text chunks ----

    @property
    def written_text(self) -> str:
        """Its text so far, as `spoken_transcript` will contain it once all of it is synthesized."""
        return (" " if self.spoken else "").join(chunk.text for chunk in self._text_chunks)

    @property
    def answer_text(self) -> str:
        """Its text so far without the fallback notice, as the history will contain it."""
        return (" " if self.spoken else "").join(chunk.text for chunk in self._text_chunks if not chunk.is_notice)

    @property
    def repeatable_text(self) -> str:
        """Its text so far for "say that again": without notices and apologies, unless there is nothing else."""
        return self.answer_text or self.written_text

    @property
    def unheard_text(self) -> str | None:
        """Unheard text, from the beginning of the interrupted sentence; None if the answer is incomplete."""
        if self.finished is None:
            return None
        written, heard = self.written_text, len(self.spoken_transcript.text_heard(self.played))
        sentence = end = 0
        for chunk in self._text_chunks:
            end += len(chunk.text) + 1  # and the space after it
            if any(map(str.isalnum, written[heard:end])):
                return written[sentence:]
            if chunk.ends_sentence:
                sentence = end
        return ""

    def announce_wait(self, text: str) -> None:
        """Announces a wait, unless something was said or announced before."""
        if self.spoken and not self._text_chunks and self._announcement_at is None and self._chunks.empty():
            self._announcement_at = self.spoken_transcript.samples
            self._chunks.put_nowait(TextChunk(text, ANNOUNCEMENT, ends_sentence=True))
            self.trace.event("moment", asyncio.get_running_loop().time(), f"attempt {self.reply_id.attempt}")

    async def _read_answer(self, source: AsyncGenerator[ReplyEvent]) -> None:
        loop = asyncio.get_running_loop()
        self._metrics = metrics = LlmMetrics(self.trace, self.reply_id.attempt, self.answered_by, loop.time())
        self._chunker, has_text = self.new_chunker(), False
        try:
            async with aclosing(source):
                async for event in source:
                    metrics.record(event, loop.time())
                    if isinstance(event, Token):
                        has_text = True
                        await self._read_text(event.text)
                    for chunk in self._chunks_of(event):
                        await self._queue_chunk(chunk)
            if self.finished is not None and self.finished.reason == REPETITION:
                await self._break_off()
            for chunk in self._chunker.finish():
                await self._queue_chunk(chunk)
            if not self.answer_text and not self.calls:
                self.error = empty_answer_error(self.answered_by, self.finished, has_text=has_text)
                await self._apologize(failure_sentence(EMPTY_ANSWER, self.language))
        except LlmError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from error  # it failed while it was being cancelled
            self.error = str(error)
            self.filtered = isinstance(error, LlmFiltered) and has_text
            metrics.failed(loop.time())
            await self._break_off()
            sentences = (ANSWER_BROKE_OFF, error.spoken) if self._text_chunks else (error.spoken,)
            await self._apologize(" ".join(failure_sentence(sentence, self.language) for sentence in sentences))
        await self._chunks.put(None)

    async def _read_text(self, text: str) -> None:
        """Divides text into chunks, a long one in pieces, between which other tasks of the event loop run."""
        for piece in pieces_of(text) if self.ring is None else (text,):
            for chunk in self._text_chunks_of(piece):
                await self._queue_chunk(chunk)
            if len(piece) < len(text):
                await asyncio.sleep(0)

    async def _break_off(self) -> None:
        """Ends a broken answer with a whole sentence, unless the next sentence is already being synthesized."""
        if not self.spoken:
            return
        remaining = self._chunker.finish()
        complete = max((index for index, chunk in enumerate(remaining, 1) if ends_sentence(chunk.text)), default=0)
        for chunk in remaining[:complete]:
            await self._queue_chunk(chunk)
        if complete:
            return
        waiting: list[TextChunk | None] = []
        while not self._chunks.empty():
            waiting.append(self._chunks.get_nowait())
        while waiting and waiting[-1] is not None and not waiting[-1].ends_sentence:
            waiting.pop()
            self._text_chunks.pop()
        for waiting_chunk in waiting:
            self._chunks.put_nowait(waiting_chunk)

    async def _apologize(self, text: str, *, is_notice: bool = True) -> None:
        """Says an apology. `is_notice`: it is no part of the answer, so the history does not contain it."""
        self.apology = not self.answer_text
        self.show_paragraph(text)
        if not self.spoken and self.answer_text:  # its pieces are shown one after another, without blanks between them
            text = f"\n\n{text}"
        await self._queue_chunk(TextChunk(text, len(self._text_chunks), ends_sentence=True, is_notice=is_notice))

    async def _queue_chunk(self, chunk: TextChunk) -> None:
        if self._metrics is not None:
            self._metrics.chunk_complete(asyncio.get_running_loop().time())
        self._text_chunks.append(chunk)
        await self._chunks.put(chunk)

    def _chunks_of(self, event: ReplyEvent) -> tuple[TextChunk, ...]:
        match event:
            case AnsweringEndpoint():
                self.answered_by = event.by
            case CacheLookup():
                self.cache_lookup = event
            case FallbackAnswers():
                repeated, self.fallback = bool(self.fallback), event.by  # a question with tools has several requests
                return () if repeated else self._notice_chunks()
            case FunctionCall() | ApprovalNeeded():
                self.has_effect = True
                self.calls.append(event)
            case Finished():
                self.finished = event
            case ToolsCalled():
                self.has_effect = True
                chunks, self._chunker = self._chunker.finish() if self.spoken else (), self.new_chunker()
                return chunks
            case EndpointTried():
                self.endpoint_answered = self.endpoint_answered or event.outcome == "answered"
            case Token() | SlotAcquired() | RequestSent() | CallInProgress() | ToolsReturned() | PartAnswered():
                pass  # text is read before; metrics only
            case ResultsDelivered():
                self.has_effect = True
            case SizeChosen() | OtherSizeAnswers() | Escalated():
                pass  # metrics only
            case _:
                assert_never(event)
        return ()

    def _notice_chunks(self) -> tuple[TextChunk, ...]:
        """Returns the fallback notice as text chunks."""
        if not self.fallback_notice:
            return ()
        if not self.spoken:
            return (TextChunk(f"{self.fallback_notice}\n\n", 0, ends_sentence=True, is_notice=True),)
        self.show_paragraph(self.fallback_notice)
        chunker = Chunker()
        chunks = (*chunker.feed(self.fallback_notice), *chunker.finish())
        return tuple(replace(chunk, is_notice=True) for chunk in chunks)

    def _text_chunks_of(self, text: str) -> tuple[TextChunk, ...]:
        if self.ring is not None:
            return (TextChunk(text=text, index=len(self._text_chunks), ends_sentence=True),)
        if self.spoken:
            return self._chunker.feed(text)
        return (TextChunk(text=text, index=len(self._text_chunks), ends_sentence=False),)

    def _sound_output(self) -> Callable[[], Awaitable[None]]:
        if not self.spoken:
            return self._show_text
        return self._synthesize if self.ring is None else partial(self._ring, self.ring)

    # ---- text chunks to the screen ----

    async def _show_text(self) -> None:
        """Shows each piece of text of a reply that is not spoken. The text counts as heard."""
        while (chunk := await self._chunks.get()) is not None:
            await self.gate.wait()
            if self.pending is not None and await self._tells_fault(self.pending):
                continue
            self.spoken_transcript.add_shown_text(chunk.text, is_notice=chunk.is_notice)
            self.on_event(ChunkSpoken(self.reply_id, chunk.text))

    # ---- text chunks to audio ----

    async def _synthesize(self) -> None:
        loop = asyncio.get_running_loop()
        while (chunk := await self._chunks.get()) is not None:
            if self._synthesis_began_s is None and chunk.index != ANNOUNCEMENT:
                self._synthesis_began_s = loop.time()
            try:
                await (self._play_announcement(chunk) if chunk.index == ANNOUNCEMENT else self._synthesize_chunk(chunk))
            except TtsError:
                self.unsynthesized.append(chunk.text)
                raise

    async def _ring(self, ring: RingSound) -> None:
        """Plays the tone, and says the sentences between its phrases again and again, until the reply is stopped."""
        await self.gate.wait()
        chunks: list[TextChunk] = []
        phrases = 0
        while await self._play_tone(ring.phrase()):
            phrases += 1
            if phrases % _PHRASES_BETWEEN_PAUSES == 0:
                await self._play_tone(np.zeros(round(_RING_PAUSE_S * REPLY_RATE_HZ), np.int16))
            while not self._chunks.empty():
                if (chunk := self._chunks.get_nowait()) is None:
                    return
                chunks.append(chunk)
                phrases = 0
                if ring.speaks:
                    await self._synthesize_chunk(chunk)
                else:
                    self.on_event(ChunkSpoken(self.reply_id, chunk.text))
            if ring.speaks and phrases >= _PHRASES_BETWEEN_SENTENCES:
                phrases = 0
                for chunk in chunks[-_MAX_REPEATED_SENTENCES:]:
                    await self._play_announcement(chunk)

    async def play_failure(self) -> None:
        """Plays a tone if the voice has failed, so that the user hears that a reply is missing. The text is shown."""
        if self.voice_failed and self.spoken and self.ring is None:
            pcm = amplified(failure_tone(), self.gain_db)
            self.spoken_transcript.add_audio(pcm.size, ())
            self._playout.add_wait_announcement(pcm.size)
            await self.speaker.play_chunk(self.reply_id, pcm)

    async def _play_tone(self, pcm: Pcm) -> bool:
        """Plays sound without words, and waits until little of it is left. Returns False if the reply was closed."""
        assert self.ring is not None, "only a ring has a tone"
        pcm = amplified(pcm, max(self.gain_db, 0.0))  # "quieter" lowers the voice; a ring has to be heard
        self.spoken_transcript.add_audio(pcm.size, ())
        self._playout.add_audio(pcm)
        playing = await self.speaker.play_chunk(self.reply_id, pcm)
        while playing and self.spoken_transcript.samples - self.played > _TONE_AHEAD_SAMPLES:
            self._progress.clear()
            await self._progress.wait()
        return playing

    async def _play_announcement(self, chunk: TextChunk) -> None:
        """Plays a wait announcement. It counts as silence for the reply's onset and does not enter the history."""
        async with aclosing(self.voice.speak(self.normalize_text(chunk.text), self.speed())) as audio_chunks:
            while (audio_chunk := await self._next_audio_chunk(audio_chunks)) is not None:
                self.spoken_transcript.add_audio(audio_chunk.pcm.size, ())
                self._playout.add_wait_announcement(audio_chunk.pcm.size)
                if not await self.speaker.play_chunk(self.reply_id, amplified(audio_chunk.pcm, self.gain_db)):
                    return

    async def _synthesize_chunk(self, chunk: TextChunk) -> None:
        is_audible = False
        text, word_s = bounded_words(chunk.text, self._word_s)
        # Only a word that is longer than a chunk is cut within, and its parts have no blank.
        self._word_s = 0.0 if chunk.ends_sentence or any(map(str.isspace, chunk.text)) else word_s
        self.shortened = self.shortened or text != chunk.text
        spoken_text = self.normalize_text(text)
        ahead_s = max(0, self.spoken_transcript.samples - self.played) / REPLY_RATE_HZ
        async with aclosing(self.voice.speak(spoken_text, self.speed(), ahead_s)) as audio_chunks:
            while (audio_chunk := await self._timed_audio_chunk(audio_chunks)) is not None:
                if not is_audible:
                    self._record_first_audio()
                    written = align(chunk.text, spoken_text).written
                    self.spoken_transcript.begin_chunk(chunk.text, written, is_notice=chunk.is_notice)
                    await self.gate.wait()
                    if self.pending is not None and await self._tells_fault(self.pending):
                        return
                    if not self.released.is_set() and self.spoken_transcript.samples == 0:
                        await self._hold_first_audio()
                words = self.spoken_transcript.add_audio(audio_chunk.pcm.size, audio_chunk.marks)
                pcm = amplified(audio_chunk.pcm, self.gain_db)
                if self.commit is not None and self.commit.softly:
                    pcm = self._soft_start.apply(pcm)
                self._playout.add_audio(pcm)
                if not await self.speaker.play_chunk(self.reply_id, pcm):
                    return
                # After the audio, so that the display cannot delay it.
                if not is_audible:
                    is_audible = True
                    self.on_event(ChunkSpoken(self.reply_id, chunk.text))
                if words:
                    self.on_event(WordsTimed(self.reply_id, words))
        if unspoken := speakable(spoken_text, self.language).unspoken:
            is_first, self.unspoken_scripts = not self.unspoken_scripts, self.unspoken_scripts | dict.fromkeys(unspoken)
            if is_first and not is_audible:
                await self._say_unspeakable()
        if not is_audible:
            self.unsynthesized.append(chunk.text)

    async def _say_unspeakable(self) -> None:
        """Says once in a reply why a whole chunk is not spoken."""
        await self.gate.wait()
        sentence = failure_sentence(UNSPEAKABLE, self.language)
        await self._play_announcement(TextChunk(text=sentence, index=ANNOUNCEMENT, ends_sentence=True))

    async def _timed_audio_chunk(self, audio_chunks: AsyncGenerator[Chunk]) -> Chunk | None:
        """Returns the next audio chunk and records its length and synthesis time."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        audio_chunk = await self._next_audio_chunk(audio_chunks)
        if self._metrics is not None:
            self._metrics.synthesized(loop.time() - began_s, 0 if audio_chunk is None else audio_chunk.pcm.size)
        return audio_chunk

    async def _next_audio_chunk(self, audio_chunks: AsyncGenerator[Chunk]) -> Chunk | None:
        try:
            with self._reporting_wait():
                async with engine_time_limit(self.voice, self.voice_timeout_s):
                    await self.voice_works.wait()
                    return await anext(audio_chunks, None)
        except TimeoutError as error:
            name = self.voice.name
            raise TtsError(f"the voice {name} produced no audio for {self.voice_timeout_s:g} s") from error
        except TtsError:
            raise
        except Exception as error:
            # A defect of the engine, or a lack of memory in it, is a reason to reload it, as its own errors are.
            raise TtsError(f"the voice {self.voice.name} failed: {reason_of(error)}") from error

    @contextmanager
    def _reporting_wait(self) -> Generator[None]:
        """Calls `on_voice_wait` at intervals, so that a reply with a slow voice is not considered stuck."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def report() -> None:
            nonlocal timer
            self.on_voice_wait()
            timer = loop.call_later(STEP_S, report)

        timer = loop.call_later(STEP_S, report)
        try:
            yield
        finally:
            timer.cancel()

    async def _tells_fault(self, pending: PendingAction) -> bool:
        """Waits for the home. Returns whether it failed, so that the reply says this instead."""
        loop, self.pending = asyncio.get_running_loop(), None
        began_s = loop.time()
        fault = await pending.fault()
        self.trace.span(self.reply_id.attempt, Span(HOME_WAIT, "queue", began_s, loop.time(), ("tts", "commit")))
        if fault:
            await asyncio.wait({self._subtasks[0]})  # the answer is short, and its text is there
            while not self._chunks.empty():
                self._chunks.get_nowait()
            self._text_chunks.clear()
            self.spoken_transcript.cut(ReplySamples(0))
            self.error = f"the home did not do what was asked ({pending.task.result()}): run `repartee doctor`"
            await self._apologize(fault, is_notice=False)  # it is what the home answers
            self._chunks.put_nowait(None)
        return bool(fault)

    async def _hold_first_audio(self) -> None:
        """Holds the first audio while the user may be resuming."""
        loop, after = asyncio.get_running_loop(), self._playout.predecessors
        began_s = loop.time()
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_HOLD_S):
                await self.released.wait()
        self.trace.span(self.reply_id.attempt, Span(RESUME_WAIT, "endpoint_wait", began_s, loop.time(), after))

    def _record_first_audio(self) -> None:
        if not self.spoken_transcript.text and self._synthesis_began_s is not None:
            now_s = asyncio.get_running_loop().time()
            self.trace.span(
                self.reply_id.attempt, Span("tts", "tts", self._synthesis_began_s, now_s, ("first_sentence",))
            )

    # ---- playout reports of the speaker ----

    def on_played(self, played: ReplySamples, leaves_at_s: float, *, finished: bool) -> None:
        """Records that a device block, which ends at sample `played`, leaves the speaker at `leaves_at_s`.

        Infinity means that it never leaves, because there is no loudspeaker. Later blocks may still be heard.
        """
        first, self.played = self.played, played
        self._progress.set()
        self._playout.on_played(first, played, leaves_at_s, finished=finished)
        if finished and self.unheard and not self.audible:
            self.error = self.error or NO_LOUDSPEAKER

    @property
    def unheard(self) -> Sequence[Stretch]:
        """Stretches of its audio that no loudspeaker played, in order."""
        return self._playout.unheard

    @property
    def unheard_ms(self) -> float:
        """Length of the audio that no loudspeaker played."""
        return sum(until - since for since, until in self.unheard) * 1000 / REPLY_RATE_HZ

    @property
    def unheard_end(self) -> int | None:
        """First sample of an unheard stretch at the end; None if the last played sample was heard."""
        return self.unheard[-1][0] if self.unheard and self.unheard[-1][1] == self.played else None

    def on_client_latency(self, audible_s: float, device_s: float) -> None:
        """Records the playout that the client has measured; see `PlayoutTiming.on_client_latency`."""
        if self._announcement_at is None:  # else the client measured the wait announcement
            self._playout.on_client_latency(audible_s, device_s)

    @property
    def answered(self) -> bool:
        """Whether the reply had an effect: audible audio, function calls, or text where it is not spoken."""
        return self.audible or bool(self.calls) or (not self.spoken and bool(self.spoken_transcript.text))

    @property
    def was_heard_completely(self) -> bool:
        """Whether it answered certain words without an error, and no part of it was left out."""
        certain = self.commit is not None and not self.commit.low_confidence
        return certain and self.answered and self.error is None and not self.unheard and not self.unsynthesized

    @property
    def is_rest(self) -> bool:
        """Whether it is the rest of an interrupted reply."""
        return self.commit is not None and self.commit.origin == "resumed"

    @property
    def tokens(self) -> tuple[int | None, int | None, int | None]:
        """Prompt, completion and cached tokens as the service counts them; None where it did not say."""
        end = self.finished
        return (None, None, None) if end is None else (end.prompt_tokens, end.completion_tokens, end.cached_tokens)

    @property
    def sent_event(self) -> ReplySent:
        """The event for a reply whose audio was sent completely."""
        text = self.spoken_transcript.text
        if self.filtered:
            return ReplySent(self.reply_id, text, None, "content_filter", *self.tokens)
        reason = None if self.finished is None else self.finished.reason
        incomplete = reason if reason in {"length", "content_filter"} else None
        return ReplySent(self.reply_id, text, self.error, incomplete, *self.tokens)

    @property
    def audible(self) -> bool:
        """Whether any of it was heard."""
        return self._playout.audible_at_s is not None

    @property
    def any_sound_heard(self) -> bool:
        """Whether anything was heard, including a wait announcement."""
        return self.audible or (self._announcement_at is not None and self.played > self._announcement_at)

    @property
    def words_heard(self) -> int:
        """Number of whole words that were heard so far."""
        return self.spoken_transcript.words_heard(self.played)
