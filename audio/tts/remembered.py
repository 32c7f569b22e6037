"""Keeps recently synthesized audio in memory, so that an answer that is given again is heard at once."""

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing

from audio.queue_wait import QueuedEngine, QueueWait
from audio.time_limit import ends_requests
from audio.tts import Chunk, Voice
from audio.tts.relief_voice import relief_of

MAX_BYTES = 16 << 20
"""Audio that is kept: nearly six minutes. The least recently spoken is removed first."""


class RememberedVoice:
    """A voice whose texts are synthesized once. Not thread-safe: call it on the event loop.

    Args:
        voice: Synthesizes the texts. Its settings must not change.
        max_bytes: Audio that is kept.
    """

    def __init__(self, voice: Voice, max_bytes: int = MAX_BYTES) -> None:
        self.name = voice.name
        self._voice = voice
        self._bytes_left = max_bytes
        self._spoken: OrderedDict[tuple[str, float], tuple[Chunk, ...]] = OrderedDict()

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return self._voice.detail

    @property
    def queue_wait(self) -> QueueWait:
        """See `QueuedEngine`; empty if the voice has no queue."""
        return self._voice.queue_wait if isinstance(self._voice, QueuedEngine) else QueueWait()

    @property
    def ends_requests(self) -> bool:
        """See `SelfWatching`."""
        return ends_requests(self._voice)

    @property
    def relief(self) -> str:
        """See `Relieved`."""
        return relief_of(self._voice)

    async def load(self) -> None:
        """Loads the voice. Raises EngineLoadError."""
        await self._voice.load()

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields the audio of a text, from memory if it was synthesized completely before. Raises TtsError."""
        key = (text, speed)
        if key in self._spoken:
            self._spoken.move_to_end(key)
            for chunk in self._spoken[key]:
                yield chunk
            return
        chunks: list[Chunk] = []
        async with aclosing(self._voice.speak(text, speed, ahead_s)) as audio_chunks:
            async for chunk in audio_chunks:
                chunks.append(chunk)
                yield chunk
        if not self.relief:
            self._keep(key, tuple(chunks))

    async def aclose(self) -> None:
        """Closes the voice and forgets the audio."""
        self._spoken.clear()
        await self._voice.aclose()

    def _keep(self, key: tuple[str, float], chunks: tuple[Chunk, ...]) -> None:
        if key in self._spoken or not chunks:
            return
        for chunk in chunks:
            chunk.pcm.flags.writeable = False  # every later reply plays the same samples
        self._spoken[key] = chunks
        self._bytes_left -= _bytes(chunks)
        while self._bytes_left < 0:
            _, oldest = self._spoken.popitem(last=False)
            self._bytes_left += _bytes(oldest)


def _bytes(chunks: tuple[Chunk, ...]) -> int:
    return sum(chunk.pcm.nbytes for chunk in chunks)
