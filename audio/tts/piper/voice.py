"""Speaks with Piper: neural, one model per voice; a sentence is made in pieces, and its first one is heard at once."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from audio.degradation import Degradation
from audio.engine_lateness import EngineLateness
from audio.errors import EngineLoadError, TtsError
from audio.execution_provider import SHOWN, ProviderInUse, ProviderRequest
from audio.hang_detection import SPIN_FACTOR
from audio.level import gain_for
from audio.pronunciation import Pronunciations
from audio.queue_wait import QueueWait
from audio.restart_backoff import RestartBackoff
from audio.thread_times import ThreadTimes
from audio.tts import Chunk, WordMark
from audio.tts.engine_thread import EngineHungError, EngineThread, SynthesisStream, due_s
from audio.tts.piper.bounds import FEW_PHONEMES, MAX_PHONEMES, bounded
from audio.tts.piper.files import read_voice
from audio.tts.piper.model import PiperModel, StoppedError, StopSwitch, reads_digits
from audio.tts.piper.sound import ReplyAudio, ReplySentence, chunks
from audio.tts.piper.synthesis import Sound
from audio.tts.piper.words import Phonemes, is_audible, place_words, with_pronunciations
from audio.tts.shared_loading import SharedLoading
from audio.tts.sound import CLAUSE_PAUSE_MS, LOUDNESS_REFERENCE, SENTENCE_PAUSE_MS
from audio.tts.speakable import speakable
from audio.tts.text_pieces import TextPiece, clean, ends_sentence, pieces, words
from audio.units import FULL_SCALE, REPLY_RATE_HZ

log = logging.getLogger(__name__)

T = TypeVar("T")

DEFAULT_PROVIDER = ProviderRequest("tts.provider")

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""Text that loudness is measured on for a voice that knows only letters."""

_REFERENCE_S = 12.0
"""Approximate length of the reference text, in seconds."""

_LONGEST_STEP_S = 30.0
"""Sound of the longest sentence, in seconds: see `MAX_PHONEMES`."""

_WAITING_PARTS = 1024
"""Queue capacity: more pieces of sentences than a text of 200 characters can have."""

# Emoji, their joiners and modifiers. espeak-ng would read their names ("grinning face"), which are not in the text.
_PICTURES = "\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
_EMOJI = re.compile(
    f"[{_PICTURES}\U0001f000-\U0001faff][\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]*|[\ufe0e\ufe0f\u20e3]"
)
_RAW_PHONEMES = re.compile(r"\[(?=\[)|(?<=\[)\[")
"""Piper would read text in [[ ]] as phonemes."""


class _Job(Generic[T]):
    """Synthesizes one piece of text in the model's thread, part by part, into a stream."""

    def __init__(
        self,
        thread: EngineThread[PiperModel],
        work: Callable[[PiperModel, StopSwitch], Iterator[T]],
        due_s: float = 0.0,
        *,
        awaited: bool = False,
        length_s: Callable[[T], float] = lambda _part: 0.0,
        lateness: EngineLateness | None = None,
    ) -> None:
        """Creates a job.

        Args:
            thread: The model's thread.
            work: Makes the parts.
            due_s: When its first part is due.
            awaited: See `EngineThread.submit`.
            length_s: Returns the playing time of a part.
            lateness: Is told how long it took; None: nobody is.
        """
        self.stream: SynthesisStream[T] = SynthesisStream(
            _WAITING_PARTS, "Piper made more sound from a chunk than its letters can have"
        )
        self.thread = thread
        self._work = work
        self._due_s = due_s
        self._awaited = awaited
        self._length_s = length_s
        self._last_part_s = self._took_s = self._made_s = 0.0
        self._lateness = lateness
        self._items: Iterator[T] | None = None
        self._switch = StopSwitch()

    def begin(self) -> None:
        """Submits the job to the thread. Raises TtsError."""
        awaited, self._awaited = self._awaited, False
        self.thread.submit(self._run, self._due_s, awaited=awaited)

    def _run(self, model: PiperModel) -> None:
        """Makes the next part, then submits itself for the following one. Runs in the model's thread.

        A part is due when the one before it begins to play, so that the first parts of other texts come before parts
        that are heard later.
        """
        if self.stream.cancelled:
            return
        if self._items is None:
            self._items = self._work(model, self._switch)
        began_s = time.monotonic()
        try:
            item = next(self._items)
            self._took_s += time.monotonic() - began_s
            self.thread.made += 1
            self.stream.put(item)
            self._due_s += self._last_part_s
            self._last_part_s = self._length_s(item)
            self._made_s += self._last_part_s
            self.begin()
        except StopIteration:
            if self._lateness is not None:
                self._lateness.record_job(self._took_s, self._made_s)
            self.stream.put(None)
        except StoppedError:
            return
        except TtsError as failure:
            self.stream.put(failure)
        except Exception as failure:  # noqa: BLE001 - the thread serves all later units and must live on
            self.thread.suspect = True
            self.stream.put(TtsError(f"Piper failed inside a chunk ({type(failure).__name__})"))

    def cancel(self) -> None:
        """Cancels the job: the model stops between two operators."""
        self.stream.cancelled = True
        self._switch.stop()

    def close(self, reason: str) -> None:
        """Fails the job at once with `reason`."""
        self.stream.fail(TtsError(reason))
        self._switch.stop()


