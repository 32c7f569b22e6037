"""Speaks with espeak-ng: robotic, about 140 languages and dialects, first audio after a millisecond."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

import numpy as np

from audio.errors import EngineLoadError, TtsError
from audio.level import gain_for
from audio.pronunciation import Pronunciations
from audio.threads.engine_thread import EngineHungError, ResultStream, due_s
from audio.tts import Chunk
from audio.tts.espeak.choice import choose
from audio.tts.espeak.library import ESPEAK_RATE_HZ, EspeakLibrary, SpeakingStyle, WordEvent
from audio.tts.espeak.sound import EspeakChunkAudio
from audio.tts.espeak.text import SpokenText
from audio.tts.espeak.worker import SHARED, EspeakWorker
from audio.tts.sound import CLAUSE_PAUSE_MS, LOUDNESS_REFERENCE, SENTENCE_PAUSE_MS
from audio.tts.speakable import speakable
from audio.tts.text_pieces import clean, ends_sentence, pieces
from audio.tts.threaded_voice import ThreadedVoice
from audio.units import Pcm

log = logging.getLogger(__name__)

SLOWEST_WPM, FASTEST_WPM = 80, 450

_WAITING_BUFFERS = 2048
"""Queue capacity: 160 ms each, 5 minutes. The longest known piece of 200 characters takes 77 s."""


@dataclass(frozen=True, slots=True)
class _Sound:
    """A buffer with the words that begin in it: offsets in the piece, samples in the buffer."""

    pcm: Pcm
    events: tuple[WordEvent, ...]


class _Call:
    """One call of the library in the worker's thread. The piece bounds its output."""

    def __init__(self, text: SpokenText, style: SpeakingStyle) -> None:
        self.stream: ResultStream[_Sound] = ResultStream(
            _WAITING_BUFFERS,
            TtsError("espeak-ng made more than five minutes of sound from 200 characters and was stopped"),
        )
        self._text = text
        self._style = style
        self._seen = 0

    def run(self, library: EspeakLibrary) -> None:
        """Synthesizes the piece. Runs in the worker's thread."""
        if self.stream.cancelled:
            return
        try:
            library.synthesize(self._text.text, self._style, self._on_sound, phonemes=self._text.has_phonemes)
        except TtsError as failure:
            self.stream.put_item(failure)
        except Exception as failure:  # noqa: BLE001 - the thread serves every conversation and must live on
            self.stream.put_item(TtsError(f"espeak-ng failed inside a chunk ({type(failure).__name__})"))
        else:
            self.stream.put_item(None)

    def stop(self) -> None:
        """Fails the call at once because the voice is closed."""
        self.stream.fail(TtsError("the espeak-ng voice was closed inside a chunk"))

    def _on_sound(self, pcm: Pcm, events: tuple[WordEvent, ...]) -> bool:
        here = tuple(WordEvent(event.offset, event.length, event.sample - self._seen) for event in events)
        self._seen += pcm.size
        self.stream.put_item(_Sound(pcm, here))
        return not self.stream.cancelled


