"""A voice with a model that one thread asks: loads it, speaks sentences in pieces, and replaces it if it fails."""

import asyncio
import logging
import re
import time
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from audio.degradation import Degradation
from audio.engine_lateness import EngineLateness
from audio.errors import EngineLoadError, TtsError
from audio.execution_provider import ProviderInUse, ProviderRequest
from audio.hang_detection import SPIN_FACTOR
from audio.level import gain_for
from audio.restart_backoff import RestartBackoff
from audio.thread_times import ThreadTimes
from audio.threads.engine_thread import EngineHungError, EngineThread, due_s, load_engine
from audio.tts import Chunk, WordMark
from audio.tts.sound import CLAUSE_PAUSE_MS, SENTENCE_PAUSE_MS
from audio.tts.speakable import speakable
from audio.tts.streaming.phoneme_bounds import FEW_PHONEMES, MAX_PHONEMES
from audio.tts.streaming.sentence_audio import ReplyAudio, chunks
from audio.tts.streaming.sentence_sound import Sound, StopSwitch
from audio.tts.streaming.synthesis_job import SynthesisJob
from audio.tts.text_pieces import TextPiece, clean, ends_sentence, pieces
from audio.tts.threaded_voice import ThreadedVoice
from audio.units import FULL_SCALE, REPLY_RATE_HZ

log = logging.getLogger(__name__)

_REFERENCE_S = 12.0
"""Approximate length of the reference text, in seconds."""

_LONGEST_STEP_S = 30.0
"""Sound of the longest sentence, in seconds: see `MAX_PHONEMES`."""

# Emoji, their joiners and modifiers. espeak-ng would read their names ("grinning face"), which are not in the text.
_PICTURES = "\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
_EMOJI = re.compile(
    f"[{_PICTURES}\U0001f000-\U0001faff][\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]*|[\ufe0e\ufe0f\u20e3]"
)
_RAW_PHONEMES = re.compile(r"\[(?=\[)|(?<=\[)\[")
"""Piper would read text in [[ ]] as phonemes."""


@dataclass(frozen=True, slots=True)
class PieceRequest:
    """A request to speak a piece of text.

    Attributes:
        piece: The text and its offset.
        speed: Factor on the voice's configured speed.
        gain: Brings the voice to the target loudness.
        pause_ms: Silence after the piece.
        most_phonemes: Most phonemes that are synthesized at once.
    """

    piece: TextPiece
    speed: float
    gain: float
    pause_ms: float
    most_phonemes: int


class LoadedModel(Protocol):
    """A loaded voice. Every method runs in the voice's thread.

    Attributes:
        rate_hz: Sample rate of its sound.
        provider: Where it computes.
        fallback: See `OpenedSession.fallback`.
    """

    rate_hz: int
    provider: ProviderInUse
    fallback: str


M = TypeVar("M", bound=LoadedModel)
T = TypeVar("T")