class PiperTts:
    """Implements `Voice` by Piper, with its own model and thread, for any number of conversations.

    Attributes:
        provider: Where the loaded voice computes; None before `load`.
        fallback: See `OpenedSession.fallback`; "" before `load`.
    """

    name = "piper"

    def __init__(
        self,
        voice: str | PathLike[str],
        *,
        language: str = "en",
        speaker: int | str | None = None,
        speed: float = 1.0,
        target_dbfs: float = -20.0,
        provider: ProviderRequest = DEFAULT_PROVIDER,
        threads: int | None = None,
        pronunciations: Pronunciations | None = None,
        lateness: EngineLateness | None = None,
    ) -> None:
        """Creates the voice without loading it.

        Args:
            voice: Path of a .onnx file with its json file beside it.
            language: Language of the conversation; a voice of another language is refused.
            speaker: Number or name, for voices with several speakers; None: the voice's default.
            speed: 0.5..2; 1 is the voice's own speed.
            target_dbfs: RMS of speech without pauses, -60..0. Peaks are limited to -1 dBFS.
            provider: Where it computes.
            threads: Threads of onnxruntime for one operator; None: one per core.
            pronunciations: Words with their phonemes.
            lateness: Decides what is left out when the sound is late; None: nothing ever is.

        Raises:
            ValueError: A number outside its range.
        """
        for key, value, low, high in (("speed", speed, 0.5, 2), ("target_dbfs", target_dbfs, -60, 0)):
            if not low <= value <= high:
                raise ValueError(f"tts.{key} is {value}: Piper accepts {low} to {high}")
        self._voice = Path(voice)
        self._language = language
        self._speaker = speaker
        self._speed = speed
        self._target_dbfs = target_dbfs
        self._provider = provider
        self.provider: ProviderInUse | None = None
        self.fallback = ""
        self._threads = threads
        self._pronunciations = pronunciations or Pronunciations()
        self._lateness = lateness
        self._thread: EngineThread[PiperModel] | None = None
        self._backoff = RestartBackoff("Piper")
        self._gain = 1.0
        self._detail = "not loaded"
        self._active_jobs: set[_Job[Any]] = set()  # whatever they give
        self._loading = SharedLoading("the Piper voice", self._ensure_working)

    @property
    def detail(self) -> str:
        return self._detail

    @property
    def ends_requests(self) -> bool:
        """See `SelfWatching`."""
        return True

    @property
    def queue_wait(self) -> QueueWait:
        """See `QueuedEngine`."""
        return QueueWait() if self._thread is None else self._thread.queue_wait

    async def load(self) -> None:
        """Loads the model and synthesizes the digits once to set the loudness.

        A loaded model is reloaded only if it hangs or failed, and after the model before it is gone. Concurrent callers
        share the loading; it continues if one of them is cancelled. Raises EngineLoadError.
        """
        await self._loading.wait()

    async def _ensure_working(self) -> None:
        thread = self._thread
        if thread is None or thread.suspect or thread.gave_up:
            self._backoff.check(time.monotonic())
            if thread is not None:
                await self._end(thread)
            self._backoff.record_load(time.monotonic())
            await self._load()

    async def _end(self, thread: EngineThread[PiperModel]) -> None:
        """Waits until a model that hangs or failed is gone. Raises EngineLoadError."""
        if not thread.gave_up:
            thread.retire()  # lets other conversations finish
        await thread.gone()
        self._thread = None

    async def _load(self) -> None:
        times = ThreadTimes()
        model, reference, detail = await asyncio.to_thread(self._load_model, times)
        thread = EngineThread("Piper", model, times)
        # TensorRT builds an engine for each new length of sentence.
        thread.hang.need_s = self._provider.load_timeout_s(0.0) / SPIN_FACTOR
        try:
            began_s = thread.processor_s
            self._gain = await self._measured(thread, reference, model.rate_hz)
        except BaseException as failure:
            thread.give_up()
            if isinstance(failure, TtsError):
                raise EngineLoadError(f"the Piper voice cannot be used ({detail}): {failure}") from failure
            raise
        measured_s = (thread.processor_s - began_s) / _REFERENCE_S * _LONGEST_STEP_S
        thread.hang.need_s = max(thread.hang.need_s, measured_s)
        self._detail, self.provider, self.fallback = detail, model.provider, model.fallback
        if model.fallback:
            log.warning("Piper computes %s", model.fallback)
        if model.whole_because:
            self._detail += f", whole sentences: {model.whole_because}"
            log.info("Piper synthesizes whole sentences with %s: %s", self._voice.stem, model.whole_because)
        self._thread = thread

    def _give_up(self, thread: EngineThread[PiperModel]) -> None:
        """Abandons a hanging thread and fails its jobs."""
        thread.give_up()
        for job in tuple(self._active_jobs):
            if job.thread is thread:
                job.close("Piper hung and was abandoned: load the voice again")

    async def _measured(self, thread: EngineThread[PiperModel], reference: str, rate_hz: int) -> float:
        """Returns the gain that brings the voice to the target loudness. Raises TtsError."""

        def work(model: PiperModel, switch: StopSwitch) -> Iterator[Sound]:
            for phonemes in model.phonemes(reference):
                try:
                    yield np.concatenate(tuple(model.sentence(phonemes, switch).pieces))
                except TtsError as failure:
                    if failure.__cause__ is None:
                        raise
                    why = " ".join(str(failure.__cause__).split())
                    raise TtsError(
                        f"it failed at its first words ({why}): fetch both of its files again, or set tts.voice to "
                        "another one"
                    ) from failure

        async with aclosing(self._results(_Job(thread, work))) as results:
            heard = np.concatenate([np.zeros(0, np.float32), *[sound async for sound in results]])
        if not (np.abs(heard) > 1 / FULL_SCALE).any():
            raise TtsError("it makes no sound: set tts.voice to another one")
        pcm = np.rint(np.clip(heard, -1, 1) * (FULL_SCALE - 1)).astype(np.int16)
        return gain_for(self._target_dbfs, pcm, rate_hz)

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields the audio of the text; see `Voice.speak`.

        Word marks are based on the durations in the voice. They are estimated if the voice has none, and for words that
        the phonemizer joins or splits.
        """
        text = plain(speakable(text, self._language).text)
        given = 0
        silent_marks: tuple[WordMark, ...] = ()
        for piece in pieces(text):
            thread = await self._working_thread()  # for each piece, because it may have been replaced
            if thread is None:
                raise TtsError("the Piper voice is not loaded: load it before it speaks")
            first_due_s = due_s(asyncio.get_running_loop().time(), piece.text, ahead_s)
            awaited = given == 0 and ahead_s == 0
            job = _Job(
                thread,
                self._parts(piece, speed),
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

    async def _working_thread(self) -> EngineThread[PiperModel] | None:
        """Returns the model's thread; while a model that failed is replaced, waits for the new one. Raises TtsError."""
        if (self._thread is None or self._thread.suspect) and self._loading.is_running:
            try:
                await self._loading.wait()
            except EngineLoadError as failure:
                raise TtsError(str(failure)) from failure
        return self._thread

    async def aclose(self) -> None:
        """Stops the synthesis and releases the model. Idempotent."""
        await self._loading.stop()
        for job in tuple(self._active_jobs):
            job.close("the Piper voice was closed inside a chunk")
        if self._thread is not None:
            self._thread.give_up()
        self._thread = None

    def _load_model(self, times: ThreadTimes) -> tuple[PiperModel, str, str]:
        """Loads the model. Returns it with the text for measuring its loudness and its line for the screen."""
        files = read_voice(self._voice, self._language)
        with times.started_here("Piper"):  # the compute threads start here
            model = PiperModel(
                files, speaker=self._speaker, speed=self._speed, provider=self._provider, threads=self._threads
            )
        speaker = "" if self._speaker is None else f", speaker {self._speaker}"
        detail = f"{files.model.stem} ({files.language}){speaker}, speed {self._speed:g}, {SHOWN[model.provider]}"
        return model, LOUDNESS_REFERENCE if reads_digits(files) else _LETTERS, detail

    def _parts(self, piece: TextPiece, speed: float) -> Callable[[PiperModel, StopSwitch], Iterator[ReplyAudio]]:
        """Returns the job for a piece of text: all its phonemes first, then the audio part by part."""
        spans = words(piece.text)
        pronounced = self._pronunciations.pronounced(piece.text)
        last_pause_ms = SENTENCE_PAUSE_MS if ends_sentence(piece.text) else CLAUSE_PAUSE_MS
        gain = self._gain
        shorter = self._lateness is not None and self._lateness.level >= Degradation.SHORT_CHUNKS
        most = FEW_PHONEMES if shorter else MAX_PHONEMES

        def alone(model: PiperModel) -> Callable[[str], list[list[str]]]:
            def phonemes_of(word: str) -> list[list[str]]:
                own = self._pronunciations.pronounced(word)
                return [model.known(own[0].phonemes)] if own else model.phonemes(word)

            return phonemes_of

        def work(model: PiperModel, switch: StopSwitch) -> Iterator[ReplyAudio]:
            cut = [bounded(phonemes, most) for phonemes in model.phonemes(piece.text)]
            parts = [(part, part is not of[-1]) for of in cut for part in of if any(map(is_audible, part))]
            sentences: list[Phonemes] = [part for part, _ in parts]
            placed = place_words(piece.text, spans, sentences, model.phonemes)
            if pronounced:
                sentences = [model.known(phonemes) for phonemes in with_pronunciations(sentences, placed, pronounced)]
                placed = place_words(piece.text, spans, sentences, alone(model))
            for number, phonemes in enumerate(sentences):
                here = [
                    replace(word, text_start=word.text_start + piece.offset, text_end=word.text_end + piece.offset)
                    for word in placed
                    if word.sentence == number
                ]
                last_part = number == len(sentences) - 1
                pause_ms = last_pause_ms if last_part else 0 if parts[number][1] else SENTENCE_PAUSE_MS
                made = model.sentence(phonemes, switch, speed)
                yield from ReplySentence(made, model.rate_hz, gain, pause_ms, phonemes=phonemes, words=here).audio()

        return work

    async def _results(self, job: _Job[T]) -> AsyncGenerator[T]:
        """Yields the results of a job; closing it stops the model. Raises TtsError."""
        self._active_jobs.add(job)
        thread = job.thread
        try:
            job.begin()
            while (item := await job.stream.next(thread.hang_reason)) is not None:
                yield item
        except EngineHungError as hung:
            log.warning("Piper hung and was abandoned: %s", hung)
            self._active_jobs.discard(job)
            self._give_up(thread)
            raise TtsError(f"Piper hung ({hung}): load the voice again") from hung
        finally:
            job.cancel()
            self._active_jobs.discard(job)


def plain(text: str) -> str:
    """Replaces emoji and control sequences by blanks of the same length."""
    text = _EMOJI.sub(lambda match: " " * len(match[0]), clean(text))
    return _RAW_PHONEMES.sub(" ", text)


def _playing_s(part: ReplyAudio) -> float:
    return part.pcm.size / REPLY_RATE_HZ