class EspeakVoice(ThreadedVoice[EspeakWorker]):
    """Implements `Voice` by espeak-ng. All instances share one library and one thread."""

    name = "espeak-ng"

    def __init__(
        self,
        *,
        language: str = "en",
        voice: str | None = None,
        words_per_minute: int = 170,
        pitch: int = 50,
        target_dbfs: float = -20.0,
        pronunciations: Pronunciations | None = None,
    ) -> None:
        """Creates the voice without loading it.

        Args:
            language: A code such as "en", "en-us", "pt-BR".
            voice: A voice of that language by name, identifier or code, with a variant: "en-us+f3"; None: the best one.
            words_per_minute: 80..450.
            pitch: 0..99.
            target_dbfs: RMS of speech without pauses, -60..0. Peaks are limited to -1 dBFS.
            pronunciations: Words with their phonemes.

        Raises:
            ValueError: A number outside its range.
        """
        for key, value, low, high in (
            ("words_per_minute", words_per_minute, SLOWEST_WPM, FASTEST_WPM),
            ("pitch", pitch, 0, 99),
            ("target_dbfs", target_dbfs, -60, 0),
        ):
            if not low <= value <= high:
                raise ValueError(f"tts.{key} is {value}: espeak-ng accepts {low} to {high}")
        super().__init__(self.name)
        self._language = language
        self._voice = voice
        self._words_per_minute = words_per_minute
        self._pitch = pitch
        self._target_dbfs = target_dbfs
        self._pronunciations = pronunciations or Pronunciations()
        self._style: SpeakingStyle | None = None
        self._gain = 1.0
        self._calls: set[_Call] = set()

    async def _ensure_working(self) -> None:
        worker = await asyncio.to_thread(SHARED.worker)
        choice = choose(worker.voices, worker.variants, language=self._language, voice=self._voice)
        style = SpeakingStyle(choice.identifier, self._words_per_minute, self._pitch)
        try:
            async with aclosing(self._sounds(worker, style, SpokenText(LOUDNESS_REFERENCE))) as sounds:
                heard = [sound.pcm async for sound in sounds]
        except TtsError as failure:
            raise EngineLoadError(f"espeak-ng cannot speak with tts.voice {choice.detail}: {failure}") from failure
        reference = np.concatenate(heard) if heard else np.zeros(0, np.int16)
        if not reference.any():
            raise EngineLoadError(f"espeak-ng makes no sound with tts.voice {choice.detail}: choose another one")
        self._gain = gain_for(self._target_dbfs, reference, ESPEAK_RATE_HZ)
        self._detail = f"{choice.detail}, {self._words_per_minute} words a minute"
        self._thread, self._style = worker, style

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields the audio of the text; see `Voice.speak`. Word marks are based on the library's positions."""
        worker, style = self._thread, self._style
        if worker is None or style is None:
            raise TtsError("the espeak-ng voice is not loaded: load it before it speaks")
        if speed != 1.0:
            pace = round(min(max(self._words_per_minute * speed, SLOWEST_WPM), FASTEST_WPM))
            style = replace(style, words_per_minute=pace)
        text = clean(speakable(text, self._language).text)
        reply = EspeakChunkAudio(text, self._gain)
        due = due_s(asyncio.get_running_loop().time(), text, ahead_s)
        for piece in pieces(text):
            awaited = ahead_s == 0 and piece.offset == 0
            spoken_text = SpokenText.of(piece.text, self._pronunciations.pronounced(piece.text))
            async with aclosing(self._sounds(worker, style, spoken_text, due, awaited=awaited)) as sounds:
                async for sound in sounds:
                    events = tuple(
                        WordEvent(spoken_text.offset(e.offset) + piece.offset, e.length, e.sample) for e in sound.events
                    )
                    for chunk in reply.feed(sound.pcm, events):
                        yield chunk
                        # Audio for many chunks is ready: a consumer that never waits must not block the loop.
                        await asyncio.sleep(0)
        for chunk in reply.finish(SENTENCE_PAUSE_MS if ends_sentence(text) else CLAUSE_PAUSE_MS):
            yield chunk

    async def aclose(self) -> None:
        """Stops the synthesis and releases the voice. Idempotent.

        The library and its idle thread stay for the next voice of the process.
        """
        await self._loading.stop()
        for call in self._calls:
            call.stop()
        self._thread = self._style = None

    async def _sounds(
        self, worker: EspeakWorker, style: SpeakingStyle, text: SpokenText, due_s: float = 0.0, *, awaited: bool = False
    ) -> AsyncGenerator[_Sound]:
        """Calls the library once; closing it stops the library at its next buffer (0.1 ms). Raises TtsError."""
        call = _Call(text, style)
        self._calls.add(call)
        try:
            worker.submit(call.run, due_s, awaited=awaited)
            while (sound := await call.stream.next(worker.hang_reason)) is not None:
                yield sound
        except EngineHungError as hung:
            worker.give_up()
            log.warning("espeak-ng hung and was abandoned: %s", hung)
            raise TtsError(f"espeak-ng hung ({hung}): load the voice again, which starts a new copy") from hung
        finally:
            call.stream.cancelled = True
            self._calls.discard(call)
