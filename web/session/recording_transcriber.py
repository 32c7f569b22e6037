"""Transcribes the recordings in a client's messages, with the recognizer of the conversations."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count

from assistant.history.items import ItemId
from assistant.pipeline.missing_engines import NoRecognizer
from audio.errors import SttError
from audio.resample import StreamResampler
from audio.stt import Recognizer
from audio.units import MIC_RATE_HZ, Pcm
from web.client_audio.appended_audio import decoded
from web.client_audio.recording_segments import cut, segment_words
from web.wire.items.sound_field import Recording

log = logging.getLogger(__name__)

MAX_WAITING = 32
"""Recordings that may wait for their transcript."""
MAX_WAITING_BYTES = 16 << 20
"""Their size: three of the longest. One message may exceed it."""

MAX_WAITING_BYTES_OF_ALL = 128 << 20
"""Their size in all conversations of a server. From half of it on, one recording of each conversation may wait."""

TIMEOUT_S = 600.0
"""Time limit for one recording. A response may be waiting for it."""


@dataclass(frozen=True, slots=True)
class WaitingRecording:
    """A recording that waits for its transcript."""

    item: ItemId
    part: int
    recording: Recording


@dataclass(slots=True)
class RecordingRoom:
    """Counts the bytes of the recordings that wait in all conversations of a server."""

    bytes: int = 0


@dataclass(slots=True)
class RecordingTranscriber:
    """Transcribes recordings one after another, each as soon as the recognizer is free.

    Attributes:
        recognizer: Returns a recognizer that gives way to live speech; None: recordings cannot be transcribed.
        on_transcript: Receives the words of each recording; None: they are lost.
        tasks: Owns the work.
        room: Counts the recordings of all conversations.
    """

    recognizer: Callable[[], Awaitable[Recognizer]] | None
    on_transcript: Callable[[WaitingRecording, str | None], None]
    tasks: asyncio.TaskGroup | None = None
    room: RecordingRoom = field(default_factory=RecordingRoom)
    _waiting: deque[WaitingRecording] = field(default_factory=deque)
    _work: asyncio.Task[None] | None = None

    @property
    def full(self) -> bool:
        """Whether no more recordings are accepted."""
        most_of_all = MAX_WAITING_BYTES_OF_ALL // (2 if self._waiting else 1)
        return len(self._waiting) >= MAX_WAITING or self._size >= MAX_WAITING_BYTES or self.room.bytes >= most_of_all

    @property
    def _size(self) -> int:
        return sum(len(recording.recording.audio) for recording in self._waiting)

    @property
    def busy(self) -> bool:
        """Whether a recording has no transcript yet."""
        return bool(self._waiting)

    def add_recording(self, waiting: WaitingRecording) -> None:
        """Adds a recording."""
        self._waiting.append(waiting)
        self.room.bytes += len(waiting.recording.audio)
        if self._work is None and self.tasks is not None:
            self._work = self.tasks.create_task(self._transcribe_all(), name="recordings")

    def close(self) -> None:
        """Stops the work, because the conversation is over."""
        self.room.bytes -= self._size
        self._waiting.clear()
        if self._work is not None:
            self._work.cancel()

    async def _transcribe_all(self) -> None:
        recognizer: Recognizer | None = None
        numbers = count()  # tell the segments of one recognizer apart
        try:
            while self._waiting:
                words: str | None = None
                try:
                    async with asyncio.timeout(TIMEOUT_S):
                        recognizer = recognizer or await self._loaded()
                        words = await _words(recognizer, self._waiting[0].recording, numbers)
                except Exception as error:  # noqa: BLE001 - an engine may fail in any way
                    log.warning("a recording of a client was not transcribed: %s", type(error).__name__)
                done = self._waiting.popleft()
                self.room.bytes -= len(done.recording.audio)
                self.on_transcript(done, words)
        finally:
            self._work = None
            if recognizer is not None:
                await recognizer.aclose()

    async def _loaded(self) -> Recognizer:
        if self.recognizer is None:
            raise SttError("there is no recognizer")
        recognizer = await self.recognizer()
        if not recognizer.works:
            await recognizer.load()
        if recognizer.name == NoRecognizer.name:
            raise SttError("there is no recognizer")
        return recognizer


async def _words(recognizer: Recognizer, recording: Recording, numbers: Iterator[int]) -> str:
    """Returns the words of a recording. Raises EngineError."""
    async with aclosing(cut(_resampled(recording))) as segments:
        words = [await segment_words(recognizer, next(numbers), segment) async for segment in segments]
    return " ".join(filter(None, words))


async def _resampled(recording: Recording) -> AsyncGenerator[Pcm]:
    """Yields the recording at 16 kHz, second by second, so that the event loop is not occupied."""
    rate_hz, second = recording.format.rate_hz, recording.format.rate_hz * recording.format.sample_bytes
    resampler = StreamResampler(rate_hz, MIC_RATE_HZ)
    for start in range(0, len(recording.audio), second):
        yield resampler.push_samples(decoded(recording.audio[start : start + second], recording.format))
        await asyncio.sleep(0)
    yield resampler.flush()
