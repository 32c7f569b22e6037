"""The voice of Piper: neural, one model per voice, its first sound when its first sentence is computed."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from audio.errors import EngineLoadError, TtsError
from audio.level import gain_for
from audio.thread_name import thread_named
from audio.tts import Chunk, WordMark
from audio.tts.engine_thread import EngineThread, SynthesisStream, due_s
from audio.tts.espeak_text import TextPiece, clean, ends_sentence, pieces, words
from audio.tts.piper_files import read_voice
from audio.tts.piper_model import Device, PiperModel, Sound, StoppedError, StopSwitch, reads_digits
from audio.tts.piper_sound import ReplySentence, chunks, finished
from audio.tts.piper_words import is_heard, place_words
from audio.tts.shared_loading import SharedLoading
from audio.tts.sound import CLAUSE_PAUSE_MS, LOUDNESS_REFERENCE, SENTENCE_PAUSE_MS
from audio.units import FULL_SCALE

log = logging.getLogger(__name__)

T = TypeVar("T")

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""What the loudness of a voice is measured on that knows letters only."""

_LOAD_TIMEOUT_S = 30.0
"""For the reference, 12 s of speech: a machine that takes longer is too slow for conversation by far."""

_WAITING_SENTENCES = 256
"""More than the 200 characters of a piece can be."""

# Pictures, and what joins and colours them. espeak-ng reads their names ("grinning face"), which nobody said.
_PICTURES = "\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
_EMOJI = re.compile(
    f"[{_PICTURES}\U0001f000-\U0001faff][\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]*|[\ufe0e\ufe0f\u20e3]"
)
_RAW_PHONEMES = re.compile(r"\[(?=\[)|(?<=\[)\[")
"""Piper takes what stands in [[ ]] for phonemes: text is only ever text."""


class _Job(Generic[T]):
    """Work on one piece of text, in the model's thread, sentence by sentence, its results on a lane."""

    def __init__(
        self,
        thread: EngineThread[PiperModel],
        work: Callable[[PiperModel, StopSwitch], Iterator[T]],
        due_s: float = 0.0,
    ) -> None:
        self.lane: SynthesisStream[T] = SynthesisStream(
            _WAITING_SENTENCES, "Piper makes more sentences of a unit than it has letters"
        )
        self.thread = thread
        self._work = work
        self._due_s = due_s
        self._items: Iterator[T] | None = None
        self._switch = StopSwitch()

    def begin(self) -> None:
        """Let the thread work on it. Raises TtsError."""
        self.thread.submit(self._run, self._due_s)

    def _run(self, model: PiperModel) -> None:
        """In the model's thread: the next sentence; the one after it when what is due before it is made."""
        if self.lane.cancelled:
            return
        if self._items is None:
            self._items = self._work(model, self._switch)
        try:
            item = next(self._items)
            self.thread.made += 1
            self.lane.tell(item)
            self.begin()
        except StopIteration:
            self.lane.tell(None)
        except StoppedError:
            return
        except TtsError as failure:
            self.lane.tell(failure)
        except Exception as failure:  # noqa: BLE001 - the thread serves all later units and must live on
            self.thread.suspect = True
            self.lane.tell(TtsError(f"Piper failed inside a unit ({type(failure).__name__})"))

    def cancel(self) -> None:
        """Nobody listens any more: the model stops between two operators."""
        self.lane.cancelled = True
        self._switch.stop()

    def close(self, reason: str) -> None:
        """It will not be made: whoever listens is told so at once."""
        self.lane.fail(TtsError(reason))
        self._switch.stop()