class StreamedVoice(ThreadedVoice[EngineThread[M]], Generic[M]):
    """The part of `Voice` that is the same for all models: its own model and thread, for any number of conversations.

    Attributes:
        provider: Where the loaded voice computes; None before `load`.
        fallback: See `OpenedSession.fallback`; "" before `load`.
    """

    title: str
    """The engine's name on the screen."""

    def __init__(
        self, *, language: str, target_dbfs: float, provider: ProviderRequest, lateness: EngineLateness | None
    ) -> None:
        """Creates the voice without loading it.

        Args:
            language: Language of the conversation.
            target_dbfs: RMS of speech without pauses, -60..0. Peaks are limited to -1 dBFS.
            provider: Where it computes.
            lateness: Decides what is left out when the sound is late; None: nothing ever is.
        """
        super().__init__(self.title)
        self.provider: ProviderInUse | None = None
        self.fallback = ""
        self._language = language
        self._target_dbfs = target_dbfs
        self._provider = provider
        self._lateness = lateness
        self._backoff = RestartBackoff(self.title)
        self._gain = 1.0
        self._active_jobs: set[SynthesisJob[M, Any]] = set()  # whatever they give

    @abstractmethod
    def load_model(self, times: ThreadTimes) -> M:
        """Loads the model, in any thread. `times`: gets the threads that the model starts. Raises EngineLoadError."""

    @abstractmethod
    def model_detail(self, model: M) -> str:
        """Returns the line for the screen about a loaded model."""

    @abstractmethod
    def reference_sound(self, model: M, switch: StopSwitch) -> Iterator[Sound]:
        """Yields the sound of the text that loudness is measured on. Raises StoppedError, TtsError."""

    @abstractmethod
    def reply_parts(self, request: PieceRequest) -> Callable[[M, StopSwitch], Iterator[ReplyAudio]]:
        """Returns the work for a piece of text: all its phonemes first, then the audio part by part."""

    async def _ensure_working(self) -> None:
        thread = self._thread
        if thread is None or thread.suspect or thread.gave_up:
            self._backoff.check(time.monotonic())
            if thread is not None:
                await self._end(thread)
            self._backoff.record_load(time.monotonic())
            await self._load()

    async def _end(self, thread: EngineThread[M]) -> None:
        """Waits until a model that hangs or failed is gone. Raises EngineLoadError."""
        if not thread.gave_up:
            thread.retire()  # lets other conversations finish
        await thread.gone()
        self._thread = None

    async def _load(self) -> None:
        times = ThreadTimes()
        thread, model = await load_engine(self.title, lambda: self.load_model(times), TtsError, times)
        detail = self.model_detail(model)
        # TensorRT builds an engine for each new length of sentence.
        thread.hang.need_s = self._provider.load_timeout_s(0.0) / SPIN_FACTOR
        try:
            began_s = thread.processor_s
            self._gain = await self._measured(thread, model.rate_hz)
        except BaseException as failure:
            thread.give_up()
            if isinstance(failure, TtsError):
                raise EngineLoadError(f"the {self.title} voice cannot be used ({detail}): {failure}") from failure
            raise
        measured_s = (thread.processor_s - began_s) / _REFERENCE_S * _LONGEST_STEP_S
        thread.hang.need_s = max(thread.hang.need_s, measured_s)
        self._detail, self.provider, self.fallback = detail, model.provider, model.fallback
        if model.fallback:
            log.warning("%s computes %s", self.title, model.fallback)
        self._thread = thread

    def _give_up(self, thread: EngineThread[M]) -> None:
        """Abandons a hanging thread and fails its jobs."""
        thread.give_up()
        for job in tuple(self._active_jobs):
            if job.thread is thread:
                job.close(f"{self.title} hung and was abandoned: load the voice again")

    async def _measured(self, thread: EngineThread[M], rate_hz: int) -> float:
        """Returns the gain that brings the voice to the target loudness. Raises TtsError."""
        async with aclosing(self._results(SynthesisJob(thread, self.reference_sound))) as results:
            heard = np.concatenate([np.zeros(0, np.float32), *[sound async for sound in results]])
        if not (np.abs(heard) > 1 / FULL_SCALE).any():
            raise TtsError("it makes no sound: set tts.voice to another one")
        pcm = np.rint(np.clip(heard, -1, 1) * (FULL_SCALE - 1)).astype(np.int16)
        return gain_for(self._target_dbfs, pcm, rate_hz)

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields the audio of the text; see `Voice.speak`.

        Word marks are based on the durations in the voice, and estimated where it gives none.
        """
        text = plain(speakable(text, self._language).text)
        given = 0
        silent_marks: tuple[WordMark, ...] = ()
        for piece in pieces(text):
            thread = await self._working_thread()  # for each piece, because it may have been replaced
            if thread is None:
                raise TtsError(f"the {self.title} voice is not loaded: load it before it speaks")
            first_due_s = due_s(asyncio.get_running_loop().time(), piece.text, ahead_s)
            awaited = given == 0 and ahead_s == 0
            job = SynthesisJob(
                thread,
                self.reply_parts(self._request(piece, speed)),
                first_due_s,
                awaited=awaited,
                length_s=_playing_s,
                lateness=self._lateness,
            )
            async with aclosing(self._results(job)) as results:
                async for part in results:
                    if not part.pcm.size:
                        silent_marks += part.marks
                        continue
                    for chunk in chunks(part, given, silent_marks):
                        yield chunk
                        # Audio for many chunks is ready: a consumer that never waits must not block the loop.
                        await asyncio.sleep(0)
                    given, silent_marks = given + part.pcm.size, ()

    async def _working_thread(self) -> EngineThread[M] | None:
        """Returns the model's thread; while a model that failed is replaced, waits for the new one. Raises TtsError."""
        if (self._thread is None or self._thread.suspect) and self._loading.is_running:
            try:
                await self._loading.wait()
            except EngineLoadError as failure:
                raise TtsError(str(failure)) from failure
        return self._thread

    def _request(self, piece: TextPiece, speed: float) -> PieceRequest:
        pause_ms = SENTENCE_PAUSE_MS if ends_sentence(piece.text) else CLAUSE_PAUSE_MS
        shorter = self._lateness is not None and self._lateness.level >= Degradation.SHORT_CHUNKS
        return PieceRequest(piece, speed, self._gain, pause_ms, FEW_PHONEMES if shorter else MAX_PHONEMES)

    async def aclose(self) -> None:
        """Stops the synthesis and releases the model. Idempotent."""
        await self._loading.stop()
        for job in tuple(self._active_jobs):
            job.close(f"the {self.title} voice was closed inside a chunk")
        if self._thread is not None:
            self._thread.give_up()
        self._thread = None

    async def _results(self, job: SynthesisJob[M, T]) -> AsyncGenerator[T]:
        """Yields the results of a job; closing it stops the model. Raises TtsError."""
        self._active_jobs.add(job)
        thread = job.thread
        try:
            job.begin()
            while (item := await job.stream.next(thread.hang_reason)) is not None:
                yield item
        except EngineHungError as hung:
            log.warning("%s hung and was abandoned: %s", self.title, hung)
            self._active_jobs.discard(job)
            self._give_up(thread)
            raise TtsError(f"{self.title} hung ({hung}): load the voice again") from hung
        finally:
            job.cancel()
            self._active_jobs.discard(job)


def plain(text: str) -> str:
    """Replaces emoji and control sequences by blanks of the same length."""
    text = _EMOJI.sub(lambda match: " " * len(match[0]), clean(text))
    return _RAW_PHONEMES.sub(" ", text)


def _playing_s(part: ReplyAudio) -> float:
    return part.pcm.size / REPLY_RATE_HZ