class PiperTts:
    """`Voice` by Piper, with a model and a thread of its own, for any number of conversations."""

    name = "piper"

    def __init__(
        self,
        voice: str | PathLike[str],
        *,
        language: str = "en",
        speaker: int | str | None = None,
        speed: float = 1.0,
        target_dbfs: float = -20.0,
        device: Device = "auto",
        threads: int | None = None,
        timeout_s: float = 3.0,
    ) -> None:
        """Nothing is loaded yet.

        Args:
            voice: The path of a .onnx, its json beside it.
            language: Of the conversation; a voice of another one is refused.
            speaker: By number or name, for voices that have several; None: the voice's first choice.
            speed: 0.5..2; 1 is the voice's own pace.
            target_dbfs: RMS of speech, pauses left out; -60..0. Peaks are bent to stay below -1 dBFS.
            device: "auto" takes CUDA where onnxruntime has it.
            threads: Of onnxruntime for one operator; None: one per core.
            timeout_s: The longest wait for a sentence before the model counts as hung.

        Raises:
            ValueError: A number outside its range.
        """
        for key, value, low, high in (("speed", speed, 0.5, 2), ("target_dbfs", target_dbfs, -60, 0)):
            if not low <= value <= high:
                raise ValueError(f"tts.{key} is {value}: Piper takes {low} to {high}")
        self._voice = Path(voice)
        self._language = language
        self._speaker = speaker
        self._speed = speed
        self._target_dbfs = target_dbfs
        self._device = device
        self._threads = threads
        self._timeout_s = timeout_s
        self._thread: EngineThread[PiperModel] | None = None
        self._gain = 1.0
        self._detail = "not loaded"
        self._making: set[_Job[Any]] = set()  # whatever they give
        self._loading = SharedLoading("the Piper voice", self._see_that_it_works)

    @property
    def detail(self) -> str:
        return self._detail

    async def load(self) -> None:
        """Load the model, and speak the digits into nothing to set the loudness.

        Once loaded, it is loaded anew only where it hangs or failed: conversations that ask together share that, and
        whoever is cancelled meanwhile leaves it to the others. Raises EngineLoadError.
        """
        await self._loading.wait()

    async def _see_that_it_works(self) -> None:
        thread = self._thread
        if thread is None or thread.suspect or not await thread.works(self._timeout_s):
            await self._load()

    async def _load(self) -> None:
        model, reference, detail = await asyncio.to_thread(self._loaded)
        thread = EngineThread("Piper", model)
        try:
            self._gain = await self._measured(thread, reference, model.rate_hz)
        except BaseException as failure:
            thread.give_up()
            if isinstance(failure, TtsError):
                raise EngineLoadError(f"the Piper voice cannot be used ({detail}): {failure}") from failure
            raise
        self._detail = detail
        if self._thread is not None and self._thread.suspect:
            self._thread.retire()  # what others have it say is said
        elif self._thread is not None:
            self._give_up(self._thread)
        self._thread = thread

    def _give_up(self, thread: EngineThread[PiperModel]) -> None:
        """It hangs: nobody needs to wait for it any longer."""
        thread.give_up()
        for job in tuple(self._making):
            if job.thread is thread:
                job.close("Piper hangs and was given up: load the voice again")

    async def _measured(self, thread: EngineThread[PiperModel], reference: str, rate_hz: int) -> float:
        """The factor that makes the voice as loud as wanted. Raises TtsError."""

        def work(model: PiperModel, switch: StopSwitch) -> Iterator[Sound]:
            for phonemes in model.phonemes(reference):
                try:
                    yield model.sentence(phonemes, switch).sound
                except TtsError as failure:
                    if failure.__cause__ is None:
                        raise
                    why = " ".join(str(failure.__cause__).split())
                    raise TtsError(
                        f"it fails at its first words ({why}): fetch both of its files again, or set tts.voice to "
                        "another one"
                    ) from failure

        async with aclosing(self._results(_Job(thread, work), _LOAD_TIMEOUT_S)) as results:
            heard = np.concatenate([np.zeros(0, np.float32), *[sound async for sound in results]])
        if not (np.abs(heard) > 1 / FULL_SCALE).any():
            raise TtsError("it says nothing, choose another one in tts.voice")
        pcm = np.rint(np.clip(heard, -1, 1) * (FULL_SCALE - 1)).astype(np.int16)
        return gain_for(self._target_dbfs, pcm, rate_hz)

    async def speak(self, text: str, speed: float = 1.0) -> AsyncGenerator[Chunk]:
        """The unit's sound; see `Voice.speak`.

        Word marks come from the durations in the voice; where it gives none, and for words that it runs together
        or apart, they are estimated.
        """
        text = plain(text)
        given = 0
        unheard: tuple[WordMark, ...] = ()
        for piece in pieces(text):
            thread = self._thread  # for each piece: it may be another one by now
            if thread is None:
                raise TtsError("the Piper voice is not loaded: load it before it speaks")
            job = _Job(thread, self._sentences(piece, speed), due_s(asyncio.get_running_loop().time(), piece.text))
            async with aclosing(self._results(job, self._timeout_s)) as results:
                async for sentence in results:
                    if not sentence.pcm.size:
                        unheard += sentence.marks
                        continue
                    for chunk in chunks(sentence, given, unheard):
                        yield chunk
                        # A whole sentence lies ready: a consumer that never waits must not hold the loop.
                        await asyncio.sleep(0)
                    given, unheard = given + sentence.pcm.size, ()

    async def aclose(self) -> None:
        """Stop what is being said and let the model go. Idempotent."""
        await self._loading.stop()
        for job in tuple(self._making):
            job.close("the Piper voice was closed inside a unit")
        if self._thread is not None:
            self._thread.give_up()
        self._thread = None

    def _loaded(self) -> tuple[PiperModel, str, str]:
        """The model, what its loudness is measured on, and its line for the screen."""
        files = read_voice(self._voice, self._language)
        with thread_named("Piper"):  # those that compute are begun here
            model = PiperModel(
                files, speaker=self._speaker, speed=self._speed, device=self._device, threads=self._threads
            )
        speaker = "" if self._speaker is None else f", speaker {self._speaker}"
        detail = f"{files.model.stem} ({files.language}){speaker}, speed {self._speed:g}, {model.provider}"
        return model, LOUDNESS_REFERENCE if reads_digits(files) else _LETTERS, detail

    def _sentences(self, piece: TextPiece, speed: float) -> Callable[[PiperModel, StopSwitch], Iterator[ReplySentence]]:
        """The work on a piece: its phonemes at once, then sentence by sentence."""
        spans = words(piece.text)
        last_pause_ms = SENTENCE_PAUSE_MS if ends_sentence(piece.text) else CLAUSE_PAUSE_MS
        gain = self._gain

        def work(model: PiperModel, switch: StopSwitch) -> Iterator[ReplySentence]:
            sentences = [phonemes for phonemes in model.phonemes(piece.text) if any(map(is_heard, phonemes))]
            placed = place_words(piece.text, spans, sentences, model.phonemes)
            for number, phonemes in enumerate(sentences):
                here = [
                    replace(word, text_start=word.text_start + piece.offset, text_end=word.text_end + piece.offset)
                    for word in placed
                    if word.sentence == number
                ]
                pause_ms = last_pause_ms if number == len(sentences) - 1 else SENTENCE_PAUSE_MS
                made = model.sentence(phonemes, switch, speed)
                yield finished(made, model.rate_hz, gain, pause_ms, phonemes=phonemes, words=here)

        return work

    async def _results(self, job: _Job[T], timeout_s: float) -> AsyncGenerator[T]:
        """What a job makes; closing it stops the model. Raises TtsError."""
        self._making.add(job)
        thread = job.thread
        made = thread.made
        try:
            job.begin()
            while (item := await job.lane.next(timeout_s)) is not None:
                yield item
                made = thread.made
        except TimeoutError as late:
            if thread.made != made:  # it speaks, but for others
                raise TtsError(
                    f"Piper has too much to say: no sound for {timeout_s:g} s; choose a smaller voice"
                ) from late
            log.warning("Piper gave no sound in time and was given up", extra={"timeout_s": timeout_s})
            self._making.discard(job)
            self._give_up(thread)
            raise TtsError(
                f"Piper gave no sound for {timeout_s:g} s: load the voice again, or choose a smaller one"
            ) from late
        finally:
            job.cancel()
            self._making.discard(job)


def plain(text: str) -> str:
    """The text with blanks in place of pictures and of all that would be more than text; same length."""
    text = _EMOJI.sub(lambda match: " " * len(match[0]), clean(text))
    return _RAW_PHONEMES.sub(" ", text)
